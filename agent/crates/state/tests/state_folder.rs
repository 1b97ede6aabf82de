//! The state folder as a pipeline uses it: what is durable, what is refused, and
//! that a folder of an older format stays readable.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tidegate_model::source::{ChunkPlan, DdlNote, Journal};
use tidegate_model::{
    Column, ColumnOp, DataType, ErrorKind, ExistingRows, Lineage, LogPosition, Offset, Scanned, SchemaChange,
    SchemaChangeKind, TableName, TableSnapshot, TableUid, TableVersion, TxPosition, Witness,
};
use tidegate_state::{Checkpoint, Digest, ModuleUse, State};

const ORDERS: TableUid = TableUid(1);

fn log(offset: u64) -> LogPosition {
    LogPosition { file_no: 3, offset }
}

fn tx(offset: u64) -> TxPosition {
    TxPosition { epoch: 1, log: log(offset) }
}

fn orders() -> TableName {
    TableName::new("shop", "orders")
}

fn offset(at: u64, chunks: u64) -> Offset {
    let witness = Witness { gtid: "0-1-41".parse().unwrap(), crc: 0xC0FF_EE00, log: log(100) };
    let upper = if chunks > 0 { vec!["'k'".to_owned()] } else { Vec::new() };
    Offset {
        epoch: 1,
        lineage: Lineage::MariaDb {
            domain: 0,
            server_id: 1,
            log_base: "binlog".into(),
            witness: Some(witness),
        },
        scanned: Scanned { gtid: "0-1-42".parse().unwrap(), open: None, log: log(at) },
        snapshot: [(ORDERS, TableSnapshot { generation: 1, chunks, upper, done: false })].into(),
        held: BTreeMap::new(),
        tables: [(ORDERS, Arc::new(orders()))].into(),
    }
}

fn checkpoint(at: u64, chunks: u64) -> Checkpoint {
    Checkpoint {
        state_offset: offset(at, chunks),
        sinks: [("lake".to_owned(), offset(at, chunks)), ("dead".to_owned(), offset(at + 8, chunks))].into(),
        dead_letters: 2,
        counters: [("cdc_source_events_total".to_owned(), 17)].into(),
    }
}

fn version(version: u64, columns: &[(u32, &str, DataType)]) -> Arc<TableVersion> {
    let columns = (columns.iter())
        .map(|(id, name, data_type)| Column {
            id: *id,
            name: (*name).into(),
            data_type: data_type.clone(),
            nullable: *id > 1,
            source_type: String::new(),
            initial_default: None,
        })
        .collect();
    Arc::new(TableVersion::new(ORDERS, orders(), version, columns, vec![0]))
}

fn int() -> DataType {
    DataType::Integer { bits: 64, unsigned: false }
}

fn baseline() -> Arc<SchemaChange> {
    Arc::new(SchemaChange {
        kind: SchemaChangeKind::Baseline,
        before: None,
        after: version(1, &[(1, "id", int())]),
        ops: Vec::new(),
        existing_rows: ExistingRows::None,
        position: tx(4),
        ddl: Vec::new(),
    })
}

fn added() -> Arc<SchemaChange> {
    Arc::new(SchemaChange {
        kind: SchemaChangeKind::Alter,
        before: Some(baseline().after.clone()),
        after: version(2, &[(1, "id", int()), (2, "note", DataType::text())]),
        ops: vec![ColumnOp::Add { id: 2, name: "note".into() }],
        existing_rows: ExistingRows::None,
        position: tx(300),
        ddl: vec!["ALTER TABLE orders ADD note TEXT".into()],
    })
}

fn chunk(chunk: u64) -> ChunkPlan {
    let bound = |n: u64| vec![format!("'k{n}'")];
    let lower = if chunk == 1 { Vec::new() } else { bound(chunk - 1) };
    ChunkPlan { table: ORDERS, generation: 1, chunk, lower, upper: bound(chunk) }
}

fn chain() -> Vec<ModuleUse> {
    let digest = |bytes: &[u8]| Digest::of(bytes);
    vec![ModuleUse { transform: "clean".into(), module: digest(b"\0asm"), config: digest(b"{}") }]
}

#[test]
fn what_was_written_is_there_after_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let state = State::open(folder.path(), "shop").unwrap();
    state.start_at(&offset(4, 0)).unwrap();
    assert_eq!(state.table_uid(&orders()).unwrap(), ORDERS);
    assert_eq!(state.table_uid(&TableName::new("shop", "items")).unwrap(), TableUid(2));
    state.record_change(&baseline()).unwrap();
    state.plan_chunk(&chunk(1)).unwrap();
    state.append_chain(tx(4), &chain()).unwrap();
    // A copy of the files at this moment is what a kill leaves: nothing is flushed on drop.
    let killed = tempfile::tempdir().unwrap();
    copy(folder.path(), killed.path());
    drop(state);

    let state = State::open(killed.path(), "shop").unwrap();
    assert!(!state.was_new());
    assert_eq!(state.table_uid(&orders()).unwrap(), ORDERS);
    assert_eq!(state.table_uid(&TableName::new("shop", "new")).unwrap(), TableUid(3));
    assert_eq!(state.schema_history().unwrap(), [baseline()]);
    assert_eq!(state.planned_chunk(ORDERS, 1, 1).unwrap(), Some(chunk(1)));
    assert_eq!(state.last_checkpoint().unwrap().unwrap().state_offset, offset(4, 0));
    assert_eq!(state.chain_at(tx(9)).unwrap().unwrap().chain, chain());
}

#[test]
fn a_start_without_a_checkpoint_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let state = State::open(folder.path(), "shop").unwrap();
    state.table_uid(&TableName::new("shop", "gone")).unwrap();
    let mut elsewhere = (*baseline()).clone();
    elsewhere.position = tx(99);
    state.record_change(&Arc::new(elsewhere)).unwrap();
    state.plan_chunk(&chunk(1)).unwrap();
    drop(state);

    let state = State::open(folder.path(), "shop").unwrap();
    assert!(state.was_new());
    assert_eq!(state.planned_chunk(ORDERS, 1, 1).unwrap(), None);
    assert_eq!(state.table_uid(&orders()).unwrap(), ORDERS, "no row was ever written under the first uid");
    state.record_change(&baseline()).unwrap();
}

#[test]
fn a_schema_version_is_recorded_once() {
    let folder = tempfile::tempdir().unwrap();
    let state = State::open(folder.path(), "shop").unwrap();
    state.record_change(&baseline()).unwrap();
    state.record_change(&added()).unwrap();

    // A better parser sees a rename where the recorded change has an addition.
    let mut parsed_anew = (*added()).clone();
    parsed_anew.ops = vec![ColumnOp::Rename { id: 2, from: "memo".into(), to: "note".into() }];
    state.record_change(&Arc::new(parsed_anew)).unwrap();
    assert_eq!(state.schema_history().unwrap(), [baseline(), added()], "the recorded change stays");

    let mut other = (*added()).clone();
    other.after = version(2, &[(1, "id", int()), (2, "note", int())]);
    let refused = state.record_change(&Arc::new(other)).unwrap_err();
    assert_eq!((refused.kind(), refused.exit_code()), (ErrorKind::Refused, 3));
    assert!(refused.message().contains("version 2 of table shop.orders"), "{refused}");

    let mut gap = (*added()).clone();
    gap.after = version(4, &[(1, "id", int())]);
    assert_eq!(state.record_change(&Arc::new(gap)).unwrap_err().kind(), ErrorKind::Internal);
}

#[test]
fn a_lost_folder_goes_on_behind_the_sinks_records() {
    let folder = tempfile::tempdir().unwrap();
    let state = State::open(folder.path(), "shop").unwrap();
    state.seed_uid(&orders(), TableUid(7)).unwrap();
    state.seed_uid(&orders(), TableUid(7)).unwrap();
    assert_eq!(state.seed_uid(&orders(), TableUid(8)).unwrap_err().kind(), ErrorKind::Refused);
    state.seed_version(TableUid(7), 3).unwrap();
    state.seed_version(TableUid(7), 2).unwrap();
    assert_eq!(state.known_version(TableUid(7)), 3);
    assert_eq!(state.known_version(TableUid(1)), 0);
    assert_eq!(state.table_uid(&orders()).unwrap(), TableUid(7));
    assert_eq!(state.table_uid(&TableName::new("shop", "new")).unwrap(), TableUid(8));

    let mut next = (*baseline()).clone();
    next.after =
        Arc::new(TableVersion::new(TableUid(7), orders(), 4, baseline().after.columns.clone(), vec![0]));
    state.record_change(&Arc::new(next)).unwrap();
}

#[test]
fn a_ddl_is_kept_until_its_change_is_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let note = |table, at| DdlNote {
        table,
        position: tx(at),
        schema: "shop".into(),
        sql: format!("ALTER TABLE orders ADD c{at} INT"),
        backslash_escapes: false,
        strict: true,
    };
    let change = added();
    let at = change.position.log.offset;
    let (used, later, other) = (note(ORDERS, at - 1), note(ORDERS, at + 1), note(TableUid(2), at - 1));
    {
        let state = State::open(folder.path(), "shop").unwrap();
        state.start_at(&offset(4, 0)).unwrap();
        for note in [&later, &used, &other, &used] {
            state.note_ddl(note).unwrap();
        }
    }
    let state = State::open(folder.path(), "shop").unwrap();
    assert_eq!(state.ddl_notes(ORDERS).unwrap(), [used, later.clone()]);
    state.record_change(&baseline()).unwrap();
    state.record_change(&change).unwrap();
    assert_eq!(state.ddl_notes(ORDERS).unwrap(), [later]);
    assert_eq!(state.ddl_notes(TableUid(2)).unwrap(), [other]);
}

#[test]
fn chunk_bounds_live_until_every_sink_has_the_chunk() {
    let folder = tempfile::tempdir().unwrap();
    let state = State::open(folder.path(), "shop").unwrap();
    for n in 1..=3 {
        state.plan_chunk(&chunk(n)).unwrap();
    }
    state.plan_chunk(&chunk(2)).unwrap();
    let mut moved = chunk(2);
    moved.upper = vec!["'secret'".into()];
    let refused = state.plan_chunk(&moved).unwrap_err();
    assert!(!refused.to_string().contains("secret"), "{refused}");

    let bytes = state.checkpoint(&checkpoint(200, 2)).unwrap();
    assert!(bytes > 0);
    let planned = |chunk| state.planned_chunk(ORDERS, 1, chunk).unwrap();
    assert_eq!((planned(1), planned(2), planned(3)), (None, None, Some(chunk(3))));
    let mut next_generation = checkpoint(200, 0);
    next_generation.state_offset.snapshot.get_mut(&ORDERS).unwrap().generation = 2;
    state.checkpoint(&next_generation).unwrap();
    assert_eq!(planned(3), None);
}

#[test]
fn checkpoints_only_move_forwards() {
    let folder = tempfile::tempdir().unwrap();
    let state = State::open(folder.path(), "shop").unwrap();
    state.checkpoint(&checkpoint(200, 0)).unwrap();
    assert_eq!(state.checkpoint(&checkpoint(199, 0)).unwrap_err().kind(), ErrorKind::Internal);
    assert_eq!(state.last_checkpoint().unwrap(), Some(checkpoint(200, 0)));
    let mut back = checkpoint(100, 0);
    back.state_offset.epoch = 2;
    state.checkpoint(&back).unwrap();
}

/// `TIDEGATE_REWRITE=1` writes the folder of the current version anew; only a
/// version that has not been released may be rewritten.
#[test]
fn a_folder_of_version_1_stays_readable() {
    let stored = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/v1");
    if std::env::var_os("TIDEGATE_REWRITE").is_some() {
        write_version_1(&stored);
    }
    let folder = tempfile::tempdir().unwrap();
    copy(&stored, folder.path());
    let state = State::open(folder.path(), "shop").unwrap();
    assert!(!state.was_new());
    assert_eq!(state.server_id(), 3_121_339_518);
    assert_eq!(state.last_checkpoint().unwrap(), Some(checkpoint(400, 1)));
    assert_eq!(state.table_uid(&orders()).unwrap(), ORDERS);
    assert_eq!(state.schema_history().unwrap(), [baseline(), added()]);
    state.record_change(&added()).unwrap();
    assert_eq!(state.planned_chunk(ORDERS, 1, 1).unwrap(), None);
    assert_eq!(state.planned_chunk(ORDERS, 1, 2).unwrap(), Some(chunk(2)));
    assert_eq!(state.known_version(TableUid(9)), 5);
    let table = state.module_table().unwrap();
    assert_eq!((table.len(), table[0].from, &table[0].chain), (1, tx(4), &chain()));
    assert_eq!(state.module(&chain()[0].module).unwrap(), b"\0asm");
    assert_eq!(state.table_uid(&TableName::new("shop", "new")).unwrap(), TableUid(10));
}

fn write_version_1(folder: &Path) {
    let _ = fs::remove_dir_all(folder);
    let state = State::open(folder, "shop").unwrap();
    state.table_uid(&orders()).unwrap();
    state.seed_uid(&TableName::new("shop", "old"), TableUid(9)).unwrap();
    state.seed_version(TableUid(9), 5).unwrap();
    state.record_change(&baseline()).unwrap();
    state.record_change(&added()).unwrap();
    state.plan_chunk(&chunk(1)).unwrap();
    state.plan_chunk(&chunk(2)).unwrap();
    state.keep_module(b"\0asm").unwrap();
    state.keep_module(b"{}").unwrap();
    state.append_chain(tx(4), &chain()).unwrap();
    state.checkpoint(&checkpoint(400, 1)).unwrap();
    drop(state);
    fs::remove_file(folder.join("lock")).unwrap();
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path: PathBuf = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        match path.is_dir() {
            true => copy(&path, &target),
            false => drop(fs::copy(&path, target).unwrap()),
        }
    }
}
