//! Reading over a cell whose value nobody wants.

use super::decimal::Decimal;
use super::temporal::fraction_bytes;
use crate::binlog::{Bytes, ColumnType, Malformed};

/// Reads over one cell.
pub(super) fn skip_cell(wire: ColumnType, bytes: &mut Bytes<'_>) -> Result<(), Malformed> {
    const WHAT: &str = "cell";
    let size = match wire {
        ColumnType::Integer { bytes } | ColumnType::Enum { bytes } | ColumnType::Set { bytes } => {
            bytes.into()
        }
        ColumnType::Float => 4,
        ColumnType::Double => 8,
        ColumnType::Decimal { precision, scale } => {
            Decimal::new(precision, scale).ok_or(Malformed("DECIMAL"))?.wire_bytes()
        }
        ColumnType::Varchar { .. }
        | ColumnType::String { .. }
        | ColumnType::Blob { .. }
        | ColumnType::Geometry { .. } => return bytes.prefixed(wire.prefix(), WHAT).map(drop),
        ColumnType::Bit { bits } => usize::from(bits).div_ceil(8),
        ColumnType::Year => 1,
        ColumnType::Date => 3,
        ColumnType::Time { fraction } => 3 + fraction_bytes(fraction),
        ColumnType::DateTime { fraction } => 5 + fraction_bytes(fraction),
        ColumnType::Timestamp { fraction } => 4 + fraction_bytes(fraction),
        ColumnType::Unknown { .. } => return Err(Malformed("cell, of a type that is not known")),
    };
    bytes.take(size, WHAT).map(drop)
}
