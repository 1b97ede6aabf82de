//! Every type there and back, and every rule that an answer may break.

use std::sync::Arc;

use arrow::array::ArrayRef;
use tidegate_model::{
    BatchBuilder, Cell, ChangeBatch, Column, ColumnBuilder, DataType, Image, Operation, TableName, TableUid,
    TableVersion, Transaction, TxPosition,
};

use super::output::{Answer, check};
use super::*;
use crate::bindings::exports::tidegate::transform::columns::{Output, RowError, Selection};
use crate::bindings::tidegate::transform::types::{DataTypeParam, DataTypeResult, RowErrorCode};
use crate::bindings::tidegate::transform::vectors::{
    ColumnParam, ColumnResult, PackedResult, VectorParam, VectorResult,
};
use crate::plan::{ComputedColumn, Filter, GuestPlan};

fn int(bits: u8, unsigned: bool) -> DataType {
    DataType::Integer { bits, unsigned }
}

fn decimal(precision: u8, scale: u8) -> DataType {
    DataType::Decimal { precision, scale }
}

fn guest_plan(data_type: DataType, nullable: bool) -> GuestPlan {
    let column = ComputedColumn { name: "c".into(), data_type, nullable, key: false };
    GuestPlan::for_test(vec![0], vec![column], Filter::None)
}

fn answered(columns: Vec<ColumnResult>) -> Output {
    Output { keep: Selection::All, route: vec![], columns, errors: vec![] }
}

fn column(marks: Vec<u8>, vector: VectorResult) -> ColumnResult {
    ColumnResult { marks, vector }
}

fn one(data_type: DataType, marks: Vec<u8>, vector: VectorResult, rows: usize) -> Result<ArrayRef, String> {
    let answer = check(answered(vec![column(marks, vector)]), &guest_plan(data_type, true), rows);
    answer.map(|answer| answer.columns[0].array.clone()).map_err(|Violation(rule)| rule)
}

fn packed(offsets: &[u32], bytes: &[u8]) -> PackedResult {
    PackedResult { offsets: offsets.into(), bytes: bytes.into() }
}

/// One column of one type; `fill` appends the cells.
fn source(data_type: DataType, cells: usize, fill: impl FnOnce(&mut ColumnBuilder)) -> ChangeBatch {
    let column = Column {
        id: 1,
        name: "c".into(),
        data_type,
        nullable: true,
        source_type: String::new(),
        initial_default: None,
    };
    let table = TableVersion::new(TableUid(1), TableName::new("shop", "t"), 1, vec![column], vec![]);
    let mut builder = BatchBuilder::new(Arc::new(table), 1);
    let transaction = Transaction { position: TxPosition::default(), gtid: None, commit_time_us: 5 };
    builder.transaction(transaction);
    fill(&mut builder.columns()[0]);
    for cell in 0..cells {
        builder.event(Operation::Snapshot, -1, cell as u64);
        builder.row(Image::After);
    }
    builder.finish().expect("a cell at least")
}

/// What a guest gets for column 0, owned, so that it can be handed back.
fn crossed(batch: &ChangeBatch) -> ColumnResult {
    let reads = [0];
    let arrays = arrays(batch, &reads);
    Input::new(batch, &reads, &arrays).with(|batch| owned(&batch.columns[0]))
}

fn owned(column: &ColumnParam<'_>) -> ColumnResult {
    let packed = |packed: &crate::bindings::tidegate::transform::vectors::PackedParam<'_>| PackedResult {
        offsets: packed.offsets.into(),
        bytes: packed.bytes.into(),
    };
    let vector = match &column.vector {
        VectorParam::Boolean(cells) => VectorResult::Boolean(cells.to_vec()),
        VectorParam::Integer(cells) => VectorResult::Integer(cells.to_vec()),
        VectorParam::Unsigned(cells) => VectorResult::Unsigned(cells.to_vec()),
        VectorParam::Float(cells) => VectorResult::Float(cells.to_vec()),
        VectorParam::Text(cells) => VectorResult::Text(packed(cells)),
        VectorParam::Binary(cells) => VectorResult::Binary(packed(cells)),
    };
    ColumnResult { marks: column.marks.into(), vector }
}

/// The cells cross into a guest and back, whole and in slices, unchanged.
fn round_trip(data_type: DataType, cells: usize, fill: impl FnOnce(&mut ColumnBuilder)) {
    let seen = visible(&data_type);
    let batch = source(data_type.clone(), cells, fill);
    for first in 0..cells {
        let part = batch.from_event(first).expect("a slice");
        let column = crossed(&part);
        let back = one(seen.clone(), column.marks, column.vector, cells - first);
        let back = back.unwrap_or_else(|rule| panic!("{data_type}: {rule}"));
        let mut there = part.clone();
        there.rows.data = arrow::array::RecordBatch::try_from_iter([("c", back)]).expect("one column");
        for row in 0..cells - first {
            match (part.cell(row, 0), there.cell(row, 0)) {
                (Cell::Float64(a), Cell::Float64(b)) => assert_eq!(a.to_bits(), b.to_bits()),
                (a, b) => assert_eq!(a, b, "{data_type}"),
            }
        }
    }
}

macro_rules! fill {
    ($kind:ident: $($value:expr),*) => {
        |builder: &mut ColumnBuilder| match builder {
            ColumnBuilder::$kind(builder) => {
                $(builder.append_value($value);)*
                builder.append_null();
                builder.append_value([$($value),*][0]);
            }
            other => panic!("{other:?}"),
        }
    };
}

#[test]
fn values_cross_exactly() {
    round_trip(DataType::Boolean, 4, fill!(Boolean: true, false));
    round_trip(int(8, true), 4, fill!(Int16: 0, 255));
    round_trip(int(16, false), 4, fill!(Int16: i16::MIN, i16::MAX));
    round_trip(DataType::Year, 4, fill!(Int16: 0, 2155));
    round_trip(int(24, true), 4, fill!(Int32: 0, 16_777_215));
    round_trip(int(32, false), 4, fill!(Int32: i32::MIN, i32::MAX));
    round_trip(int(32, true), 4, fill!(Int64: 0, 4_294_967_295));
    round_trip(int(64, false), 5, fill!(Int64: i64::MIN, (1 << 53) + 1, i64::MAX));
    round_trip(int(64, true), 4, fill!(UInt64: 0, u64::MAX));
    round_trip(DataType::Float32, 4, fill!(Float32: 0.1, f32::MIN_POSITIVE));
    round_trip(DataType::Float64, 5, fill!(Float64: -0.0, 0.1, f64::NAN));
    round_trip(decimal(38, 4), 4, fill!(Decimal: -1, 10i128.pow(38) - 1));
    round_trip(decimal(65, 2), 4, fill!(Text: "0.05", "-12345678901234567890123456789012345678901.00"));
    round_trip(DataType::Text { length: 9, charset: "latin1".into() }, 5, fill!(Text: "é", "", "日本"));
    round_trip(DataType::Binary { length: 3, fixed: true }, 4, fill!(Binary: b"\xff\0\0", b"abc"));
    round_trip(DataType::Date, 4, fill!(Date: -719_528, 2_932_896));
    round_trip(DataType::Time { fraction: 6 }, 4, fill!(Int64: -3_020_399_999_999, 1));
    round_trip(DataType::DateTime { fraction: 3 }, 4, fill!(Timestamp: 0, 253_402_300_799_999_999));
    round_trip(DataType::Timestamp { fraction: 0 }, 4, fill!(Timestamp: -1, 1));
    round_trip(DataType::Json, 4, fill!(Text: "{}", "[1]"));
}

#[test]
fn text_and_wide_numbers_are_not_copied_on_the_way_in() {
    let batch = source(DataType::text(), 4, fill!(Text: "abc", "d"));
    let arrays = arrays(&batch, &[0]);
    let input = Input::new(&batch, &[0], &arrays);
    let heap = batch.rows.data.column(0).to_data().buffers()[1].as_ptr();
    input.with(|batch| match &batch.columns[0].vector {
        VectorParam::Text(packed) => assert_eq!(packed.bytes.as_ptr(), heap),
        other => panic!("{other:?}"),
    });
}

#[test]
fn system_columns_are_made_on_demand() {
    let batch = source(DataType::text(), 3, fill!(Text: "abc"));
    let cell = |index| owned_system(&batch, index);
    assert!(matches!(cell(1).vector, VectorResult::Text(p) if p.bytes.starts_with(b"snapshotsnap")));
    assert!(matches!(cell(2).vector, VectorResult::Integer(times) if times == [5, 5, 5]));
    assert!(matches!(cell(3).vector, VectorResult::Text(p) if p.bytes.starts_with(b"000000-0000000000-")));
    assert_eq!(cell(4).marks, [1, 1, 1], "a snapshot row has no transaction");
}

fn owned_system(batch: &ChangeBatch, index: usize) -> ColumnResult {
    let arrays = arrays(batch, &[index]);
    Input::new(batch, &[index], &arrays).with(|batch| owned(&batch.columns[0]))
}

fn breaks(rule: &str, data_type: DataType, marks: Vec<u8>, vector: VectorResult) {
    let found = one(data_type, marks, vector, 2).expect_err(rule);
    assert!(found.contains("computed column \"c\"") && found.contains(rule), "{found}");
}

#[test]
fn every_broken_rule_is_named() {
    use VectorResult::{Binary, Boolean, Float, Integer, Text, Unsigned};
    let bigint = || int(64, false);
    breaks("1 values for 2 cells", bigint(), vec![], Integer(vec![1]));
    breaks("1 marks for 2 cells", bigint(), vec![0], Integer(vec![1, 2]));
    breaks("a mark is not", bigint(), vec![0, 3], Integer(vec![1, 0]));
    breaks("other than 0", bigint(), vec![0, 1], Integer(vec![1, 2]));
    breaks("a vector of unsigned", bigint(), vec![], Unsigned(vec![1, 2]));
    breaks("a vector of integer", DataType::text(), vec![], Integer(vec![1, 2]));
    breaks("out of the range of int16", int(16, false), vec![], Integer(vec![1, 32_768]));
    breaks("out of the range of date", DataType::Date, vec![], Integer(vec![1, 2_932_897]));
    breaks("out of the range of time", DataType::Time { fraction: 6 }, vec![], Integer(vec![1, i64::MIN]));
    breaks(
        "out of the range of timestamp",
        DataType::Timestamp { fraction: 6 },
        vec![],
        Integer(vec![1, i64::MAX]),
    );
    breaks("not 0 or 1", DataType::Boolean, vec![], Boolean(vec![0, 2]));
    breaks("float32", DataType::Float32, vec![], Float(vec![0.0, f64::MAX]));
    breaks("2 offsets for 2 cells", DataType::text(), vec![], Text(packed(&[0, 1], b"a")));
    breaks("not ascending", DataType::text(), vec![], Text(packed(&[0, 2, 1], b"ab")));
    breaks("beyond the bytes", DataType::text(), vec![], Text(packed(&[0, 1, 3], b"ab")));
    breaks("beyond the bytes", DataType::text(), vec![], Text(packed(&[0, 1, u32::MAX], b"ab")));
    breaks("character's boundary", DataType::text(), vec![], Text(packed(&[0, 1, 2], "é".as_bytes())));
    breaks("UTF-8", DataType::text(), vec![], Text(packed(&[0, 1, 2], b"a\xff")));
    breaks("not empty", DataType::text(), vec![1, 0], Text(packed(&[0, 1, 2], b"ab")));
    breaks(
        "not empty",
        DataType::Binary { length: 0, fixed: false },
        vec![2, 0],
        Binary(packed(&[0, 1, 2], b"ab")),
    );
    breaks("does not fit decimal(4,2)", decimal(4, 2), vec![], Text(packed(&[0, 1, 4], b"1123")));
    breaks("digits", decimal(40, 2), vec![], Text(packed(&[0, 1, 2], b"1x")));
    breaks("uuid", DataType::Uuid, vec![], Text(packed(&[0, 0, 0], b"")));
    breaks("JSON", DataType::Json, vec![], Text(packed(&[0, 1, 2], b"1{")));
}

/// An answer of one BIGINT column for two rows.
fn answer(output: Output, nullable: bool, filter: Filter) -> Result<Answer, String> {
    let column = ComputedColumn { name: "c".into(), data_type: int(64, false), nullable, key: false };
    let plan = GuestPlan::for_test(vec![0], vec![column], filter);
    check(output, &plan, 2).map_err(|Violation(rule)| rule)
}

fn numbers(marks: Vec<u8>, cells: Vec<i64>) -> Vec<ColumnResult> {
    vec![column(marks, VectorResult::Integer(cells))]
}

fn error(row: u32, column: Option<u32>) -> RowError {
    RowError { row, code: RowErrorCode::InvalidValue, column, message: "m".into() }
}

#[test]
fn selections_and_errors() {
    let rows = |keep: &[u32], cells: Vec<i64>| Output {
        keep: Selection::Rows(keep.into()),
        ..answered(numbers(vec![], cells))
    };
    let rule = |output, filter, text: &str| {
        let found = answer(output, true, filter).expect_err(text);
        assert!(found.contains(text), "{found}");
    };
    rule(rows(&[1, 0], vec![1, 2]), Filter::PerImage, "not strictly ascending");
    rule(rows(&[0, 2], vec![1, 2]), Filter::PerImage, "out of range");
    rule(rows(&[0], vec![1]), Filter::None, "neither kept nor in `errors`");
    assert!(answer(rows(&[0], vec![1]), true, Filter::PerEvent).is_ok());
    assert!(
        answer(Output { errors: vec![error(1, None)], ..rows(&[0], vec![1]) }, true, Filter::None).is_ok()
    );
    let with = |errors| Output { errors, ..answered(numbers(vec![], vec![1, 2])) };
    rule(with(vec![error(2, None)]), Filter::None, "a row index in `errors`");
    rule(with(vec![error(0, Some(1))]), Filter::None, "a column index in `errors`");
    rule(with(vec![error(0, None); 3]), Filter::None, "more entries");
    rule(Output { route: vec![0, 1], ..with(vec![]) }, Filter::None, "`route`");
    rule(answered(vec![]), Filter::None, "0 computed columns returned, 1 planned");
    let null = answered(numbers(vec![0, 1], vec![1, 0]));
    assert!(answer(null.clone(), false, Filter::None).is_err_and(|rule| rule.contains("null")));
    // The cell of a refused row means nothing, whatever it holds.
    let refused = Output { errors: vec![error(1, Some(0)), error(1, None)], ..null };
    let refused = answer(refused, false, Filter::None).expect("the row is refused");
    assert_eq!(refused.refused.len(), 1);
    assert_eq!(refused.refused[0].read, Some(0));
}

#[test]
fn types_are_described_as_they_are_answered() {
    let types = [
        int(8, false),
        int(24, true),
        int(32, true),
        int(64, true),
        DataType::Year,
        DataType::Bit { length: 5 },
        DataType::Enum { labels: vec!["a".to_owned()].into() },
        decimal(65, 30),
        DataType::Time { fraction: 2 },
        DataType::Other("geometry".into()),
        DataType::Json,
    ];
    for exact in types {
        let answered = match described(&exact) {
            DataTypeParam::Int16 => DataTypeResult::Int16,
            DataTypeParam::Int32 => DataTypeResult::Int32,
            DataTypeParam::Int64 => DataTypeResult::Int64,
            DataTypeParam::Uint64 => DataTypeResult::Uint64,
            DataTypeParam::Binary => DataTypeResult::Binary,
            DataTypeParam::Text => DataTypeResult::Text,
            DataTypeParam::Decimal(decimal) => DataTypeResult::Decimal(decimal),
            DataTypeParam::Time => DataTypeResult::Time,
            DataTypeParam::Json => DataTypeResult::Json,
            DataTypeParam::Other(name) => DataTypeResult::Other(name.into()),
            other => panic!("{other:?}"),
        };
        assert_eq!(from_wit(&answered), Ok(visible(&exact)), "{exact}");
        assert_eq!(visible(&exact).physical(), exact.physical(), "{exact}: the same cells");
    }
}
