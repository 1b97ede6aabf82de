//! What flows from the transform chain to the lanes: a segment's output, shared
//! by all sinks.

use std::sync::Arc;

use tidegate_model::{ChangeBatch, DeadLetter, Offset, SnapshotMark, TableUid, TableVersion};
use tokio::sync::OwnedSemaphorePermit;

use super::gate::Origin;

/// One thing for a lane, in order.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly every one is rows; a box would cost each of them")]
pub(super) enum Out {
    /// Rows in the output schema `batch.table`.
    Rows {
        /// The rows.
        batch: ChangeBatch,
        /// Why they have it.
        origin: Origin,
    },
    /// The rows that follow have this output schema; leads its delivery.
    Schema {
        /// The source's change, and the chain.
        origin: Origin,
        /// The output of the chain under it.
        output: Arc<TableVersion>,
    },
    /// A snapshot's edge or chunk.
    Snapshot(SnapshotMark),
    /// A refused event.
    DeadLetter(Box<DeadLetter>),
}

/// A transformed segment, or a part of one that ends at a transaction's end.
///
/// Holds its share of the byte budget until the last lane has let go of it.
#[derive(Debug)]
pub(super) struct Delivery {
    /// Dense in this run; not the segment's, since a segment may be split.
    pub(super) seq: u64,
    /// In order.
    pub(super) items: Vec<Out>,
    /// The offset once all of it is accounted.
    pub(super) end: Arc<Offset>,
    /// Commit time of the newest event, µs UTC.
    pub(super) commit_time_us: Option<i64>,
    /// The share of the budget; shared by the parts of a split segment.
    pub(super) _permit: Arc<OwnedSemaphorePermit>,
}

impl Delivery {
    /// The chunk that this delivery is, if it is one: table, generation, number.
    pub(super) fn chunk(&self) -> Option<(TableUid, u64, u64)> {
        self.items.iter().find_map(|item| match item {
            Out::Snapshot(SnapshotMark::Chunk { table, generation, chunk, .. }) => {
                Some((*table, *generation, *chunk))
            }
            _ => None,
        })
    }
}
