//! Which version a table's next rows have.
//!
//! At every new map the recorded changes come first: what was decided in an
//! earlier run holds. Only a layout that no record explains is derived, with a
//! look into the catalog, recorded, and handed out, in that order.

use std::sync::Arc;

use tidegate_model::{Error, ErrorKind, Item, Result, SchemaChange, TableName, TxPosition};

use super::{Assembler, Blocked, way_out};
use crate::binlog::{TableMap, TableMapEvent};
use crate::catalog::CatalogTable;
use crate::codec::TableCodec;
use crate::derive::{DdlNote, Derivation, Observed};
use crate::structure;
use crate::table::{Layout, TableState};

impl Assembler {
    pub(super) fn table_map(&mut self, event: &TableMapEvent<'_>) -> Result<()> {
        let (schema, name) = event.names()?;
        let Some(table) = self.tables.find(schema, name) else {
            let name = TableName::new(schema, name);
            if self.config.captures(&name) {
                // Rows of a table that the log did not create: it has older rows.
                let table = self.add_table(name.clone())?;
                self.park(table, way_out(&name, "appeared without a CREATE TABLE in the log"));
            }
            self.routes.insert(event.table_id, None);
            return Ok(());
        };
        if self.group.as_ref().is_some_and(|group| group.gtid.xa_prepared) {
            let name = self.tables[table].name.clone();
            self.park(table, way_out(&name, "was changed by an XA transaction, which is not captured yet"));
        }
        if self.tables[table].parked {
            self.routes.insert(event.table_id, None);
            return Ok(());
        }
        self.routes.insert(event.table_id, Some(table));
        if self.tables[table].knows(event) {
            self.tables[table].notes.clear();
            return Ok(());
        }
        let map = TableMap::parse(event)?;
        self.replay(table)?;
        match self.fit(table, &map) {
            Fit::Yes(layout) => {
                // The DDL since the last rows, if any, did not change the columns.
                self.tables[table].notes.clear();
                self.tables[table].layout = Some(*layout);
            }
            Fit::Unsupported(message) => self.park(table, message),
            Fit::No => self.blocked = Some(Blocked { table, map }),
        }
        Ok(())
    }

    /// The table that must be looked up in the catalog before the next event.
    pub(crate) fn blocked_on(&self) -> Option<Arc<TableName>> {
        self.blocked.as_ref().map(|blocked| self.tables[blocked.table].name.clone())
    }

    /// Takes what the catalog says, now, about [`Self::blocked_on`].
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub(crate) fn unblock(&mut self, catalog: Option<&CatalogTable>) -> Result<()> {
        let Some(Blocked { table, map }) = self.blocked.take() else { return Ok(()) };
        let state = &self.tables[table];
        match structure::observe(&map, state.version.as_deref(), catalog, &state.notes) {
            Err(message) => {
                self.park(table, message);
                return Ok(());
            }
            Ok(observed) => {
                let key = map.primary_key.iter().map(|part| part.column).collect();
                let position = self.here();
                self.change(table, observed, key, catalog, position)?;
            }
        }
        match self.fit(table, &map) {
            Fit::Yes(layout) => self.tables[table].layout = Some(*layout),
            Fit::Unsupported(message) => self.park(table, message),
            Fit::No => {
                return Err(Error::new(ErrorKind::Internal, "a derived version does not fit its own map")
                    .with("table", &self.tables[table].name));
            }
        }
        Ok(())
    }

    /// Derives, records and hands out the change to these columns.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub(crate) fn change(
        &mut self,
        table: usize,
        observed: Vec<Observed>,
        key: Vec<usize>,
        catalog: Option<&CatalogTable>,
        position: TxPosition,
    ) -> Result<()> {
        let state = &self.tables[table];
        let newest = self.history.newest(state.uid).map_or(0, |change| change.after.version);
        let notes: Vec<DdlNote> =
            state.notes.iter().filter(|note| note.position <= position).cloned().collect();
        let derivation = Derivation {
            uid: state.uid,
            name: &state.name,
            before: state.version.as_ref(),
            version: newest.max(self.journal.known_version(state.uid)) + 1,
            last_id: self.history.last_column_id(state.uid),
            observed,
            key,
            notes: &notes,
            catalog,
            position,
        };
        let change = Arc::new(derivation.change());
        self.history.record(&*self.journal, &change)?;
        self.hand_out(table, change);
        Ok(())
    }

    /// Hands out every recorded change that holds here.
    pub(crate) fn replay(&mut self, table: usize) -> Result<()> {
        let here = self.here();
        loop {
            let state = &self.tables[table];
            let version = state.version.as_ref().map_or(0, |version| version.version);
            let Some(change) = self.history.next(state.uid, version, here).cloned() else { return Ok(()) };
            self.hand_out(table, change);
        }
    }

    /// Puts a change between the rows before and after it.
    pub(crate) fn hand_out(&mut self, table: usize, change: Arc<SchemaChange>) {
        self.flush(table);
        let state = &mut self.tables[table];
        tracing::info!(
            table = %state.name,
            version = change.after.version,
            position = %change.position.log,
            "schema change"
        );
        state.set_version(change.after.clone());
        self.push(Item::SchemaChange(change));
    }

    /// Adds a table that the configuration captures.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub(crate) fn add_table(&mut self, name: TableName) -> Result<usize> {
        let uid = self.journal.table_uid(&name)?;
        let mut state = TableState::new(uid, name);
        self.offset.tables.insert(uid, state.name.clone());
        if self.config.snapshot != crate::config::SnapshotMode::Latest {
            // Its rows all come from the log, so there is nothing to read.
            state.generation = 1;
            let done = tidegate_model::TableSnapshot { generation: 1, done: true, ..Default::default() };
            self.offset.snapshot.insert(uid, done);
        }
        Ok(self.tables.add(state))
    }

    fn fit(&self, table: usize, map: &TableMap) -> Fit {
        let Some(version) = &self.tables[table].version else { return Fit::No };
        let key: Vec<usize> = map.primary_key.iter().map(|part| part.column).collect();
        let nullable = version.columns.iter().zip(&map.columns).all(|(a, b)| a.nullable == b.nullable);
        match TableCodec::new(version, map) {
            Ok(codec) if nullable && key == version.key => {
                Fit::Yes(Box::new(Layout { map: map.clone(), codec }))
            }
            Err(error) if error.kind() == ErrorKind::Unsupported => Fit::Unsupported(error.to_string()),
            _ => Fit::No,
        }
    }
}

/// Whether rows of a map are rows of the table's version.
enum Fit {
    Yes(Box<Layout>),
    No,
    Unsupported(String),
}
