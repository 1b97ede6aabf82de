//! A lake as its log tells it: what is committed, table by table.

use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tidegate_format::name::table_text;
use tidegate_format::{DeadLetterRecord, FileRecord, LogEntry, record};
use tidegate_model::{Error, ErrorKind, Result, TableName};

use crate::fault::io_error;
use crate::file_store::FileStore;
use crate::latest::Latest;
use crate::layout::DEAD_LETTERS;
use crate::log::{CommitLog, read_entry, read_snapshot};
use crate::log_state::LogState;
use crate::store::Store;

/// A lake at one moment, for reading; takes no claim and changes nothing.
#[derive(Debug)]
pub struct Lake {
    root: PathBuf,
    log: CommitLog,
}

impl Lake {
    /// Reads the log of the lake in this folder up to its end.
    ///
    /// # Errors
    /// `Config` when no lake is there, `Storage`, `Refused` when the log is damaged.
    pub async fn open(root: &Path) -> Result<Self> {
        let store: Arc<dyn Store> = Arc::new(FileStore::new(root.to_owned(), "reader"));
        let log = CommitLog::open(store).await?;
        if log.state().number() == 0 {
            return Err(Error::new(ErrorKind::Config, "there is no lake here")
                .with("path", root.display())
                .hint("name the folder that a sink's url names; it appears with the sink's first start"));
        }
        Ok(Self { root: root.to_owned(), log })
    }

    /// Its folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Writers, target versions and snapshots.
    pub fn state(&self) -> &LogState {
        self.log.state()
    }

    /// Names of all tables, sorted.
    pub fn tables(&self) -> Vec<TableName> {
        let mut names: Vec<_> =
            self.state().changes().iter().map(|c| TableName::from(&c.change.after.name)).collect();
        names.sort();
        names.dedup();
        names
    }

    /// The committed files of a table, in the order of their commits.
    ///
    /// # Errors
    /// `Config` when the lake has no such table, `Storage`, `Refused`.
    pub async fn files(&self, table: &TableName) -> Result<Vec<FileRecord>> {
        if self.state().current(table).is_none() {
            return Err(unknown_table(table, &self.tables()));
        }
        self.files_of(&table_text(table)).await
    }

    /// Queries for the current rows of a table.
    ///
    /// # Errors
    /// As [`files`](Self::files).
    pub async fn latest(&self, table: &TableName) -> Result<Latest> {
        let files = self.files(table).await?;
        Latest::new(&self.root, self.state(), table, files)
    }

    /// Every entry of the log, oldest first, with its number.
    ///
    /// # Errors
    /// `Storage`, `Refused`; what `visit` returns.
    pub async fn entries(&self, visit: &mut (dyn FnMut(u64, LogEntry) -> Result<()> + Send)) -> Result<()> {
        for number in 1..=self.state().number() {
            if let Some(entry) = read_entry(self.log.store().as_ref(), number).await? {
                visit(number, entry)?;
            }
        }
        Ok(())
    }

    /// Every committed dead letter, in the order in which they were written.
    ///
    /// # Errors
    /// `Storage`, `Corrupt`; what `visit` returns.
    pub async fn dead_letters(
        &self,
        visit: &mut (dyn FnMut(DeadLetterRecord) -> Result<()> + Send),
    ) -> Result<()> {
        for file in self.files_of(DEAD_LETTERS).await? {
            let path = self.root.join(&file.key);
            let fault = |error| io_error("read dead letters", &path, error);
            let lines = std::io::BufReader::new(std::fs::File::open(&path).map_err(fault)?).lines();
            for line in lines {
                visit(record::decode(line.map_err(fault)?.as_bytes())?)?;
            }
        }
        Ok(())
    }

    /// Files by their table's text: those of the snapshots' chain, then those of
    /// the entries behind it.
    async fn files_of(&self, table: &str) -> Result<Vec<FileRecord>> {
        let store = self.log.store().as_ref();
        let mut chain = Vec::new();
        let mut next = self.log.snapshot();
        while next > 0 {
            let snapshot = read_snapshot(store, next).await?;
            // The chain leads backwards: one that does not would never end.
            next = snapshot.previous.min(next - 1);
            chain.push(of_table(snapshot.files, table));
        }
        chain.reverse();
        for number in self.log.snapshot() + 1..=self.state().number() {
            let entry = read_entry(store, number).await?;
            chain.push(of_table(entry.map(|entry| entry.files).unwrap_or_default(), table));
        }
        Ok(chain.into_iter().flatten().collect())
    }
}

fn of_table(mut files: Vec<FileRecord>, table: &str) -> Vec<FileRecord> {
    files.retain(|file| file.table == table);
    files
}

fn unknown_table(table: &TableName, known: &[TableName]) -> Error {
    let known: Vec<_> = known.iter().map(TableName::to_string).collect();
    Error::new(ErrorKind::Config, format!("the lake has no table {:?}", table.to_string()))
        .hint(format!("it has: {}", if known.is_empty() { "none yet".to_owned() } else { known.join(", ") }))
}
