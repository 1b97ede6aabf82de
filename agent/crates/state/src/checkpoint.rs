//! The checkpoint: where everything stood at one moment, in one commit.
//!
//! It is a copy. Each sink's own record, written with its rows, is the truth;
//! the copy tells a sink that lost its record from one that never had any, and
//! lets the next start see commits that have vanished.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use redb::ReadableTable;
use serde::{Deserialize, Serialize};
use tidegate_format::OffsetRecord;
use tidegate_format::record::{self, Record};
use tidegate_model::{Error, ErrorKind, Offset, Result};

use crate::snapshot_progress;
use crate::state::State;
use crate::store::failed;
use crate::tables::{CHECKPOINT, LAST};

/// Where a pipeline stood.
#[derive(Debug, Clone, PartialEq)]
pub struct Checkpoint {
    /// S: keyed state stands exactly here, and every sink here or behind it in
    /// the log. Reading restarts here.
    pub state_offset: Offset,
    /// What each sink had committed, by name. Empty: a first start, of which no
    /// sink has said anything yet.
    pub sinks: BTreeMap<String, Offset>,
    /// Dead letters over the pipeline's life.
    pub dead_letters: u64,
    /// Counters that outlive a run, by metric name.
    pub counters: BTreeMap<String, u64>,
}

/// Twin of [`Checkpoint`]: `docs/specs/state-file.md`.
#[derive(Debug, Serialize, Deserialize)]
struct CheckpointRecord {
    version: u32,
    state_offset: OffsetRecord,
    sinks: BTreeMap<String, OffsetRecord>,
    dead_letters: u64,
    #[serde(default)]
    counters: BTreeMap<String, u64>,
    /// When it was written, µs since the epoch; for people.
    time_us: u64,
}

impl Record for CheckpointRecord {
    const NAME: &'static str = "checkpoint";
    const VERSION: u32 = 1;
}

impl State {
    /// Makes a checkpoint durable and forgets the chunk bounds that it makes
    /// needless. Returns the bytes written.
    ///
    /// # Errors
    /// `Internal` when it would move the state offset backwards within its epoch
    /// and log, `Storage`.
    pub fn checkpoint(&self, checkpoint: &Checkpoint) -> Result<u64> {
        let bytes = record::encode(&CheckpointRecord {
            version: CheckpointRecord::VERSION,
            state_offset: (&checkpoint.state_offset).into(),
            sinks: checkpoint.sinks.iter().map(|(name, offset)| (name.clone(), offset.into())).collect(),
            dead_letters: checkpoint.dead_letters,
            counters: checkpoint.counters.clone(),
            time_us: now_us(),
        })?;
        self.store.write("redb-commit", |transaction| {
            let mut table = transaction.open_table(CHECKPOINT).map_err(failed)?;
            if let Some(last) = read(&table)? {
                check_forward(&last.state_offset, &checkpoint.state_offset)?;
            }
            table.insert(LAST, &bytes[..]).map_err(failed)?;
            snapshot_progress::forget_finished(transaction, &checkpoint.state_offset)
        })?;
        Ok(bytes.len() as u64)
    }

    /// The last checkpoint; `None` before the first.
    ///
    /// # Errors
    /// `Storage`, `Corrupt`, `Refused` when a newer version wrote it.
    pub fn last_checkpoint(&self) -> Result<Option<Checkpoint>> {
        self.store.read(|transaction| read(&transaction.open_table(CHECKPOINT).map_err(failed)?))
    }

    /// The start of a first run, before any sink has it: durable before the
    /// first event is read.
    ///
    /// # Errors
    /// As [`Self::checkpoint`].
    pub fn start_at(&self, offset: &Offset) -> Result<()> {
        let start = Checkpoint {
            state_offset: offset.clone(),
            sinks: BTreeMap::new(),
            dead_letters: 0,
            counters: BTreeMap::new(),
        };
        self.checkpoint(&start).map(drop)
    }
}

/// The stored checkpoint.
pub(crate) fn read(table: &impl ReadableTable<&'static str, &'static [u8]>) -> Result<Option<Checkpoint>> {
    let Some(bytes) = table.get(LAST).map_err(failed)? else { return Ok(None) };
    let record: CheckpointRecord = record::decode(bytes.value())?;
    Ok(Some(Checkpoint {
        state_offset: (&record.state_offset).try_into()?,
        sinks: (record.sinks.iter())
            .map(|(name, offset)| Ok((name.clone(), offset.try_into()?)))
            .collect::<Result<_>>()?,
        dead_letters: record.dead_letters,
        counters: record.counters,
    }))
}

/// Offsets move forwards within one epoch and one log.
fn check_forward(last: &Offset, next: &Offset) -> Result<()> {
    let same_log = last.epoch == next.epoch && last.lineage.same_log(&next.lineage);
    if next.epoch < last.epoch || same_log && next.scanned.log < last.scanned.log {
        return Err(Error::new(
            ErrorKind::Internal,
            format!(
                "a checkpoint would go back from epoch {} at {} to epoch {} at {}",
                last.epoch, last.scanned.log, next.epoch, next.scanned.log
            ),
        )
        .during("checkpoint"));
    }
    Ok(())
}

/// Now, in µs since the epoch.
pub(crate) fn now_us() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |age| age.as_micros() as u64)
}
