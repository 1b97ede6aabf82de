//! Tables that come in, or come back, while the source runs: a snapshot that a
//! person asked for, a table that the configuration names since the last run.
//!
//! A table takes part from a place where its structure is known exactly: the
//! catalog says the same in front of that place and behind it. It is taken up
//! when the stream gets there. What an earlier run took in at some place comes
//! in at that place again, so that rows and watermarks repeat alike.

use std::collections::VecDeque;
use std::sync::Arc;

use tidegate_model::{Result, SchemaChange, TableName};

use crate::assembler::Assembler;
use crate::catalog::{self, CatalogTable};
use crate::config::{SnapshotMode, SourceConfig};
use crate::connection::Connection;
use crate::server::{self, LogEnd};
use crate::snapshot::Snapshots;
use crate::start::introduce;
use crate::structure;

/// Why a table is looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// A person asked for a snapshot; it also un-parks the table.
    Snapshot,
    /// It is captured and nothing is known of it.
    Introduce,
}

/// What the server says about a table.
#[derive(Debug)]
pub(crate) struct Found {
    table: Option<CatalogTable>,
    /// At this place the table looks like that.
    end: LogEnd,
}

/// What has not taken effect yet.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    waiting: VecDeque<(Arc<TableName>, Purpose)>,
    found: Vec<(Arc<TableName>, Purpose, Found)>,
    again: Vec<Arc<SchemaChange>>,
}

impl Requests {
    /// Asks for a snapshot.
    pub(crate) fn snapshot(&mut self, name: TableName) {
        self.push(name, Purpose::Snapshot);
    }

    /// Asks to take a table in.
    pub(crate) fn introduce(&mut self, name: TableName) {
        self.push(name, Purpose::Introduce);
    }

    /// Takes a table in where an earlier run did.
    pub(crate) fn again(&mut self, baseline: Arc<SchemaChange>) {
        self.again.push(baseline);
    }

    fn push(&mut self, name: TableName, purpose: Purpose) {
        if self.waiting.iter().all(|(waiting, why)| **waiting != name || *why != purpose) {
            self.waiting.push_back((Arc::new(name), purpose));
        }
    }

    /// The next table to look up.
    pub(crate) fn waiting(&self) -> Option<Arc<TableName>> {
        self.waiting.front().map(|(name, _)| name.clone())
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

    /// Takes the answer about [`Self::waiting`].
    pub(crate) fn found(&mut self, found: Found) {
        if let Some((name, purpose)) = self.waiting.pop_front() {
            self.found.push((name, purpose, found));
        }
    }

    /// Lets take effect what the stream has reached.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub(crate) fn apply(
        &mut self,
        config: &SourceConfig,
        assembler: &mut Assembler,
        snapshots: &mut Snapshots,
    ) -> Result<()> {
        if self.found.is_empty() && self.again.is_empty() {
            return Ok(());
        }
        let Some(here) = assembler.position() else { return Ok(()) };
        let at = assembler.at(here);
        for baseline in self.again.extract_if(.., |baseline| baseline.position <= at) {
            take_in(config, assembler, snapshots, baseline)?;
        }
        for (name, purpose, found) in self.found.extract_if(.., |(.., found)| found.end.log <= here) {
            let known = assembler.tables().find(&name.schema, &name.table);
            match (purpose, found.table) {
                (_, None) => tracing::warn!(table = %name, "there is no such table"),
                (Purpose::Snapshot, Some(catalog)) => again(assembler, snapshots, known, &catalog)?,
                // The log has created it meanwhile.
                (Purpose::Introduce, Some(_)) if known.is_some() => {}
                (Purpose::Introduce, Some(catalog)) => introduce(config, assembler, snapshots, &catalog)?,
            }
        }
        Ok(())
    }
}

/// Opens the next generation of a table, parked or not.
fn again(
    assembler: &mut Assembler,
    snapshots: &mut Snapshots,
    known: Option<usize>,
    catalog: &CatalogTable,
) -> Result<()> {
    let name = &catalog.name;
    if let Some(reason) = catalog.obstacle().or(catalog.snapshot_obstacle().map(Into::into)) {
        tracing::warn!(table = %name, %reason, "no snapshot: the table cannot be read");
        return Ok(());
    }
    let table = match known {
        Some(table) => table,
        None => assembler.add_table(name.clone())?,
    };
    if (assembler.unpark(table) || assembler.tables()[table].version.is_none())
        && let Ok(observed) = structure::listed(catalog)
    {
        assembler.adopt(table, observed, catalog)?;
    }
    let uid = assembler.tables()[table].uid;
    let last = assembler.offset().snapshot.get(&uid).map_or(0, |progress| progress.generation);
    snapshots.begin(assembler, table, last + 1);
    Ok(())
}

/// Takes a table in by its recorded baseline.
fn take_in(
    config: &SourceConfig,
    assembler: &mut Assembler,
    snapshots: &mut Snapshots,
    baseline: Arc<SchemaChange>,
) -> Result<()> {
    let name = &baseline.after.name;
    if assembler.tables().find(&name.schema, &name.table).is_some() {
        return Ok(());
    }
    let table = assembler.add_table(name.clone())?;
    assembler.hand_out(table, baseline);
    if config.snapshot != SnapshotMode::Latest {
        snapshots.begin(assembler, table, 1);
    }
    Ok(())
}
