//! The sink contract on top of staging and the commit log.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use tidegate_format::name::{parse_table_text, table_text};
use tidegate_format::record::Record;
use tidegate_format::{
    EdgeRecord, EntryKind, LogEntry, OffsetRecord, SnapshotMarkRecord, TargetChangeRecord, text,
};
use tidegate_model::sink::{Commit, Outcome, Part, Recovered, Sink};
use tidegate_model::{
    Error, ErrorKind, Offset, Result, SnapshotMark, TableName, TableUid, TargetChange, TargetVersion, fail,
};
use uuid::Uuid;

use crate::blocking::blocking;
use crate::claim;
use crate::config::ObjectSinkConfig;
use crate::divergence::divergence;
use crate::fault::io_error;
use crate::file_store::FileStore;
use crate::health;
use crate::layout::DEAD_LETTERS;
use crate::log::{Append, CommitLog};
use crate::staging::{StagedFile, Staging, remove_staged};
use crate::store::Store;

/// Writes rows, and dead letters, into a lake.
///
/// After [`Outcome::Fenced`], or an error of that kind, every call but
/// `recover` fails the same way.
#[derive(Debug)]
pub struct ObjectSink {
    config: ObjectSinkConfig,
    writer: Writer,
    store: Arc<dyn Store>,
    session: Option<Session>,
}

/// Who writes, as entries spell it.
#[derive(Debug, Clone)]
pub(crate) struct Writer {
    /// Eight hexadecimal digits.
    pub(crate) id: String,
    /// Pipeline and sink.
    pub(crate) name: String,
}

/// What a claim holds, from `recover` on.
#[derive(Debug)]
struct Session {
    claim: u64,
    log: CommitLog,
    staging: Staging,
    marks: Vec<SnapshotMarkRecord>,
    pending: Option<Pending>,
    /// Objects that could not be deleted yet. No commit before they are gone:
    /// what is behind the last listed object must not be live.
    garbage: Vec<String>,
    condition: Condition,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Condition {
    Good,
    /// A write failed: a file may lack rows.
    Broken,
    Fenced,
}

/// A commit on its way.
#[derive(Debug)]
struct Pending {
    entry: LogEntry,
    files: Vec<StagedFile>,
    /// How many of them are objects.
    placed: usize,
    /// An append was tried and nobody knows how it ended.
    unknown: bool,
}

impl ObjectSink {
    /// A sink on a folder; nothing is touched before `recover`.
    pub fn new(config: ObjectSinkConfig) -> Self {
        let store = Arc::new(FileStore::new(config.root.clone(), config.writer()));
        Self::with_store(config, store)
    }

    /// A sink on any store.
    pub fn with_store(config: ObjectSinkConfig, store: Arc<dyn Store>) -> Self {
        let writer = Writer { id: config.writer(), name: config.name() };
        Self { config, writer, store, session: None }
    }

    fn session(&mut self) -> Result<&mut Session> {
        let session = self.session.as_mut().ok_or_else(|| misuse("a sink is used before recover"))?;
        match session.condition {
            Condition::Good => Ok(session),
            Condition::Broken => Err(misuse("a sink is used after a failed write, before abort")),
            Condition::Fenced => Err(fenced(session)),
        }
    }
}

#[async_trait]
impl Sink for ObjectSink {
    async fn recover(&mut self) -> Result<Recovered> {
        self.session = None;
        health::check(&self.config).await?;
        let mut log = CommitLog::open(self.store.clone()).await?;
        let claim = claim::take_over(&mut log, &self.writer).await?;
        let cleared = claim::clear(&log, &self.writer.id, claim).await?;
        let staging = blocking(|| Staging::open(self.config.clone(), claim))?;
        tracing::info!(writer = self.writer.id, claim, entry = log.state().number(), cleared, "lake claimed");
        let recovered = recovered(&log, &self.writer.id)?;
        let (marks, pending, garbage) = (Vec::new(), None, Vec::new());
        self.session =
            Some(Session { claim, log, staging, marks, pending, garbage, condition: Condition::Good });
        Ok(recovered)
    }

    async fn write(&mut self, part: Part<'_>) -> Result<()> {
        let session = self.session()?;
        session.no_pending("write")?;
        let written = match part {
            Part::Rows { target, batch } => {
                session.check_target(target)?;
                blocking(|| session.staging.write(target, batch))
            }
            Part::DeadLetter(letter) => blocking(|| session.staging.write_dead_letter(letter)),
            Part::Snapshot(mark) => {
                session.marks.extend(mark_record(mark));
                Ok(())
            }
        };
        session.broken_by(written)
    }

    async fn seal(&mut self, targets: &[TableName]) -> Result<()> {
        let session = self.session()?;
        session.no_pending("seal")?;
        let sealed = blocking(|| session.staging.seal(targets));
        session.broken_by(sealed)
    }

    async fn commit(&mut self, commit: &Commit) -> Result<Outcome> {
        let writer = self.writer.clone();
        let session = self.session()?;
        session.delete_garbage().await?;
        session.prepare(commit, &writer)?;
        session.place().await?;
        session.append().await
    }

    async fn abort(&mut self) -> Result<()> {
        let session = self.session.as_mut().ok_or_else(|| misuse("a sink is used before recover"))?;
        if session.condition == Condition::Fenced {
            return Err(fenced(session));
        }
        session.settle().await?;
        session.marks.clear();
        blocking(|| session.staging.discard())?;
        session.drop_pending()?;
        session.delete_garbage().await?;
        session.condition = Condition::Good;
        Ok(())
    }

    async fn alter(&mut self, change: &TargetChange) -> Result<()> {
        let writer = self.writer.clone();
        let session = self.session()?;
        session.no_pending("alter")?;
        if session.staging.holds(&change.after.name) {
            return Err(misuse("a target is altered with rows uncommitted"));
        }
        session.alter(change, &writer).await
    }

    fn uncommitted_bytes(&self) -> u64 {
        let Some(session) = &self.session else { return 0 };
        let pending = session.pending.iter().flat_map(|pending| &pending.files);
        session.staging.bytes() + pending.map(|file| file.record.bytes).sum::<u64>()
    }
}

impl Session {
    /// Finishes every file and makes the entry, once for a commit however often
    /// it is tried.
    fn prepare(&mut self, commit: &Commit, writer: &Writer) -> Result<()> {
        let offset = OffsetRecord::from(commit.offset.as_ref());
        if let Some(pending) = &self.pending {
            let same = pending.entry.offset.as_ref() == Some(&offset);
            return if same { Ok(()) } else { Err(misuse("a commit is repeated with another offset")) };
        }
        let files = blocking(|| self.staging.take());
        let files = self.broken_by(files)?;
        let entry = LogEntry {
            offset: Some(offset),
            dead_letters: commit.dead_letters,
            files: files.iter().map(|file| file.record.clone()).collect(),
            snapshots: std::mem::take(&mut self.marks),
            ..writer.entry(EntryKind::Commit, self.claim)
        };
        self.pending = Some(Pending { entry, files, placed: 0, unknown: false });
        Ok(())
    }

    /// Makes the staged files objects.
    async fn place(&mut self) -> Result<()> {
        let pending = self.pending.as_mut().expect("prepared");
        while let Some(file) = pending.files.get(pending.placed) {
            let point = if file.record.table == DEAD_LETTERS { "dead-letter" } else { "data-object" };
            fail::before(point).map_err(|error| io_error("place an object", &file.path, error))?;
            self.log.store().put_file(&file.record.key, &file.path).await?;
            fail::after(point);
            pending.placed += 1;
        }
        Ok(())
    }

    async fn append(&mut self) -> Result<Outcome> {
        loop {
            let pending = self.pending.as_mut().expect("prepared");
            match self.log.try_append(&pending.entry).await? {
                Append::Done => {
                    // A store on another file system copied them; what cannot be deleted
                    // now is cleared at the next start.
                    let files = &pending.files;
                    blocking(|| files.iter().for_each(|file| drop(remove_staged(&file.path))));
                    self.pending = None;
                    return Ok(Outcome::Committed);
                }
                Append::Behind(other) => {
                    pending.unknown = false;
                    if other.writer == pending.entry.writer {
                        self.condition = Condition::Fenced;
                        self.drop_pending()?;
                        self.delete_garbage().await?;
                        return Ok(Outcome::Fenced);
                    }
                    self.check_pending_targets()?;
                }
                Append::NotApplied(error) => {
                    tracing::warn!(%error, "commit not applied");
                    pending.unknown = false;
                    return Ok(Outcome::NotApplied);
                }
                Append::Unknown(error) => {
                    tracing::warn!(%error, "outcome of a commit unknown");
                    pending.unknown = true;
                    return Ok(Outcome::Unknown);
                }
            }
        }
    }

    /// Finds out how a commit ended that nobody knows of, before it is forgotten.
    async fn settle(&mut self) -> Result<()> {
        let Some(pending) = self.pending.as_mut().filter(|pending| pending.unknown) else { return Ok(()) };
        self.log.catch_up().await?;
        let own = self.log.state().writer(&pending.entry.writer);
        if own.is_some_and(|own| own.claim == self.claim && own.offset == pending.entry.offset) {
            self.pending = None;
            self.condition = Condition::Broken;
            return Err(Error::transient(
                ErrorKind::Storage,
                "the commit that was to be forgotten is in the log",
            )
            .hint("recover the sink: its record has moved on"));
        }
        pending.unknown = false;
        Ok(())
    }

    /// Forgets the commit on its way; its objects become garbage.
    fn drop_pending(&mut self) -> Result<()> {
        let Some(pending) = self.pending.take() else { return Ok(()) };
        // The one behind the last placed may be there, too: its put may have failed late.
        let tried = pending.files.iter().take(pending.placed + 1);
        self.garbage.extend(tried.map(|file| file.record.key.clone()));
        blocking(|| pending.files.iter().try_for_each(|file| remove_staged(&file.path)))
    }

    async fn delete_garbage(&mut self) -> Result<()> {
        while let Some(key) = self.garbage.last() {
            self.log.store().delete(key).await?;
            self.garbage.pop();
        }
        Ok(())
    }

    async fn alter(&mut self, change: &TargetChange, writer: &Writer) -> Result<()> {
        loop {
            if self.log.state().has_change(&change.change_id) {
                return Ok(());
            }
            let current = self.log.state().current(&change.after.name).map(|c| c.after.target_version);
            if current != change.base {
                return Err(version_conflict(&change.after.name, change.base, current));
            }
            let own = self.log.state().writer(&writer.id);
            let entry = LogEntry {
                offset: own.and_then(|own| own.offset.clone()),
                dead_letters: own.map_or(0, |own| own.dead_letters),
                target_changes: vec![TargetChangeRecord::from(change)],
                ..writer.entry(EntryKind::Alter, self.claim)
            };
            match self.log.try_append(&entry).await? {
                Append::Done => return Ok(()),
                Append::Behind(other) if other.writer == writer.id => {
                    self.condition = Condition::Fenced;
                    return Err(fenced(self));
                }
                Append::Behind(_) => {}
                Append::NotApplied(error) | Append::Unknown(error) => {
                    return Err(error.with("table", &change.after.name));
                }
            }
        }
    }

    fn check_target(&self, target: &TargetVersion) -> Result<()> {
        let current = self.log.state().current(&target.name).map(|change| change.after.target_version);
        match current {
            Some(version) if version == target.version => Ok(()),
            other => Err(version_conflict(&target.name, Some(target.version), other)),
        }
    }

    /// Another writer's entry came between: our rows must still fit.
    fn check_pending_targets(&self) -> Result<()> {
        let files = self.pending.iter().flat_map(|pending| &pending.files);
        for file in files.filter(|file| file.record.table != DEAD_LETTERS) {
            let name = parse_table_text(&file.record.table)?;
            let current = self.log.state().current(&name).map(|change| change.after.target_version);
            if current != Some(file.record.schema_version) {
                return Err(version_conflict(&name, Some(file.record.schema_version), current));
            }
        }
        Ok(())
    }

    fn no_pending(&self, call: &str) -> Result<()> {
        match &self.pending {
            Some(_) => Err(misuse(&format!("{call} before an open commit has ended"))),
            None => Ok(()),
        }
    }

    fn broken_by<T>(&mut self, result: Result<T>) -> Result<T> {
        if result.is_err() {
            self.condition = Condition::Broken;
        }
        result
    }
}

impl Writer {
    /// An entry of this writer, with nothing in it yet.
    pub(crate) fn entry(&self, kind: EntryKind, claim: u64) -> LogEntry {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut written_at = Vec::new();
        text::datetime(&mut written_at, now.as_micros() as i64, "Z");
        LogEntry {
            version: LogEntry::VERSION,
            kind,
            writer: self.id.clone(),
            name: self.name.clone(),
            claim,
            commit_id: Uuid::new_v4().to_string(),
            written_at: String::from_utf8(written_at).expect("a date is ASCII"),
            offset: None,
            dead_letters: 0,
            files: Vec::new(),
            target_changes: Vec::new(),
            snapshots: Vec::new(),
        }
    }
}

fn recovered(log: &CommitLog, writer: &str) -> Result<Recovered> {
    let own = log.state().writer(writer);
    let offset = own.and_then(|own| own.offset.as_ref()).map(Offset::try_from).transpose()?;
    let mut recovered =
        Recovered { offset, dead_letters: own.map_or(0, |own| own.dead_letters), ..Recovered::default() };
    let fed = log.state().changes().iter().filter(|change| change.writer == writer);
    for name in fed.map(|change| TableName::from(&change.change.after.name)) {
        if let Some(current) = log.state().current(&name) {
            if divergence(log.state(), &name).is_some() {
                recovered.diverging.insert(TableUid(current.after.table_uid));
            }
            recovered.targets.insert(name, TargetVersion::try_from(&current.after)?);
        }
    }
    Ok(recovered)
}

fn mark_record(mark: &SnapshotMark) -> Option<SnapshotMarkRecord> {
    let (edge, table, name, generation, position) = match mark {
        SnapshotMark::Begin { table, name, generation, position } => {
            (EdgeRecord::Begin, table, name, generation, position)
        }
        SnapshotMark::End { table, name, generation, position } => {
            (EdgeRecord::End, table, name, generation, position)
        }
        SnapshotMark::Chunk { .. } => return None,
    };
    Some(SnapshotMarkRecord {
        mark: edge,
        table: table_text(name),
        table_uid: table.0,
        generation: *generation,
        position: (*position).into(),
    })
}

fn misuse(what: &str) -> Error {
    Error::new(ErrorKind::Internal, what)
}

fn fenced(session: &Session) -> Error {
    Error::new(ErrorKind::Fenced, "another process took over this sink")
        .with("claim", session.claim)
        .hint("stop one of the two agents that run this pipeline, then start the other again")
}

fn version_conflict(target: &TableName, expected: Option<u64>, found: Option<u64>) -> Error {
    let shown =
        |version: Option<u64>| version.map_or("absent".to_owned(), |version| format!("at v{version}"));
    Error::new(ErrorKind::Schema, format!("the target is {}, not {}", shown(found), shown(expected)))
        .with("table", target)
        .hint("another writer changed it: restart the pipeline, which reads the target anew")
}
