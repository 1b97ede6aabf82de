//! Contract of a transform: a plan per table version, then batches.

use std::sync::Arc;

use crate::batch::ChangeBatch;
use crate::dead_letter::Refusal;
use crate::error::Result;
use crate::schema::TableVersion;

/// What a transform makes of a table version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Plan {
    /// Not applicable: batches pass unchanged.
    Pass,
    /// The table is dropped: no row of it goes on.
    Drop,
    /// Batches come out under this schema. Its `uid` and `version` are the
    /// input's, its columns' ids say where they come from.
    Output(Arc<TableVersion>),
}

/// What became of a batch.
///
/// Every event of the input is in exactly one place: in `batch`, in `refused`,
/// counted by `dropped`, or at or behind `park`.
#[derive(Debug)]
pub struct Transformed {
    /// The events that go on, in their order; `None` when none does.
    pub batch: Option<ChangeBatch>,
    /// Per event of `batch`: its index in the **input** batch, ascending;
    /// `None`: all went on, each under its own index.
    pub origin: Option<Vec<u32>>,
    /// Events that cannot go on, by their index in the **input** batch.
    pub refused: Vec<Refusal>,
    /// Events that the transform filtered out on purpose.
    pub dropped: u64,
    /// The table must be parked; `None`: it goes on.
    pub park: Option<Park>,
}

impl Transformed {
    /// The whole batch goes on as it is.
    pub fn unchanged(batch: ChangeBatch) -> Self {
        let batch = (!batch.is_empty()).then_some(batch);
        Self { batch, origin: None, refused: Vec::new(), dropped: 0, park: None }
    }
}

/// A transform refused so many events of a table in a row that something other
/// than the events must be wrong. The refused ones are dead letters; the rest
/// of the table waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Park {
    /// First event of the **input** batch that was not processed; the batch's
    /// length when that is the first one behind it.
    pub from: u32,
    /// Cause and way out, without row values.
    pub message: String,
}

/// One transform of a chain.
///
/// Pure: the output for an event depends on that event, on earlier events of
/// its table and on state, never on where a batch was cut or on a clock.
/// Synchronous and CPU-bound: the caller gives it a thread. One caller.
pub trait Transform: Send {
    /// The name in the configuration.
    fn name(&self) -> &Arc<str>;

    /// `name@12 hex` of the module that runs: `__module`.
    fn module(&self) -> &Arc<str>;

    /// Maps a table version; called before its first batch, and again only for
    /// a higher version.
    ///
    /// # Errors
    /// `Schema` when the table cannot be mapped: it is parked before its first
    /// row of the new version. `Config` and `Transform` stop the pipeline.
    fn plan(&mut self, table: &Arc<TableVersion>) -> Result<Plan>;

    /// Runs a batch of a planned table version.
    ///
    /// # Errors
    /// Only what stops the pipeline (`fatal`, `on_error: stop`); a bad event is
    /// a [`Refusal`].
    fn apply(&mut self, batch: ChangeBatch) -> Result<Transformed>;
}
