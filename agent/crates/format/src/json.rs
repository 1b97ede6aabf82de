//! Rows as lines of JSON, straight from the columns into a byte buffer.
//!
//! The rules, which dead letters share: integers and TIME (µs) are numbers,
//! decimals strings, bytes and BIT standard base64, DATE, DATETIME and TIMESTAMP
//! ISO text with six digits (TIMESTAMP with `Z`), ENUM its label, SET its labels
//! joined by commas, a JSON column a string. JSON has no NaN and no infinity:
//! they are the strings `NaN`, `Infinity` and `-Infinity`. An absent cell has no
//! member; its name stands in `__absent`.

use arrow::array::{Array, AsArray, BinaryArray, BooleanArray, StringArray};
use arrow::buffer::{BooleanBuffer, NullBuffer};
use arrow::datatypes::{
    DataType as Physical, Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type,
    Int64Type, TimestampMicrosecondType, UInt64Type,
};
use serde::Serialize;
use tidegate_model::{ChangeBatch, Result, TargetVersion};

use crate::layout::{self, OutputRows};
use crate::text;

/// Appends the rows that a batch becomes, a line each, and returns their number.
///
/// # Errors
/// As [`OutputRows::of`].
pub fn write_lines(batch: &ChangeBatch, target: &TargetVersion, out: &mut Vec<u8>) -> Result<u64> {
    let rows = OutputRows::of(batch, target)?;
    let cells = Cells::new(batch, target.columns.iter().map(|column| column.name.as_str()));
    let transactions: Vec<_> = batch.transactions.iter().map(TransactionText::new).collect();
    let mut end = Vec::new();
    member(&mut end, layout::SCHEMA, &target.version);
    member(&mut end, layout::MODULE, batch.module.as_ref());
    member(&mut end, layout::GENERATION, &batch.generation);
    for ((&row, &event), operation) in rows.row.iter().zip(&rows.event).zip(&rows.operation) {
        let (row, event) = (row as usize, event as usize);
        let transaction = &transactions[batch.events.transaction[event] as usize];
        out.push(b'{');
        let start = out.len();
        cells.write(row, out);
        let first_fact = out.len();
        member(out, layout::OP, operation.letter());
        if start == first_fact {
            out.remove(start); // no cell in front of the first comma
        }
        out.extend_from_slice(&transaction.position);
        member(out, layout::IDX, &batch.events.idx[event]);
        out.extend_from_slice(&transaction.rest);
        out.extend_from_slice(&end);
        name(out, layout::ABSENT);
        cells.write_absent(row, out);
        out.extend_from_slice(b"}\n");
    }
    Ok(rows.len() as u64)
}

/// What all rows of a transaction share, written once.
struct TransactionText {
    position: Vec<u8>,
    rest: Vec<u8>,
}

impl TransactionText {
    fn new(transaction: &tidegate_model::Transaction) -> Self {
        let (mut position, mut rest) = (Vec::new(), Vec::new());
        member(&mut position, layout::POS, &transaction.position.to_string());
        member(&mut rest, layout::TX, &transaction.gtid.map(|gtid| gtid.to_string()));
        name(&mut rest, layout::COMMIT_TS);
        quoted(&mut rest, |out| text::datetime(out, transaction.commit_time_us, "Z"));
        Self { position, rest }
    }
}

/// The columns of a batch, to be written row by row.
pub struct Cells<'a> {
    columns: Vec<Column<'a>>,
}

struct Column<'a> {
    name: &'a str,
    /// `,"name":`
    prefix: Vec<u8>,
    values: Values<'a>,
    nulls: Option<&'a NullBuffer>,
    absent: Option<&'a BooleanBuffer>,
}

enum Values<'a> {
    Boolean(&'a BooleanArray),
    Int16(&'a [i16]),
    Int32(&'a [i32]),
    Int64(&'a [i64]),
    UInt64(&'a [u64]),
    Float32(&'a [f32]),
    Float64(&'a [f64]),
    Decimal(&'a [i128], u8),
    Text(&'a StringArray),
    Binary(&'a BinaryArray),
    Date(&'a [i32]),
    Timestamp(&'a [i64], &'static str),
}

impl<'a> Cells<'a> {
    /// The batch's columns under these names.
    ///
    /// # Panics
    /// On a column in a physical form that [`tidegate_model::DataType::physical`]
    /// never gives.
    pub fn new(batch: &'a ChangeBatch, names: impl Iterator<Item = &'a str>) -> Self {
        let columns = names.zip(batch.rows.data.columns()).zip(&batch.rows.absent);
        let columns = columns.map(|((column_name, array), absent)| {
            let mut prefix = Vec::new();
            name(&mut prefix, column_name);
            Column {
                name: column_name,
                prefix,
                values: Values::of(array.as_ref()),
                nulls: array.nulls(),
                absent: absent.as_ref(),
            }
        });
        Self { columns: columns.collect() }
    }

    /// Appends a row's cells as members joined by commas, without braces; absent
    /// ones are left out.
    pub fn write(&self, row: usize, out: &mut Vec<u8>) {
        let start = out.len();
        for column in &self.columns {
            if column.is_absent(row) {
                continue;
            }
            // The first member has no comma in front.
            out.extend_from_slice(&column.prefix[usize::from(out.len() == start)..]);
            if column.nulls.is_some_and(|nulls| nulls.is_null(row)) {
                out.extend_from_slice(b"null");
            } else {
                column.values.write(row, out);
            }
        }
    }

    /// Appends the names of a row's absent cells as a list, `null` when none is.
    pub fn write_absent(&self, row: usize, out: &mut Vec<u8>) {
        let mut names = self.columns.iter().filter(|column| column.is_absent(row)).peekable();
        if names.peek().is_none() {
            return out.extend_from_slice(b"null");
        }
        let names: Vec<_> = names.map(|column| column.name).collect();
        json(out, &names);
    }
}

impl Column<'_> {
    fn is_absent(&self, row: usize) -> bool {
        self.absent.is_some_and(|absent| absent.value(row))
    }
}

impl<'a> Values<'a> {
    fn of(array: &'a dyn Array) -> Self {
        match array.data_type() {
            Physical::Boolean => Self::Boolean(array.as_boolean()),
            Physical::Int16 => Self::Int16(array.as_primitive::<Int16Type>().values()),
            Physical::Int32 => Self::Int32(array.as_primitive::<Int32Type>().values()),
            Physical::Int64 => Self::Int64(array.as_primitive::<Int64Type>().values()),
            Physical::UInt64 => Self::UInt64(array.as_primitive::<UInt64Type>().values()),
            Physical::Float32 => Self::Float32(array.as_primitive::<Float32Type>().values()),
            Physical::Float64 => Self::Float64(array.as_primitive::<Float64Type>().values()),
            Physical::Decimal128(_, scale) => {
                Self::Decimal(array.as_primitive::<Decimal128Type>().values(), scale.unsigned_abs())
            }
            Physical::Utf8 => Self::Text(array.as_string()),
            Physical::Binary => Self::Binary(array.as_binary()),
            Physical::Date32 => Self::Date(array.as_primitive::<Date32Type>().values()),
            Physical::Timestamp(_, zone) => Self::Timestamp(
                array.as_primitive::<TimestampMicrosecondType>().values(),
                if zone.is_some() { "Z" } else { "" },
            ),
            other => panic!("physical form {other} is not one of the model's"),
        }
    }

    fn write(&self, row: usize, out: &mut Vec<u8>) {
        match self {
            Self::Boolean(array) => json(out, &array.value(row)),
            Self::Int16(values) => json(out, &values[row]),
            Self::Int32(values) => json(out, &values[row]),
            Self::Int64(values) => json(out, &values[row]),
            Self::UInt64(values) => json(out, &values[row]),
            Self::Float32(values) if values[row].is_finite() => json(out, &values[row]),
            Self::Float32(values) => json(out, not_finite(values[row].into())),
            Self::Float64(values) if values[row].is_finite() => json(out, &values[row]),
            Self::Float64(values) => json(out, not_finite(values[row])),
            Self::Decimal(values, scale) => quoted(out, |out| text::decimal(out, values[row], *scale)),
            Self::Text(array) => json(out, array.value(row)),
            Self::Binary(array) => quoted(out, |out| text::base64(out, array.value(row))),
            Self::Date(values) => quoted(out, |out| text::date(out, values[row])),
            Self::Timestamp(values, zone) => quoted(out, |out| text::datetime(out, values[row], zone)),
        }
    }
}

fn not_finite(value: f64) -> &'static str {
    if value.is_nan() {
        "NaN"
    } else if value > 0.0 {
        "Infinity"
    } else {
        "-Infinity"
    }
}

/// `,"name":value`
fn member<T: Serialize + ?Sized>(out: &mut Vec<u8>, key: &str, value: &T) {
    name(out, key);
    json(out, value);
}

/// `,"name":`
fn name(out: &mut Vec<u8>, key: &str) {
    out.push(b',');
    json(out, key);
    out.push(b':');
}

/// A text that needs no escaping.
fn quoted(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    out.push(b'"');
    write(out);
    out.push(b'"');
}

fn json<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    serde_json::to_writer(out, value).expect("texts and numbers are JSON, and a Vec takes every byte");
}
