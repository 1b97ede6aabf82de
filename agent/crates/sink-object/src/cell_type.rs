//! How cells are typed for readers: in DuckDB, in pyarrow, and in JSON lines.

use arrow::datatypes::DataType as Physical;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use tidegate_model::DataType;

/// A column's type as readers see it; two columns with the same one need no
/// conversion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CellType(Physical);

impl CellType {
    /// The type of a column's cells.
    pub(crate) fn of(data_type: &DataType) -> Self {
        Self(data_type.physical())
    }

    /// Its name in DuckDB.
    pub(crate) fn sql(&self) -> String {
        match &self.0 {
            Physical::Boolean => "BOOLEAN",
            Physical::Int16 => "SMALLINT",
            Physical::Int32 => "INTEGER",
            Physical::Int64 => "BIGINT",
            Physical::UInt64 => "UBIGINT",
            Physical::Float32 => "FLOAT",
            Physical::Float64 => "DOUBLE",
            Physical::Decimal128(precision, scale) => return format!("DECIMAL({precision}, {scale})"),
            Physical::Binary => "BLOB",
            Physical::Date32 => "DATE",
            Physical::Timestamp(_, None) => "TIMESTAMP",
            Physical::Timestamp(_, Some(_)) => "TIMESTAMPTZ",
            _ => "VARCHAR",
        }
        .to_owned()
    }

    /// Its name in pyarrow, as `latest.py` reads it.
    pub(crate) fn arrow(&self) -> String {
        match &self.0 {
            Physical::Boolean => "bool_",
            Physical::Int16 => "int16",
            Physical::Int32 => "int32",
            Physical::Int64 => "int64",
            Physical::UInt64 => "uint64",
            Physical::Float32 => "float32",
            Physical::Float64 => "float64",
            Physical::Decimal128(precision, scale) => return format!("decimal128 {precision} {scale}"),
            Physical::Binary => "binary",
            Physical::Date32 => "date32",
            Physical::Timestamp(_, None) => "timestamp us",
            Physical::Timestamp(_, Some(_)) => "timestamp us UTC",
            _ => "string",
        }
        .to_owned()
    }

    /// The type under which DuckDB reads such a cell of a JSON line.
    pub(crate) fn json_sql(&self) -> &'static str {
        match &self.0 {
            Physical::Boolean => "BOOLEAN",
            Physical::Int16 | Physical::Int32 | Physical::Int64 => "BIGINT",
            Physical::UInt64 => "UBIGINT",
            // Floats too: NaN and the infinities are strings, and a number's text is exact.
            _ => "VARCHAR",
        }
    }

    /// The SQL value of an expression that reads such a cell of a JSON line.
    pub(crate) fn of_json(&self, expression: &str) -> String {
        match &self.0 {
            Physical::Binary => format!("from_base64({expression})"),
            Physical::Utf8 | Physical::Boolean | Physical::Int64 | Physical::UInt64 => expression.to_owned(),
            _ => format!("CAST({expression} AS {})", self.sql()),
        }
    }

    /// The SQL value of an expression that reads such a cell of a Parquet file.
    pub(crate) fn of_parquet(&self, expression: &str) -> String {
        match &self.0 {
            Physical::UInt64 => format!("CAST({expression} AS UBIGINT)"),
            _ => expression.to_owned(),
        }
    }
}

/// A default in the server's text, as a cell of a JSON line.
pub(crate) fn default_cell(data_type: &DataType, text: &str) -> Value {
    match (data_type, data_type.physical()) {
        (DataType::Time { .. }, _) => time_micros(text).map_or(Value::Null, Value::from),
        (_, Physical::Int16 | Physical::Int32 | Physical::Int64 | Physical::UInt64) => {
            serde_json::from_str(text.trim()).unwrap_or(Value::Null)
        }
        (_, Physical::Float32 | Physical::Float64) => Value::from(text),
        (_, Physical::Boolean) => Value::Bool(!["0", "false"].contains(&text)),
        (_, Physical::Binary) => Value::from(STANDARD.encode(text)),
        (_, Physical::Timestamp(_, None)) => Value::from(text.replacen(' ', "T", 1)),
        (_, Physical::Timestamp(_, Some(_))) => Value::from(text.replacen(' ', "T", 1) + "Z"),
        _ => Value::from(text),
    }
}

/// `[-]H:MM:SS[.ffffff]` as microseconds.
fn time_micros(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let (clock, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let mut seconds: i64 = 0;
    for part in clock.split(':') {
        seconds = seconds.checked_mul(60)?.checked_add(part.parse().ok()?)?;
    }
    let fraction: i64 = format!("{fraction:0<6}").get(..6)?.parse().ok()?;
    let micros = seconds.checked_mul(1_000_000)?.checked_add(fraction)?;
    Some(if negative { -micros } else { micros })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        assert_eq!(time_micros("-838:59:59.000001"), Some(-3_020_399_000_001));
        assert_eq!(time_micros("01:00:00.5"), Some(3_600_500_000));
        assert_eq!(time_micros("noon"), None);
    }

    #[test]
    fn defaults_look_like_cells_of_json_lines() {
        let cell = |data_type, text| default_cell(&data_type, text).to_string();
        assert_eq!(
            cell(DataType::Integer { bits: 64, unsigned: true }, "18446744073709551615"),
            "18446744073709551615"
        );
        assert_eq!(cell(DataType::Decimal { precision: 10, scale: 2 }, "1.50"), "\"1.50\"");
        assert_eq!(
            cell(DataType::Timestamp { fraction: 0 }, "2026-01-02 03:04:05"),
            "\"2026-01-02T03:04:05Z\""
        );
        assert_eq!(cell(DataType::Time { fraction: 0 }, "00:00:01"), "1000000");
        assert_eq!(cell(DataType::text(), "it's"), "\"it's\"");
    }
}
