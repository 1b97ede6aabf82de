//! What the running source knows about each captured table.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tidegate_model::{BatchBuilder, TableName, TableUid, TableVersion};

use crate::binlog::{TableMap, TableMapEvent};
use crate::codec::TableCodec;
use crate::derive::DdlNote;

/// The layout of the rows that come, with the codec made for it.
#[derive(Debug)]
pub(crate) struct Layout {
    /// The map.
    pub(crate) map: TableMap,
    /// Its codec into the table's current version.
    pub(crate) codec: TableCodec,
}

/// One captured table.
#[derive(Debug)]
pub(crate) struct TableState {
    /// Identity.
    pub(crate) uid: TableUid,
    /// Name.
    pub(crate) name: Arc<TableName>,
    /// Structure; `None` until the first row of a table that no record knows.
    pub(crate) version: Option<Arc<TableVersion>>,
    /// Rows are not handed out; the offset's `held` says why.
    pub(crate) parked: bool,
    /// Snapshot generation of its rows.
    pub(crate) generation: u64,
    /// DDL seen since the version began.
    pub(crate) notes: Vec<DdlNote>,
    /// Layout of the last map, if its rows were taken.
    pub(crate) layout: Option<Layout>,
    /// Rows of the segment that is being built.
    pub(crate) builder: Option<BatchBuilder>,
    /// Number of the group that the builder was last told of.
    pub(crate) builder_group: u64,
    /// Keys of the rows handed out since a chunk's low mark; `None`: no chunk is
    /// open.
    pub(crate) noted: Option<HashSet<Vec<u8>>>,
}

impl TableState {
    /// A table that nothing is known of yet.
    pub(crate) fn new(uid: TableUid, name: TableName) -> Self {
        Self {
            uid,
            name: Arc::new(name),
            version: None,
            parked: false,
            generation: 0,
            notes: Vec::new(),
            layout: None,
            builder: None,
            builder_group: 0,
            noted: None,
        }
    }

    /// True when rows of this map can be taken as the last ones were.
    pub(crate) fn knows(&self, event: &TableMapEvent<'_>) -> bool {
        self.layout.as_ref().is_some_and(|layout| layout.map.matches(event))
    }

    /// Another structure holds from here on. The rows so far must be taken out
    /// of the builder first.
    pub(crate) fn set_version(&mut self, version: Arc<TableVersion>) {
        debug_assert!(self.builder.is_none(), "rows of the old version are still in the builder");
        self.version = Some(version);
        self.notes.clear();
        self.layout = None;
    }
}

/// The captured tables, found by name for every map in the log.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    states: Vec<TableState>,
    /// Schema → table → index. Nested, so that a lookup needs no owned name.
    by_name: HashMap<String, HashMap<String, usize>>,
    /// The server compares names without case (`lower_case_table_names`).
    fold: bool,
}

impl Tables {
    /// No table.
    pub(crate) fn new(fold: bool) -> Self {
        Self { fold, ..Self::default() }
    }

    /// Adds a table.
    pub(crate) fn add(&mut self, state: TableState) -> usize {
        let index = self.states.len();
        let (schema, table) = (self.folded(&state.name.schema), self.folded(&state.name.table));
        self.by_name.entry(schema).or_default().insert(table, index);
        self.states.push(state);
        index
    }

    /// Index of a table by name.
    pub(crate) fn find(&self, schema: &str, table: &str) -> Option<usize> {
        if self.fold {
            return self.by_name.get(&self.folded(schema))?.get(&self.folded(table)).copied();
        }
        self.by_name.get(schema)?.get(table).copied()
    }

    /// Index of a table by uid.
    pub(crate) fn of_uid(&self, uid: TableUid) -> Option<usize> {
        self.states.iter().position(|state| state.uid == uid)
    }

    /// All of them, in no order that means anything.
    pub(crate) fn all(&self) -> &[TableState] {
        &self.states
    }

    fn folded(&self, name: &str) -> String {
        if self.fold { name.to_lowercase() } else { name.to_owned() }
    }
}

impl std::ops::Index<usize> for Tables {
    type Output = TableState;

    fn index(&self, index: usize) -> &TableState {
        &self.states[index]
    }
}

impl std::ops::IndexMut<usize> for Tables {
    fn index_mut(&mut self, index: usize) -> &mut TableState {
        &mut self.states[index]
    }
}
