//! The unit of flow, of backpressure and of checkpointing.

use std::sync::Arc;

use crate::batch::ChangeBatch;
use crate::dead_letter::DeadLetter;
use crate::position::{HeldReason, Offset, TxPosition};
use crate::schema::{TableName, TableUid};
use crate::schema_change::SchemaChange;

/// A snapshot's edges and chunks, in order with the rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SnapshotMark {
    /// Generation `generation` of the table opens: rows from here on carry it.
    Begin {
        /// The table.
        table: TableUid,
        /// Its name.
        name: Arc<TableName>,
        /// The generation.
        generation: u64,
        /// Where in the log.
        position: TxPosition,
    },
    /// The rows of one chunk end here; the batch in front of it is the chunk.
    /// A chunk is one segment, never cut.
    Chunk {
        /// The table.
        table: TableUid,
        /// The generation.
        generation: u64,
        /// Number of the chunk, from 1.
        chunk: u64,
        /// Rows of it that are delivered.
        rows: u64,
    },
    /// The generation is complete: readers drop rows of lower ones.
    End {
        /// The table.
        table: TableUid,
        /// Its name.
        name: Arc<TableName>,
        /// The generation.
        generation: u64,
        /// Where in the log.
        position: TxPosition,
    },
}

/// A table stops; its later rows are accounted by the offset's `held` entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableParked {
    /// The table.
    pub table: TableUid,
    /// Its name.
    pub name: Arc<TableName>,
    /// Why it is held.
    pub reason: HeldReason,
    /// Cause and way out, without row values.
    pub message: String,
    /// From where on its rows are not delivered.
    pub position: TxPosition,
}

/// One thing that travels, in order.
#[derive(Debug, Clone)]
#[expect(clippy::large_enum_variant, reason = "nearly every item is a batch; a box would cost each of them")]
pub enum Item {
    /// Changes of one table.
    Batch(ChangeBatch),
    /// The table's next rows have another schema.
    SchemaChange(Arc<SchemaChange>),
    /// A snapshot's edge or chunk.
    Snapshot(SnapshotMark),
    /// A table stops.
    Parked(TableParked),
    /// An event for the dead-letter queue; every other sink only counts it.
    DeadLetter(Box<DeadLetter>),
}

/// Items cut at one moment, with the offset after them.
///
/// Order: items of one table are in log order; across tables each event carries
/// (transaction, index). A [`SchemaChange`] is always the first item of its
/// segment (the source cuts in front of it): what is behind it in the log can
/// then be committed before the target changes. `end` may be committed by a sink when every item is
/// durable there. A segment without items still moves the offset: that is the
/// heartbeat of an idle source.
#[derive(Debug, Clone)]
pub struct Segment {
    /// Number of the segment in this run, from 1: orders segments of one
    /// process, and means nothing outside it.
    pub seq: u64,
    /// What happened.
    pub items: Vec<Item>,
    /// The offset once all of it is accounted.
    pub end: Arc<Offset>,
    /// Commit time of the newest event, µs UTC; `None` when it has none.
    pub commit_time_us: Option<i64>,
    /// Bytes held in memory, for the budget.
    pub bytes: usize,
}
