//! Transforms one behind the other.

use tidegate_model::transform::{Plan, Transform};
use tidegate_model::{Stage, TableName};

use crate::testing::{Answer, Change, OutColumn, PlanLayout, Type, batch, changes, load, probe, table};
use crate::{Chain, Link, WasmTransform};

fn link(transform: WasmTransform, pattern: &'static str) -> Link {
    Link { transform: Box::new(transform), tables: Box::new(move |name: &TableName| name.schema == pattern) }
}

/// Reads `double` and `text` of the first probe's output.
fn second() -> PlanLayout {
    let columns = vec![
        OutColumn { nullable: false, key: 1, ..OutColumn::input("id", 0, Type::Int64) },
        OutColumn::computed("fourfold", 0, Type::Int64),
        OutColumn::computed("text", 1, Type::Text),
    ];
    PlanLayout { outputs: vec![columns], filter: 1, ..PlanLayout::default() }
}

#[test]
fn an_empty_chain_changes_nothing() {
    let mut chain = Chain::new(Vec::new());
    assert_eq!(chain.plan(&table()).unwrap(), Plan::Pass);
    let output = chain.apply(batch(&[Change::Insert((1, Some(1), None))])).unwrap();
    assert_eq!(changes(&output.batch.unwrap()), [Change::Insert("1 1 null".into())]);
}

#[test]
fn refusals_name_the_original_event_and_their_stage() {
    let first = probe(PlanLayout { filter: 1, ..PlanLayout::default() });
    let module = first.module().clone();
    let mut chain = Chain::new(vec![
        link(first, "shop"),
        link(load(&Answer::NotApplicable).unwrap(), "shop"),
        link(probe(second()), "other"),
        link(probe(second()), "shop"),
    ]);
    let Plan::Output(output) = chain.plan(&table()).unwrap() else { panic!("an output") };
    assert_eq!(output.columns[1].name, "fourfold");
    let input = [
        Change::Insert((1, Some(19), Some("dropped by the first"))),
        Change::Insert((2, Some(8), Some("refused by the second"))),
        Change::Insert((3, Some(16), Some("refused by the first"))),
        Change::Insert((4, Some(5), Some("fine"))),
    ];
    let output = chain.apply(batch(&input)).unwrap();
    let refused: Vec<_> =
        output.refused.iter().map(|r| (r.refusal.event, r.refusal.column.as_deref())).collect();
    assert_eq!(refused, [(1, Some("double")), (2, Some("number"))]);
    assert!(output.refused.iter().all(|r| r.stage == Stage::Transform("probe".into())));
    assert_eq!(output.refused[1].module, module);
    assert_eq!((output.dropped, output.park), (1, None));
    let out = output.batch.unwrap();
    assert_eq!(changes(&out), [Change::Insert("4 20 fine".into())]);
    assert_eq!(out.module.split(',').count(), 2, "{}", out.module);
}

#[test]
fn a_parked_table_stops_the_whole_chain_at_one_event() {
    let mut chain = Chain::new(vec![
        link(probe(PlanLayout { filter: 1, ..PlanLayout::default() }), "shop"),
        link(probe(second()), "shop"),
    ]);
    chain.plan(&table()).unwrap();
    // 8 doubled is 16, which the second refuses; every other event the first drops.
    let mut input = vec![Change::Insert((0, Some(1), None))];
    for id in 1..=250 {
        input.push(Change::Insert((id, Some(if id % 2 == 0 { 8 } else { 19 }), None)));
    }
    input.push(Change::Insert((251, Some(16), None)));
    let output = chain.apply(batch(&input)).unwrap();
    let park = output.park.unwrap();
    assert_eq!(park.from, 201);
    assert_eq!((output.refused.len(), output.dropped), (100, 100));
    assert!(output.refused.iter().all(|r| r.refusal.event < park.from));
    assert_eq!(output.batch.unwrap().len(), 1);
}

#[test]
fn a_dropped_table_sends_nothing_on() {
    let drops = PlanLayout { sees: 0, drops_unseen: true, ..PlanLayout::default() };
    let mut chain = Chain::new(vec![link(probe(drops), "shop"), link(probe(second()), "shop")]);
    assert_eq!(chain.plan(&table()).unwrap(), Plan::Drop);
    let output = chain.apply(batch(&[Change::Insert((1, Some(1), None))])).unwrap();
    assert_eq!((output.dropped, output.batch.is_none()), (1, true));
}
