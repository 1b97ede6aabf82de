//! The commit log: numbered entries, of which each number is won by one writer.
//!
//! An append tries the number behind the last one it knows. If an entry is
//! there already, it is read and applied, and the caller decides what it means:
//! its own entry whose answer was lost, a claim that fences it, or another
//! writer's entry that it goes on behind. There is no blind retry: after an
//! error the number is looked at.

use std::sync::Arc;

use tidegate_format::{LogEntry, LogSnapshot, record};
use tidegate_model::{Error, ErrorKind, Result, fail};

use crate::layout::{LOG, SNAPSHOTS, log_key, number_in_key, snapshot_key};
use crate::log_state::LogState;
use crate::store::{Put, Store};

/// A snapshot object is due after this many entries.
const SNAPSHOT_ENTRIES: u64 = 100;

/// The log as this process knows it.
#[derive(Debug)]
pub(crate) struct CommitLog {
    store: Arc<dyn Store>,
    state: LogState,
    /// The newest snapshot object; 0: none.
    snapshot: u64,
}

/// How an append ended.
#[derive(Debug)]
pub(crate) enum Append {
    /// The entry is in the log.
    Done,
    /// This other entry was there; it is applied, the own one is not in the log.
    Behind(Box<LogEntry>),
    /// The entry is not in the log.
    NotApplied(Error),
    /// It cannot be told.
    Unknown(Error),
}

impl CommitLog {
    /// Reads the log: the newest snapshot object and the entries behind it.
    pub(crate) async fn open(store: Arc<dyn Store>) -> Result<Self> {
        let snapshot = newest(store.as_ref(), SNAPSHOTS).await?;
        let state = match snapshot {
            0 => LogState::default(),
            number => LogState::of_snapshot(&read_snapshot(store.as_ref(), number).await?),
        };
        let mut log = Self { store, state, snapshot };
        log.catch_up().await?;
        Ok(log)
    }

    /// What the log says up to where it is known.
    pub(crate) fn state(&self) -> &LogState {
        &self.state
    }

    /// The store that it lies in.
    pub(crate) fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Number of the newest snapshot object; 0: none.
    pub(crate) fn snapshot(&self) -> u64 {
        self.snapshot
    }

    /// Applies every entry that is there.
    pub(crate) async fn catch_up(&mut self) -> Result<()> {
        let end = newest(self.store.as_ref(), LOG).await?;
        while let Some(entry) = read_entry(self.store.as_ref(), self.state.number() + 1).await? {
            self.state.apply(&entry)?;
        }
        if self.state.number() < end {
            return Err(Error::new(ErrorKind::Refused, "an entry of the commit log is missing")
                .with("entry", self.state.number() + 1)
                .hint("something else than tidegate changed _tidegate/log; restore it from a backup"));
        }
        Ok(())
    }

    /// Tries to make this the next entry.
    ///
    /// # Errors
    /// `Refused` when the entry that is there is damaged or contradicts the log,
    /// `Storage` when the log itself is not there any more.
    pub(crate) async fn try_append(&mut self, entry: &LogEntry) -> Result<Append> {
        let number = self.state.number() + 1;
        // A lake that was moved or unmounted leaves an empty folder behind, in which an entry would
        // be lost as soon as the lake is back.
        if number > 1 && matches!(self.store.get(&log_key(number - 1)).await, Ok(None)) {
            return Err(Error::transient(ErrorKind::Storage, "the lake's commit log is gone")
                .with("entry", number - 1)
                .hint("mount the lake's file system again, or put its folder back"));
        }
        let bytes = record::encode(entry)?;
        match self.put(number, &bytes).await {
            Ok(Put::Created) => {
                fail::after("log-entry");
                self.accept(entry).await?;
                return Ok(Append::Done);
            }
            Ok(Put::Exists) => {}
            Err(error) => match read_entry(self.store.as_ref(), number).await {
                Ok(None) => return Ok(Append::NotApplied(error)),
                // It is there, but perhaps not durable: only a put tells.
                Ok(Some(_)) if self.store.put_if_absent(&log_key(number), &bytes).await.is_ok() => {}
                Ok(Some(_)) | Err(_) => return Ok(Append::Unknown(error)),
            },
        }
        let there = read_entry(self.store.as_ref(), number).await?.ok_or_else(|| {
            Error::new(ErrorKind::Refused, "an entry of the commit log vanished").with("entry", number)
        })?;
        self.accept(&there).await?;
        if there.commit_id == entry.commit_id {
            return Ok(Append::Done);
        }
        Ok(Append::Behind(Box::new(there)))
    }

    async fn put(&self, number: u64, bytes: &[u8]) -> Result<Put> {
        fail::before("log-entry")
            .map_err(|error| crate::fault::io_error("write a log entry", log_key(number).as_ref(), error))?;
        self.store.put_if_absent(&log_key(number), bytes).await
    }

    async fn accept(&mut self, entry: &LogEntry) -> Result<()> {
        self.state.apply(entry)?;
        if self.state.number() >= self.snapshot + SNAPSHOT_ENTRIES
            && let Err(error) = self.write_snapshot().await
        {
            // Nothing depends on it but the time that the next reader takes.
            tracing::warn!(%error, number = self.state.number(), "log snapshot not written");
        }
        Ok(())
    }

    async fn write_snapshot(&mut self) -> Result<()> {
        let number = self.state.number();
        let mut files = Vec::new();
        for number in self.snapshot + 1..=number {
            let entry = read_entry(self.store.as_ref(), number).await?;
            files.extend(entry.map(|entry| entry.files).unwrap_or_default());
        }
        let snapshot = self.state.to_snapshot(self.snapshot, files);
        // One that is there covers the same entries: as good as ours.
        self.store.put_if_absent(&snapshot_key(number), &record::encode(&snapshot)?).await?;
        self.snapshot = number;
        Ok(())
    }
}

/// The highest number among the keys of a folder; 0: none.
async fn newest(store: &dyn Store, folder: &str) -> Result<u64> {
    let mut newest = 0;
    store.list(folder, &mut |key| newest = newest.max(number_in_key(key).unwrap_or(0))).await?;
    Ok(newest)
}

/// The entry of this number, `None` when the log ends before it.
pub(crate) async fn read_entry(store: &dyn Store, number: u64) -> Result<Option<LogEntry>> {
    let bytes = store.get(&log_key(number)).await?;
    let entry = bytes.map(|bytes| record::decode(&bytes)).transpose();
    entry.map_err(|error: Error| error.during("read the commit log").with("entry", number))
}

/// The snapshot object of this number.
pub(crate) async fn read_snapshot(store: &dyn Store, number: u64) -> Result<LogSnapshot> {
    let bytes = store.get(&snapshot_key(number)).await?.ok_or_else(|| {
        Error::new(ErrorKind::Refused, "a snapshot of the commit log is missing").with("number", number)
    })?;
    record::decode(&bytes).map_err(|error| error.during("read a log snapshot").with("number", number))
}
