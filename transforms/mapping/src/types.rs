//! Type names as users write them.

use tidegate_guest::{DataType, DecimalType};

use crate::keys::suggestion;

const NAMES: [&str; 16] = [
    "boolean",
    "int16",
    "int32",
    "int64",
    "uint64",
    "float32",
    "float64",
    "decimal",
    "text",
    "binary",
    "uuid",
    "json",
    "date",
    "time",
    "timestamp",
    "timestamptz",
];

/// Parses a name such as `int64` or `decimal(10,2)`.
pub(crate) fn parse(name: &str) -> Result<DataType, String> {
    if let Some(arguments) = name.strip_prefix("decimal") {
        return decimal(arguments).ok_or_else(|| {
            "a decimal is written `decimal(precision,scale)`, scale at most precision".into()
        });
    }
    Ok(match name {
        "boolean" => DataType::Boolean,
        "int16" => DataType::Int16,
        "int32" => DataType::Int32,
        "int64" => DataType::Int64,
        "uint64" => DataType::Uint64,
        "float32" => DataType::Float32,
        "float64" => DataType::Float64,
        "text" => DataType::Text,
        "binary" => DataType::Binary,
        "uuid" => DataType::Uuid,
        "json" => DataType::Json,
        "date" => DataType::Date,
        "time" => DataType::Time,
        "timestamp" => DataType::Timestamp,
        "timestamptz" => DataType::Timestamptz,
        _ => return Err(format!("unknown type `{name}`{}", suggestion(name, NAMES))),
    })
}

fn decimal(arguments: &str) -> Option<DataType> {
    let (precision, scale) = arguments.strip_prefix('(')?.strip_suffix(')')?.split_once(',')?;
    let (precision, scale) = (precision.trim().parse().ok()?, scale.trim().parse().ok()?);
    let decimal = DecimalType { precision, scale };
    (precision > 0 && scale <= precision).then_some(DataType::Decimal(decimal))
}

/// The name of a type, for messages.
pub(crate) fn name(data_type: &DataType) -> String {
    let name = match data_type {
        DataType::Boolean => "boolean",
        DataType::Int16 => "int16",
        DataType::Int32 => "int32",
        DataType::Int64 => "int64",
        DataType::Uint64 => "uint64",
        DataType::Float32 => "float32",
        DataType::Float64 => "float64",
        DataType::Decimal(DecimalType { precision, scale }) => {
            return format!("decimal({precision},{scale})");
        }
        DataType::Text => "text",
        DataType::Binary => "binary",
        DataType::Uuid => "uuid",
        DataType::Json => "json",
        DataType::Date => "date",
        DataType::Time => "time",
        DataType::Timestamp => "timestamp",
        DataType::Timestamptz => "timestamptz",
        DataType::Other(name) => name,
    };
    name.into()
}
