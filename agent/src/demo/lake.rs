//! A lake read as any reader would: the files that its log names, row by row.
//!
//! The shop is small, so cells are text and everything is in memory. A lake of
//! any size is for an engine: `tidegate lake latest` prints its query.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::TimestampMicrosecondType;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Map, Value};
use tidegate_format::layout::{IDX, OP, POS};
use tidegate_model::{Error, ErrorKind, Result, TableName};
use tidegate_sink_object::Lake;

/// One event as the lake holds it: cells by column, nulls left out.
#[derive(Debug, Clone)]
pub(super) struct Row(BTreeMap<String, String>);

impl Row {
    /// A cell's text; empty for null.
    pub(super) fn cell(&self, column: &str) -> &str {
        self.0.get(column).map_or("", String::as_str)
    }

    /// Where it stands in the order of events.
    fn position(&self) -> (&str, i64) {
        (self.cell(POS), self.cell(IDX).parse().unwrap_or(-1))
    }
}

/// Every committed event of a table, in their order.
pub(super) async fn events(root: &Path, table: &TableName) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for file in Lake::open(root).await?.files(table).await? {
        let path = root.join(&file.key);
        let read = if file.key.ends_with(".parquet") { parquet_rows(&path) } else { json_rows(&path) };
        rows.extend(read.map_err(|error| {
            Error::new(ErrorKind::Corrupt, "a file of the lake cannot be read")
                .with("file", &file.key)
                .because(error)
        })?);
    }
    rows.sort_by(|a, b| a.position().cmp(&b.position()));
    Ok(rows)
}

/// The rows that are left when each key's last event is taken and deletes are gone.
pub(super) fn current<'a>(events: &'a [Row], key: &[&str]) -> Vec<&'a Row> {
    let mut latest: BTreeMap<Vec<&str>, &Row> = BTreeMap::new();
    for row in events {
        latest.insert(key.iter().map(|column| row.cell(column)).collect(), row);
    }
    latest.into_values().filter(|row| row.cell(OP) != "d").collect()
}

type ReadError = Box<dyn std::error::Error + Send + Sync>;

fn parquet_rows(path: &Path) -> std::result::Result<Vec<Row>, ReadError> {
    let mut rows = Vec::new();
    for batch in ParquetRecordBatchReaderBuilder::try_new(File::open(path)?)?.build()? {
        append(&mut rows, &batch?)?;
    }
    Ok(rows)
}

fn append(rows: &mut Vec<Row>, batch: &RecordBatch) -> std::result::Result<(), ReadError> {
    let options = FormatOptions::default();
    let schema = batch.schema();
    let columns: Vec<ArrayRef> = batch.columns().iter().map(without_zone).collect();
    let columns = schema.fields().iter().zip(&columns);
    let columns = columns
        .map(|(field, column)| Ok((field.name(), column, ArrayFormatter::try_new(column, &options)?)))
        .collect::<std::result::Result<Vec<_>, ReadError>>()?;
    rows.extend((0..batch.num_rows()).map(|index| {
        let cells = columns.iter().filter(|(_, column, _)| column.is_valid(index));
        Row(cells.map(|(name, _, format)| ((*name).clone(), format.value(index).to_string())).collect())
    }));
    Ok(())
}

/// Timestamps of the lake are UTC, which Arrow only prints with a table of zones.
fn without_zone(column: &ArrayRef) -> ArrayRef {
    match column.as_primitive_opt::<TimestampMicrosecondType>() {
        Some(times) => Arc::new(times.clone().with_timezone_opt(None::<&str>)),
        None => Arc::clone(column),
    }
}

fn json_rows(path: &Path) -> std::result::Result<Vec<Row>, ReadError> {
    let mut rows = Vec::new();
    for line in BufReader::new(File::open(path)?).lines() {
        let cells: Map<String, Value> = serde_json::from_str(&line?)?;
        let cells = cells.into_iter().filter_map(|(name, value)| match value {
            Value::Null => None,
            Value::String(text) => Some((name, text)),
            other => Some((name, other.to_string())),
        });
        rows.push(Row(cells.collect()));
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(cells: &[(&str, &str)]) -> Row {
        Row(cells.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    #[test]
    fn the_last_event_of_a_key_counts() {
        let event = |id, op, pos| row(&[("id", id), (OP, op), (POS, pos), (IDX, "0")]);
        let events = [event("1", "r", "1"), event("2", "r", "1"), event("1", "u", "2"), event("2", "d", "3")];
        let current = current(&events, &["id"]);
        assert_eq!(current.len(), 1);
        assert_eq!((current[0].cell("id"), current[0].cell(OP)), ("1", "u"));
    }
}
