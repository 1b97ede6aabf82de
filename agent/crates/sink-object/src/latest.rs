//! Ready queries for the current rows of a table: one for DuckDB, one program
//! for pyarrow.
//!
//! A table's rows lie in folders by version, each with the columns of its time.
//! The queries bring them to the current columns by column id (a rename keeps
//! it), fill what a version lacks with the column's `initial_default`, and then
//! keep the last event of each key. Order: `__pos`, `__idx`, and at one place
//! `__generation`, and a delete before an insert (the two rows of an update that
//! changes the key). Rows of generations below the last complete snapshot's are
//! dropped: keys that vanished while nobody looked are in none above it.

use std::path::Path;

use serde_json::{Value, json};
use tidegate_format::{EdgeRecord, FileRecord, TargetColumnRecord, TargetVersionRecord, WriterChangeRecord};
use tidegate_model::{DataType, Error, ErrorKind, Result, TableName};

use crate::cell_type::{CellType, default_cell};
use crate::divergence::divergence;
use crate::log_state::LogState;

/// A table's current columns, and where each version's files have them.
#[derive(Debug, Clone)]
pub struct Latest {
    table: TableName,
    columns: Vec<(String, CellType)>,
    key: Vec<String>,
    groups: Vec<Group>,
    generation: u64,
    diverges: Option<String>,
}

/// Files of one version and format.
#[derive(Debug, Clone)]
struct Group {
    version: u64,
    parquet: bool,
    paths: Vec<String>,
    /// For each current column.
    sources: Vec<Source>,
}

/// Where a version has a current column.
#[derive(Debug, Clone)]
enum Source {
    Column {
        name: String,
        cell_type: CellType,
    },
    /// Nowhere: every row has this value, in the form of a JSON line's cell.
    Constant(Value),
}

impl Latest {
    pub(crate) fn new(
        root: &Path,
        state: &LogState,
        table: &TableName,
        files: Vec<FileRecord>,
    ) -> Result<Self> {
        let changes: Vec<_> = state.changes_of(table).collect();
        let Some(last) = changes.last() else {
            return Err(Error::new(ErrorKind::Internal, "a table without versions").with("table", table));
        };
        let current = &last.change.after;
        let column = |column: &TargetColumnRecord| (column.name.clone(), cell_type(column));
        let completed = state.snapshot_edge(&last.writer, current.table_uid, EdgeRecord::End);
        Ok(Self {
            table: table.clone(),
            columns: current.columns.iter().map(column).collect(),
            key: current.key.iter().map(|&index| current.columns[index].name.clone()).collect(),
            groups: groups(root, &changes, current, files)?,
            generation: completed.map_or(0, |mark| mark.generation),
            diverges: divergence(state, table),
        })
    }

    /// Why rows that nobody has touched since a DDL may differ from the source,
    /// and the way out; `None`: they do not.
    pub fn diverges(&self) -> Option<&str> {
        self.diverges.as_deref()
    }

    /// Names of the key's columns; empty: the table has no key, and the queries
    /// return every event, since none can be applied to an earlier one.
    pub fn key(&self) -> &[String] {
        &self.key
    }

    /// A query for DuckDB 1.4 or newer.
    pub fn duckdb(&self) -> String {
        let names: Vec<_> = self.columns.iter().map(|(name, _)| quote(name)).collect();
        let facts = "__op, __pos, __idx, __generation";
        let mut sql = self.comments("--");
        sql += "WITH events AS (\n";
        let selects: Vec<_> = self.groups.iter().map(|group| self.select(group, facts)).collect();
        sql += &if selects.is_empty() { self.select_nothing() } else { selects.join("  UNION ALL\n") };
        sql += &format!(")\nSELECT {}", names.join(", "));
        if self.key.is_empty() {
            sql += &format!(", {facts}\nFROM events\nWHERE __generation >= {}\n", self.generation);
            sql += "ORDER BY __pos, __idx;\n";
            return sql;
        }
        let key = self.key.iter().map(|name| quote(name)).collect::<Vec<_>>().join(", ");
        sql += &format!(
            "\nFROM events\nWHERE __generation >= {}\nQUALIFY row_number() OVER (\n  PARTITION BY {key}\n  \
             ORDER BY __pos DESC, __idx DESC, __generation DESC, __op = 'd'\n) = 1 AND __op <> 'd'\n\
             ORDER BY {key};\n",
            self.generation
        );
        sql
    }

    /// A program for Python 3.11 or newer with pyarrow; leaves a table `rows`.
    pub fn pyarrow(&self) -> String {
        let groups = self.groups.iter().map(|group| {
            let sources = group.sources.iter().map(|source| match source {
                Source::Column { name, cell_type } => json!({"name": name, "type": cell_type.arrow()}),
                Source::Constant(value) => json!({"value": value}),
            });
            json!({
                "parquet": group.parquet,
                "paths": group.paths,
                "sources": sources.collect::<Vec<_>>(),
            })
        });
        let columns = self.columns.iter().map(|(name, ty)| json!({"name": name, "type": ty.arrow()}));
        let plan = json!({
            "columns": columns.collect::<Vec<_>>(),
            "key": self.key,
            "generation": self.generation,
            "groups": groups.collect::<Vec<_>>(),
        });
        // The text stands in a raw string between apostrophes.
        let plan = format!("{plan:#}").replace('\'', "\\u0027");
        self.comments("#") + &include_str!("latest.py").replace("@PLAN@", &plan)
    }

    fn comments(&self, mark: &str) -> String {
        let files: usize = self.groups.iter().map(|group| group.paths.len()).sum();
        let table = self.table.to_string().replace(char::is_control, "?");
        let mut text = format!("{mark} {table}: current rows, from {files} committed files\n");
        if self.key.is_empty() {
            text += &format!("{mark} no key: every event, in order; the last state cannot be told\n");
        }
        if let Some(diverges) = &self.diverges {
            text += &format!("{mark} WARNING: {diverges}\n");
        }
        text
    }

    fn select(&self, group: &Group, facts: &str) -> String {
        let columns = self.columns.iter().zip(&group.sources).map(|((name, cell_type), source)| {
            let value = match source {
                Source::Column { name, cell_type: stored } => {
                    let value = match group.parquet {
                        true => stored.of_parquet(&quote(name)),
                        false => stored.of_json(&quote(name)),
                    };
                    if stored == cell_type {
                        value
                    } else {
                        format!("TRY_CAST({value} AS {})", cell_type.sql())
                    }
                }
                Source::Constant(value) => constant(value, cell_type),
            };
            format!("{value} AS {}", quote(name))
        });
        let columns: Vec<_> = columns.chain([facts.to_owned()]).collect();
        let paths: Vec<_> = group.paths.iter().map(|path| literal(path)).collect();
        let from = match group.parquet {
            true => format!("read_parquet([{}], hive_partitioning = false)", paths.join(", ")),
            false => format!(
                "read_json([{}], format = 'newline_delimited', hive_partitioning = false, \
                 maximum_object_size = 268435456, columns = {{{}}})",
                paths.join(", "),
                json_columns(group)
            ),
        };
        format!("  -- v{}\n  SELECT {}\n  FROM {from}\n", group.version, columns.join(", "))
    }

    /// No file yet: no row, but the right columns.
    fn select_nothing(&self) -> String {
        let columns =
            self.columns.iter().map(|(name, ty)| format!("CAST(NULL AS {}) AS {}", ty.sql(), quote(name)));
        let facts = ["'' AS __op", "'' AS __pos", "0 AS __idx", "0 AS __generation"].map(str::to_owned);
        format!("  SELECT {}\n  WHERE false\n", columns.chain(facts).collect::<Vec<_>>().join(", "))
    }
}

fn groups(
    root: &Path,
    changes: &[&WriterChangeRecord],
    current: &TargetVersionRecord,
    files: Vec<FileRecord>,
) -> Result<Vec<Group>> {
    let mut groups: Vec<Group> = Vec::new();
    for file in files {
        let parquet = file.key.ends_with(".parquet");
        let path = root.join(&file.key).to_string_lossy().into_owned();
        match groups.iter_mut().find(|g| g.version == file.schema_version && g.parquet == parquet) {
            Some(group) => group.paths.push(path),
            None => {
                let version = changes.iter().find(|c| c.change.after.target_version == file.schema_version);
                let version = version.ok_or_else(|| {
                    Error::new(ErrorKind::Refused, "the log lists a file of a version that it never made")
                        .with("key", &file.key)
                })?;
                let sources = current.columns.iter().map(|column| source(column, &version.change.after));
                let (version, sources) = (file.schema_version, sources.collect());
                groups.push(Group { version, parquet, paths: vec![path], sources });
            }
        }
    }
    groups.sort_by_key(|group| (group.version, group.parquet));
    Ok(groups)
}

fn source(column: &TargetColumnRecord, version: &TargetVersionRecord) -> Source {
    match version.columns.iter().find(|c| c.id == column.id) {
        Some(stored) => Source::Column { name: stored.name.clone(), cell_type: cell_type(stored) },
        None => Source::Constant(
            column
                .initial_default
                .as_deref()
                .map_or(Value::Null, |text| default_cell(&DataType::from(&column.data_type), text)),
        ),
    }
}

fn cell_type(column: &TargetColumnRecord) -> CellType {
    CellType::of(&DataType::from(&column.data_type))
}

fn json_columns(group: &Group) -> String {
    let facts = [("__op", "VARCHAR"), ("__pos", "VARCHAR"), ("__idx", "BIGINT"), ("__generation", "BIGINT")];
    let columns = group.sources.iter().filter_map(|source| match source {
        Source::Column { name, cell_type } => {
            Some(format!("{}: {}", literal(name), literal(cell_type.json_sql())))
        }
        Source::Constant(_) => None,
    });
    let facts = facts.map(|(name, sql)| format!("{}: {}", literal(name), literal(sql)));
    columns.chain(facts).collect::<Vec<_>>().join(", ")
}

fn constant(value: &Value, cell_type: &CellType) -> String {
    match value {
        Value::Null => format!("CAST(NULL AS {})", cell_type.sql()),
        Value::String(text) => cell_type.of_json(&literal(text)),
        number => format!("CAST({number} AS {})", cell_type.sql()),
    }
}

/// An identifier of SQL.
fn quote(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A text of SQL.
fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
