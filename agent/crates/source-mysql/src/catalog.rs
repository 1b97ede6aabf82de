//! Tables as the server's catalog has them *now*.
//!
//! Columns are always listed by name and never by `*`, which leaves out
//! invisible ones although the log has them. Generated columns are columns like
//! any other: the log has them, so nothing is recomputed. The order of the key's
//! columns comes from the index, not from the table.

use std::collections::BTreeMap;

use tidegate_model::{DataType, Result, TableName};

use crate::config::SourceConfig;
use crate::connection::Connection;
use crate::pattern::INTERNAL_SCHEMAS;
use crate::sql;
use crate::structure;
use crate::type_words::{self, TypeFacts};

/// A column of the catalog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CatalogColumn {
    /// Name.
    pub(crate) name: String,
    /// Exact type; `None`: one that we do not capture exactly.
    pub(crate) data_type: Option<DataType>,
    /// The type's words.
    pub(crate) source_type: String,
    /// Whether null is a value.
    pub(crate) nullable: bool,
    /// Charset and collation, for columns with characters.
    pub(crate) collation: Option<(String, String)>,
    /// `COLUMN_DEFAULT`: an SQL expression (`'x'`, `5`, `current_timestamp()`).
    pub(crate) default: Option<String>,
    /// Its values are computed, by an expression or a sequence.
    pub(crate) computed: bool,
}

/// A table of the catalog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CatalogTable {
    /// Name.
    pub(crate) name: TableName,
    /// `ENGINE`; empty when the table cannot be opened.
    pub(crate) engine: String,
    /// `TABLE_TYPE`: `BASE TABLE`, `SYSTEM VERSIONED`.
    pub(crate) kind: String,
    /// In the server's order.
    pub(crate) columns: Vec<CatalogColumn>,
    /// Indices into `columns` of the primary key, in key order.
    pub(crate) key: Vec<usize>,
    /// The key covers only a prefix of a column, so the server cannot walk it
    /// by whole values.
    pub(crate) prefix_key: bool,
}

impl CatalogTable {
    /// Why the table cannot be captured at all, if so.
    pub(crate) fn obstacle(&self) -> Option<String> {
        if self.kind == "SYSTEM VERSIONED" {
            return Some(
                "the table is system-versioned, whose history rows are not captured exactly yet".into(),
            );
        }
        self.columns.iter().find(|column| column.data_type.is_none()).map(|column| {
            let (name, words) = (&column.name, &column.source_type);
            format!("column {name:?} has type {words}, which is not captured exactly yet")
        })
    }

    /// Why the table's rows cannot be read by a snapshot, if so.
    pub(crate) fn snapshot_obstacle(&self) -> Option<&'static str> {
        if self.key.is_empty() {
            Some("the table has no primary key, so a snapshot cannot read it in chunks")
        } else if self.prefix_key {
            Some("the primary key covers only a prefix of a column, so a snapshot cannot read it in chunks")
        } else if !self.engine.eq_ignore_ascii_case("InnoDB") {
            Some("the table is not InnoDB, so a consistent read does not cover it")
        } else {
            None
        }
    }
}

/// Names of all tables that rows can be captured from, with engine and kind.
pub(crate) async fn table_names(
    connection: &mut Connection,
) -> Result<BTreeMap<TableName, (String, String)>> {
    let internal: Vec<String> = INTERNAL_SCHEMAS.iter().map(|schema| sql::text(schema)).collect();
    let rows: Vec<(String, String, Option<String>, String)> = connection
        .rows(&format!(
            "SELECT TABLE_SCHEMA, TABLE_NAME, ENGINE, TABLE_TYPE FROM information_schema.TABLES \
             WHERE TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED') AND TABLE_SCHEMA NOT IN ({})",
            internal.join(", ")
        ))
        .await
        .map_err(|e| e.during("list tables"))?;
    let named = |(schema, table, engine, kind): (String, String, Option<String>, String)| {
        (TableName::new(schema, table), (engine.unwrap_or_default(), kind))
    };
    Ok(rows.into_iter().map(named).collect())
}

/// Every table that the configuration captures, by name.
pub(crate) async fn captured(
    connection: &mut Connection,
    config: &SourceConfig,
) -> Result<BTreeMap<TableName, CatalogTable>> {
    let mut captured = BTreeMap::new();
    for name in table_names(connection).await?.into_keys().filter(|name| config.captures(name)) {
        if let Some(table) = read(connection, &name).await? {
            captured.insert(name, table);
        }
    }
    Ok(captured)
}

/// One row of `information_schema.COLUMNS`: name, type, charset, collation,
/// longest value, nullable, default, extra, generated.
type ColumnRow =
    (String, String, Option<String>, Option<String>, Option<u64>, String, Option<String>, String, String);

/// About how many rows each table has: InnoDB's estimate, often off by half.
pub(crate) async fn row_estimates(connection: &mut Connection) -> Result<Vec<(TableName, u64)>> {
    let rows: Vec<(String, String, u64)> = connection
        .rows(
            "SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_ROWS FROM information_schema.TABLES \
             WHERE TABLE_ROWS IS NOT NULL",
        )
        .await?;
    Ok(rows.into_iter().map(|(schema, table, rows)| (TableName::new(schema, table), rows)).collect())
}

/// One table; `None` when there is none of that name.
pub(crate) async fn read(connection: &mut Connection, name: &TableName) -> Result<Option<CatalogTable>> {
    read_table(connection, name).await.map_err(|e| e.during("read the catalog").with("table", name))
}

async fn read_table(connection: &mut Connection, name: &TableName) -> Result<Option<CatalogTable>> {
    let (schema, table) = (sql::text(&name.schema), sql::text(&name.table));
    let kind: Option<(Option<String>, String)> = connection
        .first(&format!(
            "SELECT ENGINE, TABLE_TYPE FROM information_schema.TABLES \
             WHERE TABLE_SCHEMA = {schema} AND TABLE_NAME = {table}"
        ))
        .await?;
    let Some((engine, kind)) = kind else { return Ok(None) };
    let columns: Vec<ColumnRow> = connection
        .rows(&format!(
            "SELECT COLUMN_NAME, COLUMN_TYPE, CHARACTER_SET_NAME, COLLATION_NAME, CHARACTER_MAXIMUM_LENGTH, \
             IS_NULLABLE, COLUMN_DEFAULT, EXTRA, IS_GENERATED \
             FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = {schema} AND TABLE_NAME = {table} \
             ORDER BY ORDINAL_POSITION"
        ))
        .await?;
    let checks: Vec<String> = connection
        .rows(&format!(
            "SELECT CHECK_CLAUSE FROM information_schema.CHECK_CONSTRAINTS \
             WHERE CONSTRAINT_SCHEMA = {schema} AND TABLE_NAME = {table}"
        ))
        .await?;
    let key: Vec<(String, Option<u64>)> = connection
        .rows(&format!(
            "SELECT COLUMN_NAME, SUB_PART FROM information_schema.STATISTICS \
             WHERE TABLE_SCHEMA = {schema} AND TABLE_NAME = {table} AND INDEX_NAME = 'PRIMARY' \
             ORDER BY SEQ_IN_INDEX"
        ))
        .await?;
    let columns: Vec<CatalogColumn> = columns.into_iter().map(|row| column(row, &checks)).collect();
    let index = |wanted: &str| columns.iter().position(|column| column.name == wanted);
    Ok(Some(CatalogTable {
        name: name.clone(),
        engine: engine.unwrap_or_default(),
        kind,
        key: key.iter().filter_map(|(column, _)| index(column)).collect(),
        prefix_key: key.iter().any(|(_, prefix)| prefix.is_some()),
        columns,
    }))
}

fn column(row: ColumnRow, checks: &[String]) -> CatalogColumn {
    let (name, words, charset, collation, length, nullable, default, extra, generated) = row;
    let json_check = format!("json_valid({})", sql::name(&name));
    let facts =
        TypeFacts { words: &words, charset: charset.as_deref(), length, json: checks.contains(&json_check) };
    CatalogColumn {
        name,
        data_type: type_words::exact(facts).filter(structure::is_exact),
        source_type: words,
        nullable: nullable == "YES",
        collation: charset.zip(collation),
        default,
        computed: generated == "ALWAYS" || extra.contains("auto_increment"),
    }
}
