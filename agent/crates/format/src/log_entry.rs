//! Entries of the object commit log: `docs/specs/commit-log.md`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tidegate_model::EventPosition;

use crate::offset::{OffsetRecord, TxPositionRecord};
use crate::record::Record;
use crate::schema::TargetChangeRecord;

/// One entry: what became true at its number, all at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogEntry {
    /// Format version.
    pub version: u32,
    /// What it is.
    pub kind: EntryKind,
    /// Who wrote it: [`writer_id`].
    pub writer: String,
    /// The writer's pipeline and sink, joined by a slash, for people.
    pub name: String,
    /// The writer's fence: an entry of a lower claim never follows.
    pub claim: u64,
    /// Unique for each attempt's content; tells an own entry whose answer was
    /// lost from another writer's.
    pub commit_id: String,
    /// Wall clock at the writer, ISO UTC; for people, never compared.
    pub written_at: String,
    /// The writer's offset after this entry; null before its first commit.
    pub offset: Option<OffsetRecord>,
    /// The pipeline's dead letters up to that offset.
    pub dead_letters: u64,
    /// Objects that are live from here on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileRecord>,
    /// Changes of targets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub target_changes: Vec<TargetChangeRecord>,
    /// Edges of snapshots.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub snapshots: Vec<SnapshotMarkRecord>,
}

impl Record for LogEntry {
    const NAME: &'static str = "log entry";
    const VERSION: u32 = 1;
}

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// A writer took over; repeats its last offset.
    Claim,
    /// Rows with the offset after them.
    Commit,
    /// A target changed.
    Alter,
}

/// A live object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRecord {
    /// `schema.table`, escaped; `dead_letters` for the dead-letter queue.
    pub table: String,
    /// Identity of the source table; 0 for dead letters.
    pub table_uid: u64,
    /// Target version of its rows.
    pub schema_version: u64,
    /// Path below the lake's root.
    pub key: String,
    /// Rows in it.
    pub rows: u64,
    /// Its size.
    pub bytes: u64,
    /// Position of its first row.
    pub min: PositionRecord,
    /// Position of its last row.
    pub max: PositionRecord,
    /// `name@12 hex` of each transform that its rows went through.
    pub modules: Vec<String>,
    /// Snapshot generation of all its rows.
    pub generation: u64,
}

/// Twin of [`EventPosition`], as rows spell it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PositionRecord {
    /// `__pos`.
    pub pos: String,
    /// `__idx`.
    pub idx: i64,
}

impl From<EventPosition> for PositionRecord {
    fn from(position: EventPosition) -> Self {
        Self { pos: position.tx.to_string(), idx: position.idx }
    }
}

/// An edge of a table's snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotMarkRecord {
    /// Which edge.
    pub mark: EdgeRecord,
    /// `schema.table` at the source, escaped.
    pub table: String,
    /// Identity of the source table.
    pub table_uid: u64,
    /// The generation that begins or is complete.
    pub generation: u64,
    /// Where in the log.
    pub position: TxPositionRecord,
}

/// Which edge of a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EdgeRecord {
    /// Rows of the generation may follow.
    Begin,
    /// Complete: readers drop rows of lower generations.
    End,
}

/// The state of the log after an entry, so that nobody reads it from the start.
///
/// Snapshots form a chain: each lists only the files that became live since the
/// one before it, so that its size does not grow with the lake. All files of the
/// chain together with those of later entries are the live ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogSnapshot {
    /// Format version.
    pub version: u32,
    /// The last entry that it covers.
    pub number: u64,
    /// The snapshot before it in the chain; 0: none.
    pub previous: u64,
    /// Writers by id.
    pub writers: BTreeMap<String, WriterRecord>,
    /// Every change of every target, in order.
    pub target_changes: Vec<WriterChangeRecord>,
    /// Snapshot edges by source table uid of each writer, the newest of each kind.
    pub snapshots: Vec<WriterMarkRecord>,
    /// Files of the entries behind `previous`, up to `number`, in order.
    pub files: Vec<FileRecord>,
}

impl Record for LogSnapshot {
    const NAME: &'static str = "log snapshot";
    const VERSION: u32 = 1;
}

/// What the log says about one writer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriterRecord {
    /// Pipeline and sink.
    pub name: String,
    /// Its highest claim.
    pub claim: u64,
    /// Its last offset.
    pub offset: Option<OffsetRecord>,
    /// Dead letters up to that offset.
    pub dead_letters: u64,
    /// The newest object id that each claim has listed. Ids grow within a
    /// claim, so an object behind its claim's is not live.
    pub last_objects: BTreeMap<u64, String>,
}

/// A target's change and who made it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriterChangeRecord {
    /// The writer.
    pub writer: String,
    /// The change.
    pub change: TargetChangeRecord,
}

/// A snapshot's edge and whose it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriterMarkRecord {
    /// The writer.
    pub writer: String,
    /// The edge.
    pub mark: SnapshotMarkRecord,
}

/// Eight hexadecimal digits that name a pipeline's sink in entries and keys.
pub fn writer_id(pipeline: &str, sink: &str) -> String {
    let hash = blake3::hash(format!("{pipeline}/{sink}").as_bytes());
    hash.to_hex()[..8].to_owned()
}
