//! What a guest returned, checked against its plan and turned into Arrow.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, ArrowPrimitiveType, BinaryArray, BooleanArray, Decimal128Array, Float32Array, Float64Array,
    PrimitiveArray, StringArray, UInt64Array,
};
use arrow::buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::{
    DataType as Physical, Date32Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
};
use tidegate_model::{DataType, RefusalCode};

use super::{Violation, decimal, text};
use crate::bindings::exports::tidegate::transform::columns::{Output, RowError, Selection};
use crate::bindings::tidegate::transform::types::RowErrorCode;
use crate::bindings::tidegate::transform::vectors::{ColumnResult, PackedResult, VectorResult};
use crate::observe::printable;
use crate::plan::{ComputedColumn, Filter, GuestPlan};

/// 0000-01-01 to 9999-12-31: what text with four digits of year can say.
const DAYS: std::ops::RangeInclusive<i64> = -719_528..=2_932_896;
const DAY_US: i64 = 86_400_000_000;
const TIMES_US: std::ops::RangeInclusive<i64> = *DAYS.start() * DAY_US..=(*DAYS.end() + 1) * DAY_US - 1;

/// ±838:59:59.999999, the range of a MySQL TIME.
const TIME_US_MAX: i64 = 3_020_399_999_999;

/// A guest's answer that holds to the contract.
#[derive(Debug)]
pub(crate) struct Answer {
    /// Rows kept, ascending; `None`: all without an entry in `refused`.
    pub(crate) keep: Option<Vec<u32>>,
    /// The computed columns; one cell per row, or per row of `keep`.
    pub(crate) columns: Vec<Computed>,
    /// Rows whose event is refused, ascending, each once.
    pub(crate) refused: Vec<RefusedRow>,
}

/// A computed column.
#[derive(Debug, Clone)]
pub(crate) struct Computed {
    pub(crate) array: ArrayRef,
    pub(crate) absent: Option<BooleanBuffer>,
}

/// A row error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RefusedRow {
    pub(crate) row: u32,
    pub(crate) code: RefusalCode,
    /// Index into the plan's reads.
    pub(crate) read: Option<usize>,
    pub(crate) message: String,
}

/// Checks an answer for a batch of `rows` rows.
///
/// # Errors
/// The first rule that does not hold.
pub(crate) fn check(output: Output, plan: &GuestPlan, rows: usize) -> Result<Answer, Violation> {
    let refused = refused_rows(output.errors, plan, rows)?;
    let keep = match output.keep {
        Selection::All => None,
        Selection::Rows(keep) => {
            check_selection(&keep, rows)?;
            if plan.filter == Filter::None {
                check_complete(&keep, &refused, rows)?;
            }
            Some(keep)
        }
    };
    let cells = keep.as_ref().map_or(rows, Vec::len);
    if !output.route.is_empty() && (output.route.len() != cells || output.route.iter().any(|to| *to != 0)) {
        return Err(Violation::new("`route` names an output table that the plan does not have"));
    }
    if output.columns.len() != plan.computed.len() {
        let (got, want) = (output.columns.len(), plan.computed.len());
        return Err(Violation::new(format!("{got} computed columns returned, {want} planned")));
    }
    let ignored = ignored_cells(keep.is_none(), &refused, rows);
    let columns = (output.columns.into_iter().zip(&plan.computed))
        .map(|(column, planned)| {
            computed(column, planned, cells, &ignored)
                .map_err(|Violation(rule)| Violation(format!("computed column {:?}: {rule}", planned.name)))
        })
        .collect::<Result<_, _>>()?;
    Ok(Answer { keep, columns, refused })
}

fn refused_rows(errors: Vec<RowError>, plan: &GuestPlan, rows: usize) -> Result<Vec<RefusedRow>, Violation> {
    if errors.len() > rows {
        return Err(Violation::new("more entries in `errors` than rows"));
    }
    let mut refused = Vec::with_capacity(errors.len());
    for error in errors {
        if error.row as usize >= rows {
            return Err(Violation::new("a row index in `errors` is out of range"));
        }
        let read = error.column.map(|column| column as usize);
        if read.is_some_and(|read| read >= plan.reads.len()) {
            return Err(Violation::new("a column index in `errors` is out of range"));
        }
        let code = match error.code {
            RowErrorCode::InvalidValue => RefusalCode::InvalidValue,
            RowErrorCode::Rejected => RefusalCode::Rejected,
            RowErrorCode::LookupMissing => RefusalCode::LookupMissing,
            RowErrorCode::Other => RefusalCode::Other,
        };
        refused.push(RefusedRow { row: error.row, code, read, message: printable(&error.message) });
    }
    refused.sort_by_key(|refused| refused.row);
    refused.dedup_by_key(|refused| refused.row);
    Ok(refused)
}

fn check_selection(keep: &[u32], rows: usize) -> Result<(), Violation> {
    if !keep.is_sorted_by(|a, b| a < b) {
        return Err(Violation::new("`keep` is not strictly ascending"));
    }
    match keep.last() {
        Some(last) if *last as usize >= rows => Err(Violation::new("a row index in `keep` is out of range")),
        _ => Ok(()),
    }
}

/// Without a filter every row is kept or refused: nothing is lost by accident.
fn check_complete(keep: &[u32], refused: &[RefusedRow], rows: usize) -> Result<(), Violation> {
    let both = refused.iter().filter(|refused| keep.binary_search(&refused.row).is_ok()).count();
    if keep.len() + refused.len() - both == rows {
        return Ok(());
    }
    Err(Violation::new("a row is neither kept nor in `errors`, and the plan declares no filter"))
}

/// With `all`, cells of refused rows are there and mean nothing.
fn ignored_cells(all: bool, refused: &[RefusedRow], rows: usize) -> Vec<bool> {
    if !all || refused.is_empty() {
        return Vec::new();
    }
    let mut ignored = vec![false; rows];
    refused.iter().for_each(|refused| ignored[refused.row as usize] = true);
    ignored
}

/// The marks of a column: which cells have a value.
struct Marks {
    nulls: Option<NullBuffer>,
    absent: Option<BooleanBuffer>,
}

impl Marks {
    fn has_value(&self, row: usize) -> bool {
        self.nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row))
    }
}

fn computed(
    column: ColumnResult,
    planned: &ComputedColumn,
    cells: usize,
    ignored: &[bool],
) -> Result<Computed, Violation> {
    let marks = marks(column.marks, planned, cells, ignored)?;
    let array = array(column.vector, &planned.data_type, &marks, cells, ignored)?;
    Ok(Computed { array, absent: marks.absent })
}

fn marks(
    mut marks: Vec<u8>,
    planned: &ComputedColumn,
    cells: usize,
    ignored: &[bool],
) -> Result<Marks, Violation> {
    if marks.is_empty() {
        return Ok(Marks { nulls: None, absent: None });
    }
    if marks.len() != cells {
        return Err(Violation::new(format!("{} marks for {cells} cells", marks.len())));
    }
    if marks.iter().any(|mark| *mark > 2) {
        return Err(Violation::new("a mark is not 0, 1 or 2"));
    }
    for (mark, _) in marks.iter_mut().zip(ignored).filter(|(_, ignored)| **ignored) {
        *mark = u8::from(*mark != 0);
    }
    let ignored = |row: usize| ignored.get(row).copied().unwrap_or(false);
    if !planned.nullable && marks.iter().enumerate().any(|(row, mark)| *mark == 1 && !ignored(row)) {
        return Err(Violation::new("a cell is null, but the plan says that none is"));
    }
    if planned.key && marks.contains(&2) {
        return Err(Violation::new("a cell of the key is absent"));
    }
    let absent = marks.contains(&2).then(|| marks.iter().map(|mark| *mark == 2).collect());
    let nulls = NullBuffer::from_iter(marks.iter().map(|mark| *mark == 0));
    Ok(Marks { nulls: (nulls.null_count() > 0).then_some(nulls), absent })
}

fn array(
    vector: VectorResult,
    data_type: &DataType,
    marks: &Marks,
    cells: usize,
    ignored: &[bool],
) -> Result<ArrayRef, Violation> {
    let nulls = marks.nulls.clone();
    let physical = data_type.physical();
    Ok(match (blanked(vector, ignored), &physical) {
        (VectorResult::Boolean(values), Physical::Boolean) => {
            whole(&values, marks, cells)?;
            if values.iter().any(|value| *value > 1) {
                return Err(Violation::new("a boolean is not 0 or 1"));
            }
            let values = values.iter().map(|value| *value == 1).collect();
            Arc::new(BooleanArray::new(values, nulls))
        }
        (VectorResult::Integer(values), _) => {
            whole(&values, marks, cells)?;
            integers(values, data_type, nulls)?
        }
        (VectorResult::Unsigned(values), Physical::UInt64) => {
            whole(&values, marks, cells)?;
            Arc::new(UInt64Array::new(values.into(), nulls))
        }
        (VectorResult::Float(values), Physical::Float64) => {
            whole(&values, marks, cells)?;
            Arc::new(Float64Array::new(values.into(), nulls))
        }
        (VectorResult::Float(values), Physical::Float32) => {
            whole(&values, marks, cells)?;
            if values.iter().any(|value| value.is_finite() && (*value as f32).is_infinite()) {
                return Err(Violation::new("a value is out of the range of float32"));
            }
            let values: Vec<f32> = values.iter().map(|value| *value as f32).collect();
            Arc::new(Float32Array::new(values.into(), nulls))
        }
        (VectorResult::Text(packed), Physical::Decimal128(precision, scale)) => {
            let (precision, scale) = (*precision, scale.unsigned_abs());
            let texts = texts(packed, marks, cells)?;
            let value = |row: usize| match marks.has_value(row) && !ignored.get(row).is_some_and(|i| *i) {
                true => decimal::parse(texts.value(row), precision, scale),
                false => Ok(0),
            };
            let values = (0..cells).map(value).collect::<Result<Vec<i128>, _>>()?;
            Arc::new(Decimal128Array::new(values.into(), nulls).with_data_type(physical))
        }
        (VectorResult::Text(packed), Physical::Utf8) => {
            let texts = texts(packed, marks, cells)?;
            formed(texts, data_type, marks, ignored)?
        }
        (VectorResult::Binary(packed), Physical::Binary) => {
            let (offsets, bytes) = heap(packed, marks, cells)?;
            Arc::new(BinaryArray::new(offsets, bytes, nulls))
        }
        (vector, _) => {
            let form = match vector {
                VectorResult::Boolean(_) => "boolean",
                VectorResult::Integer(_) => "integer",
                VectorResult::Unsigned(_) => "unsigned",
                VectorResult::Float(_) => "float",
                VectorResult::Text(_) => "text",
                VectorResult::Binary(_) => "binary",
            };
            return Err(Violation::new(format!("a vector of {form} for the type {data_type}")));
        }
    })
}

/// Numbers of refused rows mean nothing: they are 0 from here on.
fn blanked(mut vector: VectorResult, ignored: &[bool]) -> VectorResult {
    fn blank<T: Default>(values: &mut [T], ignored: &[bool]) {
        let refused = values.iter_mut().zip(ignored).filter(|(_, ignored)| **ignored);
        refused.for_each(|(value, _)| *value = T::default());
    }
    match &mut vector {
        VectorResult::Boolean(values) => blank(values, ignored),
        VectorResult::Integer(values) => blank(values, ignored),
        VectorResult::Unsigned(values) => blank(values, ignored),
        VectorResult::Float(values) => blank(values, ignored),
        VectorResult::Text(_) | VectorResult::Binary(_) => {}
    }
    vector
}

/// As many cells as rows, and nothing under a mark.
fn whole<T: Default + PartialEq>(values: &[T], marks: &Marks, cells: usize) -> Result<(), Violation> {
    if values.len() != cells {
        return Err(Violation::new(format!("{} values for {cells} cells", values.len())));
    }
    match &marks.nulls {
        Some(nulls) if nulls.iter().zip(values).any(|(valid, value)| !valid && *value != T::default()) => {
            Err(Violation::new("a cell without a value holds something other than 0"))
        }
        _ => Ok(()),
    }
}

fn integers(
    values: Vec<i64>,
    data_type: &DataType,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef, Violation> {
    let within = |range: std::ops::RangeInclusive<i64>| match values.iter().all(|v| range.contains(v)) {
        true => Ok(()),
        false => Err(Violation::new(format!("a value is out of the range of {data_type}"))),
    };
    Ok(match data_type.physical() {
        Physical::Int16 => narrowed::<Int16Type>(&values, data_type, nulls)?,
        Physical::Int32 => narrowed::<Int32Type>(&values, data_type, nulls)?,
        Physical::Date32 => {
            within(DAYS)?;
            narrowed::<Date32Type>(&values, data_type, nulls)?
        }
        Physical::Int64 => {
            if matches!(data_type, DataType::Time { .. }) {
                within(-TIME_US_MAX..=TIME_US_MAX)?;
            }
            Arc::new(PrimitiveArray::<Int64Type>::new(values.into(), nulls))
        }
        physical @ Physical::Timestamp(..) => {
            within(TIMES_US)?;
            let array = PrimitiveArray::<TimestampMicrosecondType>::new(values.into(), nulls);
            Arc::new(array.with_data_type(physical))
        }
        _ => return Err(Violation::new(format!("a vector of integer for the type {data_type}"))),
    })
}

fn narrowed<T>(values: &[i64], data_type: &DataType, nulls: Option<NullBuffer>) -> Result<ArrayRef, Violation>
where
    T: ArrowPrimitiveType,
    T::Native: TryFrom<i64>,
{
    let narrow = values.iter().map(|value| T::Native::try_from(*value));
    let values: Vec<T::Native> = narrow
        .collect::<Result<_, _>>()
        .map_err(|_| Violation::new(format!("a value is out of the range of {data_type}")))?;
    Ok(Arc::new(PrimitiveArray::<T>::new(values.into(), nulls)))
}

/// Checks offsets and heap; the buffers are the guest's own, not copied.
fn heap(packed: PackedResult, marks: &Marks, cells: usize) -> Result<(OffsetBuffer<i32>, Buffer), Violation> {
    let PackedResult { offsets, bytes } = packed;
    if offsets.len() != cells + 1 {
        return Err(Violation::new(format!("{} offsets for {cells} cells", offsets.len())));
    }
    if !offsets.is_sorted() {
        return Err(Violation::new("offsets are not ascending"));
    }
    let last = offsets[cells] as usize;
    if last > bytes.len() || i32::try_from(last).is_err() {
        return Err(Violation::new("an offset lies beyond the bytes"));
    }
    if let Some(nulls) = &marks.nulls
        && nulls.iter().zip(offsets.windows(2)).any(|(valid, cell)| !valid && cell[0] != cell[1])
    {
        return Err(Violation::new("a cell without a value is not empty"));
    }
    // None is above i32::MAX, so the bits are the same.
    let offsets = ScalarBuffer::new(Buffer::from_vec(offsets), 0, cells + 1);
    Ok((OffsetBuffer::new(offsets), Buffer::from_vec(bytes)))
}

fn texts(packed: PackedResult, marks: &Marks, cells: usize) -> Result<StringArray, Violation> {
    let (offsets, bytes) = heap(packed, marks, cells)?;
    StringArray::try_new(offsets, bytes, marks.nulls.clone())
        .map_err(|_| Violation::new("text is not UTF-8, or an offset is not on a character's boundary"))
}

/// Text whose type has a form: checked, or (a decimal of more than 38 digits)
/// made canonical.
fn formed(
    texts: StringArray,
    data_type: &DataType,
    marks: &Marks,
    ignored: &[bool],
) -> Result<ArrayRef, Violation> {
    let counts = |row: &usize| marks.has_value(*row) && !ignored.get(*row).copied().unwrap_or(false);
    if let DataType::Decimal { precision, scale } = data_type {
        let cell = |row: usize| match counts(&row) {
            true => decimal::canonical(texts.value(row), *precision, *scale).map(Some),
            false => Ok(None),
        };
        let cells = (0..texts.offsets().len() - 1).map(cell).collect::<Result<Vec<_>, _>>()?;
        return Ok(Arc::new(StringArray::from(cells)));
    }
    if text::has_form(data_type) {
        (0..texts.offsets().len() - 1)
            .filter(counts)
            .try_for_each(|row| text::check(data_type, texts.value(row)))?;
    }
    Ok(Arc::new(texts))
}
