//! One source, a chain of transforms, one or more sinks.
//!
//! ```text
//! reader ─▶ transformer ─┬▶ lane (dead letters) ─┐
//!   ▲                    ├▶ lane (sink)         ─┼▶ checkpointer ─┐
//!   │                    └▶ lane (sink)         ─┘                │
//!   └──────────────────────── acknowledge ◀───────────────────────┘
//! ```
//!
//! Every arrow is a bounded channel, and rows between reader and lanes hold a
//! share of one byte budget: a slow sink slows the source down. `run` joins the
//! stages once; `supervisor` does so again after an error that may heal.

mod assembly;
mod checkpointer;
mod dead_letter;
mod delivery;
mod gate;
mod lane;
#[cfg(test)]
mod lane_tests;
mod modules;
mod reader;
mod report;
mod run;
mod split;
mod status;
mod supervisor;
#[cfg(test)]
mod testing;
mod transformer;

use std::sync::Arc;

use tidegate_model::source::{Journal, SourceRequest};
use tidegate_model::{Error, ErrorKind, Result, SchemaChange, TableName};
use tidegate_state::State as StateFolder;
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::config::resolve::{AgentConfig, PipelineConfig};
use crate::telemetry::metrics::Metrics;

pub(crate) use self::assembly::source;
use self::reader::Request;
use self::report::Board;
use self::run::Context;
pub use self::status::{PipelineStatus, SinkStatus, State, TableStatus};

/// A running pipeline.
#[derive(Debug, Clone)]
pub struct Handle {
    board: Arc<Board>,
    state: Arc<StateFolder>,
    requests: mpsc::Sender<Request>,
    stop: CancellationToken,
    ended: Arc<Mutex<Option<JoinHandle<Result<()>>>>>,
}

impl Handle {
    /// How it does.
    pub fn status(&self) -> PipelineStatus {
        self.board.status()
    }

    /// Snapshots `schema.table` anew; returns when the request is taken.
    ///
    /// # Errors
    /// `Config` when the table is not captured, `Connection` when the pipeline
    /// is not running.
    pub async fn snapshot(&self, table: &str) -> Result<()> {
        let (schema, name) = table.split_once('.').ok_or_else(|| {
            Error::new(ErrorKind::Config, format!("{table:?} is not a table")).hint("write schema.table")
        })?;
        let (answer, answered) = oneshot::channel();
        let gone = || Error::transient(ErrorKind::Connection, "the pipeline is not running");
        let request = SourceRequest::Snapshot(TableName::new(schema, name));
        self.requests.send((request, answer)).await.map_err(|_| gone())?;
        answered.await.map_err(|_| gone())?
    }

    /// Every version of every captured table, by table and version.
    ///
    /// # Errors
    /// When the state folder cannot be read.
    pub fn schema_history(&self) -> Result<Vec<Arc<SchemaChange>>> {
        self.state.schema_history()
    }

    /// Asks it to drain, commit, checkpoint and end.
    pub fn stop(&self) {
        self.stop.cancel();
    }

    /// Waits for the end: `Ok` after a stop or a finished `snapshot_only`. Only
    /// the first caller gets the error; later ones read it in the status.
    ///
    /// # Errors
    /// What ended the pipeline.
    pub async fn finished(&self) -> Result<()> {
        match self.ended.lock().await.take() {
            None => Ok(()),
            Some(task) => {
                task.await.map_err(|e| Error::new(ErrorKind::Internal, "the pipeline panicked").because(e))?
            }
        }
    }
}

/// Starts a pipeline; recovery and retries run behind the handle.
///
/// # Errors
/// Only what can be told at once: a state folder in use or damaged.
pub async fn start(agent: &AgentConfig, config: PipelineConfig, metrics: Arc<Metrics>) -> Result<Handle> {
    let folder = agent.pipeline_folder(&config.name);
    let state = Arc::new(StateFolder::open(&folder, &config.name)?);
    let board = Board::new(&config.name, metrics.pipeline(&config.name));
    let stop = CancellationToken::new();
    let (requests, received) = mpsc::channel(1);
    let context = Context {
        agent: agent.clone(),
        config,
        state: state.clone(),
        board: board.clone(),
        stop: stop.clone(),
    };
    let task = tokio::spawn(supervisor::supervise(context, received));
    Ok(Handle { board, state, requests, stop, ended: Arc::new(Mutex::new(Some(task))) })
}
