//! Whether a lake has a load's changes, each once, in order and under its schema.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::{Change, Image, Load};
use crate::rig::{Event, Lake, Pipeline, Row, expected_rows, user_cells};

/// What is compared of an event: operation, key, stamp, schema version.
type Seen = (String, u64, u64, u64);

impl Load {
    /// Holds the pipeline's Parquet lake against what this load did. The agent has to have come to
    /// the load's end, and to be at rest or stopped.
    ///
    /// # Panics
    /// If a change is missing, is there twice, out of order or under another schema; if a plain
    /// glob finds other files than the log lists; if a snapshot has a key twice; if the current
    /// rows are not those of the table.
    pub fn check(&mut self, pipeline: &Pipeline) {
        let lake = pipeline.lake();
        let table = self.table();
        let events = self.check_files(&lake, &table);
        self.check_changes(&events);
        check_snapshots(&events);
        self.check_dead_letters(pipeline);
        self.check_contents(pipeline);
    }

    /// Files: a plain glob finds what the log lists, with the columns of their version.
    fn check_files(&self, lake: &Lake, table: &str) -> Vec<Event> {
        let committed = lake.committed_files(table);
        let listed: BTreeSet<&PathBuf> = committed.iter().collect();
        assert_eq!(listed.len(), committed.len(), "the log lists a file twice");
        let globbed = lake.globbed_files(table);
        let found: BTreeSet<&PathBuf> = globbed.iter().collect();
        assert_eq!(found, listed, "a plain glob (left) finds other files than the log lists");
        for (version, files) in lake.versions(table) {
            let number: usize = version[1..].parse().expect("v<n>");
            let names = lake.rows_of(&files).columns.into_iter().map(|(name, _)| name);
            let names: Vec<String> = names.filter(|name| !name.starts_with("__")).collect();
            assert!(
                files.is_empty() || names == self.columns.of(number),
                "{version} of {table} has {names:?}"
            );
        }
        lake.events_in(&committed)
    }

    /// Changes: the log's order is the load's.
    fn check_changes(&self, events: &[Event]) {
        let found = events.iter().filter(|event| event.op() != "r").map(|event| {
            let (key, stamp) = (event.integer("id") as u64, event.integer("seq") as u64);
            (event.op().to_owned(), key, stamp, event.version)
        });
        let delivered = self.changes.iter().filter(|change| !change.refused);
        compare("the lake", found.collect(), delivered.flat_map(Change::events).collect());
    }

    /// Refused changes are among the dead letters, each once. Without refusals there is no queue.
    fn check_dead_letters(&self, pipeline: &Pipeline) {
        let queue = pipeline.dead_letters();
        let letters = queue.rows_of(&queue.committed_files("dead_letters")).rows;
        let ours = letters.iter().filter(|letter| letter["table"]["table"] == self.table.as_str());
        let mut found: Vec<(String, u64)> = ours
            .filter(|letter| letter["operation"] != "r")
            .map(|letter| {
                let image = if letter["after"].is_null() { &letter["before"] } else { &letter["after"] };
                let stamp = image["seq"].as_u64().expect("an image has its stamp");
                (letter["operation"].as_str().expect("a letter has its operation").to_owned(), stamp)
            })
            .collect();
        let refused = self.changes.iter().filter(|change| change.refused);
        let mut expected: Vec<(String, u64)> = refused
            .map(|change| match (change.before, change.after) {
                (Some(_), Some((_, stamp))) => ("u".to_owned(), stamp),
                (None, Some((_, stamp))) => ("c".to_owned(), stamp),
                (before, None) => ("d".to_owned(), before.map_or(0, |(_, stamp)| stamp)),
            })
            .collect();
        found.sort();
        expected.sort();
        compare("the dead-letter queue", found, expected);
    }

    /// Contents: the query that the agent prints gives the rows that the server has, but for those
    /// that were refused and for `num`, which a mapping may have turned into a number.
    fn check_contents(&mut self, pipeline: &Pipeline) {
        let refused = self.refused.clone();
        let comparable = |row: &Row| {
            let mut cells = user_cells(row);
            cells.remove("num");
            cells
        };
        let server = expected_rows(&mut self.session, &self.table, "id");
        let server =
            server.iter().filter(|row| !row["id"].as_u64().is_some_and(|key| refused.contains(&key)));
        let server: Vec<Row> = server.map(comparable).collect();
        let lake: Vec<Row> = pipeline.latest(&self.table(), "id").iter().map(comparable).collect();
        compare("the current rows", lake, server);
    }
}

impl Change {
    /// As the lake shows it: a change of key is two events, since a reader that folds events by
    /// their key would keep the old one for ever.
    fn events(&self) -> Vec<Seen> {
        let event = |op: &str, (key, stamp): Image| (op.to_owned(), key, stamp, self.version as u64);
        match (self.before, self.after) {
            (Some(before), Some(after)) if before.0 != after.0 => vec![event("d", before), event("c", after)],
            (Some(_), Some(after)) => vec![event("u", after)],
            (None, Some(after)) => vec![event("c", after)],
            (before, None) => before.map(|before| event("d", before)).into_iter().collect(),
        }
    }
}

/// Within one generation a snapshot has no key twice.
fn check_snapshots(events: &[Event]) {
    let mut keys: BTreeMap<i64, BTreeSet<i64>> = BTreeMap::new();
    for event in events.iter().filter(|event| event.op() == "r") {
        let (generation, key) = (event.integer("__generation"), event.integer("id"));
        let new = keys.entry(generation).or_default().insert(key);
        assert!(new, "the snapshot of generation {generation} has key {key} twice");
    }
}

/// Compares two lists and shows the first place where they differ, not all of them.
pub(super) fn compare<T: PartialEq + std::fmt::Debug>(what: &str, found: Vec<T>, expected: Vec<T>) {
    let Some(place) = (0..found.len().max(expected.len())).find(|&n| found.get(n) != expected.get(n)) else {
        return;
    };
    let around = |list: &[T]| {
        let end = (place + 3).min(list.len());
        format!("{:#?}", &list[place.saturating_sub(2).min(end)..end])
    };
    panic!(
        "{what}: {} instead of {}, and different from number {place} on; found {} expected {}",
        found.len(),
        expected.len(),
        around(&found),
        around(&expected)
    );
}
