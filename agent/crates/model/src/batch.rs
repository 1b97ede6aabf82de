//! A batch of changes of one table under one schema version, in columns.
//!
//! Images are one sequence of rows, an event's `before` directly in front of
//! its `after`, in one Arrow record batch: the layout that transforms receive,
//! so nothing is rearranged on the way. A cell has three states: value, null,
//! and absent (a partial row image, say). Absent is marked beside the Arrow
//! data and is never written as null.

use std::sync::Arc;

use arrow::array::{RecordBatch, UInt32Array};
use arrow::buffer::BooleanBuffer;
use arrow::compute;
use arrow::error::ArrowError;

use crate::dead_letter::Refusal;
use crate::gtid::Gtid;
use crate::position::{EventPosition, TxPosition};
use crate::schema::TableVersion;

/// What happened to a source row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Operation {
    /// Row inserted: an after image.
    Insert = 0,
    /// Row updated: both images.
    Update = 1,
    /// Row deleted: a before image.
    Delete = 2,
    /// Row read by a snapshot: an after image.
    Snapshot = 3,
}

impl Operation {
    /// The letter of `__op`: c, u, d, r.
    pub fn letter(self) -> &'static str {
        match self {
            Self::Insert => "c",
            Self::Update => "u",
            Self::Delete => "d",
            Self::Snapshot => "r",
        }
    }
}

/// Which side of a change a row shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Image {
    /// The row as it was.
    Before = 0,
    /// The row as it is now.
    After = 1,
}

/// A source transaction that a batch holds events of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transaction {
    /// Its GTID event's place; for snapshot rows the chunk's high mark.
    pub position: TxPosition,
    /// Its id; `None` for snapshot rows.
    pub gtid: Option<Gtid>,
    /// Commit time at the source in µs since the epoch, UTC. MariaDB's log has
    /// whole seconds.
    pub commit_time_us: i64,
}

/// Per-event facts, one entry an event in each list.
#[derive(Debug, Clone, Default)]
pub struct Events {
    /// What happened.
    pub operation: Vec<Operation>,
    /// Index into [`ChangeBatch::transactions`].
    pub transaction: Vec<u32>,
    /// `__idx`: running number of the captured row change in its transaction,
    /// over all tables; −1 for snapshot rows.
    pub idx: Vec<i64>,
    /// Running number among the changes of this table in its transaction.
    pub table_idx: Vec<u64>,
}

impl Events {
    /// Number of events.
    pub fn len(&self) -> usize {
        self.operation.len()
    }

    /// True when there is none.
    pub fn is_empty(&self) -> bool {
        self.operation.is_empty()
    }
}

/// Row images with what belongs to each.
#[derive(Debug, Clone)]
pub struct Rows {
    /// The cells; schema of the batch's [`TableVersion`].
    pub data: RecordBatch,
    /// Per row: its event's index; the two rows of an update are neighbours.
    pub event: Vec<u32>,
    /// Per row: which side.
    pub image: Vec<Image>,
    /// Per column: set where the cell is absent; `None`: no cell is.
    pub absent: Vec<Option<BooleanBuffer>>,
}

/// n changes of one table under one schema version, in log order.
///
/// Where a batch was cut means nothing: no value, verdict or state may depend
/// on it.
#[derive(Debug, Clone)]
pub struct ChangeBatch {
    /// The table and its version.
    pub table: Arc<TableVersion>,
    /// The images.
    pub rows: Rows,
    /// The events.
    pub events: Events,
    /// Transactions that `events` point at, in log order.
    pub transactions: Vec<Transaction>,
    /// Snapshot generation that the table is in.
    pub generation: u64,
    /// `__module`: `name@12 hex` of each transform that ran, joined by commas.
    pub module: Arc<str>,
    /// Events that the source could not take over exactly (a zero date under
    /// `dead_letter`); they go to the dead letters instead of the chain.
    pub refused: Vec<Refusal>,
}

impl ChangeBatch {
    /// Number of events.
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// True when it has no event.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// The transaction of an event.
    pub fn transaction(&self, event: usize) -> &Transaction {
        &self.transactions[self.events.transaction[event] as usize]
    }

    /// Position of an event.
    pub fn position(&self, event: usize) -> EventPosition {
        EventPosition { tx: self.transaction(event).position, idx: self.events.idx[event] }
    }

    /// Bytes that the cells take in memory: what the byte budget counts.
    pub fn bytes(&self) -> usize {
        self.rows.data.get_array_memory_size()
    }

    /// The rows of one event: a range of one or two row indices.
    pub fn rows_of(&self, event: usize) -> std::ops::Range<usize> {
        let start = self.rows.event.partition_point(|&e| (e as usize) < event);
        let end = self.rows.event.partition_point(|&e| (e as usize) <= event);
        start..end
    }

    /// The events `keep` (ascending indices) as a batch of their own; refusals
    /// stay with their events. Zero-copy when they are one run.
    ///
    /// # Errors
    /// Only when Arrow's kernels fail (offsets over 2 GiB).
    pub fn select(&self, keep: &[u32]) -> Result<Self, ArrowError> {
        if keep.len() == self.len() {
            return Ok(self.clone());
        }
        let contiguous = keep.windows(2).all(|w| w[0] + 1 == w[1]);
        let mut row_indices: Vec<u32> = Vec::new();
        let mut rows_event = Vec::new();
        let mut rows_image = Vec::new();
        let mut events = Events::default();
        let mut new_index = vec![u32::MAX; self.len()];
        for (n, &event) in keep.iter().enumerate() {
            let old = event as usize;
            new_index[old] = n as u32;
            events.operation.push(self.events.operation[old]);
            events.transaction.push(self.events.transaction[old]);
            events.idx.push(self.events.idx[old]);
            events.table_idx.push(self.events.table_idx[old]);
        }
        for (row, &event) in self.rows.event.iter().enumerate() {
            let new = new_index[event as usize];
            if new != u32::MAX {
                row_indices.push(row as u32);
                rows_event.push(new);
                rows_image.push(self.rows.image[row]);
            }
        }
        let (data, absent) = if contiguous && !row_indices.is_empty() {
            let (start, length) = (row_indices[0] as usize, row_indices.len());
            let absent =
                self.rows.absent.iter().map(|a| a.as_ref().map(|a| a.slice(start, length))).collect();
            (self.rows.data.slice(start, length), absent)
        } else {
            let absent = (self.rows.absent.iter())
                .map(|a| a.as_ref().map(|a| row_indices.iter().map(|&r| a.value(r as usize)).collect()))
                .collect();
            (compute::take_record_batch(&self.rows.data, &UInt32Array::from(row_indices))?, absent)
        };
        let refused = (self.refused.iter())
            .filter(|r| new_index[r.event as usize] != u32::MAX)
            .map(|r| {
                let mut refusal = r.clone();
                refusal.event = new_index[r.event as usize];
                // An event keeps all its rows, so its texts move with its first one.
                let old = self.rows_of(r.event as usize).start as u32;
                let new = rows_event.partition_point(|&event| event < refusal.event) as u32;
                for (row, ..) in &mut refusal.texts {
                    *row = *row - old + new;
                }
                refusal
            })
            .collect();
        Ok(Self {
            table: self.table.clone(),
            rows: Rows { data, event: rows_event, image: rows_image, absent },
            events,
            transactions: self.transactions.clone(),
            generation: self.generation,
            module: self.module.clone(),
            refused,
        })
    }

    /// All events from `first` on.
    ///
    /// # Errors
    /// As [`Self::select`].
    pub fn from_event(&self, first: usize) -> Result<Self, ArrowError> {
        let keep: Vec<u32> = (first as u32..self.len() as u32).collect();
        self.select(&keep)
    }
}
