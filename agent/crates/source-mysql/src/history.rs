//! Versions of tables by position in the log.
//!
//! What a change was is decided once, recorded durably, and never derived again:
//! on a replay the recorded change is handed out as it is, even if the catalog
//! has moved on since or a newer agent would read the DDL differently. A change
//! holds from the DDL's position on, whenever it was noticed.

use std::collections::BTreeMap;
use std::sync::Arc;

use tidegate_model::source::Journal;
use tidegate_model::{Result, SchemaChange, SchemaChangeKind, TableUid, TxPosition};

/// The recorded changes of every table, oldest first.
#[derive(Debug, Default)]
pub(crate) struct History(BTreeMap<TableUid, Vec<Arc<SchemaChange>>>);

impl History {
    /// What the journal holds.
    ///
    /// # Errors
    /// When the state folder cannot be read.
    pub(crate) fn load(journal: &dyn Journal) -> Result<Self> {
        let mut history = Self::default();
        for change in journal.schema_history()? {
            history.0.entry(change.after.uid).or_default().push(change);
        }
        for changes in history.0.values_mut() {
            changes.sort_by_key(|change| change.after.version);
        }
        Ok(history)
    }

    /// The change that a reader resuming at `position` starts with: everything
    /// in front of `position` was handed out, and a baseline holds from its own
    /// position on.
    pub(crate) fn at(&self, table: TableUid, position: TxPosition) -> Option<&Arc<SchemaChange>> {
        self.0.get(&table)?.iter().rev().find(|change| {
            change.position < position
                || (change.kind == SchemaChangeKind::Baseline && change.position <= position)
        })
    }

    /// The recorded change that follows `version`, if it holds at `position`.
    pub(crate) fn next(
        &self,
        table: TableUid,
        version: u64,
        position: TxPosition,
    ) -> Option<&Arc<SchemaChange>> {
        let changes = self.0.get(&table)?;
        changes
            .iter()
            .find(|change| change.after.version > version)
            .filter(|change| change.position <= position)
    }

    /// How capture came to know a table.
    pub(crate) fn first(&self, table: TableUid) -> Option<&Arc<SchemaChange>> {
        self.0.get(&table)?.first()
    }

    /// The newest version of a table, whatever its position.
    pub(crate) fn newest(&self, table: TableUid) -> Option<&Arc<SchemaChange>> {
        self.0.get(&table)?.last()
    }

    /// The highest column id that a table ever had.
    pub(crate) fn last_column_id(&self, table: TableUid) -> u32 {
        let changes = self.0.get(&table).map(Vec::as_slice).unwrap_or_default();
        changes.iter().flat_map(|change| &change.after.columns).map(|column| column.id).max().unwrap_or(0)
    }

    /// Makes a change durable; only then may it be handed out.
    ///
    /// # Errors
    /// When the state folder cannot be written, or holds another change under
    /// this version.
    pub(crate) fn record(&mut self, journal: &dyn Journal, change: &Arc<SchemaChange>) -> Result<()> {
        journal.record_change(change)?;
        self.0.entry(change.after.uid).or_default().push(change.clone());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_model::{ExistingRows, LogPosition, TableName, TableVersion};

    fn at(offset: u64) -> TxPosition {
        TxPosition { epoch: 1, log: LogPosition { file_no: 1, offset } }
    }

    fn history(changes: &[(SchemaChangeKind, u64)]) -> History {
        let changes = changes.iter().zip(1..).map(|((kind, offset), version)| {
            let name = TableName::new("shop", "orders");
            Arc::new(SchemaChange {
                kind: *kind,
                before: None,
                after: Arc::new(TableVersion::new(TableUid(1), name, version, Vec::new(), Vec::new())),
                ops: Vec::new(),
                existing_rows: ExistingRows::None,
                position: at(*offset),
                ddl: Vec::new(),
            })
        });
        History([(TableUid(1), changes.collect())].into())
    }

    #[test]
    fn a_change_holds_from_its_ddl_on() {
        let history = history(&[
            (SchemaChangeKind::Baseline, 100),
            (SchemaChangeKind::Alter, 200),
            (SchemaChangeKind::Alter, 300),
        ]);
        let version = |change: Option<&Arc<SchemaChange>>| change.map(|change| change.after.version);
        for (offset, starts_with, follows) in [
            (99, None, None),
            (100, Some(1), None),
            (200, Some(1), Some(2)),
            (201, Some(2), None),
            (300, Some(2), Some(3)),
            (900, Some(3), None),
        ] {
            let start = version(history.at(TableUid(1), at(offset)));
            assert_eq!(start, starts_with, "at {offset}");
            if let Some(start) = start {
                assert_eq!(version(history.next(TableUid(1), start, at(offset))), follows, "at {offset}");
            }
        }
        assert_eq!(version(history.newest(TableUid(1))), Some(3));
        assert_eq!(version(history.at(TableUid(2), at(900))), None);
    }
}
