//! Table identities and the versions of their schemas.
//!
//! A row can only be decoded with the schema of its position, so every change is
//! durable before its item is handed out, and after a restart it is replayed,
//! never derived again. The chain of a table is dense: version n+1 follows n.
//!
//! **The digest** tells a change that is the same from one that is not. It covers
//! what the log itself says (names, types, nullability, key, position), never
//! what a parser made of the statement (column ids, operations, defaults), so
//! that an agent with a better parser replays the recorded change alike.

use std::sync::Arc;

use redb::{ReadableTable, ReadableTableMetadata, WriteTransaction};
use tidegate_format::SchemaChangeRecord;
use tidegate_format::record;
use tidegate_model::source::{ChunkPlan, DdlNote, Journal};
use tidegate_model::{Error, ErrorKind, Result, SchemaChange, TableName, TableUid, TableVersion};

use crate::ddl_notes;
use crate::modules::Digest;
use crate::state::State;
use crate::store::failed;
use crate::tables::{KNOWN_VERSIONS, META, NEXT_UID, SCHEMA_CHANGES, TABLE_UIDS};

impl State {
    /// Gives a table the uid that a sink's record knows it by, after the state
    /// folder was lost: before the source opens.
    ///
    /// # Errors
    /// `Refused` when two records disagree, `Storage`.
    pub fn seed_uid(&self, name: &TableName, uid: TableUid) -> Result<()> {
        self.store.write("table-uid", |transaction| {
            let mut uids = transaction.open_table(TABLE_UIDS).map_err(failed)?;
            let key = (name.schema.as_str(), name.table.as_str());
            let known = uids.get(key).map_err(failed)?.map(|uid| uid.value());
            if let Some(known) = known.filter(|known| *known != uid.0) {
                return Err(Error::new(
                    ErrorKind::Refused,
                    format!("table {name} is uid {known} in one record and uid {uid} in another"),
                )
                .hint("check that all sinks belong to this pipeline"));
            }
            uids.insert(key, uid.0).map_err(failed)?;
            let next = next_uid(transaction)?.max(uid.0 + 1);
            set_next_uid(transaction, next)
        })
    }

    /// Notes the newest source version that a sink's record names for a table,
    /// after the state folder was lost: the chain goes on behind the highest.
    ///
    /// # Errors
    /// `Storage`.
    pub fn seed_version(&self, table: TableUid, version: u64) -> Result<()> {
        self.store.write("table-uid", |transaction| {
            let mut known = transaction.open_table(KNOWN_VERSIONS).map_err(failed)?;
            let highest = known.get(table.0).map_err(failed)?.map_or(version, |v| v.value().max(version));
            known.insert(table.0, highest).map_err(failed)?;
            Ok(())
        })
    }
}

impl Journal for State {
    fn plan_chunk(&self, plan: &ChunkPlan) -> Result<()> {
        self.write_chunk(plan)
    }

    fn planned_chunk(&self, table: TableUid, generation: u64, chunk: u64) -> Result<Option<ChunkPlan>> {
        self.read_chunk(table, generation, chunk)
    }

    fn record_change(&self, change: &Arc<SchemaChange>) -> Result<()> {
        self.store.write("schema-record", |transaction| {
            let mut changes = transaction.open_table(SCHEMA_CHANGES).map_err(failed)?;
            let key = (change.after.uid.0, change.after.version);
            if let Some(stored) = changes.get(key).map_err(failed)? {
                return check_same(&decode(stored.value())?, change);
            }
            check_dense(&changes, transaction, change)?;
            changes
                .insert(key, &record::encode(&SchemaChangeRecord::from(&**change))?[..])
                .map_err(failed)?;
            ddl_notes::forget_used(transaction, change)
        })
    }

    fn note_ddl(&self, note: &DdlNote) -> Result<()> {
        self.write_ddl_note(note)
    }

    fn ddl_notes(&self, table: TableUid) -> Result<Vec<DdlNote>> {
        self.read_ddl_notes(table)
    }

    fn schema_history(&self) -> Result<Vec<Arc<SchemaChange>>> {
        self.store.read(|transaction| {
            let changes = transaction.open_table(SCHEMA_CHANGES).map_err(failed)?;
            let mut history = Vec::with_capacity(changes.len().map_err(failed)? as usize);
            for entry in changes.iter().map_err(failed)? {
                let (_, bytes) = entry.map_err(failed)?;
                history.push(Arc::new(decode(bytes.value())?));
            }
            Ok(history)
        })
    }

    fn table_uid(&self, name: &TableName) -> Result<TableUid> {
        let key = (name.schema.as_str(), name.table.as_str());
        let known = self.store.read(|transaction| {
            let uids = transaction.open_table(TABLE_UIDS).map_err(failed)?;
            Ok(uids.get(key).map_err(failed)?.map(|uid| uid.value()))
        })?;
        if let Some(uid) = known {
            return Ok(TableUid(uid));
        }
        self.store.write("table-uid", |transaction| {
            let mut uids = transaction.open_table(TABLE_UIDS).map_err(failed)?;
            if let Some(uid) = uids.get(key).map_err(failed)? {
                return Ok(TableUid(uid.value()));
            }
            let uid = next_uid(transaction)?;
            uids.insert(key, uid).map_err(failed)?;
            set_next_uid(transaction, uid + 1)?;
            Ok(TableUid(uid))
        })
    }

    fn known_version(&self, table: TableUid) -> u64 {
        let known = self.store.read(|transaction| {
            let known = transaction.open_table(KNOWN_VERSIONS).map_err(failed)?;
            Ok(known.get(table.0).map_err(failed)?.map(|version| version.value()))
        });
        match known {
            Ok(known) => known.unwrap_or(0),
            // The contract has no error here. A version that is too low is found
            // by the sink, whose target is at a higher one; it is never applied.
            Err(error) => {
                tracing::error!(table = table.0, error = %error, "known version cannot be read");
                0
            }
        }
    }
}

/// What the log says of a change.
pub(crate) fn digest(change: &SchemaChange) -> Digest {
    let mut hasher = blake3::Hasher::new();
    let mut part = |bytes: &[u8]| {
        hasher.update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
    };
    let mut table = |version: &TableVersion| {
        part(version.name.schema.as_bytes());
        part(version.name.table.as_bytes());
        for column in &version.columns {
            part(column.name.as_bytes());
            // The form of the type on disk is fixed by its golden file; Debug is not.
            let data_type = tidegate_format::DataTypeRecord::from(&column.data_type);
            part(&serde_json::to_vec(&data_type).unwrap_or_default());
            part(&[u8::from(column.nullable)]);
        }
        for index in &version.key {
            part(&(*index as u64).to_le_bytes());
        }
    };
    if let Some(before) = &change.before {
        table(before);
    }
    table(&change.after);
    part(change.position.to_string().as_bytes());
    Digest::from(hasher.finalize())
}

fn check_same(stored: &SchemaChange, change: &SchemaChange) -> Result<()> {
    let (old, new) = (digest(stored), digest(change));
    if old == new {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Refused,
        format!(
            "version {} of table {} is recorded with digest {} at {}, now it has digest {} at {}",
            change.after.version,
            change.after.name,
            old.short(),
            stored.position,
            new.short(),
            change.position
        ),
    )
    .hint("the state folder or the server was restored from a backup; snapshot the table with `tidegate snapshot`"))
}

/// The version must follow the newest known one, here or in a sink's record.
fn check_dense(
    changes: &impl ReadableTable<(u64, u64), &'static [u8]>,
    transaction: &WriteTransaction,
    change: &SchemaChange,
) -> Result<()> {
    let uid = change.after.uid.0;
    let newest = match changes.range((uid, 0)..=(uid, u64::MAX)).map_err(failed)?.next_back() {
        Some(entry) => entry.map_err(failed)?.0.value().1,
        None => {
            let known = transaction.open_table(KNOWN_VERSIONS).map_err(failed)?;
            known.get(uid).map_err(failed)?.map_or(0, |version| version.value())
        }
    };
    if change.after.version == newest + 1 {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Internal,
        format!("version {} of table {} does not follow {newest}", change.after.version, change.after.name),
    )
    .during("record schema change"))
}

fn decode(bytes: &[u8]) -> Result<SchemaChange> {
    SchemaChange::try_from(&record::decode::<SchemaChangeRecord>(bytes)?)
}

fn next_uid(transaction: &WriteTransaction) -> Result<u64> {
    let meta = transaction.open_table(META).map_err(failed)?;
    let next = meta.get(NEXT_UID).map_err(failed)?;
    Ok(next.and_then(|bytes| <[u8; 8]>::try_from(bytes.value()).ok()).map_or(1, u64::from_le_bytes))
}

fn set_next_uid(transaction: &WriteTransaction, next: u64) -> Result<()> {
    let mut meta = transaction.open_table(META).map_err(failed)?;
    meta.insert(NEXT_UID, &next.to_le_bytes()[..]).map_err(failed)?;
    Ok(())
}
