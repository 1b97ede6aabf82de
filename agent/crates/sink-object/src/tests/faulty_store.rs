//! A store that fails by script.

use std::path::Path;
use std::sync::Arc;
use std::sync::Mutex;

use async_trait::async_trait;
use tidegate_model::{Error, ErrorKind, Result};

use crate::store::{KeyVisitor, Put, Store};
use crate::{FileStore, ObjectSinkConfig};

/// When an operation that changes something fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The process is dead from this one on: it is not done, nor any later call.
    DeadBefore(usize),
    /// This one is done, then the process is dead.
    DeadAfter(usize),
    /// The next log entry is not written.
    RefuseEntry,
    /// The next log entry is written, and its answer is lost.
    LoseAnswer,
    /// The next log entry is written, its answer is lost, and no read works
    /// until told otherwise.
    LoseAnswerAndReads,
}

/// A folder whose operations fail as told.
#[derive(Debug)]
pub(crate) struct FaultyStore {
    inner: FileStore,
    fault: Mutex<Option<Fault>>,
    changes: Mutex<usize>,
}

impl FaultyStore {
    pub(crate) fn new(config: &ObjectSinkConfig, fault: Option<Fault>) -> Arc<Self> {
        let inner = FileStore::new(config.root.clone(), config.writer());
        Arc::new(Self { inner, fault: Mutex::new(fault), changes: Mutex::new(0) })
    }

    pub(crate) fn set(&self, fault: Option<Fault>) {
        *self.fault.lock().unwrap() = fault;
    }

    fn fault(&self) -> Option<Fault> {
        *self.fault.lock().unwrap()
    }

    /// Counts a change; tells whether it is done and whether its answer arrives.
    fn step(&self) -> (bool, bool) {
        let mut changes = self.changes.lock().unwrap();
        *changes += 1;
        match self.fault() {
            Some(Fault::DeadBefore(n)) if *changes >= n => (false, false),
            Some(Fault::DeadAfter(n)) if *changes == n => (true, false),
            Some(Fault::DeadAfter(n)) if *changes > n => (false, false),
            _ => (true, true),
        }
    }

    fn readable(&self) -> Result<()> {
        let changes = *self.changes.lock().unwrap();
        match self.fault() {
            Some(Fault::DeadBefore(n) | Fault::DeadAfter(n)) if changes >= n => Err(dead()),
            Some(Fault::LoseAnswerAndReads) => Err(dead()),
            _ => Ok(()),
        }
    }
}

fn dead() -> Error {
    Error::transient(ErrorKind::Storage, "the script says so")
}

#[async_trait]
impl Store for FaultyStore {
    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>> {
        self.readable()?;
        self.inner.get(key).await
    }

    async fn list(&self, prefix: &str, visit: &mut KeyVisitor<'_>) -> Result<()> {
        self.readable()?;
        self.inner.list(prefix, visit).await
    }

    async fn put_if_absent(&self, key: &str, bytes: &[u8]) -> Result<Put> {
        match self.fault() {
            Some(Fault::RefuseEntry) => {
                self.set(None);
                return Err(dead());
            }
            Some(Fault::LoseAnswer) => {
                self.set(None);
                self.inner.put_if_absent(key, bytes).await?;
                return Err(dead());
            }
            Some(Fault::LoseAnswerAndReads) => {
                self.inner.put_if_absent(key, bytes).await?;
                return Err(dead());
            }
            _ => {}
        }
        let (done, answered) = self.step();
        let put = if done { self.inner.put_if_absent(key, bytes).await? } else { Put::Exists };
        if answered { Ok(put) } else { Err(dead()) }
    }

    async fn put_file(&self, key: &str, file: &Path) -> Result<()> {
        let (done, answered) = self.step();
        if done {
            self.inner.put_file(key, file).await?;
        }
        if answered { Ok(()) } else { Err(dead()) }
    }

    async fn delete(&self, key: &str) -> Result<()> {
        let (done, answered) = self.step();
        if done {
            self.inner.delete(key).await?;
        }
        if answered { Ok(()) } else { Err(dead()) }
    }

    async fn sweep(&self) -> Result<()> {
        self.inner.sweep().await
    }

    async fn probe(&self) -> Result<()> {
        self.inner.probe().await
    }
}
