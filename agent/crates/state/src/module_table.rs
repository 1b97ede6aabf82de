//! Which transform chain runs from which position.
//!
//! After a crash the same log must give the same output, so the chain of an
//! event is looked up by its position and never taken from the pipeline file. An
//! entry names the whole chain, since adding, removing or reordering a transform
//! changes the output as a new module does. It is durable before the first event
//! at or beyond its position enters the chain.
//!
//! A digest in the pipeline file that the table does not know is a swap. One that
//! it knows from before is not: after a swap while the agent ran, the file still
//! names the old module, and taking it for a wish to go back would undo the swap
//! at the next restart. Such a file is refused with both named.

use std::sync::Arc;

use redb::ReadableTable;
use serde::{Deserialize, Serialize};
use tidegate_format::TxPositionRecord;
use tidegate_format::record::{self, Record};
use tidegate_model::{Error, ErrorKind, Result, TxPosition};

use crate::checkpoint::now_us;
use crate::modules::Digest;
use crate::state::State;
use crate::store::failed;
use crate::tables::MODULE_TABLE;

/// One transform of a chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleUse {
    /// The transform's name in the pipeline file.
    pub transform: String,
    /// The component's bytes.
    pub module: Digest,
    /// Everything else that decides its output: configuration with resolved
    /// secrets, tables, error policy.
    pub config: Digest,
}

/// A chain and the position from which it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainEntry {
    /// The first transaction that it transforms starts here or later.
    pub from: TxPosition,
    /// In order; empty: events pass unchanged.
    pub chain: Vec<ModuleUse>,
    /// When it was added, µs since the epoch.
    pub time_us: u64,
}

/// The chain of a position.
pub type Chain = Arc<ChainEntry>;

/// What the pipeline file's chain is to the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChainChange {
    /// The table is empty: it is the first chain.
    First,
    /// It runs already.
    Same,
    /// It is new: a swap at start.
    Swap,
}

/// Twin of [`ChainEntry`]: `docs/specs/state-file.md`.
#[derive(Debug, Serialize, Deserialize)]
struct ChainRecord {
    version: u32,
    from: TxPositionRecord,
    chain: Vec<ModuleUseRecord>,
    time_us: u64,
}

/// Twin of [`ModuleUse`].
#[derive(Debug, Serialize, Deserialize)]
struct ModuleUseRecord {
    transform: String,
    module: String,
    config: String,
}

impl Record for ChainRecord {
    const NAME: &'static str = "module table entry";
    const VERSION: u32 = 1;
}

impl State {
    /// All entries, oldest first.
    ///
    /// # Errors
    /// `Storage`, `Corrupt`.
    pub fn module_table(&self) -> Result<Vec<Chain>> {
        self.store.read(|transaction| entries(&transaction.open_table(MODULE_TABLE).map_err(failed)?))
    }

    /// The chain of a transaction at this position: the newest entry that begins
    /// at or before it. `None` when the table is empty or begins later.
    ///
    /// # Errors
    /// As [`Self::module_table`].
    pub fn chain_at(&self, position: TxPosition) -> Result<Option<Chain>> {
        Ok(chain_at(&self.module_table()?, position).cloned())
    }

    /// Adds a chain; durable on return. The chain that runs last already is not
    /// added again.
    ///
    /// # Errors
    /// `Internal` when an entry begins later than this one, `Storage`.
    pub fn append_chain(&self, from: TxPosition, chain: &[ModuleUse]) -> Result<()> {
        self.store.write("module-table", |transaction| {
            let mut table = transaction.open_table(MODULE_TABLE).map_err(failed)?;
            let all = entries(&table)?;
            if let Some(last) = all.last() {
                if last.chain == chain {
                    return Ok(());
                }
                if from < last.from {
                    return Err(Error::new(
                        ErrorKind::Internal,
                        format!("a chain from {from} would stand behind one from {}", last.from),
                    )
                    .during("module table"));
                }
            }
            let record = ChainRecord {
                version: ChainRecord::VERSION,
                from: from.into(),
                chain: chain.iter().map(ModuleUseRecord::from).collect(),
                time_us: now_us(),
            };
            table.insert(all.len() as u64 + 1, &record::encode(&record)?[..]).map_err(failed)?;
            Ok(())
        })
    }

    /// What this chain, as the pipeline file names it, is to the table.
    ///
    /// # Errors
    /// `Refused` when a transform runs a newer pair of module and configuration
    /// and the file names an older one; both are named.
    pub fn compare_chain(&self, chain: &[ModuleUse]) -> Result<ChainChange> {
        compare_chain(&self.module_table()?, chain)
    }
}

/// The newest of `entries` (oldest first) that begins at or before `position`.
/// Of two that begin at one position the later one counts: no event ran under
/// the earlier.
pub(crate) fn chain_at(entries: &[Chain], position: TxPosition) -> Option<&Chain> {
    entries.iter().rev().find(|entry| entry.from <= position)
}

fn compare_chain(entries: &[Chain], chain: &[ModuleUse]) -> Result<ChainChange> {
    let Some((current, older)) = entries.split_last() else { return Ok(ChainChange::First) };
    if current.chain == chain {
        return Ok(ChainChange::Same);
    }
    for named in chain {
        let Some(running) = current.chain.iter().find(|used| used.transform == named.transform) else {
            continue;
        };
        if running != named && older.iter().any(|entry| entry.chain.contains(named)) {
            return Err(older_chain(running, named));
        }
    }
    Ok(ChainChange::Swap)
}

fn older_chain(running: &ModuleUse, named: &ModuleUse) -> Error {
    let shown =
        |used: &ModuleUse| format!("{} with configuration {}", used.module.short(), used.config.short());
    Error::new(
        ErrorKind::Refused,
        format!(
            "transform '{}' runs module {}, the pipeline file names the older {}",
            named.transform,
            shown(running),
            shown(named)
        ),
    )
    .hint("name what runs now; to go back on purpose, change module or configuration so that it has a digest of its own")
}

fn entries(table: &impl ReadableTable<u64, &'static [u8]>) -> Result<Vec<Chain>> {
    let mut entries = Vec::new();
    for entry in table.iter().map_err(failed)? {
        let (_, bytes) = entry.map_err(failed)?;
        let record: ChainRecord = record::decode(bytes.value())?;
        let chain = record.chain.iter().map(ModuleUse::try_from).collect::<Result<_>>()?;
        entries.push(Arc::new(ChainEntry { from: record.from.into(), chain, time_us: record.time_us }));
    }
    Ok(entries)
}

impl From<&ModuleUse> for ModuleUseRecord {
    fn from(used: &ModuleUse) -> Self {
        Self {
            transform: used.transform.clone(),
            module: used.module.to_string(),
            config: used.config.to_string(),
        }
    }
}

impl TryFrom<&ModuleUseRecord> for ModuleUse {
    type Error = Error;

    fn try_from(record: &ModuleUseRecord) -> Result<Self> {
        Ok(Self {
            transform: record.transform.clone(),
            module: Digest::parse(&record.module)?,
            config: Digest::parse(&record.config)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use tidegate_model::LogPosition;

    use super::*;

    fn at(offset: u64) -> TxPosition {
        TxPosition { epoch: 1, log: LogPosition { file_no: 1, offset } }
    }

    fn uses(transform: &str, module: &str, config: &str) -> ModuleUse {
        let digest = |text: &str| Digest::of(text.as_bytes());
        ModuleUse { transform: transform.into(), module: digest(module), config: digest(config) }
    }

    #[test]
    fn an_event_finds_the_chain_of_its_position() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::open(folder.path(), "shop").unwrap();
        assert_eq!(state.chain_at(at(9)).unwrap(), None);
        let (one, two) = (vec![uses("clean", "1", "")], vec![uses("clean", "2", "")]);
        state.append_chain(at(4), &one).unwrap();
        state.append_chain(at(50), &two).unwrap();
        state.append_chain(at(60), &two).unwrap();
        assert_eq!(state.module_table().unwrap().len(), 2, "the running chain is not added again");
        assert_eq!(state.chain_at(at(3)).unwrap(), None);
        assert_eq!(state.chain_at(at(49)).unwrap().unwrap().chain, one);
        assert_eq!(state.chain_at(at(50)).unwrap().unwrap().chain, two);
        let backwards = state.append_chain(at(49), &one).unwrap_err();
        assert_eq!(backwards.kind(), ErrorKind::Internal);

        // A boundary that no event had reached may be taken again.
        state.append_chain(at(50), &[]).unwrap();
        assert!(state.chain_at(at(50)).unwrap().unwrap().chain.is_empty());
    }

    #[test]
    fn unknown_digests_swap_and_older_ones_are_refused() {
        let entry = |from, chain| Arc::new(ChainEntry { from: at(from), chain, time_us: 0 });
        let table = [
            entry(1, vec![uses("clean", "1", "")]),
            entry(5, vec![uses("clean", "1", "b")]),
            entry(9, vec![uses("clean", "2", "b"), uses("route", "r", "")]),
        ];
        let compare = |chain: &[ModuleUse]| compare_chain(&table, chain);
        assert_eq!(compare_chain(&[], &[]).unwrap(), ChainChange::First);
        assert_eq!(compare(&[uses("clean", "2", "b"), uses("route", "r", "")]).unwrap(), ChainChange::Same);
        assert_eq!(compare(&[uses("route", "r", ""), uses("clean", "2", "b")]).unwrap(), ChainChange::Swap);
        assert_eq!(compare(&[uses("clean", "3", "b")]).unwrap(), ChainChange::Swap);
        assert_eq!(compare(&[uses("clean", "1", "c")]).unwrap(), ChainChange::Swap);
        assert_eq!(compare(&[]).unwrap(), ChainChange::Swap);
        let older = compare(&[uses("clean", "1", "b"), uses("route", "r", "")]).unwrap_err();
        assert_eq!(older.exit_code(), 3);
        for digest in ["1", "2"].map(|module| Digest::of(module.as_bytes()).short()) {
            assert!(older.to_string().contains(&digest), "{older}");
        }
    }
}
