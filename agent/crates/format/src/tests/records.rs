//! Every record: written as its golden file says, read back to the same value,
//! and read from every older version.

use serde_json::Value;
use tidegate_model::{
    DeadLetter, EventPosition, Offset, Refusal, RefusalCode, SchemaChange, Stage, TargetChange,
};

use super::sample::{batch, offset, position, schema_change, target_change};
use super::{check_golden, testdata};
use crate::record::{self, Record};
use crate::{
    DeadLetterRecord, EdgeRecord, EntryKind, FileRecord, LogEntry, LogSnapshot, OffsetRecord, PositionRecord,
    SchemaChangeRecord, SnapshotMarkRecord, TargetChangeRecord, WriterChangeRecord, WriterMarkRecord,
    WriterRecord, writer_id,
};

/// Checks the golden file and returns the record that was read back from it.
fn check<T: Record + PartialEq + std::fmt::Debug>(record: &T) -> T {
    let name = T::NAME.replace(' ', "-");
    let bytes = record::encode(record).unwrap();
    let value: Value = serde_json::from_slice(&bytes).unwrap();
    let golden = format!("{name}.v{}.json", T::VERSION);
    check_golden(&golden, &(serde_json::to_string_pretty(&value).unwrap() + "\n"));
    for version in 1..=T::VERSION {
        let file = testdata().join(format!("{name}.v{version}.json"));
        record::decode::<T>(&std::fs::read(file).unwrap()).unwrap();
    }
    let read: T = record::decode(&bytes).unwrap();
    assert_eq!(&read, record);
    read
}

#[test]
fn offsets() {
    let read = check(&OffsetRecord::from(&offset()));
    assert_eq!(Offset::try_from(&read).unwrap(), offset());
}

#[test]
fn schema_changes() {
    let read = check(&SchemaChangeRecord::from(&schema_change()));
    assert_eq!(SchemaChange::try_from(&read).unwrap(), schema_change());
}

#[test]
fn target_changes() {
    let read = check(&TargetChangeRecord::from(&target_change()));
    assert_eq!(TargetChange::try_from(&read).unwrap(), target_change());
    let mut damaged = TargetChangeRecord::from(&target_change());
    damaged.after.key = vec![99];
    assert!(TargetChange::try_from(&damaged).is_err());
}

fn file() -> FileRecord {
    FileRecord {
        table: "shop.orders".into(),
        table_uid: 1,
        schema_version: 3,
        key: "shop/orders/v3/0123abcd-2-0190a5b0-0000-7000-8000-000000000000.parquet".into(),
        rows: 5,
        bytes: 4096,
        min: PositionRecord::from(EventPosition { tx: position(600), idx: -1 }),
        max: PositionRecord::from(EventPosition { tx: position(700), idx: 0 }),
        modules: vec!["clean@0123456789ab".into()],
        generation: 2,
    }
}

fn mark() -> SnapshotMarkRecord {
    SnapshotMarkRecord {
        mark: EdgeRecord::End,
        table: "shop.orders".into(),
        table_uid: 1,
        generation: 2,
        position: position(700).into(),
    }
}

#[test]
fn log_entries() {
    check(&LogEntry {
        version: LogEntry::VERSION,
        kind: EntryKind::Commit,
        writer: writer_id("shop", "lake"),
        name: "shop/lake".into(),
        claim: 2,
        commit_id: "5b0c2b8e-6f0e-4b0e-9d57-0f3d2a1c4e5f".into(),
        written_at: "2026-11-29T18:02:08.000000Z".into(),
        offset: Some(OffsetRecord::from(&offset())),
        dead_letters: 1,
        files: vec![file()],
        target_changes: vec![TargetChangeRecord::from(&target_change())],
        snapshots: vec![mark()],
    });
}

#[test]
fn log_snapshots() {
    let writer = writer_id("shop", "lake");
    let record = WriterRecord {
        name: "shop/lake".into(),
        claim: 2,
        offset: Some(OffsetRecord::from(&offset())),
        dead_letters: 1,
        last_objects: [(2, "0190a5b0-0000-7000-8000-000000000000".into())].into(),
    };
    let change = TargetChangeRecord::from(&target_change());
    check(&LogSnapshot {
        version: LogSnapshot::VERSION,
        number: 200,
        previous: 100,
        writers: [(writer.clone(), record)].into(),
        target_changes: vec![WriterChangeRecord { writer: writer.clone(), change }],
        snapshots: vec![WriterMarkRecord { writer, mark: mark() }],
        files: vec![file()],
    });
}

fn letter(event: u32) -> DeadLetter {
    let event = batch().select(&[event]).unwrap();
    let day = event.table.index_of("day").unwrap() as u32;
    let refusal = Refusal {
        event: 0,
        code: RefusalCode::InvalidValue,
        column: Some("day".into()),
        message: "a zero date has no exact form".into(),
        texts: vec![(event.rows_of(0).end as u32 - 1, day, "0000-00-00".into())],
    };
    DeadLetter {
        event,
        refusal,
        stage: Stage::Transform("clean".into()),
        module: "clean@0123456789ab".into(),
    }
}

#[test]
fn dead_letters() {
    check(&DeadLetterRecord::new("shop", &letter(1)));
}

#[test]
fn dead_letter_ids_tell_events_apart_and_are_stable() {
    let id = |pipeline: &str, letter: &DeadLetter| DeadLetterRecord::new(pipeline, letter).id;
    assert_eq!(id("shop", &letter(1)), id("shop", &letter(1)));
    let mut other_stage = letter(1);
    other_stage.stage = Stage::Source;
    let mut other_generation = letter(0);
    other_generation.event.generation += 1;
    let ids = [
        id("shop", &letter(0)),
        id("shop", &letter(1)),
        id("shop", &letter(2)),
        id("bazaar", &letter(1)),
        id("shop", &other_stage),
        id("shop", &other_generation),
    ];
    let distinct: std::collections::BTreeSet<_> = ids.iter().collect();
    assert_eq!(distinct.len(), ids.len());
}
