//! Which version a table's next rows have.
//!
//! At every new map the recorded changes come first: what was decided in an
//! earlier run holds. Only a layout that no record explains is derived, with a
//! look into the catalog, recorded, and handed out, in that order.

use std::sync::Arc;

use tidegate_model::{Error, ErrorKind, Result, SchemaChange, TableName, TableSnapshot, TxPosition};

use super::{Assembler, Blocked, way_out};
use crate::binlog::{TableMap, TableMapEvent};
use crate::catalog::CatalogTable;
use crate::codec::TableCodec;
use crate::config::SnapshotMode;
use crate::derive::{self, DdlNote, Derivation, Observed};
use crate::structure;
use crate::table::{Layout, TableState};

impl Assembler {
    pub(super) fn table_map(&mut self, event: &TableMapEvent<'_>) -> Result<()> {
        let (schema, name) = event.names()?;
        let Some(table) = self.tables.find(schema, name) else {
            let name = TableName::new(schema, name);
            if self.config.captures(&name) && !self.expected.contains(&name) {
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
        // Behind a DDL the map says nothing by being the same: a server that restarted numbers its
        // tables anew, and a column dropped and added again looks as before.
        if self.tables[table].notes.is_empty() && self.tables[table].knows(event) {
            return Ok(());
        }
        let map = TableMap::parse(event)?;
        self.replay(table)?;
        match self.fit(table, &map) {
            Fit::Yes(_) if self.is_reshuffled(table) => self.blocked = Some(Blocked { table, map }),
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
            Err(obstacle) => {
                let name = self.tables[table].name.clone();
                self.park(table, mend(&name, &obstacle));
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

    /// Takes a structure over that the catalog has just at this place.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub(crate) fn adopt(
        &mut self,
        table: usize,
        observed: Vec<Observed>,
        catalog: &CatalogTable,
    ) -> Result<()> {
        let version = self.tables[table].version.as_ref();
        let same = version.is_some_and(|version| structure::same(version, &observed, &catalog.key));
        if same && !self.is_reshuffled(table) {
            return Ok(());
        }
        let position = self.here();
        self.change(table, observed, catalog.key.clone(), Some(catalog), position)
    }

    /// True when DDL made other columns under the names that the table has.
    pub(crate) fn is_reshuffled(&self, table: usize) -> bool {
        let state = &self.tables[table];
        state.version.as_ref().is_some_and(|version| derive::reshuffles(version, &state.notes))
    }

    /// Takes over the DDL of earlier runs behind the version's own and in front of
    /// the place where this run starts.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub(crate) fn recall(
        &mut self,
        table: usize,
        since: Option<TxPosition>,
        before: TxPosition,
    ) -> Result<()> {
        let kept = self.journal.ddl_notes(self.tables[table].uid)?;
        let open =
            kept.iter().filter(|note| note.position < before && since.is_none_or(|s| note.position > s));
        self.tables[table].notes = open.map(DdlNote::read).collect();
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
        self.push_change(change);
    }

    /// Leaves a table's rows out until it is added.
    pub(crate) fn expect(&mut self, name: TableName) {
        self.expected.insert(name);
    }

    /// Adds a table. Its rows count from here on.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub(crate) fn add_table(&mut self, name: TableName) -> Result<usize> {
        self.expected.remove(&name);
        let uid = self.journal.table_uid(&name)?;
        let state = TableState::new(uid, name);
        self.offset.tables.insert(uid, state.name.clone());
        Ok(self.tables.add(state))
    }

    /// Adds a table that the log creates: all its rows come, so there is nothing
    /// for a snapshot to read.
    pub(super) fn add_created(&mut self, name: TableName) -> Result<usize> {
        let table = self.add_table(name)?;
        if self.config.snapshot != SnapshotMode::Latest {
            let uid = self.tables[table].uid;
            self.tables[table].generation = 1;
            let done = TableSnapshot { generation: 1, done: true, ..TableSnapshot::default() };
            self.offset.snapshot.insert(uid, done);
        }
        Ok(table)
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

/// A message for a table whose structure cannot be captured.
pub(crate) fn mend(name: &TableName, obstacle: &str) -> String {
    format!("{obstacle}; change that, then run `tidegate snapshot {name}`")
}

/// Whether rows of a map are rows of the table's version.
enum Fit {
    Yes(Box<Layout>),
    No,
    Unsupported(String),
}
