//! One column's decoder, chosen once per table version.

use std::sync::Arc;

use tidegate_model::{ColumnBuilder, DataType};

use super::decimal::Decimal;
use super::label::Labels;
use super::temporal::{self, Moment};
use super::text;
use crate::binlog::{Bytes, ColumnType, Malformed, MapColumn};
use crate::charset::Charset;

/// Why a cell was not appended. Nothing was: the caller appends the null.
#[derive(Debug)]
pub(super) enum CellError {
    /// The bytes are not a cell of this column: the log or our layout is wrong.
    Malformed(Malformed),
    /// The server's value is none of the model's type; its text.
    Refused(Box<Refused>),
}

/// A value that goes to the dead letters.
#[derive(Debug)]
pub(super) struct Refused {
    /// What is wrong with it, without the value.
    pub(super) reason: &'static str,
    /// The server's text; for bytes that are no text, `0x` and hex digits.
    pub(super) text: String,
}

impl From<Malformed> for CellError {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed)
    }
}

impl CellError {
    #[cold]
    pub(super) fn refused(reason: &'static str, text: String) -> Self {
        Self::Refused(Box::new(Refused { reason, text }))
    }
}

/// The builder's form is not the column's. `BatchBuilder` and codec are made of
/// the same table version, so this is a broken invariant, told as an error
/// because the hot path has no panics.
pub(super) const WRONG_FORM: CellError =
    CellError::Malformed(Malformed("builder: another form than the column's"));

/// How the cells of one column are read and appended.
///
/// `prefix` is the number of length bytes in front of a cell in the log; 0 in a
/// codec made for a snapshot.
#[derive(Debug, Clone)]
pub(super) enum CellCodec {
    /// TINYINT to BIGINT.
    Integer { bytes: u8, unsigned: bool },
    /// FLOAT.
    Float32,
    /// DOUBLE.
    Float64,
    /// DECIMAL.
    Decimal(Decimal),
    /// CHAR, VARCHAR, TEXT, JSON.
    Text { charset: Charset, prefix: u8 },
    /// VARBINARY, BLOB.
    Binary { prefix: u8 },
    /// BINARY: the log strips trailing zero bytes.
    FixedBinary { length: usize, prefix: u8 },
    /// BIT.
    Bit { bytes: usize },
    /// YEAR.
    Year,
    /// DATE.
    Date,
    /// TIME.
    Time { fraction: u8 },
    /// DATETIME.
    DateTime { fraction: u8 },
    /// TIMESTAMP.
    Timestamp { fraction: u8 },
    /// ENUM.
    Enum(Labels),
    /// SET.
    Set(Labels),
}

impl CellCodec {
    /// The codec of a column; `None` where no exact one exists. `map` is the
    /// column in the log, and fits the type; absent for a snapshot.
    pub(super) fn new(data_type: &DataType, map: Option<&MapColumn>) -> Option<Self> {
        let prefix = map.map_or(0, |column| column.wire.prefix());
        let label_bytes = match map.map(|column| column.wire) {
            Some(ColumnType::Enum { bytes } | ColumnType::Set { bytes }) => bytes,
            _ => 0,
        };
        Some(match data_type {
            DataType::Integer { bits, unsigned } => Self::Integer { bytes: bits / 8, unsigned: *unsigned },
            DataType::Float32 => Self::Float32,
            DataType::Float64 => Self::Float64,
            DataType::Decimal { precision, scale } => Self::Decimal(Decimal::new(*precision, *scale)?),
            DataType::Text { charset, .. } => {
                let charset = Charset::of_name(charset)?;
                charset.bytes_per_char().filter(|_| charset != Charset::Binary)?;
                Self::Text { charset, prefix }
            }
            DataType::Json => Self::Text { charset: Charset::Utf8mb4, prefix },
            DataType::Binary { length, fixed: true } => {
                Self::FixedBinary { length: *length as usize, prefix }
            }
            DataType::Binary { .. } => Self::Binary { prefix },
            DataType::Bit { length } => Self::Bit { bytes: usize::from(*length).div_ceil(8) },
            DataType::Year => Self::Year,
            DataType::Date => Self::Date,
            DataType::Time { fraction } => Self::Time { fraction: *fraction },
            DataType::DateTime { fraction } => Self::DateTime { fraction: *fraction },
            DataType::Timestamp { fraction } => Self::Timestamp { fraction: *fraction },
            DataType::Enum { labels } => Self::Enum(Labels::new(Arc::clone(labels), label_bytes)),
            DataType::Set { labels } => Self::Set(Labels::new(Arc::clone(labels), label_bytes)),
            DataType::Boolean | DataType::Uuid | DataType::Other(_) => return None,
        })
    }

    /// Reads a cell out of a row image and appends it.
    #[inline]
    pub(super) fn append_wire(
        &self,
        bytes: &mut Bytes<'_>,
        out: &mut ColumnBuilder,
    ) -> Result<(), CellError> {
        match self {
            Self::Integer { bytes: width, unsigned } => append_integer(*width, *unsigned, bytes, out),
            Self::Float32 => {
                let ColumnBuilder::Float32(out) = out else { return Err(WRONG_FORM) };
                out.append_value(f32::from_le_bytes(bytes.array("FLOAT")?));
                Ok(())
            }
            Self::Float64 => {
                let ColumnBuilder::Float64(out) = out else { return Err(WRONG_FORM) };
                out.append_value(f64::from_le_bytes(bytes.array("DOUBLE")?));
                Ok(())
            }
            Self::Decimal(decimal) => decimal.append_wire(bytes, out),
            Self::Text { charset, prefix } => text::append(*charset, bytes.prefixed(*prefix, "text")?, out),
            Self::Binary { prefix } => text::append_binary(bytes.prefixed(*prefix, "bytes")?, out),
            Self::FixedBinary { length, prefix } => {
                text::append_fixed(bytes.prefixed(*prefix, "bytes")?, *length, out)
            }
            Self::Bit { bytes: width } => text::append_binary(bytes.take(*width, "BIT")?, out),
            Self::Year => append_year(year(bytes.u8("YEAR")?), out),
            Self::Date => Moment::date_of_wire(bytes)?.append_date(out),
            Self::Time { fraction } => temporal::append_time(temporal::time_of_wire(bytes, *fraction)?, out),
            Self::DateTime { fraction } => {
                Moment::date_time_of_wire(bytes, *fraction)?.append_date_time(*fraction, out)
            }
            Self::Timestamp { fraction } => {
                let (seconds, micros) = temporal::timestamp_of_wire(bytes, *fraction)?;
                temporal::append_timestamp(seconds, micros, *fraction, out)
            }
            Self::Enum(labels) => labels.append_enum(labels.number_of_wire(bytes)?, out),
            Self::Set(labels) => labels.append_set(labels.number_of_wire(bytes)?, out),
        }
    }
}

/// An integer of `width` bytes.
#[inline]
fn append_integer(
    width: u8,
    unsigned: bool,
    bytes: &mut Bytes<'_>,
    out: &mut ColumnBuilder,
) -> Result<(), CellError> {
    match (width, unsigned, out) {
        (4, false, ColumnBuilder::Int32(out)) => {
            out.append_value(i32::from_le_bytes(bytes.array("INT")?));
        }
        (8, false, ColumnBuilder::Int64(out)) => {
            out.append_value(i64::from_le_bytes(bytes.array("BIGINT")?));
        }
        (8, true, ColumnBuilder::UInt64(out)) => out.append_value(bytes.u64("BIGINT")?),
        (4, true, ColumnBuilder::Int64(out)) => out.append_value(bytes.u32("INT")?.into()),
        (3, _, ColumnBuilder::Int32(out)) => {
            let [a, b, c] = bytes.array("MEDIUMINT")?;
            // In the upper three bytes, so that the shift back brings the sign along.
            let high = [0, a, b, c];
            out.append_value(if unsigned {
                (u32::from_le_bytes(high) >> 8) as i32
            } else {
                i32::from_le_bytes(high) >> 8
            });
        }
        (2, false, ColumnBuilder::Int16(out)) => {
            out.append_value(i16::from_le_bytes(bytes.array("SMALLINT")?));
        }
        (2, true, ColumnBuilder::Int32(out)) => out.append_value(bytes.u16("SMALLINT")?.into()),
        (1, false, ColumnBuilder::Int16(out)) => {
            out.append_value(i8::from_le_bytes(bytes.array("TINYINT")?).into());
        }
        (1, true, ColumnBuilder::Int16(out)) => out.append_value(bytes.u8("TINYINT")?.into()),
        _ => return Err(WRONG_FORM),
    }
    Ok(())
}

/// YEAR's byte counts from 1900; 0 is the year 0.
fn year(byte: u8) -> i16 {
    if byte == 0 { 0 } else { 1900 + i16::from(byte) }
}

/// Appends a YEAR.
pub(super) fn append_year(year: i16, out: &mut ColumnBuilder) -> Result<(), CellError> {
    let ColumnBuilder::Int16(out) = out else { return Err(WRONG_FORM) };
    out.append_value(year);
    Ok(())
}
