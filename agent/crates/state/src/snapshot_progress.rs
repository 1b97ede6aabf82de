//! Bounds of snapshot chunks, fixed before the chunk is handed out.
//!
//! A chunk that is read again after a crash must hold the rows of the same keys,
//! or a sink that has it and one that has not would disagree about what it was.
//! So its bounds are durable before a sink gets a row of it. Which chunks are finished is not
//! kept here: that is part of each sink's offset.

use redb::{ReadableTable, WriteTransaction};
use serde::{Deserialize, Serialize};
use tidegate_format::record::{self, Record};
use tidegate_model::source::ChunkPlan;
use tidegate_model::{Error, ErrorKind, Offset, Result, TableUid};

use crate::state::State;
use crate::store::failed;
use crate::tables::CHUNKS;

/// Twin of [`ChunkPlan`]: `docs/specs/state-file.md`. The bounds are row values:
/// never printed.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct ChunkRecord {
    version: u32,
    lower: Vec<String>,
    upper: Vec<String>,
}

impl Record for ChunkRecord {
    const NAME: &'static str = "chunk bounds";
    const VERSION: u32 = 1;
}

impl State {
    pub(crate) fn write_chunk(&self, plan: &ChunkPlan) -> Result<()> {
        let record = ChunkRecord {
            version: ChunkRecord::VERSION,
            lower: plan.lower.clone(),
            upper: plan.upper.clone(),
        };
        self.store.write("chunk", |transaction| {
            let mut chunks = transaction.open_table(CHUNKS).map_err(failed)?;
            let key = (plan.table.0, plan.generation, plan.chunk);
            if let Some(stored) = chunks.get(key).map_err(failed)? {
                return match record::decode::<ChunkRecord>(stored.value())? == record {
                    true => Ok(()),
                    false => Err(Error::new(
                        ErrorKind::Internal,
                        "a snapshot chunk would be read under other bounds than before",
                    )
                    .with("table uid", plan.table)
                    .with("generation", plan.generation)
                    .with("chunk", plan.chunk)
                    .during("plan chunk")),
                };
            }
            chunks.insert(key, &record::encode(&record)?[..]).map_err(failed)?;
            Ok(())
        })
    }

    pub(crate) fn read_chunk(
        &self,
        table: TableUid,
        generation: u64,
        chunk: u64,
    ) -> Result<Option<ChunkPlan>> {
        self.store.read(|transaction| {
            let chunks = transaction.open_table(CHUNKS).map_err(failed)?;
            let Some(bytes) = chunks.get((table.0, generation, chunk)).map_err(failed)? else {
                return Ok(None);
            };
            let ChunkRecord { lower, upper, .. } = record::decode(bytes.value())?;
            Ok(Some(ChunkPlan { table, generation, chunk, lower, upper }))
        })
    }
}

/// Forgets the bounds of chunks that every sink has: those up to the count in
/// `state`, which is the lowest of the sinks, and all of older generations. So
/// the table holds what lies between the slowest sink and the reader.
pub(crate) fn forget_finished(transaction: &WriteTransaction, state: &Offset) -> Result<()> {
    let mut chunks = transaction.open_table(CHUNKS).map_err(failed)?;
    for (table, progress) in &state.snapshot {
        let below = (table.0, progress.generation, progress.chunks + 1);
        chunks.retain_in((table.0, 0, 0)..below, |_, _| false).map_err(failed)?;
    }
    Ok(())
}
