//! Filters: the table in `assemble`, row by row.

use tidegate_model::transform::{Transform, Transformed};

use crate::testing::{Change, OutColumn, PlanLayout, Row, Type, batch, changes, planned};

/// The probe drops rows whose number is 19.
const DROPPED: Row = (1, Some(19), Some("d"));
const KEPT: Row = (1, Some(5), Some("k"));

fn run(filter: u8, change: Change) -> Transformed {
    let layout = PlanLayout { filter, ..PlanLayout::default() };
    planned(layout).apply(batch(&[change])).unwrap()
}

fn emitted(filter: u8, change: Change) -> Vec<Change<String>> {
    let output = run(filter, change);
    assert!(output.refused.is_empty());
    let emitted: Vec<_> = output.batch.iter().flat_map(changes).collect();
    assert_eq!(output.dropped as usize + emitted.len(), 1);
    emitted
}

#[test]
fn per_image() {
    let kept = || "1 10 k".to_owned();
    assert_eq!(emitted(1, Change::Update(KEPT, KEPT)), [Change::Update(kept(), kept())]);
    assert_eq!(emitted(1, Change::Update(KEPT, DROPPED)), [Change::Delete(kept())]);
    assert_eq!(emitted(1, Change::Update(DROPPED, KEPT)), [Change::Insert(kept())]);
    assert_eq!(emitted(1, Change::Update(DROPPED, DROPPED)), []);
    assert_eq!(emitted(1, Change::UpdateAfter(KEPT)), [Change::UpdateAfter(kept())]);
    assert_eq!(emitted(1, Change::UpdateAfter(DROPPED)), [Change::Delete("1 absent absent".into())]);
    for change in [Change::Insert, Change::Delete, Change::Snapshot] {
        assert_eq!(emitted(1, change(DROPPED)), []);
        assert_eq!(emitted(1, change(KEPT)).len(), 1);
    }
}

#[test]
fn per_event() {
    assert_eq!(emitted(2, Change::Update(KEPT, DROPPED)), []);
    assert_eq!(emitted(2, Change::Update(DROPPED, KEPT)), []);
    assert_eq!(emitted(2, Change::UpdateAfter(DROPPED)), []);
    assert_eq!(emitted(2, Change::Update(KEPT, KEPT)).len(), 1);
}

#[test]
fn a_row_that_cannot_be_deleted_by_key_is_refused() {
    let columns = vec![
        OutColumn { nullable: false, key: 1, ..OutColumn::computed("double", 0, Type::Int64) },
        OutColumn::computed("text", 1, Type::Text),
    ];
    let layout = PlanLayout { filter: 1, outputs: vec![columns], ..PlanLayout::default() };
    let output = planned(layout).apply(batch(&[Change::UpdateAfter(DROPPED)])).unwrap();
    assert_eq!((output.refused.len(), output.dropped, output.batch.is_none()), (1, 0, true));
}

#[test]
fn filtered_rows_leave_their_neighbours_cells_alone() {
    let input = [
        Change::Insert((1, Some(19), Some("x"))),
        Change::Insert((2, None, Some("yy"))),
        Change::Insert((3, Some(13), Some("trap"))),
        Change::Update((4, Some(19), Some("z")), (4, Some(7), None)),
        Change::Insert((5, Some(8), Some("ü"))),
    ];
    let layout = PlanLayout { filter: 1, ..PlanLayout::default() };
    let output = planned(layout).apply(batch(&input)).unwrap();
    assert_eq!((output.dropped, output.refused.len(), output.origin), (1, 1, Some(vec![1, 3, 4])));
    assert_eq!(
        changes(&output.batch.unwrap()),
        [
            Change::Insert("2 null yy".into()),
            Change::Insert("4 14 null".into()),
            Change::Insert("5 16 ü".into())
        ]
    );
}
