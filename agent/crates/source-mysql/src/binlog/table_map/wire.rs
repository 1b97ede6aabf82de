//! How the bytes of a column's cells are cut: type code and its metadata.

use crate::binlog::bytes::{Bytes, Malformed};

/// Type of a column as the log has it (sql/field.h, `binlog_type_info`): what
/// decides where a cell ends. Sizes are those of the declaration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnType {
    /// TINYINT to BIGINT: 1, 2, 3, 4 or 8 bytes.
    Integer {
        /// Bytes of a cell.
        bytes: u8,
    },
    /// FLOAT, 4 bytes.
    Float,
    /// DOUBLE, 8 bytes.
    Double,
    /// DECIMAL.
    Decimal {
        /// Digits in all.
        precision: u8,
        /// Digits behind the point.
        scale: u8,
    },
    /// VARCHAR, VARBINARY; the longest value in bytes.
    Varchar {
        /// Longest value in bytes: above 255 the length takes two bytes.
        max: u16,
    },
    /// CHAR, BINARY, and MariaDB's UUID, INET4, INET6.
    String {
        /// Longest value in bytes: above 255 the length takes two bytes.
        max: u16,
    },
    /// TEXT and BLOB.
    Blob {
        /// Bytes of the length in front, 1 to 4.
        length_bytes: u8,
    },
    /// GEOMETRY and its kin.
    Geometry {
        /// Bytes of the length in front, 1 to 4.
        length_bytes: u8,
    },
    /// BIT.
    Bit {
        /// 1 to 64.
        bits: u8,
    },
    /// ENUM.
    Enum {
        /// Bytes of a cell, 1 or 2.
        bytes: u8,
    },
    /// SET.
    Set {
        /// Bytes of a cell, 1, 2, 3, 4 or 8.
        bytes: u8,
    },
    /// YEAR, 1 byte.
    Year,
    /// DATE, 3 bytes.
    Date,
    /// TIME.
    Time {
        /// Digits of the fraction.
        fraction: u8,
    },
    /// DATETIME.
    DateTime {
        /// Digits of the fraction.
        fraction: u8,
    },
    /// TIMESTAMP.
    Timestamp {
        /// Digits of the fraction.
        fraction: u8,
    },
    /// A type that we cannot cut (compressed columns, temporal columns made
    /// before MariaDB 10.1, types of other servers).
    Unknown {
        /// `enum_field_types`.
        code: u8,
    },
}

impl ColumnType {
    /// Reads the metadata of a type.
    pub(super) fn parse(code: u8, sizes: &mut Bytes<'_>) -> Result<Self, Malformed> {
        const WHAT: &str = "TABLE_MAP type metadata";
        let one_to_four = |bytes: u8| if matches!(bytes, 1..=4) { Ok(bytes) } else { Err(Malformed(WHAT)) };
        let fraction = |digits: u8| if digits <= 6 { Ok(digits) } else { Err(Malformed(WHAT)) };
        Ok(match code {
            1 => Self::Integer { bytes: 1 },
            2 => Self::Integer { bytes: 2 },
            9 => Self::Integer { bytes: 3 },
            3 => Self::Integer { bytes: 4 },
            8 => Self::Integer { bytes: 8 },
            4 | 5 => match (code, sizes.u8(WHAT)?) {
                (4, 4) => Self::Float,
                (5, 8) => Self::Double,
                _ => return Err(Malformed(WHAT)),
            },
            246 => {
                let [precision, scale] = sizes.array(WHAT)?;
                if precision == 0 || precision > 65 || scale > precision.min(38) {
                    return Err(Malformed(WHAT));
                }
                Self::Decimal { precision, scale }
            }
            15 => Self::Varchar { max: sizes.u16(WHAT)? },
            254 => Self::parse_string(sizes.array(WHAT)?)?,
            252 => Self::Blob { length_bytes: one_to_four(sizes.u8(WHAT)?)? },
            255 => Self::Geometry { length_bytes: one_to_four(sizes.u8(WHAT)?)? },
            16 => {
                let [bits, bytes] = sizes.array(WHAT)?;
                let bits = u16::from(bits) + 8 * u16::from(bytes);
                match u8::try_from(bits) {
                    Ok(bits @ 1..=64) => Self::Bit { bits },
                    _ => return Err(Malformed(WHAT)),
                }
            }
            13 => Self::Year,
            10 | 14 => Self::Date,
            17 => Self::Timestamp { fraction: fraction(sizes.u8(WHAT)?)? },
            18 => Self::DateTime { fraction: fraction(sizes.u8(WHAT)?)? },
            19 => Self::Time { fraction: fraction(sizes.u8(WHAT)?)? },
            _ => {
                // The metadata's length must be known, or the next column's is cut wrongly.
                let length = match code {
                    0 | 6 | 7 | 11 | 12 => 0,
                    140 | 242 | 245 => 1,
                    141 | 247 | 248 => 2,
                    _ => return Err(Malformed("TABLE_MAP type, unknown")),
                };
                sizes.take(length, WHAT)?;
                Self::Unknown { code }
            }
        })
    }

    /// Type code STRING stands for three types: the first metadata byte tells
    /// which, and lends two bits to the length (inverted, so that old maps with
    /// lengths up to 255 read the same).
    fn parse_string([first, second]: [u8; 2]) -> Result<Self, Malformed> {
        if first & 0x30 != 0x30 {
            let high = u16::from((first & 0x30) ^ 0x30) << 4;
            return Ok(Self::String { max: high | u16::from(second) });
        }
        match (first, second) {
            (254, max) => Ok(Self::String { max: max.into() }),
            (247, bytes @ 1..=2) => Ok(Self::Enum { bytes }),
            (248, bytes @ (1..=4 | 8)) => Ok(Self::Set { bytes }),
            _ => Err(Malformed("TABLE_MAP type metadata")),
        }
    }

    /// Bytes of the length in front of a cell; 0 where cells have a fixed size.
    pub(crate) fn prefix(self) -> u8 {
        match self {
            Self::Varchar { max } | Self::String { max } => 1 + u8::from(max > 255),
            Self::Blob { length_bytes } | Self::Geometry { length_bytes } => length_bytes,
            _ => 0,
        }
    }

    /// Kind and size as numbers that never change: for fingerprints.
    pub(super) fn parts(self) -> (u8, u16) {
        match self {
            Self::Integer { bytes } => (1, bytes.into()),
            Self::Float => (2, 0),
            Self::Double => (3, 0),
            Self::Decimal { precision, scale } => (4, u16::from(precision) << 8 | u16::from(scale)),
            Self::Varchar { max } => (5, max),
            Self::String { max } => (6, max),
            Self::Blob { length_bytes } => (7, length_bytes.into()),
            Self::Geometry { length_bytes } => (8, length_bytes.into()),
            Self::Bit { bits } => (9, bits.into()),
            Self::Enum { bytes } => (10, bytes.into()),
            Self::Set { bytes } => (11, bytes.into()),
            Self::Year => (12, 0),
            Self::Date => (13, 0),
            Self::Time { fraction } => (14, fraction.into()),
            Self::DateTime { fraction } => (15, fraction.into()),
            Self::Timestamp { fraction } => (16, fraction.into()),
            Self::Unknown { code } => (255, code.into()),
        }
    }

    /// Has a sign in FULL metadata.
    pub(super) fn is_numeric(self) -> bool {
        matches!(self, Self::Integer { .. } | Self::Float | Self::Double | Self::Decimal { .. } | Self::Year)
    }

    /// Has a charset in FULL metadata, ENUM and SET left out.
    pub(super) fn is_character(self) -> bool {
        matches!(self, Self::Varchar { .. } | Self::String { .. } | Self::Blob { .. } | Self::Geometry { .. })
            || matches!(self, Self::Unknown { code: 140 | 141 })
    }
}
