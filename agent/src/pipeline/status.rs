//! What a pipeline tells about itself: `tidegate status`, `/v1/status`, the
//! progress bar. Names, counts and positions; never row values.

use serde::{Deserialize, Serialize};

/// Where a pipeline is in its life.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Recovering sinks and opening the source.
    #[default]
    Starting,
    /// Tables are being snapshotted while the stream runs.
    Snapshotting,
    /// Streaming.
    Running,
    /// Waiting to try again after an error that may heal.
    Retrying,
    /// Draining before it ends.
    Stopping,
    /// Ended well.
    Stopped,
    /// Ended by an error.
    Failed,
}

/// A pipeline at one moment.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct PipelineStatus {
    /// The pipeline's name.
    pub pipeline: String,
    /// Where it is in its life.
    pub state: State,
    /// Milliseconds between now and the commit time of the newest delivered
    /// event; `None` when the source is idle or nothing came yet.
    pub lag_ms: Option<i64>,
    /// Events per second over the last ten seconds.
    pub events_per_second: f64,
    /// Events since the process began.
    pub events: u64,
    /// Where the source has been read to.
    pub position: Option<String>,
    /// The GTID set that goes with it.
    pub gtid: Option<String>,
    /// Last checkpoint, ms since the epoch, UTC.
    pub last_checkpoint_ms: Option<i64>,
    /// Dead letters over the pipeline's life.
    pub dead_letters: u64,
    /// The error that it waits on or ended by, with its hint.
    pub error: Option<String>,
    /// Times that the pipeline was restarted after an error.
    pub restarts: u64,
    /// The captured tables.
    pub tables: Vec<TableStatus>,
    /// The sinks, the dead-letter queue among them.
    pub sinks: Vec<SinkStatus>,
}

/// One captured table.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct TableStatus {
    /// `schema.table`.
    pub table: String,
    /// Source version.
    pub version: u64,
    /// Snapshot generation.
    pub generation: u64,
    /// `none`, `running` or `done`.
    pub snapshot: String,
    /// Chunks of the running snapshot that are finished.
    pub snapshot_chunks: u64,
    /// Rows of the running snapshot that are delivered.
    pub snapshot_rows: u64,
    /// About how many rows the table had when the run began, by the server's
    /// statistics; `None` when it does not tell, or no snapshot was due.
    #[serde(default)]
    pub snapshot_rows_expected: Option<u64>,
    /// Why the table is parked, with the way out.
    pub parked: Option<String>,
    /// Why rows in the target differ from the source, with the way out.
    pub diverges: Option<String>,
}

/// One sink.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct SinkStatus {
    /// The sink's name; `dead_letters` for the dead-letter queue.
    pub sink: String,
    /// Last committed position, as `file:offset`.
    pub committed: Option<String>,
    /// The GTID set that goes with it.
    pub gtid: Option<String>,
    /// Last commit, ms since the epoch, UTC.
    pub last_commit_ms: Option<i64>,
    /// Events delivered since the process began.
    pub events: u64,
}
