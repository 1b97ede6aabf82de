//! Rows of the lake, as JSON lines and as Arrow.

use std::sync::Arc;

use arrow::array::{Array, AsArray};
use arrow::datatypes::{DataType, Decimal128Type};
use tidegate_model::ErrorKind;

use super::check_golden;
use super::sample::{batch, target};
use crate::json;
use crate::lake::LakeEncoder;
use crate::layout::OutputRows;

#[test]
fn json_lines() {
    let mut lines = Vec::new();
    assert_eq!(json::write_lines(&batch(), &target(), &mut lines).unwrap(), 5);
    let lines = String::from_utf8(lines).unwrap();
    for line in lines.lines() {
        serde_json::from_str::<serde_json::Value>(line).unwrap();
    }
    check_golden("rows.v1.jsonl", &lines);
}

#[test]
fn a_key_change_is_a_delete_and_an_insert() {
    let rows = OutputRows::of(&batch(), &target()).unwrap();
    let letters: Vec<_> = rows.operation.iter().map(|operation| operation.letter()).collect();
    assert_eq!(letters, ["r", "u", "d", "c", "d"]);
    assert_eq!(rows.row, [0, 2, 3, 4, 5]);
    assert_eq!(rows.event, [0, 1, 2, 2, 3]);
    // Without a key nothing is looked up by it.
    let mut keyless = target();
    keyless.key.clear();
    assert_eq!(OutputRows::of(&batch(), &keyless).unwrap().row, [0, 2, 4, 5]);
}

#[test]
fn an_absent_key_is_refused() {
    let mut target = target();
    target.key = vec![target.columns.iter().position(|column| column.name == "name").unwrap()];
    let error = OutputRows::of(&batch(), &target).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("binlog_row_image"), "{error}");
}

#[test]
fn record_batches() {
    let encoder = LakeEncoder::new(Arc::new(target()));
    let rows = encoder.encode(&batch()).unwrap();
    assert_eq!(rows.num_rows(), 5);
    let id = rows.column_by_name("id").unwrap();
    assert_eq!(id.data_type(), &DataType::Decimal128(20, 0));
    let ids: Vec<_> = id.as_primitive::<Decimal128Type>().iter().flatten().collect();
    assert_eq!(ids, [i128::from(u64::MAX), 2, 2, 3, 3]);
    let absent = rows.column_by_name("__absent").unwrap().as_list::<i32>();
    assert_eq!(absent.null_count(), 4);
    let names = absent.value(1);
    assert_eq!(names.as_string::<i32>().iter().flatten().collect::<Vec<_>>(), ["name", "doc"]);
    let tx = rows.column_by_name("__tx").unwrap();
    assert_eq!(tx.null_count(), 1, "a snapshot row has no transaction");
}

#[test]
fn an_insert_only_batch_is_not_copied() {
    let batch = batch().select(&[0]).unwrap();
    let rows = LakeEncoder::new(Arc::new(target())).encode(&batch).unwrap();
    let name = |data: &arrow::array::RecordBatch| {
        data.column_by_name("name").unwrap().to_data().buffers()[1].as_ptr()
    };
    assert_eq!(name(&rows), name(&batch.rows.data));
}
