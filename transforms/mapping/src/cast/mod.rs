//! Casts that keep the value or refuse it; nothing is rounded, cut or guessed.
//!
//! Numbers cast among each other and to and from boolean (0 and 1); every type
//! casts to text, and text to every type whose text form it is; a date is a
//! timestamp at midnight and back. Conversions without a way of their own go
//! through the text of the value, in a buffer that is used again.

mod decimal;
pub(crate) mod temporal;
mod text;

use tidegate_guest::{
    BatchError, BinaryBuilder, BooleanBuilder, Cell, Column, DataType, FloatBuilder, IntegerBuilder,
    TextBuilder, UnsignedBuilder,
};

use crate::scalar::{Reader, Scalar};
use decimal::Decimal;

/// A cast between two types that have one.
#[derive(Clone, Debug)]
pub(crate) struct Cast {
    from: DataType,
    to: DataType,
}

impl Cast {
    /// The cast, if the types have one.
    pub(crate) fn new(from: &DataType, to: &DataType) -> Option<Self> {
        use DataType as T;
        let is_text = matches!(from, T::Text | T::Other(_));
        let known = is_text
            || matches!(to, T::Text)
            || (is_number(from) && is_number(to))
            || matches!((from, to), (T::Date, T::Timestamp) | (T::Timestamp, T::Date));
        known.then(|| Self { from: from.clone(), to: to.clone() })
    }

    /// Casts every cell; `refuse` is called with the rows whose value has no
    /// exact counterpart, and their cell is null.
    pub(crate) fn apply(&self, column: &Column, mut refuse: impl FnMut(usize)) -> Result<Column, BatchError> {
        let cells = Reader::of(column)?;
        let rows = column.rows();
        let mut scratch = String::new();
        /// Converts cell by cell into a builder.
        macro_rules! fill {
            ($builder:expr, $convert:expr) => {{
                let mut builder = $builder;
                for row in 0..rows {
                    builder.push(match cells.get(row) {
                        Cell::Value(scalar) => $convert(scalar).map_or_else(
                            || {
                                refuse(row);
                                Cell::Null
                            },
                            Cell::Value,
                        ),
                        Cell::Null => Cell::Null,
                        Cell::Absent => Cell::Absent,
                    });
                }
                builder.finish()
            }};
        }
        Ok(match &self.to {
            DataType::Boolean => {
                fill!(BooleanBuilder::with_capacity(rows), |scalar| self.boolean(scalar, &mut scratch))
            }
            DataType::Int16
            | DataType::Int32
            | DataType::Int64
            | DataType::Date
            | DataType::Time
            | DataType::Timestamp
            | DataType::Timestamptz => {
                fill!(IntegerBuilder::with_capacity(rows), |scalar| self.integer(scalar, &mut scratch))
            }
            DataType::Uint64 => fill!(UnsignedBuilder::with_capacity(rows), |scalar| {
                self.whole(scalar, &mut scratch).and_then(|value| u64::try_from(value).ok())
            }),
            DataType::Float32 | DataType::Float64 => {
                fill!(FloatBuilder::with_capacity(rows), |scalar| self.float(scalar, &mut scratch))
            }
            DataType::Binary => fill!(BinaryBuilder::with_capacity(rows, 0), |scalar| match scalar {
                Scalar::Text(text) => Some(text.as_bytes()),
                _ => None,
            }),
            DataType::Decimal(_) | DataType::Text | DataType::Uuid | DataType::Json | DataType::Other(_) => {
                let mut builder = TextBuilder::with_capacity(rows, rows * 16);
                for row in 0..rows {
                    let write = |scalar, heap: &mut String| self.write(scalar, &mut scratch, heap).ok_or(());
                    if builder.try_push_with(cells.get(row), write).is_err() {
                        refuse(row);
                    }
                }
                builder.finish()
            }
        })
    }

    fn boolean(&self, scalar: Scalar<'_>, scratch: &mut String) -> Option<bool> {
        match scalar {
            Scalar::Boolean(value) => Some(value),
            Scalar::Text("true" | "t") => Some(true),
            Scalar::Text("false" | "f") => Some(false),
            _ => match self.whole(scalar, scratch)? {
                0 => Some(false),
                1 => Some(true),
                _ => None,
            },
        }
    }

    fn integer(&self, scalar: Scalar<'_>, scratch: &mut String) -> Option<i64> {
        match (&self.to, scalar) {
            (DataType::Date, Scalar::Text(text)) => temporal::parse_date(text),
            (DataType::Date, Scalar::Integer(micros)) => temporal::date_of_midnight(micros),
            (DataType::Time, Scalar::Text(text)) => temporal::parse_time(text),
            (DataType::Timestamp, Scalar::Text(text)) => temporal::parse_timestamp(text),
            (DataType::Timestamp, Scalar::Integer(days)) => temporal::midnight(days),
            (DataType::Timestamptz, Scalar::Text(text)) => temporal::parse_timestamptz(text),
            (DataType::Int16, _) => {
                self.whole(scalar, scratch)?.try_into().ok().map(|value: i16| value.into())
            }
            (DataType::Int32, _) => {
                self.whole(scalar, scratch)?.try_into().ok().map(|value: i32| value.into())
            }
            _ => self.whole(scalar, scratch)?.try_into().ok(),
        }
    }

    /// A number without a fraction.
    fn whole(&self, scalar: Scalar<'_>, scratch: &mut String) -> Option<i128> {
        match scalar {
            Scalar::Boolean(value) => Some(value.into()),
            Scalar::Integer(value) => Some(value.into()),
            Scalar::Unsigned(value) => Some(value.into()),
            Scalar::Text(text) => Decimal::parse(text)?.whole(),
            Scalar::Float(_) => Decimal::parse(self.text_of(scalar, scratch)?)?.whole(),
            Scalar::Binary(_) => None,
        }
    }

    fn float(&self, scalar: Scalar<'_>, scratch: &mut String) -> Option<f64> {
        let single = self.to == DataType::Float32;
        let narrow = |value: f64| if single { f64::from(value as f32) } else { value };
        match scalar {
            Scalar::Boolean(value) => Some(value.into()),
            // Up to 2^64 the way back through i128 tells whether a bit was lost.
            Scalar::Integer(value) => {
                let float = narrow(value as f64);
                (float as i128 == i128::from(value)).then_some(float)
            }
            Scalar::Unsigned(value) => {
                let float = narrow(value as f64);
                (float as i128 == i128::from(value)).then_some(float)
            }
            Scalar::Float(value) => {
                let float = narrow(value);
                (float == value || value.is_nan()).then_some(float)
            }
            Scalar::Text(text) => text::parse_float(text, single, scratch),
            Scalar::Binary(_) => None,
        }
    }

    /// Appends the value in one of the types that are texts.
    fn write(&self, scalar: Scalar<'_>, scratch: &mut String, out: &mut String) -> Option<()> {
        match (&self.to, scalar) {
            (DataType::Decimal(to), Scalar::Text(text)) => Decimal::parse(text)?.write(to, out),
            (DataType::Decimal(to), Scalar::Boolean(value)) => {
                Decimal::parse(if value { "1" } else { "0" })?.write(to, out)
            }
            (DataType::Decimal(to), _) => Decimal::parse(self.text_of(scalar, scratch)?)?.write(to, out),
            (DataType::Uuid, Scalar::Text(text)) => text::is_uuid(text).then(|| out.push_str(text)),
            (DataType::Json, Scalar::Text(text)) => text::is_json(text).then(|| out.push_str(text)),
            _ => scalar.write_text(&self.from, out),
        }
    }

    fn text_of<'s>(&self, scalar: Scalar<'_>, scratch: &'s mut String) -> Option<&'s str> {
        scratch.clear();
        scalar.write_text(&self.from, scratch)?;
        Some(scratch)
    }
}

fn is_number(data_type: &DataType) -> bool {
    use DataType as T;
    matches!(
        data_type,
        T::Boolean | T::Int16 | T::Int32 | T::Int64 | T::Uint64 | T::Float32 | T::Float64 | T::Decimal(_)
    )
}
