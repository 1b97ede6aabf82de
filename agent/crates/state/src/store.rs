//! redb behind two calls, read and write, with our errors.
//!
//! Every write is one `Immediate` commit: durable when the call returns, one
//! flush of the disk (about 4 ms). After an I/O error a redb handle stays
//! unusable until it is opened again, so a full disk would end the pipeline even
//! when somebody frees it; the handle is therefore dropped on such an error and
//! the next call opens the file anew. A commit whose answer was lost may or may
//! not have happened: every write of this crate is idempotent.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use redb::{Database, ReadTransaction, ReadableDatabase, WriteTransaction};
use tidegate_model::{Error, ErrorKind, Result, fail};

/// redb's own default is 1 GiB, more than the whole agent may take.
const CACHE_BYTES: usize = 2 << 20;

/// An open redb file.
pub(crate) struct Store {
    path: PathBuf,
    database: Mutex<Option<Database>>,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Store {
    /// Opens the file, or makes it.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let database = open(path)?;
        Ok(Self { path: path.to_owned(), database: Mutex::new(Some(database)) })
    }

    /// Reads on one snapshot of the file.
    pub(crate) fn read<T>(&self, read: impl FnOnce(&ReadTransaction) -> Result<T>) -> Result<T> {
        self.with(|database| read(&database.begin_read().map_err(failed)?))
    }

    /// Writes in one durable commit; an error leaves the file as it was, except
    /// that a commit whose answer was lost may have happened. `point` is the
    /// fail point around the commit.
    pub(crate) fn write<T>(
        &self,
        point: &'static str,
        write: impl FnOnce(&WriteTransaction) -> Result<T>,
    ) -> Result<T> {
        self.with(|database| {
            let transaction = database.begin_write().map_err(failed)?;
            let written = write(&transaction)?;
            fail::before(point).map_err(redb::StorageError::Io).map_err(failed)?;
            transaction.commit().map_err(failed)?;
            fail::after(point);
            Ok(written)
        })
    }

    fn with<T>(&self, work: impl FnOnce(&Database) -> Result<T>) -> Result<T> {
        let mut guard: MutexGuard<'_, Option<Database>> =
            self.database.lock().unwrap_or_else(PoisonError::into_inner);
        let database = match guard.take() {
            Some(database) => database,
            None => open(&self.path)?,
        };
        let result = work(&database);
        let broken = result.as_ref().is_err_and(|error| error.kind() == ErrorKind::Storage);
        if !broken {
            *guard = Some(database);
        }
        result.map_err(|error| error.with("path", self.path.display()))
    }
}

fn open(path: &Path) -> Result<Database> {
    let mut builder = Database::builder();
    // Without the check a file that was damaged outside of redb can panic; it
    // reads the whole file, which holds no rows and stays small.
    builder.set_cache_size(CACHE_BYTES).set_check_integrity_on_open(true);
    builder.create(path).map_err(|error| failed(error).with("path", path.display()))
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
                .hint("bring a backup back; or remove the state folder, which is rebuilt from the sinks")
                .because(error)
        }
        error @ (redb::Error::Io(_) | redb::Error::PreviousIo | redb::Error::DatabaseClosed) => {
            Error::transient(ErrorKind::Storage, "the disk failed")
                .hint("check free space and permissions")
                .because(error)
        }
        error => Error::new(ErrorKind::Internal, "the file does not hold what it should").because(error),
    };
    error.during("state file")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::META;

    #[test]
    fn a_write_that_fails_leaves_the_file_as_it_was_and_usable() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("t.redb")).unwrap();
        let refused = store.write("test", |t| {
            t.open_table(META).map_err(failed)?.insert("a", &b"1"[..]).map_err(failed)?;
            Err::<(), _>(failed(redb::StorageError::PreviousIo))
        });
        assert!(refused.unwrap_err().is_transient());
        store
            .write("test", |t| {
                let table = t.open_table(META).map_err(failed)?;
                assert!(redb::ReadableTable::get(&table, "a").map_err(failed)?.is_none());
                Ok(())
            })
            .unwrap();
    }

    #[test]
    fn a_file_of_another_kind_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.redb");
        std::fs::write(&path, b"this is no database file, whatever its name says; it goes on for a while")
            .unwrap();
        let error = Store::open(&path).unwrap_err();
        assert!(error.to_string().contains("t.redb"), "{error}");
    }
}
