//! Tables as the source has them, and as a target has them.

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::{Field, Schema, SchemaRef};

use crate::types::DataType;

/// Schema (database) and table name, as the server spells them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableName {
    /// Database (MariaDB, MySQL) or schema (PostgreSQL).
    pub schema: String,
    /// Table.
    pub table: String,
}

impl TableName {
    /// A name of its two parts.
    pub fn new(schema: impl Into<String>, table: impl Into<String>) -> Self {
        Self { schema: schema.into(), table: table.into() }
    }
}

impl fmt::Display for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.schema, self.table)
    }
}

/// Identity of a source table within its pipeline; survives a rename. Minted by
/// the agent, from 1, never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableUid(pub u64);

impl fmt::Display for TableUid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One column of a [`TableVersion`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// In a source table: the column's own id, from 1, never reused; a rename
    /// keeps it. In a transform's output: the id of the source column that the
    /// values come from, 0 when they are computed from several or from none.
    pub id: u32,
    /// The name, as the server spells it.
    pub name: String,
    /// The exact type.
    pub data_type: DataType,
    /// Whether null is a value.
    pub nullable: bool,
    /// The type's words in the source (`bigint(20) unsigned`); empty in a
    /// transform's output.
    pub source_type: String,
    /// What existing rows hold when the column was added by a DDL with a
    /// constant default, in the server's text form; `None` is null.
    pub initial_default: Option<String>,
}

/// A table's structure between two schema changes.
///
/// Immutable and shared: batches point at it. `version` is dense per table
/// from 1 and grows by one with every change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableVersion {
    /// Identity of the source table.
    pub uid: TableUid,
    /// Its name (in a transform's output: the output's name).
    pub name: TableName,
    /// The source version, dense from 1.
    pub version: u64,
    /// In the server's order.
    pub columns: Vec<Column>,
    /// Indices into `columns` of the primary key, in key order; empty: no key.
    pub key: Vec<usize>,
    arrow: SchemaRef,
}

impl TableVersion {
    /// A version of these parts.
    pub fn new(uid: TableUid, name: TableName, version: u64, columns: Vec<Column>, key: Vec<usize>) -> Self {
        // Every field is nullable in Arrow: a cell may be absent whatever the
        // column's own nullability says.
        let fields: Vec<Field> =
            columns.iter().map(|c| Field::new(&c.name, c.data_type.physical(), true)).collect();
        Self { uid, name, version, columns, key, arrow: Arc::new(Schema::new(fields)) }
    }

    /// The Arrow schema of a batch's rows.
    pub fn arrow(&self) -> &SchemaRef {
        &self.arrow
    }

    /// Index of the column of this name.
    pub fn index_of(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|c| c.name == name)
    }
}

/// One column of a [`TargetVersion`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetColumn {
    /// Identity in the target, from 1, never reused; a rename keeps it.
    pub id: u32,
    /// Name in the target.
    pub name: String,
    /// Exact type.
    pub data_type: DataType,
    /// Whether null is a value.
    pub nullable: bool,
    /// [`Column::id`] of the source column it comes from; 0: computed.
    pub origin: u32,
    /// What rows of earlier versions hold in this column; `None` is null.
    pub initial_default: Option<String>,
}

/// A target table's structure between two target changes: `v<version>` in a lake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetVersion {
    /// The source table it is fed from.
    pub uid: TableUid,
    /// The target's name.
    pub name: TableName,
    /// Dense per target, from 1.
    pub version: u64,
    /// Source version that made this target version necessary.
    pub source_version: u64,
    /// In the order of the output schema.
    pub columns: Vec<TargetColumn>,
    /// Indices into `columns` of the key, in key order; empty: no key.
    pub key: Vec<usize>,
}

impl TargetVersion {
    /// True when rows of this output schema fit this target as it stands.
    pub fn fits(&self, output: &TableVersion) -> bool {
        self.name == output.name
            && self.key == output.key
            && self.columns.len() == output.columns.len()
            && self.columns.iter().zip(&output.columns).all(|(t, o)| {
                t.name == o.name && t.data_type == o.data_type && t.nullable == o.nullable && t.origin == o.id
            })
    }
}
