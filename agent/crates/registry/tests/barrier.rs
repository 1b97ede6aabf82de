//! The barrier with a crash between any two steps, and a registry that was lost.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use tidegate_model::{
    Column, ColumnOp, DataType, ErrorKind, ExistingRows, LogPosition, SchemaChange, SchemaChangeKind,
    TableName, TableUid, TableVersion, TargetChange, TargetVersion, TxPosition,
};
use tidegate_registry::{COLUMNS_MAX, Cause, ChangeState, Policy, Registry};

fn at(offset: u64) -> TxPosition {
    TxPosition { epoch: 1, log: LogPosition { file_no: 1, offset } }
}

fn orders() -> TableName {
    TableName::new("shop", "orders")
}

fn table(version: u64, columns: u32) -> Arc<TableVersion> {
    let column = |id| Column {
        id,
        name: format!("c{id}"),
        data_type: DataType::text(),
        nullable: true,
        source_type: String::new(),
        initial_default: None,
    };
    Arc::new(TableVersion::new(TableUid(1), orders(), version, (1..=columns).map(column).collect(), vec![0]))
}

/// Source version n has n columns; its DDL stands at 100 × n.
fn ddl(version: u64) -> SchemaChange {
    let id = version as u32;
    SchemaChange {
        kind: if version == 1 { SchemaChangeKind::Create } else { SchemaChangeKind::Alter },
        before: (version > 1).then(|| table(version - 1, id - 1)),
        after: table(version, id),
        ops: vec![ColumnOp::Add { id, name: format!("c{id}") }],
        existing_rows: ExistingRows::None,
        position: at(100 * version),
        ddl: vec![format!("ALTER TABLE orders ADD c{id} TEXT")],
    }
}

/// A sink that keeps its contract: alters by compare-and-set, once a change.
#[derive(Default)]
struct Sink {
    targets: BTreeMap<TableName, TargetVersion>,
    seen: Vec<String>,
}

impl Sink {
    fn alter(&mut self, change: &TargetChange) {
        if self.seen.contains(&change.change_id) {
            return;
        }
        let current = self.targets.get(&change.after.name).map(|target| target.version);
        assert_eq!(current, change.base, "compare-and-set");
        self.targets.insert(change.after.name.clone(), change.after.clone());
        self.seen.push(change.change_id.clone());
    }
}

fn open(folder: &Path) -> Registry {
    Registry::open(&folder.join("registry.redb"), "shop").unwrap()
}

/// Runs a DDL through the gate and stops after `steps` durable steps, as a crash
/// would; true when rows of the new schema may go on.
fn gate(registry: &Registry, sink: &mut Sink, source: &SchemaChange, steps: usize) -> bool {
    let mut left = steps;
    let mut step = || {
        let go_on = left > 0;
        left = left.saturating_sub(1);
        go_on
    };
    let Some(change) = registry.plan("lake", &source.after, &Cause::Ddl(source)).unwrap() else {
        return true;
    };
    if !step() {
        return false;
    }
    let mut state = registry.intent("lake", &change, source, Policy::Evolve).unwrap();
    if state < ChangeState::Applied {
        if !step() {
            return false;
        }
        let change = registry.applying(&change.change_id).unwrap();
        if !step() {
            return false;
        }
        sink.alter(&change);
        if !step() {
            return false;
        }
        registry.applied(&change.change_id).unwrap();
        state = registry.state(&change.change_id).unwrap().unwrap();
        assert_eq!(state, ChangeState::Applied);
    }
    if !step() {
        return false;
    }
    registry.grant(&change.change_id).unwrap();
    true
}

#[test]
fn a_crash_between_any_two_steps_applies_each_change_once() {
    for first in 0..6 {
        for second in 0..6 {
            let folder = tempfile::tempdir().unwrap();
            let mut sink = Sink::default();
            assert!(gate(&open(folder.path()), &mut sink, &ddl(1), usize::MAX));
            for steps in [first, second, usize::MAX] {
                let registry = open(folder.path());
                for target in sink.targets.values() {
                    registry.adopt("lake", target).unwrap();
                }
                gate(&registry, &mut sink, &ddl(1), steps);
                gate(&registry, &mut sink, &ddl(2), steps);
            }
            let registry = open(folder.path());
            let current = registry.current("lake", &orders()).unwrap();
            assert_eq!(current.as_ref(), sink.targets.get(&orders()), "crashes after {first} and {second}");
            assert_eq!((sink.seen.len(), current.unwrap().version), (2, 2));
            assert!(registry.pending().unwrap().is_empty());
            let history = registry.history(None).unwrap();
            let versions: Vec<_> = history.iter().map(|entry| entry.target.version).collect();
            assert_eq!(versions, [1, 2]);
        }
    }
}

#[test]
fn pending_changes_tell_what_may_have_happened() {
    let folder = tempfile::tempdir().unwrap();
    let mut sink = Sink::default();
    gate(&open(folder.path()), &mut sink, &ddl(1), usize::MAX);
    let states = [(1, ChangeState::Planned), (2, ChangeState::Applying), (4, ChangeState::Applied)];
    for (steps, expected) in states {
        gate(&open(folder.path()), &mut sink, &ddl(2), steps);
        let pending = open(folder.path()).pending().unwrap();
        assert_eq!((pending.len(), pending[0].state), (1, expected), "after {steps} steps");
        assert_eq!((pending[0].sink.as_str(), pending[0].change.base), ("lake", Some(1)));
    }
}

#[test]
fn history_tells_position_and_statement() {
    let folder = tempfile::tempdir().unwrap();
    let registry = open(folder.path());
    let mut sink = Sink::default();
    gate(&registry, &mut sink, &ddl(1), usize::MAX);
    gate(&registry, &mut sink, &ddl(2), usize::MAX);
    let history = registry.history(Some(&orders())).unwrap();
    let change = history[1].change.as_ref().unwrap();
    assert_eq!((change.position, change.ddl.len(), change.ops.len()), (at(200), 1, 1));
    assert_eq!((change.existing_rows, history[1].target.source_version), (ExistingRows::None, 2));
    assert!(history[1].time_us > 0);
    assert!(registry.history(Some(&TableName::new("shop", "items"))).unwrap().is_empty());
}

#[test]
fn a_log_read_again_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let registry = open(folder.path());
    let mut sink = Sink::default();
    for version in [1, 2, 3] {
        gate(&registry, &mut sink, &ddl(version), usize::MAX);
    }
    let source = ddl(3);
    let wider = table(3, 4);
    let swap = |from| Cause::Swap { source: &source, module: "v2", from: at(from) };
    let change = registry.plan("lake", &wider, &swap(350)).unwrap().unwrap();
    registry.intent("lake", &change, &source, Policy::Evolve).unwrap();
    sink.alter(&registry.applying(&change.change_id).unwrap());
    registry.applied(&change.change_id).unwrap();
    registry.grant(&change.change_id).unwrap();
    for version in [1, 2, 3] {
        let source = ddl(version);
        assert_eq!(registry.plan("lake", &source.after, &Cause::Ddl(&source)).unwrap(), None);
    }
    let earlier = Cause::Swap { source: &source, module: "v1", from: at(310) };
    assert_eq!(registry.plan("lake", &source.after, &earlier).unwrap(), None, "an older module's part");
    assert_eq!(registry.plan("lake", &wider, &swap(350)).unwrap(), None);
    assert_eq!(sink.targets[&orders()].version, 4);
}

#[test]
fn a_lost_registry_learns_from_the_sink() {
    let folder = tempfile::tempdir().unwrap();
    let mut sink = Sink::default();
    for version in [1, 2] {
        gate(&open(folder.path()), &mut sink, &ddl(version), usize::MAX);
    }
    std::fs::remove_file(folder.path().join("registry.redb")).unwrap();

    let registry = open(folder.path());
    registry.adopt("lake", &sink.targets[&orders()]).unwrap();
    registry.adopt("lake", &sink.targets[&orders()]).unwrap();
    assert_eq!(registry.current("lake", &orders()).unwrap().as_ref(), sink.targets.get(&orders()));
    assert!(gate(&registry, &mut sink, &ddl(2), 0), "its log lies behind");
    assert!(gate(&registry, &mut sink, &ddl(3), usize::MAX));
    let ids: Vec<_> = sink.targets[&orders()].columns.iter().map(|column| column.id).collect();
    assert_eq!(ids, [1, 2, 2 * COLUMNS_MAX + 1], "above every id that a dropped column can have had");
    let history = registry.history(None).unwrap();
    assert!(history[0].change.is_none() && history[1].change.is_some());
}

#[test]
fn a_sink_that_went_back_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let registry = open(folder.path());
    let mut sink = Sink::default();
    gate(&registry, &mut sink, &ddl(1), usize::MAX);
    let old = sink.targets[&orders()].clone();
    gate(&registry, &mut sink, &ddl(2), usize::MAX);
    let error = registry.adopt("lake", &old).unwrap_err();
    assert_eq!(error.exit_code(), 3);
    assert!(error.to_string().contains("at v1") && error.to_string().contains("knows v2"), "{error}");
    let mut other = sink.targets[&orders()].clone();
    other.columns[0].name = "renamed".into();
    assert_eq!(registry.adopt("lake", &other).unwrap_err().exit_code(), 3);
}

#[test]
fn intents_are_checked() {
    let folder = tempfile::tempdir().unwrap();
    let registry = open(folder.path());
    let source = ddl(1);
    let change = registry.plan("lake", &source.after, &Cause::Ddl(&source)).unwrap().unwrap();
    let intent = |change: &TargetChange| registry.intent("lake", change, &source, Policy::Evolve);
    assert_eq!(registry.state(&change.change_id).unwrap(), None);
    assert_eq!(intent(&change).unwrap(), ChangeState::Planned);
    assert_eq!(intent(&change).unwrap(), ChangeState::Planned);
    assert_eq!(registry.applied(&change.change_id).unwrap_err().kind(), ErrorKind::Internal);
    assert_eq!(registry.grant(&change.change_id).unwrap_err().kind(), ErrorKind::Internal);
    assert_eq!(registry.applying("unknown").unwrap_err().kind(), ErrorKind::Internal);

    let mut other = change.clone();
    other.after.columns[0].name = "other".into();
    let mismatch = intent(&other).unwrap_err();
    assert_eq!((mismatch.kind(), mismatch.exit_code()), (ErrorKind::Refused, 3));
    other.change_id = "another".into();
    assert_eq!(intent(&other).unwrap_err().kind(), ErrorKind::Refused, "one change at a time");

    registry.applying(&change.change_id).unwrap();
    registry.applied(&change.change_id).unwrap();
    registry.applied(&change.change_id).unwrap();
    registry.grant(&change.change_id).unwrap();
    registry.grant(&change.change_id).unwrap();
    assert_eq!(registry.applying(&change.change_id).unwrap_err().kind(), ErrorKind::Internal);
    assert_eq!(intent(&other).unwrap_err().kind(), ErrorKind::Schema, "the target exists already");
}

/// `TIDEGATE_REWRITE=1` writes the file of the current version anew; only a
/// version that has not been released may be rewritten.
#[test]
fn a_file_of_version_1_stays_readable() {
    let stored = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/v1");
    if std::env::var_os("TIDEGATE_REWRITE").is_some() {
        let _ = std::fs::remove_dir_all(&stored);
        std::fs::create_dir_all(&stored).unwrap();
        let (registry, mut sink) = (open(&stored), Sink::default());
        let mut adopted = registry.plan("lake", &ddl(1).after, &Cause::Ddl(&ddl(1))).unwrap().unwrap().after;
        adopted.name = TableName::new("shop", "items");
        registry.adopt("lake", &adopted).unwrap();
        gate(&registry, &mut sink, &ddl(1), usize::MAX);
        gate(&registry, &mut sink, &ddl(2), 3);
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(stored.join("registry.redb"), folder.path().join("registry.redb")).unwrap();
    let registry = open(folder.path());
    let current = registry.current("lake", &orders()).unwrap().unwrap();
    assert_eq!((current.version, current.columns.len()), (1, 1));
    let pending = registry.pending().unwrap();
    assert_eq!((pending[0].state, pending[0].attempts), (ChangeState::Applying, 1));
    let history = registry.history(None).unwrap();
    assert_eq!((history.len(), history[0].change.is_none(), history[1].change.is_some()), (2, true, true));
    registry.adopt("lake", &pending[0].change.after).unwrap();
    assert_eq!(registry.pending().unwrap()[0].state, ChangeState::Applied, "the sink had it");
}
