//! Which structure a target had from which position on, and why.

use redb::ReadableTable;
use tidegate_format::record;
use tidegate_model::{
    ColumnOp, ExistingRows, Result, SchemaChange, SchemaChangeKind, TableName, TargetVersion, TxPosition,
};

use crate::protocol::{ChangeRecord, VersionRecord};
use crate::registry::Registry;
use crate::storage::{CHANGES, VERSIONS, failed, get};

/// One version of a target.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryEntry {
    /// The sink of the target.
    pub sink: String,
    /// The version; its `source_version` is the table's.
    pub target: TargetVersion,
    /// When it was recorded, µs since the epoch.
    pub time_us: u64,
    /// The change behind it; `None` when the version was taken over from the
    /// sink's record after the registry's file was lost.
    pub change: Option<HistoryChange>,
}

/// The change behind a version.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryChange {
    /// Its idempotency key.
    pub change_id: String,
    /// The source table's name at the time.
    pub source: TableName,
    /// Its place in the log: the DDL's, or the swap's boundary.
    pub position: TxPosition,
    /// How the source's version came about.
    pub kind: SchemaChangeKind,
    /// What changed in the source table.
    pub ops: Vec<ColumnOp>,
    /// The statements.
    pub ddl: Vec<String>,
    /// What became of rows of earlier versions.
    pub existing_rows: ExistingRows,
}

impl Registry {
    /// All versions by sink, target and number; of one table, by the name of the
    /// target or of the source, when `table` is given.
    ///
    /// # Errors
    /// `Storage`, `Corrupt`.
    pub fn history(&self, table: Option<&TableName>) -> Result<Vec<HistoryEntry>> {
        self.storage.read(|transaction| {
            let changes = transaction.open_table(CHANGES).map_err(failed)?;
            let mut history = Vec::new();
            for entry in transaction.open_table(VERSIONS).map_err(failed)?.iter().map_err(failed)? {
                let (key, bytes) = entry.map_err(failed)?;
                let version: VersionRecord = record::decode(bytes.value())?;
                let change: Option<ChangeRecord> = match &version.change_id {
                    Some(id) => get(&changes, id.as_str())?,
                    None => None,
                };
                history.push(HistoryEntry {
                    sink: key.value().0.to_owned(),
                    target: TargetVersion::try_from(&version.target)?,
                    time_us: version.time_us,
                    change: change.map(|change| HistoryChange::try_from(&change)).transpose()?,
                });
            }
            history.retain(|entry| table.is_none_or(|table| entry.concerns(table)));
            Ok(history)
        })
    }
}

impl HistoryEntry {
    fn concerns(&self, table: &TableName) -> bool {
        self.target.name == *table || self.change.as_ref().is_some_and(|change| change.source == *table)
    }
}

impl TryFrom<&ChangeRecord> for HistoryChange {
    type Error = tidegate_model::Error;

    fn try_from(record: &ChangeRecord) -> Result<Self> {
        let SchemaChange { kind, after, ops, ddl, .. } = SchemaChange::try_from(&record.source)?;
        Ok(Self {
            change_id: record.change.change_id.clone(),
            source: after.name.clone(),
            position: record.change.position.into(),
            kind,
            ops,
            ddl,
            existing_rows: record.change.existing_rows.into(),
        })
    }
}
