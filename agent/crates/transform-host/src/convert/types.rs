//! Column types as a guest sees them.

use tidegate_model::DataType;

use crate::bindings::tidegate::transform::types::{
    DataTypeParam as Param, DataTypeResult as Answered, DecimalType,
};

/// The guest's view of a type, in the model's words: the narrower types that the
/// contract does not know are widened, sizes and labels are gone. Two columns
/// with the same view are interchangeable for a guest; a column that passes
/// through keeps its exact type all the same.
pub(crate) fn visible(exact: &DataType) -> DataType {
    match exact {
        DataType::Integer { bits: 8, .. }
        | DataType::Integer { bits: 16, unsigned: false }
        | DataType::Year => int(16),
        DataType::Integer { bits: 16 | 24, .. } | DataType::Integer { bits: 32, unsigned: false } => int(32),
        DataType::Integer { bits: 64, unsigned: true } => DataType::Integer { bits: 64, unsigned: true },
        DataType::Integer { .. } => int(64),
        DataType::Text { .. } | DataType::Enum { .. } | DataType::Set { .. } => DataType::text(),
        DataType::Binary { .. } | DataType::Bit { .. } => DataType::Binary { length: 0, fixed: false },
        DataType::Time { .. } => DataType::Time { fraction: 6 },
        DataType::DateTime { .. } => DataType::DateTime { fraction: 6 },
        DataType::Timestamp { .. } => DataType::Timestamp { fraction: 6 },
        same @ (DataType::Boolean
        | DataType::Float32
        | DataType::Float64
        | DataType::Decimal { .. }
        | DataType::Date
        | DataType::Json
        | DataType::Uuid
        | DataType::Other(_)) => same.clone(),
    }
}

fn int(bits: u8) -> DataType {
    DataType::Integer { bits, unsigned: false }
}

/// A type in the contract's words, to describe a column to a guest.
pub(crate) fn described(exact: &DataType) -> Param<'_> {
    match exact {
        DataType::Boolean => Param::Boolean,
        DataType::Integer { bits: 8, .. }
        | DataType::Integer { bits: 16, unsigned: false }
        | DataType::Year => Param::Int16,
        DataType::Integer { bits: 16 | 24, .. } | DataType::Integer { bits: 32, unsigned: false } => {
            Param::Int32
        }
        DataType::Integer { bits: 64, unsigned: true } => Param::Uint64,
        DataType::Integer { .. } => Param::Int64,
        DataType::Float32 => Param::Float32,
        DataType::Float64 => Param::Float64,
        DataType::Decimal { precision, scale } => {
            Param::Decimal(DecimalType { precision: *precision, scale: *scale })
        }
        DataType::Text { .. } | DataType::Enum { .. } | DataType::Set { .. } => Param::Text,
        DataType::Binary { .. } | DataType::Bit { .. } => Param::Binary,
        DataType::Date => Param::Date,
        DataType::Time { .. } => Param::Time,
        DataType::DateTime { .. } => Param::Timestamp,
        DataType::Timestamp { .. } => Param::Timestamptz,
        DataType::Json => Param::Json,
        DataType::Uuid => Param::Uuid,
        DataType::Other(name) => Param::Other(name),
    }
}

/// The model's type of a column that a guest declares.
///
/// # Errors
/// A decimal that the model cannot hold.
pub(crate) fn from_wit(declared: &Answered) -> Result<DataType, String> {
    Ok(match declared {
        Answered::Boolean => DataType::Boolean,
        Answered::Int16 => int(16),
        Answered::Int32 => int(32),
        Answered::Int64 => int(64),
        Answered::Uint64 => DataType::Integer { bits: 64, unsigned: true },
        Answered::Float32 => DataType::Float32,
        Answered::Float64 => DataType::Float64,
        Answered::Decimal(DecimalType { precision, scale }) => {
            if !(1..=65).contains(precision) || *scale > 38 || scale > precision {
                return Err(format!("decimal({precision},{scale}) is out of range"));
            }
            DataType::Decimal { precision: *precision, scale: *scale }
        }
        Answered::Text => DataType::text(),
        Answered::Binary => DataType::Binary { length: 0, fixed: false },
        Answered::Uuid => DataType::Uuid,
        Answered::Json => DataType::Json,
        Answered::Date => DataType::Date,
        Answered::Time => DataType::Time { fraction: 6 },
        Answered::Timestamp => DataType::DateTime { fraction: 6 },
        Answered::Timestamptz => DataType::Timestamp { fraction: 6 },
        Answered::Other(name) => DataType::Other(name.as_str().into()),
    })
}
