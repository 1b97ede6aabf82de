//! The queries of current rows, run by DuckDB and pyarrow where `make setup` has
//! installed them (skipped with a word where not).

use std::path::{Path, PathBuf};
use std::process::Command;

use tidegate_model::sink::{Part, Sink};
use tidegate_model::{ExistingRows, Operation, SnapshotMark, TableUid};

use super::sample::{Scratch, commit_to, position};
use super::wide::{Event, batch, change, target, wide};
use crate::{Format, Latest, ObjectSink};

use Operation::{Delete, Insert, Snapshot, Update};

const V1: &[Event] = &[
    (Insert, &[1], 1),
    (Insert, &[2], 2),
    (Insert, &[3], 3),
    (Insert, &[4], 4),
    (Update, &[2, 2], 20),
    (Update, &[3, 30], 30),
    (Delete, &[4], 4),
    (Insert, &[u64::MAX], -1),
];
const V2: &[Event] = &[(Insert, &[5], 5), (Update, &[1, 1], 10)];

async fn write(sink: &mut ObjectSink, version: u64, key: bool, batch: tidegate_model::ChangeBatch) {
    sink.write(Part::Rows { target: &target(version, key), batch: &batch }).await.unwrap();
}

async fn commit(sink: &mut ObjectSink, at: u64) {
    sink.commit(&commit_to(at)).await.unwrap();
}

/// Two versions of the table with the events above.
async fn history(scratch: &Scratch, format: Format, key: bool, existing: ExistingRows) -> ObjectSink {
    let mut sink = ObjectSink::new(scratch.config(format, "lake"));
    sink.recover().await.unwrap();
    sink.alter(&change(1, key, ExistingRows::None)).await.unwrap();
    write(&mut sink, 1, key, batch(1, 600, 1, V1)).await;
    commit(&mut sink, 600).await;
    sink.alter(&change(2, key, existing)).await.unwrap();
    write(&mut sink, 2, key, batch(2, 1100, 1, V2)).await;
    commit(&mut sink, 1100).await;
    sink
}

async fn latest(scratch: &Scratch) -> Latest {
    scratch.lake().await.latest(&wide()).await.unwrap()
}

async fn mark(sink: &mut ObjectSink, begin: bool, generation: u64, at: u64) {
    let (table, name, position) = (TableUid(9), wide().into(), position(at));
    let mark = match begin {
        true => SnapshotMark::Begin { table, name, generation, position },
        false => SnapshotMark::End { table, name, generation, position },
    };
    sink.write(Part::Snapshot(&mark)).await.unwrap();
}

/// The readers' Python, if it is there.
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn python() -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../target/rig/venv/bin/python");
    if !path.exists() {
        eprintln!("SKIPPED: no DuckDB and pyarrow here; `make setup` installs them");
    }
    path.exists().then_some(path)
}

const READ: &str = r#"
import json, sys, duckdb
with open(sys.argv[1]) as file:
    cursor = duckdb.connect().execute(file.read())
names = [column[0] for column in cursor.description]
by_duckdb = [dict(zip(names, row)) for row in cursor.fetchall()]
scope = {"print": lambda *_: None}
with open(sys.argv[2]) as file:
    exec(file.read(), scope)
by_pyarrow = scope["rows"].to_pylist()
assert by_duckdb == by_pyarrow, f"DuckDB: {by_duckdb}\npyarrow: {by_pyarrow}"
print(json.dumps(by_pyarrow, default=str))
"#;

/// The rows that both readers find, which must be the same.
fn rows(scratch: &Scratch, latest: &Latest) -> Option<Vec<serde_json::Value>> {
    let (sql, program) = (scratch.root().join("latest.sql"), scratch.root().join("latest.py"));
    std::fs::write(&sql, latest.duckdb()).unwrap();
    std::fs::write(&program, latest.pyarrow()).unwrap();
    let output = Command::new(python()?).args(["-c", READ]).arg(&sql).arg(&program).output().unwrap();
    let talk = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{talk}\n{}", latest.duckdb());
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

fn ids(rows: &[serde_json::Value]) -> Vec<String> {
    rows.iter().map(|row| row["id"].to_string()).collect()
}

async fn current_rows_are_exact(format: Format) {
    let scratch = Scratch::new();
    history(&scratch, format, true, ExistingRows::InitialDefault).await;
    let latest = latest(&scratch).await;
    assert_eq!(latest.diverges(), None);
    let Some(rows) = rows(&scratch, &latest) else { return };
    assert_eq!(ids(&rows), ["1", "2", "5", "30", "18446744073709551615"]);
    // A row of version 1 under the columns of version 2.
    let old = &rows[1];
    assert_eq!(old["ti'tle"], "-20.000000000000000000000000000001 é'\"\\\n");
    assert_eq!(old["price"], "-123.65");
    assert_eq!(old["small"], -20);
    assert_eq!(old["qty"], 7);
    assert_eq!(old["since"], "2026-01-02 03:04:05+00:00");
    assert_eq!(old["tag"], "b'ab'");
    assert_eq!(old["pause"], -1_500_000);
    assert_eq!(old["rate"], "1.250");
    assert_eq!(old["gone"], serde_json::Value::Null, "a new column under a dropped one's name");
    assert_eq!(old["instant"], "1969-12-31 23:59:59.999979+00:00");
    // One of version 2, and one of nulls.
    assert_eq!((&rows[0]["small"], &rows[0]["qty"]), (&(i32::MIN + 10).into(), &(i32::MIN + 10).into()));
    assert_eq!(rows[0]["single"].as_f64().unwrap() as f32, 10.1);
    assert_eq!((&rows[4]["price"], &rows[4]["qty"]), (&serde_json::Value::Null, &7.into()));
}

#[tokio::test]
async fn current_rows_of_parquet() {
    current_rows_are_exact(Format::Parquet).await;
}

#[tokio::test]
async fn current_rows_of_json_lines() {
    current_rows_are_exact(Format::JsonLines).await;
}

#[tokio::test]
async fn a_complete_snapshot_drops_what_it_did_not_see() {
    let scratch = Scratch::new();
    let mut sink = history(&scratch, Format::Parquet, true, ExistingRows::Diverges).await;
    assert!(latest(&scratch).await.diverges().unwrap().contains("tidegate snapshot shop.wide rows"));
    mark(&mut sink, true, 2, 1200).await;
    write(&mut sink, 2, true, batch(2, 1300, 2, &[(Snapshot, &[1], 11), (Snapshot, &[5], 55)])).await;
    commit(&mut sink, 1300).await;
    let running = latest(&scratch).await;
    assert!(running.diverges().is_some(), "the snapshot is not complete");
    if let Some(rows) = rows(&scratch, &running) {
        assert_eq!(ids(&rows), ["1", "2", "5", "30", "18446744073709551615"]);
    }
    // A change at the very place of the high mark comes after the snapshot's row.
    write(&mut sink, 2, true, batch(2, 1300, 2, &[(Update, &[5, 5], 56)])).await;
    mark(&mut sink, false, 2, 1300).await;
    commit(&mut sink, 1400).await;
    let complete = latest(&scratch).await;
    assert_eq!(complete.diverges(), None);
    if let Some(rows) = rows(&scratch, &complete) {
        assert_eq!(ids(&rows), ["1", "5"]);
        assert_eq!(rows[1]["small"], i32::MIN + 56);
    }
}

#[tokio::test]
async fn without_a_key_every_event_is_a_row() {
    let scratch = Scratch::new();
    history(&scratch, Format::JsonLines, false, ExistingRows::None).await;
    let latest = latest(&scratch).await;
    assert!(latest.key().is_empty());
    let Some(rows) = rows(&scratch, &latest) else { return };
    assert_eq!(rows.len(), V1.len() + V2.len());
    assert_eq!(rows[6]["__op"], "d");
}

#[tokio::test]
async fn a_table_without_files_has_columns_and_no_rows() {
    let scratch = Scratch::new();
    let mut sink = ObjectSink::new(scratch.config(Format::Parquet, "lake"));
    sink.recover().await.unwrap();
    sink.alter(&change(1, true, ExistingRows::None)).await.unwrap();
    let latest = latest(&scratch).await;
    if let Some(rows) = rows(&scratch, &latest) {
        assert!(rows.is_empty());
    }
    let unknown = tidegate_model::TableName::new("shop", "nothing");
    let error = scratch.lake().await.files(&unknown).await.unwrap_err();
    assert!(error.to_string().contains("it has: shop.wide rows"), "{error}");
}
