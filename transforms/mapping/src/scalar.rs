//! One cell of any column, for what does not depend on the column's type.

use std::fmt::Write as _;

use tidegate_guest::{BatchError, Binaries, Booleans, Cell, Cells, Column, DataType, Texts, Vector};

use crate::cast::temporal;

/// A value by its physical form.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Scalar<'a> {
    Boolean(bool),
    Integer(i64),
    Unsigned(u64),
    Float(f64),
    Text(&'a str),
    Binary(&'a [u8]),
}

/// Reads the cells of a column of any form.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reader<'a> {
    Boolean(Cells<'a, Booleans<'a>>),
    Integer(Cells<'a, &'a [i64]>),
    Unsigned(Cells<'a, &'a [u64]>),
    Float(Cells<'a, &'a [f64]>),
    Text(Cells<'a, Texts<'a>>),
    Binary(Cells<'a, Binaries<'a>>),
}

impl<'a> Reader<'a> {
    pub(crate) fn of(column: &'a Column) -> Result<Self, BatchError> {
        Ok(match column.vector {
            Vector::Boolean(_) => Self::Boolean(column.booleans()?),
            Vector::Integer(_) => Self::Integer(column.integers()?),
            Vector::Unsigned(_) => Self::Unsigned(column.unsigneds()?),
            Vector::Float(_) => Self::Float(column.floats()?),
            Vector::Text(_) => Self::Text(column.texts()?),
            Vector::Binary(_) => Self::Binary(column.binaries()?),
        })
    }

    #[inline]
    pub(crate) fn get(&self, row: usize) -> Cell<Scalar<'a>> {
        match self {
            Self::Boolean(cells) => cells.get(row).map(Scalar::Boolean),
            Self::Integer(cells) => cells.get(row).map(Scalar::Integer),
            Self::Unsigned(cells) => cells.get(row).map(Scalar::Unsigned),
            Self::Float(cells) => cells.get(row).map(Scalar::Float),
            Self::Text(cells) => cells.get(row).map(Scalar::Text),
            Self::Binary(cells) => cells.get(row).map(Scalar::Binary),
        }
    }
}

impl Scalar<'_> {
    /// Appends the value as text: numbers in digits, dates and times in ISO
    /// form with microseconds, floats by the shortest text that reads back
    /// as the same value. `None` if binary content is not UTF-8.
    pub(crate) fn write_text(self, data_type: &DataType, out: &mut String) -> Option<()> {
        match (self, data_type) {
            (Self::Text(text), _) => out.push_str(text),
            (Self::Boolean(value), _) => out.push_str(if value { "true" } else { "false" }),
            (Self::Integer(days), DataType::Date) => temporal::write_date(days, out),
            (Self::Integer(micros), DataType::Time) => temporal::write_time(micros, out),
            (Self::Integer(micros), DataType::Timestamp) => temporal::write_timestamp(micros, out),
            (Self::Integer(micros), DataType::Timestamptz) => {
                temporal::write_timestamp(micros, out);
                out.push('Z');
            }
            (Self::Integer(value), _) => display(value, out),
            (Self::Unsigned(value), _) => display(value, out),
            (Self::Float(value), _) if value.is_infinite() => {
                out.push_str(if value > 0.0 { "Infinity" } else { "-Infinity" });
            }
            (Self::Float(value), DataType::Float32) => display(value as f32, out),
            (Self::Float(value), _) => display(value, out),
            (Self::Binary(bytes), _) => out.push_str(std::str::from_utf8(bytes).ok()?),
        }
        Some(())
    }
}

fn display(value: impl std::fmt::Display, out: &mut String) {
    write!(out, "{value}").expect("writing to a string cannot fail");
}
