//! The rules that the host enforces on plans and outputs, as assertions.

use std::collections::BTreeSet;

use crate::bindings::exports::tidegate::transform::columns::{Output, Selection};
use crate::bindings::tidegate::transform::planning::Plan;
use crate::{Column, ColumnSource, FilterMode, Packed, TableSchema, Vector};

pub(super) fn check_plan(schema: &TableSchema, plan: &Plan) {
    let inputs = schema.columns.len() as u32;
    assert!(plan.reads.iter().all(|read| *read < inputs), "a read is out of range: {:?}", plan.reads);
    assert!(!plan.outputs.is_empty(), "a plan has at least one output table");
    let mut computed = BTreeSet::new();
    for output in &plan.outputs {
        let mut names = BTreeSet::new();
        for column in &output.columns {
            assert!(names.insert(&column.name), "two output columns are named `{}`", column.name);
            assert!(!column.name.starts_with('$'), "`{}` is a name of the host's", column.name);
            match column.source {
                ColumnSource::Computed(index) => {
                    computed.insert(index);
                }
                ColumnSource::Input(index) => {
                    let input = schema.columns.get(index as usize).expect("an input column in range");
                    assert_eq!(column.data_type, input.data_type, "`{}` changes its type", column.name);
                }
            }
        }
        let mut keys: Vec<u8> = output.columns.iter().map(|column| column.key_position).collect();
        keys.retain(|position| *position > 0);
        keys.sort_unstable();
        assert!(keys.iter().copied().eq(1..=keys.len() as u8), "key positions with a gap: {keys:?}");
    }
    assert!(computed.iter().copied().eq(0..computed.len() as u32), "computed columns with a gap");
}

pub(super) fn check_output(plan: &Plan, rows: usize, output: &Output) {
    let outputs = plan.outputs.iter().flat_map(|output| &output.columns);
    let computed = outputs.filter_map(|column| match column.source {
        ColumnSource::Computed(index) => Some(index as usize + 1),
        ColumnSource::Input(_) => None,
    });
    assert_eq!(output.columns.len(), computed.max().unwrap_or(0), "number of computed columns");
    let kept = match &output.keep {
        Selection::All => rows,
        Selection::Rows(kept) => {
            assert!(kept.iter().all(|row| (*row as usize) < rows), "a kept row is out of range");
            assert!(kept.windows(2).all(|pair| pair[0] < pair[1]), "kept rows must ascend");
            let missing = rows - kept.len() - output.errors.len();
            assert!(plan.filter != FilterMode::None || missing == 0, "{missing} rows are missing");
            kept.len()
        }
    };
    assert!(output.route.is_empty() || output.route.len() == kept, "one route per kept row");
    assert!(output.route.iter().all(|table| usize::from(*table) < plan.outputs.len()), "route in range");
    for column in &output.columns {
        check_column(column, kept);
    }
    for error in &output.errors {
        assert!((error.row as usize) < rows, "a refused row is out of range");
        assert!(
            error.column.is_none_or(|read| (read as usize) < plan.reads.len()),
            "column to blame in range"
        );
    }
}

fn check_column(column: &Column, rows: usize) {
    assert!(column.marks.is_empty() || column.marks.len() == rows, "one mark per row, or none");
    assert!(column.marks.iter().all(|mark| *mark <= 2), "a mark is 0, 1 or 2");
    if let Vector::Text(Packed { offsets, bytes }) | Vector::Binary(Packed { offsets, bytes }) =
        &column.vector
    {
        assert!(offsets.windows(2).all(|pair| pair[0] <= pair[1]), "offsets must not descend");
        assert_eq!(offsets.first(), Some(&0), "the first offset is 0");
        assert_eq!(offsets.last().map(|end| *end as usize), Some(bytes.len()), "the last offset is the end");
        if let Vector::Text(_) = column.vector {
            let heap = std::str::from_utf8(bytes).expect("text is UTF-8");
            let whole = offsets.iter().all(|offset| heap.is_char_boundary(*offset as usize));
            assert!(whole, "offsets cut no character");
        }
    }
    assert_eq!(column.rows(), rows, "one cell per kept row");
}
