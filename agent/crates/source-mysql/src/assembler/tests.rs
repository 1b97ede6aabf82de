//! A real log through the assembler, cut and resumed everywhere.

use std::sync::Mutex;

use super::*;
use crate::captures::{capture, raw_events};
use tidegate_model::source::{ChunkPlan, DdlNote};
use tidegate_model::{Scanned, SchemaChange};

/// Keeps what the source records in memory.
#[derive(Default)]
struct Memory {
    names: Mutex<Vec<TableName>>,
    changes: Mutex<Vec<Arc<SchemaChange>>>,
    notes: Mutex<Vec<DdlNote>>,
}

impl Journal for Memory {
    fn plan_chunk(&self, _: &ChunkPlan) -> Result<()> {
        Ok(())
    }

    fn planned_chunk(&self, _: TableUid, _: u64, _: u64) -> Result<Option<ChunkPlan>> {
        Ok(None)
    }

    fn record_change(&self, change: &Arc<SchemaChange>) -> Result<()> {
        let mut changes = self.changes.lock().unwrap();
        let same = |old: &&Arc<SchemaChange>| {
            (old.after.uid, old.after.version) == (change.after.uid, change.after.version)
        };
        match changes.iter().find(same) {
            Some(old) => assert_eq!(old, change, "another change under a version that is taken"),
            None => changes.push(change.clone()),
        }
        Ok(())
    }

    fn schema_history(&self) -> Result<Vec<Arc<SchemaChange>>> {
        Ok(self.changes.lock().unwrap().clone())
    }

    fn note_ddl(&self, note: &DdlNote) -> Result<()> {
        self.notes.lock().unwrap().push(note.clone());
        Ok(())
    }

    fn ddl_notes(&self, table: TableUid) -> Result<Vec<DdlNote>> {
        Ok(self.notes.lock().unwrap().iter().filter(|note| note.table == table).cloned().collect())
    }

    fn table_uid(&self, name: &TableName) -> Result<TableUid> {
        let mut names = self.names.lock().unwrap();
        let known = names.iter().position(|known| known == name);
        let index = known.unwrap_or_else(|| {
            names.push(name.clone());
            names.len() - 1
        });
        Ok(TableUid(index as u64 + 1))
    }

    fn known_version(&self, _: TableUid) -> u64 {
        0
    }
}

fn assembler(journal: &Arc<Memory>, start: &Offset) -> Assembler {
    let config = SourceConfig::new("", 0, vec!["t.*".parse().unwrap()]);
    let history = History::load(&**journal).unwrap();
    let mut assembler =
        Assembler::new(Arc::new(config), journal.clone(), history, Tables::default(), start.clone());
    assembler.decoder = Decoder::in_file("binlog.000007", 4).unwrap();
    for (uid, name) in start.tables.iter().filter(|(uid, _)| !start.held.contains_key(uid)) {
        let table = assembler.add_table((**name).clone()).unwrap();
        if let Some(change) = assembler.history.at(*uid, assembler.at(start.scanned.log)).cloned() {
            assembler.hand_out(table, change);
        }
    }
    assembler
}

/// The log's start, with the tables that were there before it.
fn before(journal: &Memory) -> Offset {
    let names = ["numbers", "texts", "moments", "refused", "noKey", "classes"];
    let names = names.map(|table| TableName::new("t", table));
    Offset {
        epoch: 1,
        lineage: Lineage::MariaDb { domain: 0, server_id: 1, log_base: "binlog".into(), witness: None },
        scanned: Scanned::default(),
        snapshot: BTreeMap::new(),
        held: BTreeMap::new(),
        tables: names.map(|name| (journal.table_uid(&name).unwrap(), Arc::new(name))).into(),
    }
}

/// Every event of the segments as text, those that `from` covers left out.
fn events(segments: &[Segment], from: &Offset) -> Vec<String> {
    let batches = segments.iter().flat_map(|segment| &segment.items).filter_map(|item| match item {
        Item::Batch(batch) => Some(batch),
        _ => None,
    });
    let mut lines: Vec<(u64, TxPosition, i64, String)> = Vec::new();
    for batch in batches {
        for event in 0..batch.len() {
            let (tx, table) = (batch.transaction(event), &batch.table);
            let number = batch.events.table_idx[event];
            if from.scanned.covers(tx.position.log, &tx.gtid.unwrap(), table.uid, number) {
                continue;
            }
            let cells: Vec<String> = (batch.rows_of(event))
                .flat_map(|row| (0..table.columns.len()).map(move |c| format!("{:?}", batch.cell(row, c))))
                .collect();
            let letter = batch.events.operation[event].letter();
            let line = format!("{} v{} {letter} #{number} {}", table.name, table.version, cells.join(" "));
            lines.push((table.uid.0, tx.position, batch.events.idx[event], line));
        }
    }
    // Across tables the order in a segment means nothing; within one it must be the log's.
    let sorted = |lines: &[(u64, TxPosition, i64, String)], uid: u64| {
        lines.iter().filter(|line| line.0 == uid).map(|line| (line.1, line.2)).collect::<Vec<_>>()
    };
    for uid in 1..9 {
        assert!(sorted(&lines, uid).is_sorted(), "table {uid} is out of order");
    }
    let mut lines: Vec<String> =
        lines.into_iter().map(|(_, position, idx, line)| format!("{position} {idx:04} {line}")).collect();
    lines.sort();
    lines
}

/// Runs the log from `start`, cut behind every `every` events.
fn run(journal: &Arc<Memory>, start: &Offset, every: usize) -> Vec<Segment> {
    let mut assembler = assembler(journal, start);
    let mut scout = Decoder::in_file("binlog.000007", 4).unwrap();
    let mut segments = Vec::new();
    let mut delivered = false;
    for (n, raw) in raw_events(capture("changes")).into_iter().enumerate() {
        // The server leaves out what the resumed reader has.
        if let Event::Gtid(gtid) = scout.decode(raw).unwrap().event {
            delivered = start.scanned.gtid.covers(&gtid.gtid);
        }
        if delivered {
            assembler.decoder.decode(raw).unwrap();
            continue;
        }
        assembler.event(raw).unwrap();
        assembler.unblock(None).unwrap();
        segments.extend(std::iter::from_fn(|| assembler.sealed()));
        if n % every == every - 1 {
            segments.push(assembler.cut());
        }
    }
    segments.push(assembler.cut());
    segments
}

#[test]
fn cuts_mean_nothing() {
    let journal = Arc::new(Memory::default());
    let start = before(&journal);
    let whole = events(&run(&journal, &start, usize::MAX), &start);
    assert!(whole.len() > 6, "{whole:#?}");
    for every in [1, 2, 3, 7] {
        assert_eq!(events(&run(&journal, &start, every), &start), whole, "cut every {every}");
    }
}

#[test]
fn every_offset_resumes_without_loss_or_repetition() {
    let journal = Arc::new(Memory::default());
    let start = before(&journal);
    let segments = run(&journal, &start, 1);
    let whole = events(&segments, &start);
    let mut inside = 0;
    for (n, segment) in segments.iter().enumerate() {
        inside += usize::from(segment.end.scanned.open.is_some());
        let mut both = events(&segments[..=n], &start);
        let resumed = run(&journal, &segment.end, 4);
        let open = resumed.last().and_then(|last| last.end.scanned.open.clone());
        assert_eq!(open, None, "an open transaction outlived its end");
        both.extend(events(&resumed, &segment.end));
        both.sort();
        assert_eq!(both, whole, "resumed at {:?}", segment.end.scanned);
    }
    assert!(inside > 5, "no offset lies inside a transaction");
}
