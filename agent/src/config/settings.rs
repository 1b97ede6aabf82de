//! The configuration, resolved: every path absolute, every default filled in,
//! every secret read.
//!
//! What is known but not built yet has no place here: it is refused while
//! resolving, so nothing behind this type has to ask again.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::secret::Secret;

/// The process that runs one or several pipelines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentConfig {
    /// Folder of everything that outlives the process; one folder a pipeline in it.
    pub state: PathBuf,
    /// Where the HTTP interface listens; `None`: nowhere.
    pub listen: Option<SocketAddr>,
    /// What a writing HTTP call must carry as `Authorization: Bearer`. Always
    /// set when `listen` is not a loopback address.
    pub token: Option<Secret>,
    /// Memory budget for rows in flight, over all pipelines of the agent.
    pub memory_bytes: u64,
}

impl AgentConfig {
    /// The state folder of the pipeline of this name.
    pub fn pipeline_folder(&self, pipeline: &str) -> PathBuf {
        self.state.join(pipeline)
    }
}

/// One source, a chain of transforms, one or more sinks.
#[derive(Debug, Clone, PartialEq)]
pub struct PipelineConfig {
    /// Identity of the pipeline: in its state folder, in the sinks' records.
    /// Letters, digits, `-` and `_` only, so it can be a folder's name.
    pub name: String,
    /// Where changes come from.
    pub source: SourceConfig,
    /// Applied in this order.
    pub transforms: Vec<TransformConfig>,
    /// At least one; names are unique.
    pub sinks: Vec<SinkConfig>,
    /// Where refused events go.
    pub dead_letter: DeadLetterConfig,
    /// When offsets become durable.
    pub checkpoint: CheckpointConfig,
    /// How transient failures are tried again.
    pub retry: RetryConfig,
    /// From the command line: go on although a lost state folder may have held
    /// what no sink's record tells.
    pub accept_state_loss: bool,
}

/// A MariaDB server and what of it is captured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceConfig {
    /// Identity of the database, stable over a failover.
    pub id: String,
    /// Name or address of the server.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The account; needs SELECT, REPLICATION SLAVE and BINLOG MONITOR.
    pub user: String,
    /// Its password; empty: none.
    pub password: Secret,
    /// How the connection is protected.
    pub tls: TlsMode,
    /// PEM file of the authorities to trust instead of the usual ones.
    pub tls_ca: Option<PathBuf>,
    /// Our id as a replica; `None`: derived from the pipeline and the random id
    /// in its state folder.
    pub server_id: Option<u32>,
    /// How often an idle source tells its position.
    pub heartbeat: Duration,
    /// Patterns `schema.table` with `*` for any run of characters.
    pub tables: Vec<String>,
    /// What is read before and beside the log.
    pub snapshot: SnapshotConfig,
    /// What happens with dates that no calendar has.
    pub zero_dates: ZeroDates,
}

/// How the connection to the server is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TlsMode {
    /// Plain text.
    Disable,
    /// Encrypted, the server's certificate is not checked.
    Require,
    /// The certificate's chain is checked.
    VerifyCa,
    /// The chain and the host's name are checked.
    VerifyIdentity,
}

/// Reading of the tables' contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SnapshotConfig {
    /// Whether, and what comes after it.
    pub mode: SnapshotMode,
    /// Rows of a chunk, 1 to 10,000.
    pub chunk_rows: u32,
}

/// Where a new pipeline starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SnapshotMode {
    /// The tables' contents, then changes without end.
    Initial,
    /// Changes from now on.
    Latest,
    /// The tables' contents; then the pipeline ends.
    SnapshotOnly,
}

/// What happens with zero and partial dates (`0000-00-00`, `2024-02-00`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ZeroDates {
    /// The event goes to the dead letters, with the server's text.
    DeadLetter,
}

/// One step of the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransformConfig {
    /// Unique in the pipeline; stands in rows (`__module`) and metrics.
    pub name: String,
    /// The WebAssembly component.
    pub module: PathBuf,
    /// Patterns of the source tables that go through it; the others pass by.
    pub tables: Vec<String>,
    /// The module's own configuration as JSON text, secrets resolved; `{}` when absent.
    pub config_json: Secret,
    /// What a refused event leads to.
    pub on_error: OnError,
    /// Linear memory of one instance.
    pub memory_bytes: u64,
}

/// What an event that a transform refuses leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnError {
    /// It goes to the dead letters; the others go on.
    DeadLetter,
    /// The pipeline stops in front of it.
    Stop,
    /// It is counted and dropped, by the user's explicit choice.
    Drop,
}

/// One target system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SinkConfig {
    /// Unique in the pipeline; part of the writer's identity.
    pub name: String,
    /// What it is.
    pub kind: SinkKind,
}

/// The kinds of sinks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SinkKind {
    /// Files with a commit log: exactly once.
    Object {
        /// The lake's root folder.
        path: PathBuf,
        /// How rows are written.
        format: ObjectFormat,
        /// A commit is due when this has passed since the last one.
        commit_interval: Duration,
        /// A commit is due when this much is uncommitted.
        commit_bytes: u64,
    },
    /// JSON lines on standard output, for people: at least once.
    Stdout,
}

impl SinkKind {
    /// The value of the label `sink_type`, which is the word in the file.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Object { .. } => "object",
            Self::Stdout => "stdout",
        }
    }
}

/// How rows are written into files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectFormat {
    /// Columnar, compressed.
    Parquet,
    /// One JSON object a line.
    JsonLines,
}

/// The dead-letter queue: an object sink of JSON lines of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLetterConfig {
    /// Its root folder; `<state>/<pipeline>/dead-letters` unless the file says otherwise.
    pub path: PathBuf,
}

/// When offsets become durable in the state folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckpointConfig {
    /// At most this long apart while rows flow.
    pub interval: Duration,
    /// At least this long between the end of one and the start of the next.
    pub min_pause: Duration,
    /// One that takes longer fails the pipeline.
    pub timeout: Duration,
}

/// How transient failures are tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryConfig {
    /// Pause before the first retry; grows with each further one.
    pub backoff: Duration,
    /// Retries in a row; `None`: unlimited.
    pub attempts_max: Option<u32>,
}
