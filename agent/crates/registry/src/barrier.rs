//! The strict barrier around a change of one target, with one writer.
//!
//! ```text
//! PLANNED ──▶ APPLYING ──▶ APPLIED ──▶ DONE
//! intent      the sink      version     new rows
//! durable     is asked      recorded    may go on
//! ```
//!
//! Each state is durable before the next step's effect, so a crash leaves a
//! state that tells what may have happened: under PLANNED the target is as it
//! was, under APPLYING it is as it was or as it will be, and asking the sink
//! again settles it, since the sink compares the target's version and knows the
//! change by its id.

use std::time::{SystemTime, UNIX_EPOCH};

use redb::{ReadableTable, WriteTransaction};
use tidegate_format::record::{self, Record};
use tidegate_format::{SchemaChangeRecord, TargetChangeRecord, TargetVersionRecord, TxPositionRecord};
use tidegate_model::{Error, ErrorKind, Result, SchemaChange, TableName, TargetChange, TargetVersion};

use crate::plan::COLUMNS_MAX;
use crate::protocol::{ChangeRecord, ChangeState, PendingChange, Policy, TargetRecord, VersionRecord};
use crate::registry::Registry;
use crate::storage::{CHANGES, PENDING, TARGETS, VERSIONS, failed, get, key};

impl Registry {
    /// Makes the intent durable, before old rows are sealed. The same change
    /// again answers with its state.
    ///
    /// # Errors
    /// `Refused` when another change stands under the same id or another one is
    /// not done, `Schema` when the target is not at `change.base`, `Storage`.
    pub fn intent(
        &self,
        sink: &str,
        change: &TargetChange,
        source: &SchemaChange,
        policy: Policy,
    ) -> Result<ChangeState> {
        let wire = TargetChangeRecord::from(change);
        if let Some(known) = self.change(&change.change_id)? {
            return match known.change == wire && known.sink == sink {
                true => Ok(known.state),
                false => Err(digest_mismatch(&known.change, &wire)?),
            };
        }
        self.storage.write("ddl-intent", |transaction| {
            let target = key(sink, &change.after.name);
            let mut pending = transaction.open_table(PENDING).map_err(failed)?;
            if let Some(other) = pending.get(target).map_err(failed)? {
                return Err(unfinished(&change.after.name, other.value()));
            }
            let targets = transaction.open_table(TARGETS).map_err(failed)?;
            let current = get::<_, TargetRecord>(&targets, target)?.map(|t| t.current.target_version);
            if current != change.base {
                return Err(other_base(&change.after.name, current, change.base));
            }
            pending.insert(target, change.change_id.as_str()).map_err(failed)?;
            let record = ChangeRecord {
                version: ChangeRecord::VERSION,
                sink: sink.to_owned(),
                state: ChangeState::Planned,
                change: wire,
                source: SchemaChangeRecord::from(source),
                policy,
                attempts: 0,
                planned_us: now_us(),
                applied_us: None,
            };
            put_change(transaction, &record)?;
            Ok(ChangeState::Planned)
        })
    }

    /// Notes that the sink is about to be asked, and returns what to ask for.
    ///
    /// # Errors
    /// `Internal` when there is no such intent or it is applied, `Storage`.
    pub fn applying(&self, change_id: &str) -> Result<TargetChange> {
        self.storage.write("ddl-applying", |transaction| {
            let mut record = stored(transaction, change_id)?;
            if record.state > ChangeState::Applying {
                return Err(wrong_state(&record, "applied"));
            }
            record.state = ChangeState::Applying;
            record.attempts = record.attempts.saturating_add(1);
            put_change(transaction, &record)?;
            TargetChange::try_from(&record.change)
        })
    }

    /// Records that the target has the change: its version, with position, time
    /// and statement. Again it has no effect.
    ///
    /// # Errors
    /// `Internal` when the sink was never asked, `Storage`.
    pub fn applied(&self, change_id: &str) -> Result<TargetVersion> {
        self.storage.write("ddl-record", |transaction| {
            let mut record = stored(transaction, change_id)?;
            match record.state {
                ChangeState::Planned => return Err(wrong_state(&record, "recorded")),
                ChangeState::Applying => record_applied(transaction, &mut record)?,
                ChangeState::Applied | ChangeState::Done => {}
            }
            TargetVersion::try_from(&record.change.after)
        })
    }

    /// Lets rows of the new schema go on. Again it has no effect.
    ///
    /// # Errors
    /// `Internal` when the change is not applied, `Storage`.
    pub fn grant(&self, change_id: &str) -> Result<()> {
        self.storage.write("ddl-grant", |transaction| {
            let mut record = stored(transaction, change_id)?;
            match record.state {
                ChangeState::Done => return Ok(()),
                ChangeState::Applied => {}
                ChangeState::Planned | ChangeState::Applying => return Err(wrong_state(&record, "granted")),
            }
            record.state = ChangeState::Done;
            put_change(transaction, &record)?;
            let name = TableName::from(&record.change.after.name);
            transaction
                .open_table(PENDING)
                .map_err(failed)?
                .remove(key(&record.sink, &name))
                .map_err(failed)?;
            Ok(())
        })
    }

    /// How far a change is; `None` when there is no such intent.
    ///
    /// # Errors
    /// `Storage`, `Corrupt`.
    pub fn state(&self, change_id: &str) -> Result<Option<ChangeState>> {
        Ok(self.change(change_id)?.map(|change| change.state))
    }

    /// The changes that are not done, by sink and target: after a crash those
    /// that are not applied are asked of the sink again when their place in the
    /// log is read.
    ///
    /// # Errors
    /// `Storage`, `Corrupt`.
    pub fn pending(&self) -> Result<Vec<PendingChange>> {
        self.storage.read(|transaction| {
            let changes = transaction.open_table(CHANGES).map_err(failed)?;
            let mut pending = Vec::new();
            for entry in transaction.open_table(PENDING).map_err(failed)?.iter().map_err(failed)? {
                let (_, id) = entry.map_err(failed)?;
                let record: ChangeRecord = get(&changes, id.value())?.ok_or_else(|| no_intent(id.value()))?;
                pending.push(PendingChange {
                    change: TargetChange::try_from(&record.change)?,
                    sink: record.sink,
                    state: record.state,
                    attempts: record.attempts,
                });
            }
            Ok(pending)
        })
    }

    /// Takes over what a recovered sink says of a target. The sink is right: a
    /// registry that was lost, or that missed the answer, learns from it.
    ///
    /// # Errors
    /// `Refused` when the sink is at a lower version than it was, or has another
    /// one under the same number; both are named.
    pub fn adopt(&self, sink: &str, version: &TargetVersion) -> Result<()> {
        let wire = TargetVersionRecord::from(version);
        self.storage.write("ddl-record", |transaction| {
            let name = key(sink, &version.name);
            let pending = transaction.open_table(PENDING).map_err(failed)?;
            if let Some(id) = pending.get(name).map_err(failed)?.map(|id| id.value().to_owned()) {
                let mut record = stored(transaction, &id)?;
                if record.change.after == wire && record.state < ChangeState::Applied {
                    return record_applied(transaction, &mut record);
                }
            }
            drop(pending);
            let targets = transaction.open_table(TARGETS).map_err(failed)?;
            let known: Option<TargetRecord> = get(&targets, name)?;
            drop(targets);
            match &known {
                Some(known) if known.current == wire => return Ok(()),
                Some(known) if known.current.target_version >= version.version => {
                    return Err(drift(sink, &known.current, version));
                }
                _ => {}
            }
            // Ids of columns that were dropped before are unknown now.
            let next_id =
                version.version.checked_mul(COLUMNS_MAX.into()).and_then(|n| u32::try_from(n + 1).ok());
            let next_id = next_id.ok_or_else(|| {
                Error::new(ErrorKind::Unsupported, format!("target {} used up its column ids", version.name))
            })?;
            put_version(transaction, sink, version, None, next_id, None)
        })
    }

    fn change(&self, change_id: &str) -> Result<Option<ChangeRecord>> {
        self.storage.read(|transaction| get(&transaction.open_table(CHANGES).map_err(failed)?, change_id))
    }
}

fn record_applied(transaction: &WriteTransaction, record: &mut ChangeRecord) -> Result<()> {
    record.state = ChangeState::Applied;
    record.applied_us = Some(now_us());
    put_change(transaction, record)?;
    let version = TargetVersion::try_from(&record.change.after)?;
    let newest_id = version.columns.iter().map(|column| column.id).max().unwrap_or(0);
    let targets = transaction.open_table(TARGETS).map_err(failed)?;
    let known: Option<TargetRecord> = get(&targets, key(&record.sink, &version.name))?;
    drop(targets);
    let next_id = known.map_or(1, |known| known.next_id).max(newest_id.saturating_add(1));
    let change = &record.change;
    put_version(transaction, &record.sink, &version, Some(&change.change_id), next_id, Some(change.position))
}

/// Makes this the target's current version, and one of its history.
fn put_version(
    transaction: &WriteTransaction,
    sink: &str,
    version: &TargetVersion,
    change_id: Option<&str>,
    next_id: u32,
    position: Option<TxPositionRecord>,
) -> Result<()> {
    let target = TargetRecord { version: TargetRecord::VERSION, current: version.into(), next_id, position };
    let history = VersionRecord {
        version: VersionRecord::VERSION,
        change_id: change_id.map(str::to_owned),
        target: version.into(),
        time_us: now_us(),
    };
    let (sink, schema, table) = key(sink, &version.name);
    let mut targets = transaction.open_table(TARGETS).map_err(failed)?;
    targets.insert((sink, schema, table), &record::encode(&target)?[..]).map_err(failed)?;
    let mut versions = transaction.open_table(VERSIONS).map_err(failed)?;
    let number = (sink, schema, table, version.version);
    versions.insert(number, &record::encode(&history)?[..]).map_err(failed)?;
    Ok(())
}

fn put_change(transaction: &WriteTransaction, record: &ChangeRecord) -> Result<()> {
    let mut changes = transaction.open_table(CHANGES).map_err(failed)?;
    changes.insert(record.change.change_id.as_str(), &record::encode(record)?[..]).map_err(failed)?;
    Ok(())
}

fn stored(transaction: &WriteTransaction, change_id: &str) -> Result<ChangeRecord> {
    let changes = transaction.open_table(CHANGES).map_err(failed)?;
    get(&changes, change_id)?.ok_or_else(|| no_intent(change_id))
}

fn now_us() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |age| age.as_micros() as u64)
}

fn short(change_id: &str) -> &str {
    change_id.get(..12).unwrap_or(change_id)
}

fn no_intent(change_id: &str) -> Error {
    Error::new(ErrorKind::Internal, format!("there is no intent {}", short(change_id)))
}

fn wrong_state(record: &ChangeRecord, what: &str) -> Error {
    let id = short(&record.change.change_id);
    Error::new(ErrorKind::Internal, format!("change {id} would be {what} while it is {:?}", record.state))
}

fn unfinished(target: &TableName, other: &str) -> Error {
    Error::new(ErrorKind::Refused, format!("target {target} has an unfinished change {}", short(other)))
        .hint("restart the agent: it finishes the change when it reads its place in the log again")
}

fn other_base(target: &TableName, current: Option<u64>, base: Option<u64>) -> Error {
    let shown =
        |version: Option<u64>| version.map_or("absent".to_owned(), |version| format!("at v{version}"));
    Error::new(
        ErrorKind::Schema,
        format!("target {target} is {}, the change starts from a target {}", shown(current), shown(base)),
    )
}

fn digest_mismatch(known: &TargetChangeRecord, change: &TargetChangeRecord) -> Result<Error> {
    let digest = |change: &TargetChangeRecord| -> Result<String> {
        Ok(short(&blake3::hash(&record::encode(change)?).to_hex()).to_owned())
    };
    Ok(Error::new(
        ErrorKind::Refused,
        format!(
            "change {} of target {} is known with digest {}, now it has digest {}",
            short(&known.change_id),
            TableName::from(&known.after.name),
            digest(known)?,
            digest(change)?
        ),
    )
    .hint("the state folder or the server was restored from a backup; snapshot the table with `tidegate snapshot`"))
}

fn drift(sink: &str, known: &TargetVersionRecord, found: &TargetVersion) -> Error {
    Error::new(
        ErrorKind::Refused,
        format!(
            "sink '{sink}' has target {} at v{} (source version {}), the registry knows v{} (source version {})",
            found.name, found.version, found.source_version, known.target_version, known.source_version
        ),
    )
    .hint("the target was restored from a backup or changed by someone else; restore its newest state")
}
