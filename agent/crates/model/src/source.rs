//! Contract of a source: preflight, then an ordered flow of segments.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;

use crate::error::Result;
use crate::position::Offset;
use crate::schema::{TableName, TableUid, TableVersion};
use crate::schema_change::SchemaChange;
use crate::segment::Segment;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// Works, with the limit that it tells.
    Warning,
    /// One table cannot be captured; it is parked.
    Table,
    /// Capture cannot start.
    Fatal,
}

/// What preflight found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// How bad.
    pub severity: Severity,
    /// The table, when it is about one.
    pub table: Option<TableName>,
    /// What is wrong.
    pub message: String,
    /// The SQL or setting that mends it; empty when nothing needs mending.
    pub fix: String,
}

/// A chunk whose bounds are fixed before it is read, so that a chunk read again
/// has the same rows' keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkPlan {
    /// The table.
    pub table: TableUid,
    /// The snapshot's generation.
    pub generation: u64,
    /// Number of the chunk, from 1.
    pub chunk: u64,
    /// Excluded lower bound as SQL literals, one a key column; empty: from the
    /// first key.
    pub lower: Vec<String>,
    /// Included upper bound; empty: to the last key.
    pub upper: Vec<String>,
}

/// A DDL of a captured table that was read from the log. What it did shows in
/// the table's next rows, which may come after a restart; its text then still
/// tells a rename from a drop with an add.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DdlNote {
    /// The table.
    pub table: TableUid,
    /// The DDL's place in the log.
    pub position: crate::TxPosition,
    /// The schema that it ran in.
    pub schema: String,
    /// Its text.
    pub sql: String,
    /// A backslash in its strings escapes what follows.
    pub backslash_escapes: bool,
    /// The session refused values that do not fit instead of bending them.
    pub strict: bool,
}

/// What a source keeps between runs. Implemented by the state folder; every
/// write is durable when the call returns. Calls block for one disk flush.
pub trait Journal: Send + Sync {
    /// Keeps a chunk's bounds; before its rows are handed out.
    ///
    /// # Errors
    /// When the state folder cannot be written.
    fn plan_chunk(&self, plan: &ChunkPlan) -> Result<()>;

    /// The bounds kept for a chunk that is not finished yet.
    ///
    /// # Errors
    /// When the state folder cannot be read.
    fn planned_chunk(&self, table: TableUid, generation: u64, chunk: u64) -> Result<Option<ChunkPlan>>;

    /// Keeps a schema change; before its item is handed out. The same change
    /// again is no error; another one under the same version is.
    ///
    /// # Errors
    /// When the state folder cannot be written, or the version is taken.
    fn record_change(&self, change: &Arc<SchemaChange>) -> Result<()>;

    /// All changes of all tables, by table and version.
    ///
    /// # Errors
    /// When the state folder cannot be read.
    fn schema_history(&self) -> Result<Vec<Arc<SchemaChange>>>;

    /// Keeps a DDL until a change of its table at or behind its position is
    /// recorded; before `scanned` passes it. The same note again is no error.
    ///
    /// # Errors
    /// When the state folder cannot be written.
    fn note_ddl(&self, note: &DdlNote) -> Result<()>;

    /// The DDL kept for a table, in log order.
    ///
    /// # Errors
    /// When the state folder cannot be read.
    fn ddl_notes(&self, table: TableUid) -> Result<Vec<DdlNote>>;

    /// Mints the uid of a new table; the same name gets the same uid until the
    /// table is dropped.
    ///
    /// # Errors
    /// When the state folder cannot be written.
    fn table_uid(&self, name: &TableName) -> Result<TableUid>;

    /// Source version that a sink's record last named for this table, when the
    /// state folder was lost: the chain goes on behind it. 0: none.
    fn known_version(&self, table: TableUid) -> u64;
}

/// Where a source starts.
#[derive(Debug, Clone, PartialEq)]
pub enum Start {
    /// A new pipeline: at the log's current end, or as `snapshot.mode` says.
    New,
    /// Resume: the lowest of the sinks' offsets.
    Resume(Box<Offset>),
}

/// A request to a running source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceRequest {
    /// Snapshot this table anew (generation + 1); also un-parks it.
    Snapshot(TableName),
}

/// A database that is captured.
///
/// **Order.** Segments come in log order with dense `seq`; the events of a table
/// are in total order. **Duplicates.** After a restart everything behind the
/// resume offset comes again, identical, cut elsewhere; sinks drop what they
/// have. **Cancellation.** [`next`](Self::next) may be dropped at any await
/// point and called again: nothing is lost. **Concurrency.** One caller.
/// **Durable when.** Nothing a source returns is durable but what it put into
/// its [`Journal`].
#[async_trait]
pub trait Source: Send {
    /// Checks everything that capture needs, before the first row. Does not
    /// change the server.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses the login; what it finds
    /// wrong is in the findings.
    async fn preflight(&mut self) -> Result<Vec<Finding>>;

    /// Opens the log and returns the offset that reading starts from; before it
    /// returns no event has been read. A caller makes that offset durable in
    /// every sink before it calls [`next`](Self::next).
    ///
    /// # Errors
    /// `PositionLost` when the log no longer reaches back to the offset,
    /// `Refused` when the offset belongs to another lineage.
    async fn open(&mut self, start: Start, journal: Arc<dyn Journal>) -> Result<Offset>;

    /// The current version of every captured table, after [`open`](Self::open).
    fn tables(&self) -> Vec<Arc<TableVersion>>;

    /// About how many rows the captured tables have, from the server's own
    /// statistics: for a progress bar, and nothing else. Tables may be missing.
    ///
    /// # Errors
    /// When the server cannot be asked.
    async fn rows_expected(&mut self) -> Result<BTreeMap<TableName, u64>>;

    /// The next segment; waits while the source is idle, at most one heartbeat.
    /// `None`: the source is done (`snapshot_only`).
    ///
    /// # Errors
    /// Transient ones (connection) heal by opening again from the sinks'
    /// offsets; definite ones stop the pipeline.
    async fn next(&mut self) -> Result<Option<Segment>>;

    /// Everything up to this offset is durable in all sinks.
    ///
    /// # Errors
    /// When the server must be told and cannot be.
    async fn acknowledge(&mut self, offset: &Offset) -> Result<()>;

    /// Hands a request in; it takes effect at a transaction's end.
    ///
    /// # Errors
    /// When it names a table that is not captured.
    async fn request(&mut self, request: SourceRequest) -> Result<()>;
}
