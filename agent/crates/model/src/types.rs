//! Exact logical types beside their physical Arrow form.

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::{DataType as Physical, TimeUnit};

/// What a column's values are at the source, exactly.
///
/// The physical form follows from it ([`DataType::physical`]); sinks and
/// transforms look at the logical type wherever two types share one form.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum DataType {
    /// True or false; only transforms make it (MariaDB's BOOLEAN is TINYINT).
    Boolean,
    /// TINYINT (8) to BIGINT (64 bits); MEDIUMINT has 24.
    Integer {
        /// 8, 16, 24, 32 or 64.
        bits: u8,
        /// UNSIGNED or ZEROFILL.
        unsigned: bool,
    },
    /// 4-byte float, kept as it is.
    Float32,
    /// 8-byte float.
    Float64,
    /// Fixed-point number; of more than 38 digits it is text.
    Decimal {
        /// Digits in all, 1 to 65.
        precision: u8,
        /// Digits behind the point, 0 to 38.
        scale: u8,
    },
    /// Characters, as UTF-8 whatever the source's charset.
    Text {
        /// Longest value in characters (CHAR, VARCHAR) or bytes (TEXT); 0 unknown.
        length: u32,
        /// The source's character set: `utf8mb4`, `latin1`, ….
        charset: Arc<str>,
    },
    /// Bytes.
    Binary {
        /// Longest value in bytes; 0 unknown.
        length: u32,
        /// BINARY(n): always `length` bytes, zero-padded.
        fixed: bool,
    },
    /// BIT(n) as big-endian bytes.
    Bit {
        /// 1 to 64.
        length: u8,
    },
    /// Days since 1970-01-01.
    Date,
    /// Signed duration in microseconds, up to 838 h.
    Time {
        /// Digits of the fraction, 0 to 6.
        fraction: u8,
    },
    /// Microseconds without a zone.
    DateTime {
        /// Digits of the fraction, 0 to 6.
        fraction: u8,
    },
    /// Microseconds since the epoch, UTC.
    Timestamp {
        /// Digits of the fraction, 0 to 6.
        fraction: u8,
    },
    /// YEAR; 0 is a value.
    Year,
    /// One label as text; index 0 (an invalid value) is the empty text.
    Enum {
        /// In the server's order.
        labels: Arc<[String]>,
    },
    /// Labels joined by commas, in the server's order.
    Set {
        /// In the server's order.
        labels: Arc<[String]>,
    },
    /// JSON as the server's text.
    Json,
    /// Canonical lower-case text.
    Uuid,
    /// A type that we keep in the source's text form, by its source name.
    Other(Arc<str>),
}

impl DataType {
    /// The Arrow form of a column of this type.
    pub fn physical(&self) -> Physical {
        match self {
            Self::Boolean => Physical::Boolean,
            Self::Integer { bits: 8, .. } | Self::Integer { bits: 16, unsigned: false } | Self::Year => {
                Physical::Int16
            }
            Self::Integer { bits: 16 | 24, .. } | Self::Integer { bits: 32, unsigned: false } => {
                Physical::Int32
            }
            Self::Integer { bits: 64, unsigned: true } => Physical::UInt64,
            Self::Integer { .. } | Self::Time { .. } => Physical::Int64,
            Self::Float32 => Physical::Float32,
            Self::Float64 => Physical::Float64,
            Self::Decimal { precision, scale } if *precision <= 38 => {
                Physical::Decimal128(*precision, *scale as i8)
            }
            Self::Decimal { .. }
            | Self::Text { .. }
            | Self::Enum { .. }
            | Self::Set { .. }
            | Self::Json
            | Self::Uuid
            | Self::Other(_) => Physical::Utf8,
            Self::Binary { .. } | Self::Bit { .. } => Physical::Binary,
            Self::Date => Physical::Date32,
            Self::DateTime { .. } => Physical::Timestamp(TimeUnit::Microsecond, None),
            Self::Timestamp { .. } => Physical::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        }
    }

    /// Text of no stated length in UTF-8: what transforms make.
    pub fn text() -> Self {
        Self::Text { length: 0, charset: "utf8mb4".into() }
    }

    /// True when every value of `self` is the same value in `wider`, so that
    /// existing rows need no rewrite: the widening MODIFY.
    pub fn widens_to(&self, wider: &Self) -> bool {
        match (self, wider) {
            (a, b) if a == b => true,
            (Self::Integer { bits: a, unsigned: u }, Self::Integer { bits: b, unsigned: v }) => {
                (u == v && a <= b) || (*u && !*v && a < b)
            }
            (Self::Float32, Self::Float64) => false, // the text changes: 0.1 becomes 0.10000000149011612
            (Self::Decimal { precision: p, scale: s }, Self::Decimal { precision: q, scale: t }) => {
                s == t && p <= q
            }
            (Self::Text { length: a, charset: c }, Self::Text { length: b, charset: d }) => c == d && a <= b,
            (Self::Binary { length: a, fixed: false }, Self::Binary { length: b, fixed: false }) => a <= b,
            (Self::Time { fraction: a }, Self::Time { fraction: b })
            | (Self::DateTime { fraction: a }, Self::DateTime { fraction: b })
            | (Self::Timestamp { fraction: a }, Self::Timestamp { fraction: b }) => a <= b,
            (Self::Enum { labels: a }, Self::Enum { labels: b })
            | (Self::Set { labels: a }, Self::Set { labels: b }) => b.starts_with(a),
            _ => false,
        }
    }
}

/// The name that docs, `schema history` and messages use.
impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Boolean => f.write_str("boolean"),
            Self::Integer { bits, unsigned } => write!(f, "{}int{bits}", if *unsigned { "u" } else { "" }),
            Self::Float32 => f.write_str("float32"),
            Self::Float64 => f.write_str("float64"),
            Self::Decimal { precision, scale } => write!(f, "decimal({precision},{scale})"),
            Self::Text { length: 0, charset } => write!(f, "text {charset}"),
            Self::Text { length, charset } => write!(f, "text({length}) {charset}"),
            Self::Binary { length, fixed: true } => write!(f, "binary({length}) fixed"),
            Self::Binary { length, fixed: false } => write!(f, "binary({length})"),
            Self::Bit { length } => write!(f, "bit({length})"),
            Self::Date => f.write_str("date"),
            Self::Time { fraction } => write!(f, "time({fraction})"),
            Self::DateTime { fraction } => write!(f, "datetime({fraction})"),
            Self::Timestamp { fraction } => write!(f, "timestamp({fraction})"),
            Self::Year => f.write_str("year"),
            Self::Enum { labels } => write!(f, "enum({} labels)", labels.len()),
            Self::Set { labels } => write!(f, "set({} labels)", labels.len()),
            Self::Json => f.write_str("json"),
            Self::Uuid => f.write_str("uuid"),
            Self::Other(name) => write!(f, "other({name})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn int(bits: u8, unsigned: bool) -> DataType {
        DataType::Integer { bits, unsigned }
    }

    #[test]
    fn every_integer_fits_its_physical_form() {
        assert_eq!(int(8, true).physical(), Physical::Int16);
        assert_eq!(int(16, true).physical(), Physical::Int32);
        assert_eq!(int(24, true).physical(), Physical::Int32);
        assert_eq!(int(32, true).physical(), Physical::Int64);
        assert_eq!(int(64, true).physical(), Physical::UInt64);
    }

    #[test]
    fn widening_is_exact_or_not_at_all() {
        assert!(int(32, false).widens_to(&int(64, false)));
        assert!(int(32, true).widens_to(&int(64, false)));
        assert!(!int(64, true).widens_to(&int(64, false)));
        assert!(!int(32, false).widens_to(&int(64, true)));
        assert!(!int(64, false).widens_to(&int(32, false)));
        let decimal = |precision, scale| DataType::Decimal { precision, scale };
        assert!(decimal(10, 2).widens_to(&decimal(12, 2)));
        assert!(!decimal(10, 2).widens_to(&decimal(12, 3)));
        assert!(!DataType::Float32.widens_to(&DataType::Float64));
    }
}
