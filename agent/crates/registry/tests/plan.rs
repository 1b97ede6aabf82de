//! What a change means to a target: ids, defaults, existing rows.

use std::sync::Arc;

use tidegate_model::{
    Column, ColumnOp, DataType, ExistingRows, LogPosition, SchemaChange, SchemaChangeKind, TableName,
    TableUid, TableVersion, TargetChange, TargetVersion, TxPosition,
};
use tidegate_registry::{COLUMNS_MAX, Cause, Previous, change_id, plan_target};

fn at(offset: u64) -> TxPosition {
    TxPosition { epoch: 1, log: LogPosition { file_no: 1, offset } }
}

fn int(bits: u8) -> DataType {
    DataType::Integer { bits, unsigned: false }
}

/// A column `id:name`, `id:name=default`, or `id:name/bits`.
fn column(text: &str) -> Column {
    let (id, rest) = text.split_once(':').unwrap();
    let (rest, default) = rest.split_once('=').map_or((rest, None), |(rest, d)| (rest, Some(d.to_owned())));
    let (name, bits) = rest.split_once('/').map_or((rest, 32), |(name, bits)| (name, bits.parse().unwrap()));
    Column {
        id: id.parse().unwrap(),
        name: name.into(),
        data_type: int(bits),
        nullable: true,
        source_type: String::new(),
        initial_default: default,
    }
}

fn table(version: u64, columns: &str) -> TableVersion {
    let columns = columns.split_whitespace().map(column).collect();
    TableVersion::new(TableUid(1), TableName::new("shop", "orders"), version, columns, vec![0])
}

fn change(
    kind: SchemaChangeKind,
    columns: &str,
    ops: Vec<ColumnOp>,
    existing_rows: ExistingRows,
) -> SchemaChange {
    let after = Arc::new(table(2, columns));
    SchemaChange { kind, before: None, after, ops, existing_rows, position: at(100), ddl: Vec::new() }
}

fn alter(columns: &str, ops: Vec<ColumnOp>, existing_rows: ExistingRows) -> SchemaChange {
    change(SchemaChangeKind::Alter, columns, ops, existing_rows)
}

fn add(id: u32, name: &str) -> ColumnOp {
    ColumnOp::Add { id, name: name.into() }
}

/// The target after its creation from these columns.
fn created(columns: &str) -> TargetVersion {
    let source = change(SchemaChangeKind::Create, columns, Vec::new(), ExistingRows::None);
    plan_target("id".into(), None, &table(1, columns), &Cause::Ddl(&source)).unwrap().unwrap().after
}

fn plan(previous: &TargetVersion, output: &str, cause: &Cause<'_>) -> Option<TargetChange> {
    let next_id = previous.columns.iter().map(|c| c.id).max().unwrap() + 1;
    plan_target("id".into(), Some(Previous { version: previous, next_id }), &table(2, output), cause).unwrap()
}

fn ids(change: &TargetChange) -> Vec<(u32, &str)> {
    change.after.columns.iter().map(|c| (c.id, c.name.as_str())).collect()
}

#[test]
fn a_new_target_counts_its_columns_from_one() {
    let source = change(SchemaChangeKind::Create, "1:id 2:a", Vec::new(), ExistingRows::None);
    let change = plan_target("id".into(), None, &table(1, "1:id 2:a 0:hash"), &Cause::Ddl(&source));
    let change = change.unwrap().unwrap();
    assert_eq!(ids(&change), [(1, "id"), (2, "a"), (3, "hash")]);
    assert_eq!((change.base, change.after.version, change.position), (None, 1, at(100)));
    assert_eq!(change.existing_rows, ExistingRows::None);
}

#[test]
fn what_fits_needs_no_change() {
    let target = created("1:id 2:a");
    let source = alter("1:id 2:a 3:internal", vec![add(3, "internal")], ExistingRows::None);
    assert_eq!(plan(&target, "1:id 2:a", &Cause::Ddl(&source)), None, "the transform drops the new column");
}

#[test]
fn a_column_keeps_its_id_by_where_it_comes_from() {
    let target = created("1:id 2:a 3:b 0:hash");
    let rename = ColumnOp::Rename { id: 2, from: "a".into(), to: "amount".into() };
    let source = alter("1:id 2:amount 3:b", vec![rename], ExistingRows::None);
    let change = plan(&target, "1:id 3:b 2:amount 0:hash", &Cause::Ddl(&source)).unwrap();
    assert_eq!(ids(&change), [(1, "id"), (3, "b"), (2, "amount"), (4, "hash")]);
    assert_eq!((change.base, change.existing_rows), (Some(1), ExistingRows::None));

    // Swapped names: the values decide.
    let source = alter("1:id 2:b 3:a", Vec::new(), ExistingRows::None);
    let change = plan(&target, "1:id 2:b 3:a 0:hash", &Cause::Ddl(&source)).unwrap();
    assert_eq!(ids(&change), [(1, "id"), (2, "b"), (3, "a"), (4, "hash")]);

    // Dropped and added again under its old name: other values, another id.
    let ops = vec![ColumnOp::Drop { id: 2, name: "a".into() }, add(4, "a")];
    let source = alter("1:id 4:a 3:b", ops, ExistingRows::None);
    let change = plan(&target, "1:id 4:a 3:b 0:hash", &Cause::Ddl(&source)).unwrap();
    assert_eq!(ids(&change), [(1, "id"), (5, "a"), (3, "b"), (4, "hash")]);

    // A column that becomes computed, or was, is found by its name.
    let source = alter("1:id 2:a 3:b", Vec::new(), ExistingRows::None);
    let swap = Cause::Swap { source: &source, module: "m", from: at(200) };
    let change = plan(&target, "1:id 0:a 3:hash 3:b", &swap).unwrap();
    assert_eq!(ids(&change), [(1, "id"), (2, "a"), (4, "hash"), (3, "b")]);
}

#[test]
fn a_source_column_twice_in_an_output_is_told_by_name() {
    let target = created("1:id 2:a 2:copy");
    let source = alter("1:id 2:a", Vec::new(), ExistingRows::None);
    let change = plan(&target, "1:id 2:copy 2:a 0:x", &Cause::Ddl(&source)).unwrap();
    assert_eq!(ids(&change), [(1, "id"), (3, "copy"), (2, "a"), (4, "x")]);
}

#[test]
fn dropped_ids_never_come_back() {
    let target = created("1:id 2:a");
    let source = alter("1:id 3:b", vec![add(3, "b")], ExistingRows::None);
    let previous = Previous { version: &target, next_id: 7 };
    let change = plan_target("id".into(), Some(previous), &table(2, "1:id 3:b"), &Cause::Ddl(&source));
    assert_eq!(ids(&change.unwrap().unwrap()), [(1, "id"), (7, "b")]);
    let exhausted = Previous { version: &target, next_id: u32::MAX };
    let error = plan_target("id".into(), Some(exhausted), &table(2, "1:id 3:b"), &Cause::Ddl(&source));
    assert!(error.unwrap_err().to_string().contains("column ids"));
    let many = (1..=COLUMNS_MAX + 1).map(|n| format!("{n}:c{n} ")).collect::<String>();
    let error = plan_target("id".into(), None, &table(2, &many), &Cause::Ddl(&source)).unwrap_err();
    assert!(error.to_string().contains("4097 columns"), "{error}");
}

#[test]
fn after_a_lost_state_folder_names_decide() {
    // The source counts its columns anew: its 2 was the target's 3.
    let target = created("1:id 3:b 4:c");
    let baseline = change(SchemaChangeKind::Baseline, "1:id 2:b 3:c", Vec::new(), ExistingRows::None);
    let change = plan(&target, "1:id 2:b 3:c", &Cause::Ddl(&baseline)).unwrap();
    assert_eq!(ids(&change), [(1, "id"), (2, "b"), (3, "c")]);
    let origins: Vec<_> = change.after.columns.iter().map(|c| c.origin).collect();
    assert_eq!(origins, [1, 2, 3]);
    assert_eq!(change.existing_rows, ExistingRows::None);
    let grown = plan(&target, "1:id 2:b 3:c 4:d", &Cause::Ddl(&baseline)).unwrap();
    assert_eq!(grown.existing_rows, ExistingRows::Diverges, "nobody knows what its rows hold");
}

#[test]
fn existing_rows_are_judged_by_what_they_read_as() {
    use ExistingRows::{Diverges, InitialDefault, None as Nothing};
    let target = created("1:id 2:a");
    let modify = |widening| ColumnOp::Modify { id: 2, name: "a".into(), widening };
    let ddl = [
        ("null is right", "1:id 2:a 3:b", vec![add(3, "b")], Nothing, "1:id 2:a 3:b", Nothing),
        (
            "a constant default",
            "1:id 2:a 3:b=5",
            vec![add(3, "b")],
            InitialDefault,
            "1:id 2:a 3:b=5",
            InitialDefault,
        ),
        (
            "its default is lost",
            "1:id 2:a 3:b=5",
            vec![add(3, "b")],
            InitialDefault,
            "1:id 2:a 3:b",
            Diverges,
        ),
        ("computed", "1:id 2:a 3:b", vec![add(3, "b")], Nothing, "1:id 2:a 0:twice_b", Diverges),
        ("dropped", "1:id", vec![ColumnOp::Drop { id: 2, name: "a".into() }], Nothing, "1:id", Nothing),
        ("widened", "1:id 2:a/64", vec![modify(true)], Nothing, "1:id 2:a/64", Nothing),
        ("narrowed, every row fits", "1:id 2:a/16", vec![modify(false)], Nothing, "1:id 2:a/16", Nothing),
        ("narrowed", "1:id 2:a/16", vec![modify(false)], Diverges, "1:id 2:a/16", Diverges),
        (
            "narrowed by the transform",
            "1:id 2:a 3:b",
            vec![add(3, "b")],
            Nothing,
            "1:id 2:a/16 3:b",
            Diverges,
        ),
    ];
    for (case, source, ops, verdict, output, expected) in ddl {
        let source = alter(source, ops, verdict);
        let change = plan(&target, output, &Cause::Ddl(&source)).unwrap();
        assert_eq!(change.existing_rows, expected, "{case}");
    }
    let swaps = [
        ("a computed column", "1:id 2:a 0:hash", Diverges),
        ("a column let through", "1:id 2:a 5:b=5", Diverges),
        ("a rename", "1:id 2:amount", Nothing),
        ("a drop", "1:id", Nothing),
        ("a wider cast", "1:id 2:a/64", Nothing),
        ("a narrower cast", "1:id 2:a/16", Diverges),
    ];
    let source = alter("1:id 2:a", Vec::new(), Nothing);
    for (case, output, expected) in swaps {
        let swap = Cause::Swap { source: &source, module: "m", from: at(200) };
        let change = plan(&target, output, &swap).unwrap();
        assert_eq!((change.existing_rows, change.position), (expected, at(200)), "{case}");
    }
}

#[test]
fn a_default_stays_with_its_column() {
    let target = created("1:id 2:a=5");
    let source = alter("1:id 2:a 3:b", vec![add(3, "b")], ExistingRows::None);
    let change = plan(&target, "1:id 2:a 3:b", &Cause::Ddl(&source)).unwrap();
    assert_eq!(change.after.columns[1].initial_default.as_deref(), Some("5"));
}

#[test]
fn the_key_of_a_change_names_all_that_makes_it_one() {
    let source = alter("1:id", Vec::new(), ExistingRows::None);
    let orders = TableName::new("shop", "orders");
    let ddl = Cause::Ddl(&source);
    let swap = |module| Cause::Swap { source: &source, module, from: at(1) };
    let key = change_id("shop", "lake", &orders, &ddl);
    assert_eq!(key, change_id("shop", "lake", &orders, &ddl));
    assert_eq!(key.len(), 64);
    let later = Cause::Swap { source: &source, module: "m", from: at(9) };
    assert_eq!(change_id("shop", "lake", &orders, &swap("m")), change_id("shop", "lake", &orders, &later));
    for other in [
        change_id("shop2", "lake", &orders, &ddl),
        change_id("shop", "dead", &orders, &ddl),
        change_id("shop", "lake", &TableName::new("shop", "order"), &ddl),
        change_id("shop", "lake", &TableName::new("shopo", "rders"), &ddl),
        change_id("shop", "lake", &orders, &swap("m")),
        change_id("shop", "lake", &orders, &swap("n")),
    ] {
        assert_ne!(key, other);
    }
}
