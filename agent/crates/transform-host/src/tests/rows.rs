//! Rows that a guest handles well.

use tidegate_model::transform::{Plan, Transform};
use tidegate_model::{RefusalCode, TableUid};

use crate::testing::{Change, OutColumn, PlanLayout, Type, batch, changes, planned, probe, table};
use crate::{OnError, TransformConfig, WasmTransform};

const OK: &[Change] = &[
    Change::Snapshot((1, Some(1), Some("ä"))),
    Change::Insert((2, None, Some(""))),
    Change::Update((2, None, Some("")), (2, Some(-5), None)),
    Change::Delete((1, Some(1), Some("ä"))),
];

#[test]
fn computed_columns_stand_beside_those_that_pass() {
    let mut transform = planned(PlanLayout::default());
    let input = batch(OK);
    let output = transform.apply(input.clone()).unwrap();
    assert!(output.refused.is_empty() && output.origin.is_none() && output.dropped == 0);
    let out = output.batch.unwrap();
    assert_eq!(
        changes(&out),
        [
            Change::Snapshot("1 2 ä".into()),
            Change::Insert("2 null ".into()),
            Change::Update("2 null ".into(), "2 -10 null".into()),
            Change::Delete("1 2 ä".into()),
        ]
    );
    assert_eq!(out.module, *transform.module());
    assert_eq!(out.events.idx, input.events.idx);
    assert!(std::ptr::eq(
        out.rows.data.column(0).to_data().buffers()[0].as_ptr(),
        input.rows.data.column(0).to_data().buffers()[0].as_ptr()
    ));
    assert_eq!(transform.metrics()["calls"], 1.0);
}

#[test]
fn the_output_schema_keeps_identity_and_exact_types() {
    let columns = vec![
        OutColumn::input("label", 2, Type::Text),
        OutColumn { nullable: false, key: 1, ..OutColumn::input("sku", 0, Type::Int64) },
        OutColumn::input("label_again", 2, Type::Text),
        OutColumn::input("changed_at", 4, Type::Timestamptz),
    ];
    let layout = PlanLayout { reads: vec![], outputs: vec![columns], ..PlanLayout::default() };
    let mut transform = probe(layout);
    let Plan::Output(output) = transform.plan(&table()).unwrap() else { panic!("an output") };
    assert_eq!((output.uid, output.version, &*output.key), (TableUid(1), 1, &[1][..]));
    assert_eq!(output.columns.iter().map(|column| column.id).collect::<Vec<_>>(), [3, 1, 0, 0]);
    assert_eq!(output.columns[0].data_type, table().columns[2].data_type);

    let out = transform.apply(batch(OK)).unwrap().batch.unwrap();
    assert_eq!(changes(&out)[0], Change::Snapshot("ä 1 ä Timestamp(1700000000000000)".into()));
    assert!(transform.metrics().is_empty(), "nothing is computed: no guest runs");
}

#[test]
fn absent_cells_stay_absent() {
    let mut input = batch(OK);
    input.rows.absent[2] = Some([true, false, false, false, false].into_iter().collect());
    let mut cells = input.rows.data.columns().to_vec();
    cells[2] =
        std::sync::Arc::new(arrow::array::StringArray::from(vec![None, Some(""), Some(""), None, Some("x")]));
    input.rows.data = arrow::array::RecordBatch::try_new(input.rows.data.schema(), cells).unwrap();
    let out = planned(PlanLayout::default()).apply(input).unwrap().batch.unwrap();
    assert_eq!(changes(&out)[0], Change::Snapshot("1 2 absent".into()));
    assert_eq!(changes(&out)[3], Change::Delete("1 2 x".into()));
}

#[test]
fn a_row_error_refuses_its_event_alone() {
    let changes_in = [
        Change::Insert((1, Some(1), Some("a"))),
        Change::Update((2, Some(2), Some("b")), (2, Some(16), Some("c"))),
        Change::Update((3, Some(16), Some("d")), (3, Some(16), Some("e"))),
        Change::Delete((4, Some(4), Some("f"))),
    ];
    let output = planned(PlanLayout::default()).apply(batch(&changes_in)).unwrap();
    assert_eq!(output.origin, Some(vec![0, 3]));
    let refused = &output.refused;
    assert_eq!(refused.iter().map(|refusal| refusal.event).collect::<Vec<_>>(), [1, 2]);
    assert_eq!((refused[0].code, refused[0].column.as_deref()), (RefusalCode::Rejected, Some("number")));
    assert_eq!(refused[0].message, "no good");
    let out = output.batch.unwrap();
    assert_eq!(changes(&out), [Change::Insert("1 2 a".into()), Change::Delete("4 8 f".into())]);
}

#[test]
fn policies_for_refused_events() {
    let load = |on_error| {
        let module = crate::testing::component(&crate::testing::probe_text(&crate::testing::Answer::Plan(
            PlanLayout::default(),
        )));
        let mut transform =
            WasmTransform::load(TransformConfig { on_error, ..TransformConfig::new("clean", module) })
                .unwrap();
        transform.plan(&table()).unwrap();
        transform
    };
    let input = [Change::Insert((1, Some(1), None)), Change::Insert((2, Some(16), Some("secret")))];
    let output = load(OnError::Drop).apply(batch(&input)).unwrap();
    assert_eq!((output.dropped, output.refused.len(), output.batch.unwrap().len()), (1, 0, 1));
    let error = load(OnError::Stop).apply(batch(&input)).unwrap_err().to_string();
    assert!(error.contains("an event was refused: rejected"), "{error}");
    assert!(error.contains("position 000001-0000000001-00000000000000000004, index 1"), "{error}");
    assert!(!error.contains("no good") && !error.contains("secret"), "{error}");
}

#[test]
fn events_that_the_plan_does_not_see() {
    let input = batch(OK);
    let layout = PlanLayout { sees: 0b0011, ..PlanLayout::default() };
    let out = planned(layout.clone()).apply(input.clone()).unwrap().batch.unwrap();
    assert_eq!(
        changes(&out),
        [
            Change::Snapshot("1 null null".into()),
            Change::Insert("2 null ".into()),
            Change::Update("2 null ".into(), "2 -10 null".into()),
            Change::Delete("1 null null".into()),
        ]
    );
    let output = planned(PlanLayout { drops_unseen: true, ..layout }).apply(input.clone()).unwrap();
    assert_eq!((output.dropped, output.origin), (2, Some(vec![1, 2])));
    let mut none = probe(PlanLayout { sees: 0, drops_unseen: true, ..PlanLayout::default() });
    assert_eq!(none.plan(&table()).unwrap(), Plan::Drop);
    let output = none.apply(input).unwrap();
    assert_eq!((output.dropped, output.batch.is_none()), (4, true));
}
