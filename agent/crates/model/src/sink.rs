//! Contract of a sink: recover, write, commit; the sink's own record is the
//! truth about that sink.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use async_trait::async_trait;

use crate::batch::ChangeBatch;
use crate::dead_letter::DeadLetter;
use crate::error::Result;
use crate::position::Offset;
use crate::schema::{TableName, TableUid, TargetVersion};
use crate::schema_change::TargetChange;
use crate::segment::SnapshotMark;

/// What a sink's own record says.
#[derive(Debug, Clone, Default)]
pub struct Recovered {
    /// The last committed offset; `None`: this sink is new.
    pub offset: Option<Offset>,
    /// Dead letters up to that offset.
    pub dead_letters: u64,
    /// Current version of every target that this writer feeds.
    pub targets: BTreeMap<TableName, TargetVersion>,
    /// Source tables whose target differs from them until they are snapshotted.
    pub diverging: BTreeSet<TableUid>,
}

/// One piece of what is to be written, in order.
#[derive(Debug)]
pub enum Part<'a> {
    /// Rows for a target at the version given, which the sink has.
    Rows {
        /// The target.
        target: &'a Arc<TargetVersion>,
        /// The rows; their columns are the target's, in its order.
        batch: &'a ChangeBatch,
    },
    /// An edge of a snapshot.
    Snapshot(&'a SnapshotMark),
    /// A refused event; only the dead-letter queue gets these.
    DeadLetter(&'a DeadLetter),
}

/// What a commit makes durable beside the rows.
#[derive(Debug, Clone)]
pub struct Commit {
    /// The offset after everything written since the last commit.
    pub offset: Arc<Offset>,
    /// Dead letters up to that offset, counted over the pipeline's life.
    pub dead_letters: u64,
}

/// How a commit ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Everything written since the last commit is durable and visible, with
    /// its offset, once.
    Committed,
    /// Nothing of it is; `commit` may be called again.
    NotApplied,
    /// It cannot be told now; `commit` may be called again with the same record
    /// and finds out.
    Unknown,
    /// Another writer took over: nothing of it is visible and never will be.
    Fenced,
}

/// A target system.
///
/// **Order.** Parts are written in order, one at a time. **Duplicates.** The
/// caller drops what the recovered offset covers; a sink sees each event once
/// between `recover` and a failure. **Cancellation.** No call may be dropped
/// half-way, except by ending the process. **Concurrency.** One caller.
/// **Durable when.** Nothing before `commit` returns `Committed` or `alter`
/// returns; a process that dies in between leaves what `recover` clears away.
/// **After an error** of `write` or `seal` the sink is only good for `abort`.
#[async_trait]
pub trait Sink: Send {
    /// Takes over: fences older writers, clears what they left uncommitted, and
    /// reads the own record.
    ///
    /// # Errors
    /// `Storage`, `Connection`; `Refused` when the record is damaged.
    async fn recover(&mut self) -> Result<Recovered>;

    /// Takes a part over; it may stay in a buffer.
    ///
    /// # Errors
    /// `Storage`, `Connection`.
    async fn write(&mut self, part: Part<'_>) -> Result<()>;

    /// Closes what is open for these targets, so that no later row joins it.
    ///
    /// # Errors
    /// `Storage`, `Connection`.
    async fn seal(&mut self, targets: &[TableName]) -> Result<()>;

    /// Makes everything since the last commit durable together with the record.
    ///
    /// # Errors
    /// Only what no [`Outcome`] tells: a disk that fails, a lost login.
    async fn commit(&mut self, commit: &Commit) -> Result<Outcome>;

    /// Forgets everything since the last commit.
    ///
    /// # Errors
    /// `Storage`, `Connection`.
    async fn abort(&mut self) -> Result<()>;

    /// Changes a target's structure if it still is at `change.base`; called with
    /// nothing uncommitted for that target. The same change again is no error
    /// and has no effect.
    ///
    /// # Errors
    /// `Schema` when the target is at another version, `Fenced`, `Storage`.
    async fn alter(&mut self, change: &TargetChange) -> Result<()>;

    /// Bytes taken over since the last commit, for `commit.bytes`.
    fn uncommitted_bytes(&self) -> u64;

    /// False for a sink that keeps no record of its own (a terminal): the
    /// agent's checkpoint stands in for it, and delivery is at least once.
    fn keeps_record(&self) -> bool {
        true
    }
}
