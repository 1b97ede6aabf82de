//! Wire twins of table versions and their changes, at the source and at a
//! target: `docs/specs/schema-history.md`.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tidegate_model::{
    Column, ColumnOp, Error, ErrorKind, ExistingRows, Result, SchemaChange, SchemaChangeKind, TableUid,
    TableVersion, TargetChange, TargetColumn, TargetVersion,
};

use crate::data_type::DataTypeRecord;
use crate::offset::{TableNameRecord, TxPositionRecord};
use crate::record::Record;

/// Twin of [`TableVersion`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableVersionRecord {
    /// Identity of the source table.
    pub table_uid: u64,
    /// Its name.
    pub name: TableNameRecord,
    /// Source version, dense from 1.
    pub source_version: u64,
    /// In the server's order.
    pub columns: Vec<ColumnRecord>,
    /// Indices of the key's columns, in key order.
    pub key: Vec<usize>,
}

/// Twin of [`Column`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnRecord {
    /// [`Column::id`].
    pub id: u32,
    /// Name.
    pub name: String,
    /// Exact type.
    #[serde(rename = "type")]
    pub data_type: DataTypeRecord,
    /// Whether null is a value.
    pub nullable: bool,
    /// The type's words in the source.
    #[serde(default)]
    pub source_type: String,
    /// [`Column::initial_default`].
    #[serde(default)]
    pub initial_default: Option<String>,
}

/// Twin of [`SchemaChange`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchemaChangeRecord {
    /// Format version.
    pub version: u32,
    /// How it came about.
    pub kind: SchemaChangeKindRecord,
    /// The version before.
    pub before: Option<TableVersionRecord>,
    /// The version after.
    pub after: TableVersionRecord,
    /// What changed.
    pub ops: Vec<ColumnOpRecord>,
    /// What becomes of existing rows.
    pub existing_rows: ExistingRowsRecord,
    /// The DDL's place.
    pub position: TxPositionRecord,
    /// The statements.
    pub ddl: Vec<String>,
}

impl Record for SchemaChangeRecord {
    const NAME: &'static str = "schema change";
    const VERSION: u32 = 1;
}

/// Twin of [`SchemaChangeKind`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)] // documented at its twin
pub enum SchemaChangeKindRecord {
    Baseline,
    Create,
    Alter,
}

/// Twin of [`ColumnOp`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)] // documented at its twin
pub enum ColumnOpRecord {
    Add { id: u32, name: String },
    Drop { id: u32, name: String },
    Rename { id: u32, from: String, to: String },
    Modify { id: u32, name: String, widening: bool },
    Key,
}

/// Twin of [`ExistingRows`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)] // documented at its twin
pub enum ExistingRowsRecord {
    None,
    InitialDefault,
    Diverges,
}

/// Twin of [`TargetVersion`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetVersionRecord {
    /// The source table.
    pub table_uid: u64,
    /// The target's name.
    pub name: TableNameRecord,
    /// Dense per target, from 1: the folder `v<n>`.
    pub target_version: u64,
    /// Source version that made it necessary.
    pub source_version: u64,
    /// In the order of the output schema.
    pub columns: Vec<TargetColumnRecord>,
    /// Indices of the key's columns, in key order.
    pub key: Vec<usize>,
}

/// Twin of [`TargetColumn`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetColumnRecord {
    /// Identity in the target; a rename keeps it.
    pub id: u32,
    /// Name in the target.
    pub name: String,
    /// Exact type.
    #[serde(rename = "type")]
    pub data_type: DataTypeRecord,
    /// Whether null is a value.
    pub nullable: bool,
    /// Id of the source column; 0: computed.
    pub origin: u32,
    /// What rows of earlier versions hold; null is null.
    pub initial_default: Option<String>,
}

/// Twin of [`TargetChange`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetChangeRecord {
    /// Format version.
    pub version: u32,
    /// Idempotency key.
    pub change_id: String,
    /// Target version that it starts from; null creates the target.
    pub base: Option<u64>,
    /// The target after it.
    pub after: TargetVersionRecord,
    /// What becomes of existing rows.
    pub existing_rows: ExistingRowsRecord,
    /// The log position of the change.
    pub position: TxPositionRecord,
}

impl Record for TargetChangeRecord {
    const NAME: &'static str = "target change";
    const VERSION: u32 = 1;
}

impl From<&TableVersion> for TableVersionRecord {
    fn from(table: &TableVersion) -> Self {
        Self {
            table_uid: table.uid.0,
            name: (&table.name).into(),
            source_version: table.version,
            columns: table.columns.iter().map(ColumnRecord::from).collect(),
            key: table.key.clone(),
        }
    }
}

impl TryFrom<&TableVersionRecord> for TableVersion {
    type Error = Error;

    fn try_from(record: &TableVersionRecord) -> Result<Self> {
        check_key(&record.key, record.columns.len())?;
        let columns = record.columns.iter().map(Column::from).collect();
        let uid = TableUid(record.table_uid);
        Ok(Self::new(uid, (&record.name).into(), record.source_version, columns, record.key.clone()))
    }
}

impl From<&Column> for ColumnRecord {
    fn from(column: &Column) -> Self {
        Self {
            id: column.id,
            name: column.name.clone(),
            data_type: (&column.data_type).into(),
            nullable: column.nullable,
            source_type: column.source_type.clone(),
            initial_default: column.initial_default.clone(),
        }
    }
}

impl From<&ColumnRecord> for Column {
    fn from(record: &ColumnRecord) -> Self {
        Self {
            id: record.id,
            name: record.name.clone(),
            data_type: (&record.data_type).into(),
            nullable: record.nullable,
            source_type: record.source_type.clone(),
            initial_default: record.initial_default.clone(),
        }
    }
}

impl From<&SchemaChange> for SchemaChangeRecord {
    fn from(change: &SchemaChange) -> Self {
        Self {
            version: Self::VERSION,
            kind: match change.kind {
                SchemaChangeKind::Baseline => SchemaChangeKindRecord::Baseline,
                SchemaChangeKind::Create => SchemaChangeKindRecord::Create,
                SchemaChangeKind::Alter => SchemaChangeKindRecord::Alter,
            },
            before: change.before.as_deref().map(TableVersionRecord::from),
            after: change.after.as_ref().into(),
            ops: change.ops.iter().map(ColumnOpRecord::from).collect(),
            existing_rows: change.existing_rows.into(),
            position: change.position.into(),
            ddl: change.ddl.clone(),
        }
    }
}

impl TryFrom<&SchemaChangeRecord> for SchemaChange {
    type Error = Error;

    fn try_from(record: &SchemaChangeRecord) -> Result<Self> {
        Ok(Self {
            kind: match record.kind {
                SchemaChangeKindRecord::Baseline => SchemaChangeKind::Baseline,
                SchemaChangeKindRecord::Create => SchemaChangeKind::Create,
                SchemaChangeKindRecord::Alter => SchemaChangeKind::Alter,
            },
            before: record.before.as_ref().map(TableVersion::try_from).transpose()?.map(Arc::new),
            after: Arc::new((&record.after).try_into()?),
            ops: record.ops.iter().map(ColumnOp::from).collect(),
            existing_rows: record.existing_rows.into(),
            position: record.position.into(),
            ddl: record.ddl.clone(),
        })
    }
}

impl From<&ColumnOp> for ColumnOpRecord {
    fn from(op: &ColumnOp) -> Self {
        match op.clone() {
            ColumnOp::Add { id, name } => Self::Add { id, name },
            ColumnOp::Drop { id, name } => Self::Drop { id, name },
            ColumnOp::Rename { id, from, to } => Self::Rename { id, from, to },
            ColumnOp::Modify { id, name, widening } => Self::Modify { id, name, widening },
            ColumnOp::Key => Self::Key,
        }
    }
}

impl From<&ColumnOpRecord> for ColumnOp {
    fn from(record: &ColumnOpRecord) -> Self {
        match record.clone() {
            ColumnOpRecord::Add { id, name } => Self::Add { id, name },
            ColumnOpRecord::Drop { id, name } => Self::Drop { id, name },
            ColumnOpRecord::Rename { id, from, to } => Self::Rename { id, from, to },
            ColumnOpRecord::Modify { id, name, widening } => Self::Modify { id, name, widening },
            ColumnOpRecord::Key => Self::Key,
        }
    }
}

impl From<ExistingRows> for ExistingRowsRecord {
    fn from(existing: ExistingRows) -> Self {
        match existing {
            ExistingRows::None => Self::None,
            ExistingRows::InitialDefault => Self::InitialDefault,
            ExistingRows::Diverges => Self::Diverges,
        }
    }
}

impl From<ExistingRowsRecord> for ExistingRows {
    fn from(record: ExistingRowsRecord) -> Self {
        match record {
            ExistingRowsRecord::None => Self::None,
            ExistingRowsRecord::InitialDefault => Self::InitialDefault,
            ExistingRowsRecord::Diverges => Self::Diverges,
        }
    }
}

impl From<&TargetVersion> for TargetVersionRecord {
    fn from(target: &TargetVersion) -> Self {
        Self {
            table_uid: target.uid.0,
            name: (&target.name).into(),
            target_version: target.version,
            source_version: target.source_version,
            columns: (target.columns.iter())
                .map(|column| TargetColumnRecord {
                    id: column.id,
                    name: column.name.clone(),
                    data_type: (&column.data_type).into(),
                    nullable: column.nullable,
                    origin: column.origin,
                    initial_default: column.initial_default.clone(),
                })
                .collect(),
            key: target.key.clone(),
        }
    }
}

impl TryFrom<&TargetVersionRecord> for TargetVersion {
    type Error = Error;

    fn try_from(record: &TargetVersionRecord) -> Result<Self> {
        check_key(&record.key, record.columns.len())?;
        Ok(Self {
            uid: TableUid(record.table_uid),
            name: (&record.name).into(),
            version: record.target_version,
            source_version: record.source_version,
            columns: (record.columns.iter())
                .map(|column| TargetColumn {
                    id: column.id,
                    name: column.name.clone(),
                    data_type: (&column.data_type).into(),
                    nullable: column.nullable,
                    origin: column.origin,
                    initial_default: column.initial_default.clone(),
                })
                .collect(),
            key: record.key.clone(),
        })
    }
}

impl From<&TargetChange> for TargetChangeRecord {
    fn from(change: &TargetChange) -> Self {
        Self {
            version: Self::VERSION,
            change_id: change.change_id.clone(),
            base: change.base,
            after: (&change.after).into(),
            existing_rows: change.existing_rows.into(),
            position: change.position.into(),
        }
    }
}

impl TryFrom<&TargetChangeRecord> for TargetChange {
    type Error = Error;

    fn try_from(record: &TargetChangeRecord) -> Result<Self> {
        Ok(Self {
            change_id: record.change_id.clone(),
            base: record.base,
            after: (&record.after).try_into()?,
            existing_rows: record.existing_rows.into(),
            position: record.position.into(),
        })
    }
}

/// Keys are indices: one out of range would panic far from here.
fn check_key(key: &[usize], columns: usize) -> Result<()> {
    match key.iter().find(|&&index| index >= columns) {
        Some(index) => Err(Error::new(
            ErrorKind::Corrupt,
            format!("a key names column {index} of a table with {columns} columns"),
        )),
        None => Ok(()),
    }
}
