//! What the entries of a log add up to: writers, target versions, snapshots of
//! tables. Pure: entries in, state out.

use std::collections::BTreeMap;

use tidegate_format::{
    EdgeRecord, EntryKind, FileRecord, LogEntry, LogSnapshot, SnapshotMarkRecord, TargetChangeRecord,
    WriterChangeRecord, WriterMarkRecord, WriterRecord, record::Record,
};
use tidegate_model::{Error, ErrorKind, Result, TableName};
use uuid::Uuid;

use crate::layout::ObjectName;

/// State of a log after one of its entries. Files are not in it: their number
/// grows with the lake.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LogState {
    /// The last entry that is in it; 0: none.
    number: u64,
    writers: BTreeMap<String, WriterRecord>,
    changes: Vec<WriterChangeRecord>,
    /// Index of each target's last change.
    current: BTreeMap<TableName, usize>,
    marks: BTreeMap<(String, u64, bool), SnapshotMarkRecord>,
}

impl LogState {
    /// The last entry that is in it; 0: none.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// What the log says about a writer.
    pub fn writer(&self, id: &str) -> Option<&WriterRecord> {
        self.writers.get(id)
    }

    /// All writers, by id.
    pub fn writers(&self) -> &BTreeMap<String, WriterRecord> {
        &self.writers
    }

    /// Every change of a target, oldest first.
    pub fn changes_of(&self, target: &TableName) -> impl Iterator<Item = &WriterChangeRecord> {
        self.changes.iter().filter(|c| TableName::from(&c.change.after.name) == *target)
    }

    /// Every change of every target, oldest first.
    pub fn changes(&self) -> &[WriterChangeRecord] {
        &self.changes
    }

    /// The last change of a target: its current version.
    pub fn current(&self, target: &TableName) -> Option<&TargetChangeRecord> {
        self.current.get(target).map(|&index| &self.changes[index].change)
    }

    /// True when a change of this id was applied.
    pub(crate) fn has_change(&self, change_id: &str) -> bool {
        self.changes.iter().any(|c| c.change.change_id == change_id)
    }

    /// The newest edge of a table's snapshots, by the writer's own uid of the
    /// source table.
    pub fn snapshot_edge(
        &self,
        writer: &str,
        table_uid: u64,
        edge: EdgeRecord,
    ) -> Option<&SnapshotMarkRecord> {
        self.marks.get(&(writer.to_owned(), table_uid, edge == EdgeRecord::End))
    }

    /// True when an object with this name is live or may become so: an entry
    /// lists it, or another writer, or a claim above `claim`, may still list it.
    pub(crate) fn may_be_live(&self, object: &ObjectName, writer: &str, claim: u64) -> bool {
        if object.writer != writer || object.claim >= claim {
            return true;
        }
        let last = self.writers.get(writer).and_then(|w| w.last_objects.get(&object.claim));
        // Ids grow, and a claim lists its objects in their order or deletes them before it
        // lists another: what is behind the last listed one was never listed.
        last.and_then(|last| Uuid::try_parse(last).ok()).is_some_and(|last| object.id <= last)
    }

    /// Adds the next entry.
    ///
    /// # Errors
    /// `Refused` when the log cannot be one that writers made: a fenced writer
    /// went on, or a target skips a version.
    pub fn apply(&mut self, entry: &LogEntry) -> Result<()> {
        let number = self.number + 1;
        let damaged = |what: &str| {
            Err(Error::new(ErrorKind::Refused, format!("the commit log contradicts itself: {what}"))
                .with("entry", number)
                .with("writer", &entry.name)
                .hint("something else than tidegate changed _tidegate/log; restore it from a backup"))
        };
        let writer = self.writers.entry(entry.writer.clone()).or_insert_with(|| WriterRecord {
            name: entry.name.clone(),
            claim: 0,
            offset: None,
            dead_letters: 0,
            last_objects: BTreeMap::new(),
        });
        let claim_follows = match entry.kind {
            EntryKind::Claim => entry.claim > writer.claim,
            EntryKind::Commit | EntryKind::Alter => entry.claim == writer.claim,
        };
        if !claim_follows {
            return damaged("a writer went on after another took over");
        }
        writer.claim = entry.claim;
        writer.offset.clone_from(&entry.offset);
        writer.dead_letters = entry.dead_letters;
        let newest =
            entry.files.iter().filter_map(|file| ObjectName::of_key(&file.key)).map(|name| name.id).max();
        if let Some(newest) = newest {
            writer.last_objects.insert(entry.claim, newest.to_string());
        }
        for change in &entry.target_changes {
            let table = TableName::from(&change.after.name);
            let base = self.current(&table).map(|current| current.after.target_version);
            if change.base != base || change.after.target_version != base.unwrap_or(0) + 1 {
                return damaged("a target's versions do not follow each other");
            }
            self.current.insert(table, self.changes.len());
            self.changes.push(WriterChangeRecord { writer: entry.writer.clone(), change: change.clone() });
        }
        for mark in &entry.snapshots {
            let key = (entry.writer.clone(), mark.table_uid, mark.mark == EdgeRecord::End);
            self.marks.insert(key, mark.clone());
        }
        self.number = number;
        Ok(())
    }

    /// The state as a snapshot object that lists these files.
    pub(crate) fn to_snapshot(&self, previous: u64, files: Vec<FileRecord>) -> LogSnapshot {
        LogSnapshot {
            version: LogSnapshot::VERSION,
            number: self.number,
            previous,
            writers: self.writers.clone(),
            target_changes: self.changes.clone(),
            snapshots: (self.marks.iter())
                .map(|((writer, ..), mark)| WriterMarkRecord { writer: writer.clone(), mark: mark.clone() })
                .collect(),
            files,
        }
    }

    /// The state in a snapshot object.
    pub(crate) fn of_snapshot(snapshot: &LogSnapshot) -> Self {
        let marks = snapshot.snapshots.iter().map(|WriterMarkRecord { writer, mark }| {
            ((writer.clone(), mark.table_uid, mark.mark == EdgeRecord::End), mark.clone())
        });
        let names = snapshot.target_changes.iter().map(|c| TableName::from(&c.change.after.name));
        Self {
            number: snapshot.number,
            writers: snapshot.writers.clone(),
            changes: snapshot.target_changes.clone(),
            current: names.zip(0..).collect(),
            marks: marks.collect(),
        }
    }
}
