//! Wire twin of [`DataType`], part of the schema records.

use serde::{Deserialize, Serialize};
use tidegate_model::DataType;

/// A [`DataType`] as it is written: `"date"`, `{"integer":{"bits":32,…}}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)] // each variant and field is documented at its twin
pub enum DataTypeRecord {
    Boolean,
    Integer {
        bits: u8,
        unsigned: bool,
    },
    Float32,
    Float64,
    Decimal {
        precision: u8,
        scale: u8,
    },
    Text {
        length: u32,
        charset: String,
    },
    Binary {
        length: u32,
        fixed: bool,
    },
    Bit {
        length: u8,
    },
    Date,
    Time {
        fraction: u8,
    },
    #[serde(rename = "datetime")]
    DateTime {
        fraction: u8,
    },
    Timestamp {
        fraction: u8,
    },
    Year,
    Enum {
        labels: Vec<String>,
    },
    Set {
        labels: Vec<String>,
    },
    Json,
    Uuid,
    Other(String),
}

impl From<&DataType> for DataTypeRecord {
    fn from(data_type: &DataType) -> Self {
        match data_type {
            DataType::Boolean => Self::Boolean,
            DataType::Integer { bits, unsigned } => Self::Integer { bits: *bits, unsigned: *unsigned },
            DataType::Float32 => Self::Float32,
            DataType::Float64 => Self::Float64,
            DataType::Decimal { precision, scale } => Self::Decimal { precision: *precision, scale: *scale },
            DataType::Text { length, charset } => {
                Self::Text { length: *length, charset: charset.to_string() }
            }
            DataType::Binary { length, fixed } => Self::Binary { length: *length, fixed: *fixed },
            DataType::Bit { length } => Self::Bit { length: *length },
            DataType::Date => Self::Date,
            DataType::Time { fraction } => Self::Time { fraction: *fraction },
            DataType::DateTime { fraction } => Self::DateTime { fraction: *fraction },
            DataType::Timestamp { fraction } => Self::Timestamp { fraction: *fraction },
            DataType::Year => Self::Year,
            DataType::Enum { labels } => Self::Enum { labels: labels.to_vec() },
            DataType::Set { labels } => Self::Set { labels: labels.to_vec() },
            DataType::Json => Self::Json,
            DataType::Uuid => Self::Uuid,
            DataType::Other(name) => Self::Other(name.to_string()),
        }
    }
}

impl From<&DataTypeRecord> for DataType {
    fn from(record: &DataTypeRecord) -> Self {
        use DataTypeRecord as R;
        match record {
            R::Boolean => Self::Boolean,
            R::Integer { bits, unsigned } => Self::Integer { bits: *bits, unsigned: *unsigned },
            R::Float32 => Self::Float32,
            R::Float64 => Self::Float64,
            R::Decimal { precision, scale } => Self::Decimal { precision: *precision, scale: *scale },
            R::Text { length, charset } => Self::Text { length: *length, charset: charset.as_str().into() },
            R::Binary { length, fixed } => Self::Binary { length: *length, fixed: *fixed },
            R::Bit { length } => Self::Bit { length: *length },
            R::Date => Self::Date,
            R::Time { fraction } => Self::Time { fraction: *fraction },
            R::DateTime { fraction } => Self::DateTime { fraction: *fraction },
            R::Timestamp { fraction } => Self::Timestamp { fraction: *fraction },
            R::Year => Self::Year,
            R::Enum { labels } => Self::Enum { labels: labels.as_slice().into() },
            R::Set { labels } => Self::Set { labels: labels.as_slice().into() },
            R::Json => Self::Json,
            R::Uuid => Self::Uuid,
            R::Other(name) => Self::Other(name.as_str().into()),
        }
    }
}
