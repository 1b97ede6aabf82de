//! The registry of one pipeline, in its state folder.

use std::fmt;
use std::path::Path;

use redb::ReadableTable;
use tidegate_format::record;
use tidegate_model::{Result, TableName, TableVersion, TargetChange, TargetVersion};

use crate::plan::{Cause, Previous, change_id, plan_target};
use crate::protocol::{ChangeRecord, ChangeState, TargetRecord};
use crate::storage::{CHANGES, Storage, TARGETS, failed, get, key};

/// Versions of the targets of one pipeline and the barrier around each change.
///
/// For one change of one target, in this order: [`plan`](Self::plan),
/// [`intent`](Self::intent), then the caller writes and commits the old rows,
/// [`applying`](Self::applying), then the caller has the sink alter the target,
/// [`applied`](Self::applied), [`grant`](Self::grant), then the new rows. After a
/// crash the same calls come again and find where they were.
///
/// Calls block, writers for one flush of the disk. Any thread may call, one at a
/// time for one target.
pub struct Registry {
    pub(crate) storage: Storage,
    pipeline: String,
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry").field("pipeline", &self.pipeline).finish_non_exhaustive()
    }
}

impl Registry {
    /// Opens the file, or makes it.
    ///
    /// # Errors
    /// `Refused` when another process has it open or a newer version wrote it;
    /// `Storage`, `Corrupt`.
    pub fn open(path: &Path, pipeline: &str) -> Result<Self> {
        Ok(Self { storage: Storage::open(path)?, pipeline: pipeline.to_owned() })
    }

    /// What must happen to a sink's target before rows of `output` go on.
    /// `None`: nothing, since they fit or since the change lies behind already
    /// (a restart reads it again). A change that is under way comes back as it
    /// was planned, never planned anew.
    ///
    /// # Errors
    /// `Unsupported` when the target would have too many columns, `Storage`.
    pub fn plan(&self, sink: &str, output: &TableVersion, cause: &Cause<'_>) -> Result<Option<TargetChange>> {
        let id = change_id(&self.pipeline, sink, &output.name, cause);
        let (known, target) = self.storage.read(|transaction| {
            let changes = transaction.open_table(CHANGES).map_err(failed)?;
            let targets = transaction.open_table(TARGETS).map_err(failed)?;
            let known: Option<ChangeRecord> = get(&changes, id.as_str())?;
            Ok((known, get::<_, TargetRecord>(&targets, key(sink, &output.name))?))
        })?;
        if let Some(known) = known {
            return match known.state {
                ChangeState::Done => Ok(None),
                _ => TargetChange::try_from(&known.change).map(Some),
            };
        }
        let Some(target) = target else {
            return plan_target(id, None, output, cause);
        };
        let version = TargetVersion::try_from(&target.current)?;
        let position = target.position.map(Into::into);
        if cause.lies_behind(&version, position) {
            return Ok(None);
        }
        plan_target(id, Some(Previous { version: &version, next_id: target.next_id }), output, cause)
    }

    /// A target as it stands; `None` when it does not exist yet.
    ///
    /// # Errors
    /// `Storage`, `Corrupt`.
    pub fn current(&self, sink: &str, target: &TableName) -> Result<Option<TargetVersion>> {
        self.storage.read(|transaction| {
            let targets = transaction.open_table(TARGETS).map_err(failed)?;
            let record: Option<TargetRecord> = get(&targets, key(sink, target))?;
            record.map(|record| TargetVersion::try_from(&record.current)).transpose()
        })
    }

    /// All targets of a sink as they stand: for a sink that keeps no record.
    ///
    /// # Errors
    /// `Storage`, `Corrupt`.
    pub fn targets(&self, sink: &str) -> Result<Vec<TargetVersion>> {
        self.storage.read(|transaction| {
            let mut current = Vec::new();
            for entry in transaction.open_table(TARGETS).map_err(failed)?.iter().map_err(failed)? {
                let (key, bytes) = entry.map_err(failed)?;
                if key.value().0 == sink {
                    let record: TargetRecord = record::decode(bytes.value())?;
                    current.push(TargetVersion::try_from(&record.current)?);
                }
            }
            Ok(current)
        })
    }
}
