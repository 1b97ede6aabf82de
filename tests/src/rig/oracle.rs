//! What the server says that it stores, in the form in which the readers answer.
//!
//! The server's own text is the measure, not a client's typed value: a client would have to decode,
//! and decoding is what is tested. Three of its texts lose something and are asked for otherwise:
//! FLOAT is printed with six digits (16777216 as 16777200), so it is cast to DOUBLE; BIT and GEOMETRY
//! are printed raw, so they are asked for as hex; and TIMESTAMP depends on the session's zone, which
//! the rig's sessions set to UTC.

use serde_json::{Number, Value};

use super::reader::Row;
use super::session::Session;

/// The rows of a table, ordered by an SQL expression, as a reader of the lake's Parquet files has to
/// see them.
///
/// # Panics
/// If the table has a column of a type that has no form in the lake yet.
pub fn expected_rows(session: &mut Session, table: &str, order_by: &str) -> Vec<Row> {
    rows(session, table, order_by, Format::Parquet)
}

/// The rows of a table as a reader of the lake's JSON lines has to see them: every integer is a
/// number, bytes are standard base64.
///
/// # Panics
/// If the table has a column of a type that has no form in the lake yet.
pub fn expected_json_rows(session: &mut Session, table: &str, order_by: &str) -> Vec<Row> {
    rows(session, table, order_by, Format::JsonLines)
}

/// What the lake's files are.
#[derive(Clone, Copy)]
enum Format {
    Parquet,
    JsonLines,
}

fn rows(session: &mut Session, table: &str, order_by: &str, format: Format) -> Vec<Row> {
    let columns = columns(session, table, format);
    let list: Vec<&str> = columns.iter().map(|column| column.sql.as_str()).collect();
    let rows = session.rows(format!("select {} from `{table}` order by {order_by}", list.join(", ")));
    let to_row = |cells: Vec<Option<String>>| {
        let cells = columns.iter().zip(cells);
        cells.map(|(column, text)| (column.name.clone(), column.cell(text))).collect()
    };
    rows.into_iter().map(to_row).collect()
}

/// How one column is asked for and how its text becomes a cell.
struct Column {
    name: String,
    sql: String,
    form: Form,
}

enum Form {
    Integer,
    Float,
    Text,
    /// Date and time of day, without or with a zone.
    Moment {
        zone: &'static str,
    },
}

impl Column {
    fn cell(&self, text: Option<String>) -> Value {
        let Some(text) = text else { return Value::Null };
        match self.form {
            Form::Integer => Value::Number(text.parse().expect("the server prints integers as numbers")),
            Form::Float => {
                let number: f64 = text.parse().expect("the server prints floats as numbers");
                Value::Number(Number::from_f64(number).expect("the server stores finite numbers only"))
            }
            Form::Text => Value::String(text),
            Form::Moment { zone } => {
                let (date, time) = text.split_once(' ').expect("a date, a space and a time");
                let (seconds, fraction) = time.split_once('.').unwrap_or((time, ""));
                Value::String(format!("{date}T{seconds}.{fraction:0<6}{zone}"))
            }
        }
    }
}

fn columns(session: &mut Session, table: &str, format: Format) -> Vec<Column> {
    let rows = session.rows(format!(
        "select column_name, data_type, column_type, numeric_precision from information_schema.columns \
         where table_schema = database() and table_name = '{table}' order by ordinal_position"
    ));
    assert!(!rows.is_empty(), "no table '{table}' in the session's database");
    rows.into_iter().map(|described| column(described, format)).collect()
}

fn column(described: Vec<Option<String>>, format: Format) -> Column {
    let [Some(name), Some(data_type), Some(column_type), precision] =
        <[_; 4]>::try_from(described).expect("four columns were asked for")
    else {
        panic!("a column without name or type")
    };
    let quoted = format!("`{name}`");
    let (sql, form) = match data_type.as_str() {
        // Wider than any signed integer, so a decimal(20,0) in Parquet.
        "bigint" if column_type.contains("unsigned") && matches!(format, Format::Parquet) => {
            (format!("cast({quoted} + 0 as char)"), Form::Text)
        }
        // `+ 0`: a YEAR of 0 and a ZEROFILL column are printed with leading zeros.
        "tinyint" | "smallint" | "mediumint" | "int" | "bigint" | "year" => {
            (format!("{quoted} + 0"), Form::Integer)
        }
        "decimal" => (format!("cast({quoted} as char)"), Form::Text),
        "float" => (format!("cast({quoted} as double)"), Form::Float),
        "double" => (quoted, Form::Float),
        "date" => (quoted, Form::Text),
        "datetime" => (quoted, Form::Moment { zone: "" }),
        "timestamp" => (quoted, Form::Moment { zone: "Z" }),
        "time" => (format!("cast(time_to_sec({quoted}) * 1000000 as signed)"), Form::Integer),
        "char" | "varchar" | "tinytext" | "text" | "mediumtext" | "longtext" | "enum" | "set" => {
            (format!("convert({quoted} using utf8mb4)"), Form::Text)
        }
        "uuid" | "inet4" | "inet6" => (format!("cast({quoted} as char)"), Form::Text),
        "binary" | "varbinary" | "tinyblob" | "blob" | "mediumblob" | "longblob" | "geometry" | "point"
        | "linestring" | "polygon" | "multipoint" | "multilinestring" | "multipolygon"
        | "geometrycollection" => (bytes(&quoted, format), Form::Text),
        "bit" => {
            let bits: usize = precision.and_then(|bits| bits.parse().ok()).expect("a BIT column has a width");
            let padded = format!("unhex(lpad(hex({quoted} + 0), {}, '0'))", bits.div_ceil(8) * 2);
            (bytes(&padded, format), Form::Text)
        }
        other => panic!("no form for the type '{other}' of column '{name}'"),
    };
    Column { name, sql, form }
}

/// Bytes as text.
fn bytes(expression: &str, format: Format) -> String {
    match format {
        Format::Parquet => format!("lower(hex({expression}))"),
        // The server breaks its lines.
        Format::JsonLines => format!("replace(to_base64({expression}), '\\n', '')"),
    }
}
