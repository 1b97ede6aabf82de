//! Snapshots that a person asked for while the source runs.
//!
//! A parked table takes part again from a place where its structure is known
//! exactly: the catalog says the same in front of that place and behind it. The
//! table is taken up when the stream gets there.

use std::collections::VecDeque;
use std::sync::Arc;

use tidegate_model::{Result, TableName};

use crate::assembler::Assembler;
use crate::catalog::{self, CatalogTable};
use crate::connection::Connection;
use crate::server::{self, LogEnd};
use crate::snapshot::Snapshots;
use crate::structure;

/// What the server says about a requested table.
#[derive(Debug)]
pub(crate) struct Found {
    table: Option<CatalogTable>,
    /// At this place the table looks like that.
    end: LogEnd,
}

/// The requests that have not taken effect.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    waiting: VecDeque<Arc<TableName>>,
    found: VecDeque<(Arc<TableName>, Found)>,
}

impl Requests {
    /// Asks for a snapshot.
    pub(crate) fn push(&mut self, name: TableName) {
        if self.waiting.iter().all(|waiting| **waiting != name) {
            self.waiting.push_back(Arc::new(name));
        }
    }

    /// The next table to look up.
    pub(crate) fn waiting(&self) -> Option<Arc<TableName>> {
        self.waiting.front().cloned()
    }

    /// Asks the server.
    ///
    /// # Errors
    /// `Connection`.
    pub(crate) async fn look_up(connection: &mut Connection, name: &TableName) -> Result<Found> {
        let mut table = catalog::read(connection, name).await?;
        loop {
            let end = server::log_end(connection).await?;
            let after = catalog::read(connection, name).await?;
            if table == after {
                return Ok(Found { table, end });
            }
            table = after;
        }
    }

    /// Takes the answer.
    pub(crate) fn found(&mut self, name: Arc<TableName>, found: Found) {
        self.waiting.retain(|waiting| *waiting != name);
        self.found.push_back((name, found));
    }

    /// Lets take effect what the stream has reached.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub(crate) fn apply(&mut self, assembler: &mut Assembler, snapshots: &mut Snapshots) -> Result<()> {
        let Some(here) = assembler.position() else { return Ok(()) };
        let mut later = VecDeque::new();
        while let Some((name, found)) = self.found.pop_front() {
            if here < found.end.log {
                later.push_back((name, found));
                continue;
            }
            let Some(catalog) = found.table else {
                tracing::warn!(table = %name, "no snapshot: there is no such table");
                continue;
            };
            let obstacle = catalog.obstacle().or(catalog.snapshot_obstacle().map(Into::into));
            if let Some(obstacle) = obstacle {
                tracing::warn!(table = %name, reason = %obstacle, "no snapshot: the table cannot be read");
                continue;
            }
            let table = match assembler.tables().find(&name.schema, &name.table) {
                Some(table) => table,
                None => assembler.add_table((*name).clone())?,
            };
            if assembler.unpark(table) || assembler.tables()[table].version.is_none() {
                if let Ok(observed) = structure::listed(&catalog) {
                    let version = assembler.tables()[table].version.as_ref();
                    if !version.is_some_and(|version| structure::same(version, &observed, &catalog.key)) {
                        let position = assembler.at(here);
                        assembler.change(table, observed, catalog.key.clone(), Some(&catalog), position)?;
                    }
                }
            }
            let uid = assembler.tables()[table].uid;
            let last = assembler.offset().snapshot.get(&uid).map_or(0, |progress| progress.generation);
            snapshots.begin(assembler, table, last + 1);
        }
        self.found = later;
        Ok(())
    }
}
