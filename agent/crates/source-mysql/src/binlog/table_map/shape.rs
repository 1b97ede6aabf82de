//! From a map's column to a column of the model.

use std::fmt::Write;
use std::sync::Arc;

use tidegate_model::{DataType, Error, ErrorKind, Result};

use super::{ColumnType, MapColumn, TableMap};
use crate::charset::Charset;

/// What the catalog or a DDL knows about a column and its map does not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TypeHint {
    /// JSON: LONGTEXT with a check.
    Json,
    /// UUID: 16 bytes.
    Uuid,
    /// Any other type that shares its wire form (`inet4`, `inet6`), by name.
    Other(Arc<str>),
}

impl TypeHint {
    /// The hint of a catalog's `DATA_TYPE` or of a DDL's type word; `None` when
    /// the map tells such a type by itself.
    pub fn of_type_word(word: &str) -> Option<Self> {
        match word.to_ascii_lowercase().as_str() {
            "json" => Some(Self::Json),
            "uuid" => Some(Self::Uuid),
            word @ ("inet4" | "inet6") => Some(Self::Other(word.into())),
            _ => None,
        }
    }

    /// The hint that a model type stands for.
    fn of_type(data_type: &DataType) -> Option<Self> {
        match data_type {
            DataType::Json => Some(Self::Json),
            DataType::Uuid => Some(Self::Uuid),
            DataType::Other(name) => Some(Self::Other(name.clone())),
            _ => None,
        }
    }
}

/// A proposal for a column of the model: what [`tidegate_model::Column`] needs,
/// but its id and its initial default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnShape {
    /// Its name.
    pub name: String,
    /// Its exact type. [`DataType::Other`] where the codec has none.
    pub data_type: DataType,
    /// Whether null is a value.
    pub nullable: bool,
    /// The type in the server's words, as far as a map tells them (no display
    /// width, no ZEROFILL).
    pub source_type: String,
}

impl TableMap {
    /// Proposes the model's columns. `hints` are by column index; a missing one
    /// means that the map's own form is the type.
    ///
    /// # Errors
    /// `Schema` when the metadata is MINIMAL: names and signs are missing.
    pub fn columns(&self, hints: &[Option<TypeHint>]) -> Result<Vec<ColumnShape>> {
        (self.columns.iter().enumerate())
            .map(|(index, column)| {
                let name = column.name.clone().ok_or_else(|| {
                    Error::new(ErrorKind::Schema, "the log tells no column names")
                        .during("read table map")
                        .with("table", &self.name)
                        .hint("SET GLOBAL binlog_row_metadata = FULL")
                })?;
                let data_type = column.data_type(hints.get(index).and_then(Option::as_ref));
                let source_type = source_words(column, &data_type);
                Ok(ColumnShape { name, data_type, nullable: column.nullable, source_type })
            })
            .collect()
    }
}

impl MapColumn {
    /// The type of the model. A hint that the wire form contradicts gives
    /// [`DataType::Other`], which no codec takes.
    pub fn data_type(&self, hint: Option<&TypeHint>) -> DataType {
        match hint {
            Some(TypeHint::Other(name)) => return DataType::Other(name.clone()),
            Some(TypeHint::Uuid) => {
                let fits = self.wire == ColumnType::String { max: 16 };
                return if fits { DataType::Uuid } else { DataType::Other("uuid".into()) };
            }
            Some(TypeHint::Json) => {
                let fits = self.wire == ColumnType::Blob { length_bytes: 4 }
                    && self.charset == Some(Charset::Utf8mb4);
                return if fits { DataType::Json } else { DataType::Other("json".into()) };
            }
            None => {}
        }
        let text = |bytes: u32, per_char: bool| match self.charset {
            Some(Charset::Binary) => None,
            Some(charset) => Some(DataType::Text {
                length: match charset.bytes_per_char() {
                    Some(width) if per_char => bytes / width,
                    Some(_) => bytes,
                    None => 0,
                },
                charset: charset.name().into(),
            }),
            None => Some(DataType::Other("text of an untold charset".into())),
        };
        let labels = |name: &str, make: fn(Arc<[String]>) -> DataType| {
            let (Some(charset), Some(labels)) = (self.charset, &self.labels) else {
                return DataType::Other(format!("{name} of untold labels").into());
            };
            let decoded = labels.iter().map(|label| charset.decode(label).map(String::from)).collect();
            Option::map_or_else(decoded, || DataType::Other(format!("{name} in {charset}").into()), make)
        };
        match self.wire {
            ColumnType::Integer { bytes } => match self.unsigned {
                Some(unsigned) => DataType::Integer { bits: bytes * 8, unsigned },
                None => DataType::Other("integer of an untold sign".into()),
            },
            ColumnType::Float => DataType::Float32,
            ColumnType::Double => DataType::Float64,
            ColumnType::Decimal { precision, scale } => DataType::Decimal { precision, scale },
            ColumnType::Varchar { max } => {
                let length = max.into();
                text(length, true).unwrap_or(DataType::Binary { length, fixed: false })
            }
            ColumnType::String { max } => {
                let length = max.into();
                text(length, true).unwrap_or(DataType::Binary { length, fixed: true })
            }
            ColumnType::Blob { length_bytes } => {
                let length = u32::MAX >> (32 - 8 * u32::from(length_bytes));
                text(length, false).unwrap_or(DataType::Binary { length, fixed: false })
            }
            ColumnType::Geometry { .. } => DataType::Other(geometry_name(self.geometry).into()),
            ColumnType::Bit { bits } => DataType::Bit { length: bits },
            ColumnType::Enum { .. } => labels("enum", |labels| DataType::Enum { labels }),
            ColumnType::Set { .. } => labels("set", |labels| DataType::Set { labels }),
            ColumnType::Year => DataType::Year,
            ColumnType::Date => DataType::Date,
            ColumnType::Time { fraction } => DataType::Time { fraction },
            ColumnType::DateTime { fraction } => DataType::DateTime { fraction },
            ColumnType::Timestamp { fraction } => DataType::Timestamp { fraction },
            ColumnType::Unknown { code } => DataType::Other(unknown_name(code).into()),
        }
    }

    /// True when cells of this column are values of the model's type: everything
    /// that the map tells agrees with it, and the model fills in the rest.
    pub(crate) fn carries(&self, data_type: &DataType) -> bool {
        let mut column = self.clone();
        match data_type {
            DataType::Integer { unsigned, .. } => {
                column.unsigned.get_or_insert(*unsigned);
            }
            DataType::Text { charset, .. } if column.charset.is_none() => {
                column.charset = Charset::of_name(charset);
            }
            DataType::Json => {
                column.charset.get_or_insert(Charset::Utf8mb4);
            }
            DataType::Binary { .. } => {
                column.charset.get_or_insert(Charset::Binary);
            }
            DataType::Enum { labels } | DataType::Set { labels } if column.labels.is_none() => {
                column.charset = Some(Charset::Utf8mb4);
                column.labels = Some(labels.iter().map(|label| label.as_bytes().to_vec()).collect());
            }
            _ => {}
        }
        column.data_type(TypeHint::of_type(data_type).as_ref()) == *data_type
    }
}

fn geometry_name(kind: Option<u32>) -> &'static str {
    const NAMES: [&str; 8] = [
        "geometry",
        "point",
        "linestring",
        "polygon",
        "multipoint",
        "multilinestring",
        "multipolygon",
        "geometrycollection",
    ];
    kind.and_then(|kind| NAMES.get(kind as usize)).copied().unwrap_or(NAMES[0])
}

fn unknown_name(code: u8) -> String {
    match code {
        7 => "timestamp in the format before MariaDB 10.1".into(),
        11 => "time in the format before MariaDB 10.1".into(),
        12 => "datetime in the format before MariaDB 10.1".into(),
        140 => "blob or text, column compressed".into(),
        141 => "varchar or varbinary, column compressed".into(),
        242 => "vector".into(),
        code => format!("column type {code}"),
    }
}

/// The declaration in the server's words.
fn source_words(column: &MapColumn, data_type: &DataType) -> String {
    let sign = |unsigned: bool| if unsigned { " unsigned" } else { "" };
    let number_sign = sign(column.unsigned.unwrap_or(false));
    let fraction = |name: &str, digits: u8| match digits {
        0 => name.to_owned(),
        digits => format!("{name}({digits})"),
    };
    match (data_type, column.wire) {
        (DataType::Integer { bits, unsigned }, _) => {
            let name = match bits {
                8 => "tinyint",
                16 => "smallint",
                24 => "mediumint",
                32 => "int",
                _ => "bigint",
            };
            format!("{name}{}", sign(*unsigned))
        }
        (DataType::Float32, _) => format!("float{number_sign}"),
        (DataType::Float64, _) => format!("double{number_sign}"),
        (DataType::Decimal { precision, scale }, _) => format!("decimal({precision},{scale}){number_sign}"),
        (DataType::Text { length, .. }, ColumnType::String { .. }) => format!("char({length})"),
        (DataType::Text { length, .. }, ColumnType::Varchar { .. }) => format!("varchar({length})"),
        (DataType::Binary { length, .. }, ColumnType::String { .. }) => format!("binary({length})"),
        (DataType::Binary { length, .. }, ColumnType::Varchar { .. }) => format!("varbinary({length})"),
        (DataType::Text { .. }, ColumnType::Blob { length_bytes }) => blob_size(length_bytes) + "text",
        (DataType::Binary { .. }, ColumnType::Blob { length_bytes }) => blob_size(length_bytes) + "blob",
        (DataType::Bit { length }, _) => format!("bit({length})"),
        (DataType::Time { fraction: digits }, _) => fraction("time", *digits),
        (DataType::DateTime { fraction: digits }, _) => fraction("datetime", *digits),
        (DataType::Timestamp { fraction: digits }, _) => fraction("timestamp", *digits),
        (DataType::Year, _) => "year(4)".into(),
        (DataType::Enum { labels }, _) => quoted("enum", labels),
        (DataType::Set { labels }, _) => quoted("set", labels),
        (DataType::Other(name), _) => name.to_string(),
        (other, _) => other.to_string(),
    }
}

fn blob_size(length_bytes: u8) -> String {
    ["tiny", "", "medium", "long"][usize::from(length_bytes).clamp(1, 4) - 1].to_owned()
}

fn quoted(name: &str, labels: &[String]) -> String {
    let mut words = format!("{name}(");
    for (index, label) in labels.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        let _ = write!(words, "{comma}'{}'", label.replace('\'', "''"));
    }
    words + ")"
}
