//! Cells as the binary protocol hands them out.

use mysql_async::Value;
use tidegate_model::{BatchBuilder, ColumnBuilder, DataType, Error, ErrorKind, Image, Result, TableVersion};

use super::cell::{CellCodec, CellError, WRONG_FORM, append_year};
use super::rows::{Texts, unsupported};
use super::temporal::{self, Moment};
use super::text;
use crate::binlog::Malformed;

/// The expression to select a column by, so that its value is the stream's:
/// ENUM and SET as numbers, everything else as it is. `quoted` is the column's
/// name in back quotes.
pub fn select_expression(data_type: &DataType, quoted: &str) -> String {
    match data_type {
        DataType::Enum { .. } | DataType::Set { .. } => format!("{quoted}+0"),
        _ => quoted.to_owned(),
    }
}

/// Appends the rows of a table's snapshot.
#[derive(Debug)]
pub struct SnapshotCodec {
    cells: Vec<CellCodec>,
    version: TableVersion,
}

impl SnapshotCodec {
    /// A codec for the columns of this version.
    ///
    /// # Errors
    /// `Unsupported`, naming table, column and type, when one is not exact.
    pub fn new(version: &TableVersion) -> Result<Self> {
        let cells = (version.columns.iter())
            .map(|column| CellCodec::new(&column.data_type, None).ok_or_else(|| unsupported(version, column)))
            .collect::<Result<_>>()?;
        Ok(Self { cells, version: version.clone() })
    }

    /// Appends one row as the after image of the builder's current event.
    /// `value` gives the value of a column by index, in the version's order.
    ///
    /// # Errors
    /// `Corrupt` when a value's form is not the column's: the SELECT or the
    /// session differ from what this module asks for. The builder is then unusable.
    pub fn append_row<'v>(
        &self,
        value: impl Fn(usize) -> Option<&'v Value>,
        builder: &mut BatchBuilder,
    ) -> Result<()> {
        let row = builder.rows() as u32;
        let mut texts = Texts::default();
        for (index, cell) in self.cells.iter().enumerate() {
            let appended = match (value(index), builder.columns().get_mut(index)) {
                (Some(value), Some(out)) => cell.append_value(value, out),
                _ => Err(Malformed("row, with too few columns").into()),
            };
            match appended {
                Ok(()) => {}
                Err(CellError::Refused(refused)) => {
                    builder.columns()[index].append_null();
                    texts.note(row, index, *refused);
                }
                Err(CellError::Malformed(malformed)) => {
                    return Err(Error::new(ErrorKind::Corrupt, malformed.to_string())
                        .during("read snapshot row")
                        .with("table", &self.version.name)
                        .with("column", &self.version.columns[index].name)
                        .hint("the table may have changed under the chunk: read it again"));
                }
            }
        }
        builder.row(Image::After);
        texts.refuse(&self.version, builder);
        Ok(())
    }
}

impl CellCodec {
    /// Appends a value of the protocol.
    fn append_value(&self, value: &Value, out: &mut ColumnBuilder) -> Result<(), CellError> {
        const FORM: CellError = CellError::Malformed(Malformed("value, of another form than its column"));
        match (self, value) {
            (_, Value::NULL) => out.append_null(),
            (Self::Integer { .. }, _) => return append_integer(integer(value).ok_or(FORM)?, out),
            (Self::Year, _) => {
                let year = integer(value).and_then(|year| i16::try_from(year).ok()).ok_or(FORM)?;
                return append_year(year, out);
            }
            (Self::Float32, Value::Float(value)) => match out {
                ColumnBuilder::Float32(out) => out.append_value(*value),
                _ => return Err(WRONG_FORM),
            },
            (Self::Float64, Value::Double(value)) => match out {
                ColumnBuilder::Float64(out) => out.append_value(*value),
                _ => return Err(WRONG_FORM),
            },
            (Self::Decimal(decimal), Value::Bytes(text)) => return decimal.append_text(text, out),
            (Self::Text { charset, .. }, Value::Bytes(bytes)) => return text::append(*charset, bytes, out),
            (Self::Binary { .. } | Self::Bit { .. }, Value::Bytes(bytes)) => {
                return text::append_binary(bytes, out);
            }
            (Self::FixedBinary { length, .. }, Value::Bytes(bytes)) => {
                return text::append_fixed(bytes, *length, out);
            }
            (Self::Date, _) => return moment(value).ok_or(FORM)?.append_date(out),
            (Self::DateTime { fraction }, _) => {
                return moment(value).ok_or(FORM)?.append_date_time(*fraction, out);
            }
            (Self::Timestamp { fraction }, _) => {
                let (seconds, micros) = moment(value).ok_or(FORM)?.since_epoch().ok_or(FORM)?;
                return temporal::append_timestamp(seconds, micros, *fraction, out);
            }
            (Self::Time { .. }, &Value::Time(negative, days, hours, minutes, seconds, micros)) => {
                let hours = i64::from(days) * 24 + i64::from(hours);
                let seconds = (hours * 60 + i64::from(minutes)) * 60 + i64::from(seconds);
                let total = seconds * 1_000_000 + i64::from(micros);
                return temporal::append_time(if negative { -total } else { total }, out);
            }
            // `set+0` is signed: its 64th member makes the number negative.
            (Self::Enum(labels), _) => return labels.append_enum(integer(value).ok_or(FORM)? as u64, out),
            (Self::Set(labels), _) => return labels.append_set(integer(value).ok_or(FORM)? as u64, out),
            _ => return Err(FORM),
        }
        Ok(())
    }
}

fn integer(value: &Value) -> Option<i128> {
    match value {
        Value::Int(value) => Some((*value).into()),
        Value::UInt(value) => Some((*value).into()),
        _ => None,
    }
}

fn append_integer(value: i128, out: &mut ColumnBuilder) -> Result<(), CellError> {
    const RANGE: CellError = CellError::Malformed(Malformed("integer, out of its column's range"));
    match out {
        ColumnBuilder::Int16(out) => out.append_value(value.try_into().map_err(|_| RANGE)?),
        ColumnBuilder::Int32(out) => out.append_value(value.try_into().map_err(|_| RANGE)?),
        ColumnBuilder::Int64(out) => out.append_value(value.try_into().map_err(|_| RANGE)?),
        ColumnBuilder::UInt64(out) => out.append_value(value.try_into().map_err(|_| RANGE)?),
        _ => return Err(WRONG_FORM),
    }
    Ok(())
}

fn moment(value: &Value) -> Option<Moment> {
    match *value {
        Value::Date(year, month, day, hour, minute, second, micros) => {
            Some(Moment { year, month, day, hour, minute, second, micros })
        }
        _ => None,
    }
}
