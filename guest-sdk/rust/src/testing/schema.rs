//! Table schemas as tests write them.

use crate::{ColumnRole, ColumnSchema, DataType, TableSchema};

/// Starts the schema, version 1, of the table with this dotted name.
pub fn table(name: &str) -> SchemaBuilder {
    let name = name.split('.').map(String::from).collect();
    SchemaBuilder(TableSchema { name, version: 1, columns: Vec::new() })
}

/// Builds a schema column by column.
#[derive(Debug)]
pub struct SchemaBuilder(TableSchema);

impl SchemaBuilder {
    /// Adds a column that may be null.
    pub fn column(self, name: &str, data_type: DataType) -> Self {
        self.push(name, ColumnRole::Table, data_type, true, 0)
    }

    /// Adds a column that is never null.
    pub fn required(self, name: &str, data_type: DataType) -> Self {
        self.push(name, ColumnRole::Table, data_type, false, 0)
    }

    /// Adds the next column of the primary key.
    pub fn key(self, name: &str, data_type: DataType) -> Self {
        let last = self.0.columns.iter().map(|column| column.key_position).max();
        self.push(name, ColumnRole::Table, data_type, false, last.unwrap_or(0) + 1)
    }

    /// Adds the system columns that the host offers on every table.
    pub fn system(self) -> Self {
        self.push("$operation", ColumnRole::System, DataType::Text, false, 0)
            .push("$commit-time", ColumnRole::System, DataType::Timestamptz, false, 0)
            .push("$position", ColumnRole::System, DataType::Text, false, 0)
            .push("$transaction", ColumnRole::System, DataType::Text, true, 0)
    }

    /// Gives the schema another version.
    pub fn version(mut self, version: u64) -> Self {
        self.0.version = version;
        self
    }

    /// The schema.
    pub fn build(self) -> TableSchema {
        self.0
    }

    fn push(mut self, name: &str, role: ColumnRole, data_type: DataType, nullable: bool, key: u8) -> Self {
        self.0.columns.push(ColumnSchema { name: name.into(), role, data_type, nullable, key_position: key });
        self
    }
}
