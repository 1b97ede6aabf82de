//! redb storage of the registry: `registry.redb` beside the state file.
//!
//! Writers make one durable commit a call. After an I/O error the handle stays
//! unusable: open the registry again. Every write is idempotent by the change's
//! id, so a commit whose answer was lost is no harm.

use std::path::Path;

use redb::{Database, ReadTransaction, ReadableDatabase, ReadableTable, TableDefinition, WriteTransaction};
use tidegate_format::record::{self, Record};
use tidegate_model::{Error, ErrorKind, Result, TableName, fail};

/// redb's own default is 1 GiB, more than the whole agent may take.
const CACHE_BYTES: usize = 1 << 20;

/// Format version of the file.
const FORMAT: u32 = 1;

type Json = &'static [u8];

/// (sink, schema, table): one target.
pub(crate) type TargetKey<'a> = (&'a str, &'a str, &'a str);

const META: TableDefinition<'_, &str, u32> = TableDefinition::new("meta");
/// Target → how it stands.
pub(crate) const TARGETS: TableDefinition<'_, TargetKey<'static>, Json> = TableDefinition::new("targets");
/// Change id → change.
pub(crate) const CHANGES: TableDefinition<'_, &str, Json> = TableDefinition::new("changes");
/// Target → id of the change that is not done.
pub(crate) const PENDING: TableDefinition<'_, TargetKey<'static>, &str> = TableDefinition::new("pending");
/// (sink, schema, table, target version) → version.
pub(crate) const VERSIONS: TableDefinition<'_, (&str, &str, &str, u64), Json> =
    TableDefinition::new("versions");

/// An open registry file.
pub(crate) struct Storage(Database);

impl Storage {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let mut builder = Database::builder();
        // Without the check a file that was damaged outside of redb can panic.
        builder.set_cache_size(CACHE_BYTES).set_check_integrity_on_open(true);
        let database = builder.create(path).map_err(|error| failed(error).with("path", path.display()))?;
        let storage = Self(database);
        storage.write("registry-open", make)?;
        Ok(storage)
    }

    /// Reads on one snapshot of the file.
    pub(crate) fn read<T>(&self, read: impl FnOnce(&ReadTransaction) -> Result<T>) -> Result<T> {
        read(&self.0.begin_read().map_err(failed)?)
    }

    /// Writes in one durable commit with this fail point around it.
    pub(crate) fn write<T>(
        &self,
        point: &'static str,
        write: impl FnOnce(&WriteTransaction) -> Result<T>,
    ) -> Result<T> {
        let transaction = self.0.begin_write().map_err(failed)?;
        let written = write(&transaction)?;
        fail::before(point).map_err(redb::StorageError::Io).map_err(failed)?;
        transaction.commit().map_err(failed)?;
        fail::after(point);
        Ok(written)
    }
}

/// Makes the tables, so that readers find them; refuses a newer file.
fn make(transaction: &WriteTransaction) -> Result<()> {
    let mut meta = transaction.open_table(META).map_err(failed)?;
    let found = meta.insert("format", FORMAT).map_err(failed)?.map_or(FORMAT, |found| found.value());
    if found > FORMAT {
        return Err(Error::new(
            ErrorKind::Refused,
            format!("registry file has format version {found}, this build reads 1 to {FORMAT}"),
        )
        .hint("run the newer tidegate that wrote it"));
    }
    transaction.open_table(TARGETS).map_err(failed)?;
    transaction.open_table(CHANGES).map_err(failed)?;
    transaction.open_table(PENDING).map_err(failed)?;
    transaction.open_table(VERSIONS).map_err(failed)?;
    Ok(())
}

/// The record under a key.
pub(crate) fn get<K: redb::Key + 'static, T: Record>(
    table: &impl ReadableTable<K, Json>,
    key: K::SelfType<'_>,
) -> Result<Option<T>> {
    match table.get(key).map_err(failed)? {
        Some(bytes) => record::decode(bytes.value()).map(Some),
        None => Ok(None),
    }
}

pub(crate) fn key<'a>(sink: &'a str, target: &'a TableName) -> TargetKey<'a> {
    (sink, &target.schema, &target.table)
}

/// Our error for one of redb's.
pub(crate) fn failed(error: impl Into<redb::Error>) -> Error {
    let error = match error.into() {
        redb::Error::DatabaseAlreadyOpen => {
            Error::new(ErrorKind::Refused, "the file is open in another process")
                .hint("stop the agent that runs on it, or ask that agent with `--url`")
        }
        error @ (redb::Error::Corrupted(_) | redb::Error::UpgradeRequired(_)) => {
            Error::new(ErrorKind::Corrupt, "the file is damaged")
                .hint("remove registry.redb: it is rebuilt from the sinks, without the history's statements")
                .because(error)
        }
        error @ (redb::Error::Io(_) | redb::Error::PreviousIo) => {
            Error::transient(ErrorKind::Storage, "the disk failed")
                .hint("check free space and permissions")
                .because(error)
        }
        error => Error::new(ErrorKind::Internal, "the file does not hold what it should").because(error),
    };
    error.during("registry file")
}
