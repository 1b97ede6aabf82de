//! One line a case: columns before, DDL, columns after; what must come out.

use super::*;
use tidegate_model::LogPosition;

fn int(bits: u8) -> DataType {
    DataType::Integer { bits, unsigned: false }
}

fn observed(name: &str, data_type: DataType, nullable: bool) -> Observed {
    Observed { name: name.into(), data_type, nullable, source_type: String::new() }
}

fn at(offset: u64) -> TxPosition {
    TxPosition { epoch: 1, log: LogPosition { file_no: 1, offset } }
}

fn note(offset: u64, clauses: &str) -> DdlNote {
    DdlNote::read(&source::DdlNote {
        table: TableUid(1),
        position: at(offset),
        schema: "s".into(),
        sql: format!("alter table t {clauses}"),
        backslash_escapes: true,
        strict: true,
    })
}

/// A table (id int not null key, a int, b varchar(9)).
fn before() -> Vec<Observed> {
    vec![
        observed("id", int(32), false),
        observed("a", int(32), true),
        observed("b", DataType::Text { length: 9, charset: "utf8mb4".into() }, true),
    ]
}

fn derive(notes: &[DdlNote], after: Vec<Observed>) -> SchemaChange {
    let name = TableName::new("s", "t");
    let base = Derivation {
        uid: TableUid(1),
        name: &name,
        before: None,
        version: 1,
        last_id: 0,
        observed: before(),
        key: vec![0],
        notes: &[],
        catalog: None,
        position: at(1),
    };
    let first = base.change().after;
    Derivation {
        uid: TableUid(1),
        name: &name,
        before: Some(&first),
        version: 2,
        last_id: 3,
        observed: after,
        key: vec![0],
        notes,
        catalog: None,
        position: at(9),
    }
    .change()
}

fn show(change: &SchemaChange) -> String {
    let ops: Vec<String> = (change.ops.iter())
        .map(|op| match op {
            ColumnOp::Add { id, name } => format!("+{name}#{id}"),
            ColumnOp::Drop { id, name } => format!("-{name}#{id}"),
            ColumnOp::Rename { id, from, to } => format!("{from}>{to}#{id}"),
            ColumnOp::Modify { id, name, widening } => {
                format!("~{name}#{id}{}", if *widening { "+" } else { "" })
            }
            ColumnOp::Key => "key".into(),
        })
        .collect();
    format!("{} {:?} @{}", ops.join(" "), change.existing_rows, change.position.log.offset)
}

#[test]
fn ddl_tells_what_became_what() {
    let with = |extra: Observed| before().into_iter().chain([extra]).collect::<Vec<_>>();
    let renamed = |to: &str| {
        let mut columns = before();
        columns[1].name = to.into();
        columns
    };
    let modified = |data_type: DataType, nullable: bool| {
        let mut columns = before();
        columns[1] = observed("a", data_type, nullable);
        columns
    };
    for (notes, after, expected) in [
        (vec![note(5, "add c int")], with(observed("c", int(32), true)), "+c#4 None @5"),
        (
            vec![note(5, "add c int not null default 5")],
            with(observed("c", int(32), false)),
            "+c#4 InitialDefault @5",
        ),
        (vec![note(5, "add c int not null")], with(observed("c", int(32), false)), "+c#4 InitialDefault @5"),
        (
            vec![note(5, "add c datetime default now()")],
            with(observed("c", DataType::DateTime { fraction: 0 }, true)),
            "+c#4 Diverges @5",
        ),
        (
            vec![note(5, "add c date not null")],
            with(observed("c", DataType::Date, false)),
            "+c#4 Diverges @5",
        ),
        (vec![note(5, "drop a")], vec![before().remove(0), before().remove(2)], "-a#2 None @5"),
        (vec![note(5, "rename column a to z")], renamed("z"), "a>z#2 None @5"),
        (vec![note(5, "change a y int"), note(7, "change y z int")], renamed("z"), "a>z#2 None @7"),
        (vec![note(5, "drop a, add a bigint")], modified(int(64), true), "+a#4 -a#2 None @5"),
        (
            vec![note(5, "drop column a, add column a int default 9"), note(6, "modify b varchar(9)")],
            before(),
            "+a#4 -a#2 InitialDefault @6",
        ),
        (vec![note(5, "modify a bigint")], modified(int(64), true), "~a#2+ None @5"),
        (vec![note(5, "modify a smallint")], modified(int(16), true), "~a#2 Diverges @5"),
        (vec![note(5, "modify a int not null")], modified(int(32), false), "~a#2 None @5"),
        // Without the text nothing is guessed.
        (vec![], renamed("z"), "+z#4 -a#2 Diverges @9"),
        (vec![], with(observed("c", int(32), true)), "+c#4 Diverges @9"),
    ] {
        let change = derive(&notes, after);
        assert_eq!(show(&change), expected, "{notes:?}");
        assert_eq!(change.ddl.len(), notes.len());
        assert_eq!(change.after.version, 2);
    }
}

#[test]
fn swapped_names_keep_their_ids() {
    let mut after = before();
    after[1].name = "b".into();
    after[2].name = "a".into();
    let change = derive(&[note(5, "rename column a to b, rename column b to a")], after);
    assert_eq!(show(&change), "a>b#2 b>a#3 None @5");
}

#[test]
fn a_renamed_column_keeps_its_id_beside_a_new_one_of_its_old_name() {
    let after = |first: &str, last: &str| {
        let [id, a, b]: [Observed; 3] = before().try_into().unwrap();
        vec![Observed { name: first.into(), ..a.clone() }, id, Observed { name: last.into(), ..a }, b]
    };
    for notes in [
        vec![note(5, "rename column a to z, add a int default 5 first")],
        vec![note(5, "rename column a to z"), note(6, "add a int default 5 first")],
    ] {
        let change = derive(&notes, after("a", "z"));
        let ids: Vec<u32> = change.after.columns.iter().map(|column| column.id).collect();
        assert_eq!(ids, [4, 1, 2, 3], "{notes:?}");
    }
    // A rename that the text tells and the columns do not.
    assert_eq!(show(&derive(&[note(5, "rename column a to z, add index i (b)")], before())), " None @5");
}

#[test]
fn the_case_of_a_columns_name_means_nothing() {
    let mut renamed = before();
    renamed[1].name = "q".into();
    assert_eq!(show(&derive(&[note(5, "rename column A to q")], renamed)), "a>q#2 None @5");
    let mut spelled = before();
    spelled[1] = observed("A", int(64), true);
    assert_eq!(
        show(&derive(&[note(5, "modify A bigint")], spelled)),
        "a>A#2 ~a#2+ None @5".replace("~a", "~A")
    );
    let mut dropped = before();
    dropped.remove(1);
    assert_eq!(show(&derive(&[note(5, "drop A")], dropped)), "-a#2 None @5");
}

#[test]
fn other_columns_under_the_same_names_are_noticed() {
    let first = derive(&[], before()).after;
    for (clauses, expected) in [
        ("drop a, add a int", true),
        ("rename column a to b, rename column b to a", true),
        ("modify a int comment 'x'", false),
        ("add index i (a)", false),
    ] {
        assert_eq!(reshuffles(&first, &[note(5, clauses)]), expected, "{clauses}");
    }
}

#[test]
fn a_nulled_out_column_is_refused_only_in_strict_mode() {
    let mut after = before();
    after[1].nullable = false;
    let mut lax = note(5, "modify a int not null");
    lax.strict = false;
    assert_eq!(show(&derive(&[lax], after)), "~a#2 Diverges @5");
}

#[test]
fn constants_take_the_servers_form() {
    let decimal = DataType::Decimal { precision: 10, scale: 2 };
    for (data_type, text, expected) in [
        (int(32), "05", Some("5")),
        (int(32), "5.5", None),
        (decimal.clone(), "1", Some("1.00")),
        (decimal.clone(), "-1.5", Some("-1.50")),
        (decimal, "1.505", None),
        (DataType::Timestamp { fraction: 0 }, "2024-01-01 00:00:00", None),
        (DataType::DateTime { fraction: 0 }, "2024-01-01 00:00:00", Some("2024-01-01 00:00:00")),
        (DataType::Enum { labels: ["a".to_owned()].into() }, "b", None),
        (DataType::Set { labels: ["a".to_owned(), "b".to_owned()].into() }, "b,a", Some("a,b")),
        (DataType::Set { labels: ["a".to_owned()].into() }, "A", None),
        (DataType::DateTime { fraction: 1 }, "2024-01-01 00:00:00.12", None),
        (DataType::DateTime { fraction: 0 }, "20240101000000.00000", None),
        (DataType::Time { fraction: 2 }, "101:02:03.45", Some("101:02:03.45")),
        (DataType::Time { fraction: 2 }, "101:02:03.456", None),
        (DataType::Time { fraction: 0 }, "1 02:03:04", None),
        (DataType::Date, "2024-1-002", None),
    ] {
        assert_eq!(normalised(&data_type, text).as_deref(), expected, "{data_type} {text}");
    }
}
