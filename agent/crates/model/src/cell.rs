//! One cell read out of a batch: for keys, dead letters and tests, not for the
//! hot path.

use arrow::array::{Array, AsArray};
use arrow::datatypes::{
    DataType as Physical, Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type,
    Int64Type, TimestampMicrosecondType, UInt64Type,
};

use crate::batch::ChangeBatch;

/// A cell's value by its physical form, or one of the two states without one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cell<'a> {
    /// The source did not send it; not the same as null.
    Absent,
    /// SQL NULL.
    Null,
    /// Boolean.
    Boolean(bool),
    /// Integers, year, time (µs).
    Integer(i64),
    /// BIGINT UNSIGNED.
    Unsigned(u64),
    /// FLOAT.
    Float32(f32),
    /// DOUBLE.
    Float64(f64),
    /// Unscaled value and scale.
    Decimal(i128, u8),
    /// Text forms.
    Text(&'a str),
    /// Byte forms.
    Binary(&'a [u8]),
    /// Days since 1970-01-01.
    Date(i32),
    /// µs since the epoch; whether UTC is told by the logical type.
    Timestamp(i64),
}

impl ChangeBatch {
    /// The cell at `row`, `column`.
    ///
    /// # Panics
    /// On indices out of range, or a column in a physical form that
    /// [`crate::DataType::physical`] never gives.
    pub fn cell(&self, row: usize, column: usize) -> Cell<'_> {
        if self.rows.absent[column].as_ref().is_some_and(|absent| absent.value(row)) {
            return Cell::Absent;
        }
        read(self.rows.data.column(column).as_ref(), row)
    }
}

/// The cell at `row` of an array; never [`Cell::Absent`].
fn read(array: &dyn Array, row: usize) -> Cell<'_> {
    if array.is_null(row) {
        return Cell::Null;
    }
    match array.data_type() {
        Physical::Boolean => Cell::Boolean(array.as_boolean().value(row)),
        Physical::Int16 => Cell::Integer(array.as_primitive::<Int16Type>().value(row).into()),
        Physical::Int32 => Cell::Integer(array.as_primitive::<Int32Type>().value(row).into()),
        Physical::Int64 => Cell::Integer(array.as_primitive::<Int64Type>().value(row)),
        Physical::UInt64 => Cell::Unsigned(array.as_primitive::<UInt64Type>().value(row)),
        Physical::Float32 => Cell::Float32(array.as_primitive::<Float32Type>().value(row)),
        Physical::Float64 => Cell::Float64(array.as_primitive::<Float64Type>().value(row)),
        Physical::Decimal128(_, scale) => {
            Cell::Decimal(array.as_primitive::<Decimal128Type>().value(row), scale.unsigned_abs())
        }
        Physical::Utf8 => Cell::Text(array.as_string::<i32>().value(row)),
        Physical::Binary => Cell::Binary(array.as_binary::<i32>().value(row)),
        Physical::Date32 => Cell::Date(array.as_primitive::<Date32Type>().value(row)),
        Physical::Timestamp(..) => {
            Cell::Timestamp(array.as_primitive::<TimestampMicrosecondType>().value(row))
        }
        other => panic!("physical form {other} is not one of the model's"),
    }
}
