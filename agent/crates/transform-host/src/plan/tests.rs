use super::*;
use crate::bindings::tidegate::transform::types::DataTypeResult;
use crate::testing::table;

fn column(name: &str, source: wit::ColumnSource, data_type: DataTypeResult) -> wit::OutputColumn {
    wit::OutputColumn { name: name.into(), source, data_type, nullable: true, key_position: 0 }
}

fn input(name: &str, index: u32, data_type: DataTypeResult) -> wit::OutputColumn {
    column(name, wit::ColumnSource::Input(index), data_type)
}

fn computed(name: &str, number: u32) -> wit::OutputColumn {
    column(name, wit::ColumnSource::Computed(number), DataTypeResult::Int64)
}

fn key(position: u8, column: wit::OutputColumn) -> wit::OutputColumn {
    wit::OutputColumn { nullable: false, key_position: position, ..column }
}

fn plan(columns: Vec<wit::OutputColumn>) -> wit::Plan {
    wit::Plan {
        plan_id: 1,
        reads: vec![1],
        outputs: vec![wit::OutputTable { name: None, columns }],
        sees: wit::Operations::all(),
        unseen: wit::UnseenEvents::PassComputedAsNull,
        filter: wit::FilterMode::None,
    }
}

/// A plan of these columns breaks this rule.
fn broken(columns: Vec<wit::OutputColumn>, rule: &str) {
    faulty(plan(columns), rule);
}

fn faulty(plan: wit::Plan, rule: &str) {
    match check(&table(), plan) {
        Err(PlanFault::Rule(message)) => assert!(message.contains(rule), "{message}"),
        other => panic!("{rule}: {other:?}"),
    }
}

fn int(name: &str, index: u32) -> wit::OutputColumn {
    input(name, index, DataTypeResult::Int64)
}

#[test]
fn a_guest_is_told_the_table_and_the_system_columns() {
    let table = table();
    let told = columns(&table);
    let names: Vec<_> = told.iter().map(|column| column.name).collect();
    assert_eq!(names, ["id", "number", "text", "$operation", "$commit-time", "$position", "$transaction"]);
    assert_eq!(told[0].key_position, 1);
    assert!(!told[0].nullable && told[1].nullable && told[6].nullable && !told[5].nullable);
}

#[test]
fn names() {
    broken(vec![int("a", 0), int("a", 1)], "two output columns are named \"a\"");
    broken(vec![int("$a", 0)], "reserved");
    broken(vec![int("__op", 0)], "reserved");
    broken(vec![int("", 0)], "empty");
    broken(vec![int("a\nb", 0)], "control character");
    broken(vec![], "0 columns");
}

#[test]
fn sources_and_types() {
    broken(vec![int("a", 7)], "input column 7, which does not exist");
    broken(vec![input("a", 0, DataTypeResult::Int32)], "a cast must be computed");
    broken(vec![input("a", 4, DataTypeResult::Text)], "a cast must be computed");
    broken(vec![wit::OutputColumn { nullable: false, ..int("a", 1) }], "passes through as never null");
    broken(vec![computed("a", 1)], "0, 1, 2");
    broken(vec![computed("a", 0), computed("b", 0)], "0, 1, 2");
    let decimal = DataTypeResult::Decimal(crate::bindings::tidegate::transform::types::DecimalType {
        precision: 10,
        scale: 11,
    });
    broken(vec![wit::OutputColumn { data_type: decimal, ..computed("a", 0) }], "out of range");
}

#[test]
fn keys() {
    broken(vec![key(2, int("a", 0))], "the key positions");
    broken(vec![key(1, int("a", 0)), key(1, computed("b", 0))], "the key positions");
    broken(vec![wit::OutputColumn { key_position: 1, ..computed("a", 0) }], "may be null");
    let good = check(&table(), plan(vec![key(2, int("a", 0)), key(1, computed("b", 0))])).unwrap();
    let Plan::Output(output) = good.plan else { panic!("an output") };
    assert_eq!(output.key, [1, 0]);
}

#[test]
fn reads_and_operations() {
    faulty(wit::Plan { reads: vec![7], ..plan(vec![int("a", 0)]) }, "`reads` names column 7");
    faulty(wit::Plan { reads: vec![1, 1], ..plan(vec![int("a", 0)]) }, "twice");
    faulty(wit::Plan { outputs: vec![], ..plan(vec![]) }, "no output table");
    let unseen = wit::Plan {
        sees: wit::Operations::INSERT,
        ..plan(vec![wit::OutputColumn { nullable: false, ..computed("a", 0) }])
    };
    faulty(unseen, "null in events that the plan does not see");
    let mut named = plan(vec![int("a", 0)]);
    named.outputs[0].name = Some(vec!["a".into()]);
    faulty(named.clone(), "1 parts");
    named.outputs[0].name = Some(vec!["lake".into(), String::new()]);
    faulty(named.clone(), "empty");
    named.outputs[0].name = Some(vec!["lake".into(), "items".into()]);
    let Plan::Output(output) = check(&table(), named).unwrap().plan else { panic!("an output") };
    assert_eq!(output.name, TableName::new("lake", "items"));
}

#[test]
fn the_guest_is_needed_only_for_what_it_does() {
    let needs = |plan: wit::Plan| check(&table(), plan).unwrap().guest.unwrap().needs_guest();
    let idle = || wit::Plan { reads: vec![], ..plan(vec![int("a", 0)]) };
    assert!(!needs(idle()));
    assert!(needs(wit::Plan { filter: wit::FilterMode::PerEvent, ..idle() }));
    assert!(needs(wit::Plan { reads: vec![1], ..idle() }), "it may refuse rows");
    assert!(!needs(wit::Plan { sees: wit::Operations::empty(), reads: vec![1], ..idle() }));
}
