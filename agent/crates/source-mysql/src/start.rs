//! Where reading starts, and what is known there.
//!
//! **New.** The catalog tells the tables now, the log's end is a place: they
//! belong together only if no DDL came between. So the catalog is read in front
//! of the place and behind it, until both say the same.
//!
//! **Resumed.** The offset must lie in this server's log: same server, same log
//! files, and the last transaction that was delivered still where it was (the
//! witness), or the server was initialised anew, or its log reset. Structure
//! comes from the recorded history at the offset; the last change of each table
//! is handed out again, since a sink may not have seen it yet. A table without a
//! record is looked up when its first row comes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tidegate_model::source::{Journal, Start};
use tidegate_model::{
    Error, ErrorKind, HeldReason, Lineage, Offset, Result, Scanned, SchemaChangeKind, TableName, TxPosition,
};

use crate::assembler::{Assembler, mend};
use crate::catalog::{self, CatalogTable};
use crate::config::{SnapshotMode, SourceConfig};
use crate::connection::Connection;
use crate::history::History;
use crate::requests::Requests;
use crate::server::{self, LogEnd};
use crate::snapshot::Snapshots;
use crate::stream::{Testimony, question};
use crate::structure;
use crate::table::{TableState, Tables};

/// Tries to find the catalog unchanged around a place in the log.
const STABLE_TRIES: usize = 20;

/// Everything that the first event finds.
pub(crate) struct Started {
    /// The offset that reading starts from.
    pub(crate) offset: Offset,
    /// Knows the tables; holds the items that lead the first segment.
    pub(crate) assembler: Assembler,
    /// Knows what is still to be read.
    pub(crate) snapshots: Snapshots,
    /// Knows the tables that come in later.
    pub(crate) requests: Requests,
}

/// Finds the start.
///
/// # Errors
/// `Refused` when the offset belongs to another log; `Connection`; what the
/// journal says.
pub(crate) async fn start(
    config: &Arc<SourceConfig>,
    connection: &mut Connection,
    start: Start,
    journal: &Arc<dyn Journal>,
) -> Result<Started> {
    let lineage = server::lineage(connection).await?;
    let fold = server::folds_names(connection).await?;
    let history = History::load(&**journal)?;
    match start {
        Start::New => {
            let (end, catalog) = stable(connection, config).await?;
            let offset = Offset {
                epoch: config.epoch,
                lineage,
                scanned: Scanned { gtid: end.gtid, open: None, log: end.log },
                snapshot: BTreeMap::new(),
                held: BTreeMap::new(),
                tables: BTreeMap::new(),
            };
            let assembler =
                Assembler::new(config.clone(), journal.clone(), history, Tables::new(fold), offset.clone());
            let snapshots = Snapshots::new(config.clone(), journal.clone(), end.log);
            let mut started = Started { offset, assembler, snapshots, requests: Requests::default() };
            for table in catalog.values() {
                introduce(config, &mut started.assembler, &mut started.snapshots, table)?;
            }
            // Named in the first record already: whoever resumes there without this state folder must
            // not take them for tables that come in later, whose earlier rows are not ours.
            started.offset.tables = started.assembler.offset().tables.clone();
            Ok(started)
        }
        Start::Resume(offset) => {
            verify(config, &offset, &lineage).await?;
            let catalog = catalog::captured(connection, config).await?;
            let end = server::log_end(connection).await?;
            let snapshots = Snapshots::new(config.clone(), journal.clone(), end.log);
            resume(config, *offset, history, Tables::new(fold), journal, (&catalog, snapshots))
        }
    }
}

/// The log's end with the catalog at that place.
async fn stable(
    connection: &mut Connection,
    config: &SourceConfig,
) -> Result<(LogEnd, BTreeMap<TableName, CatalogTable>)> {
    let mut before = catalog::captured(connection, config).await?;
    for _ in 0..STABLE_TRIES {
        let end = server::log_end(connection).await?;
        let after = catalog::captured(connection, config).await?;
        if before == after {
            return Ok((end, after));
        }
        before = after;
    }
    Err(Error::transient(ErrorKind::Schema, "tables change all the time: no moment without DDL was found")
        .during("read the catalog")
        .hint("start the pipeline when no migration runs"))
}

/// Holds the offset against the server that answers.
async fn verify(config: &SourceConfig, offset: &Offset, lineage: &Lineage) -> Result<()> {
    let refused = |message: String| {
        Error::new(ErrorKind::Refused, message)
            .during("resume")
            .with("position", offset.scanned.log)
            .with("gtid", &offset.scanned.gtid)
            .hint("connect the server that the offset comes from, or start a new epoch with `tidegate offsets set`")
    };
    if !offset.lineage.same_log(lineage) {
        let shown = |lineage: &Lineage| {
            let Lineage::MariaDb { domain, server_id, log_base, .. } = lineage;
            format!("domain {domain}, server_id {server_id}, log {log_base}")
        };
        let (ours, theirs) = (shown(&offset.lineage), shown(lineage));
        return Err(refused(format!(
            "the offset belongs to another server's log: {ours}; this one is {theirs}"
        )));
    }
    let Lineage::MariaDb { witness: Some(witness), .. } = &offset.lineage else { return Ok(()) };
    match question(config, witness).await? {
        Testimony::Confirmed => Ok(()),
        Testimony::Purged => {
            tracing::warn!(gtid = %witness.gtid, "the log file of the last transaction is purged; resuming by GTID alone");
            Ok(())
        }
        Testimony::Contradicted => Err(refused(format!(
            "the log is another one than before: transaction {} is not where it was (server initialised anew, or RESET MASTER)",
            witness.gtid
        ))),
    }
}

fn resume(
    config: &Arc<SourceConfig>,
    offset: Offset,
    history: History,
    mut tables: Tables,
    journal: &Arc<dyn Journal>,
    (catalog, mut snapshots): (&BTreeMap<TableName, CatalogTable>, Snapshots),
) -> Result<Started> {
    let position = TxPosition { epoch: offset.epoch, log: offset.scanned.log };
    let mut requests = Requests::default();
    let mut expected = Vec::new();
    let mut changes = Vec::new();
    let names: BTreeSet<TableName> = (catalog.keys().cloned())
        .chain(offset.tables.values().map(|name| (**name).clone()))
        .filter(|name| config.captures(name))
        .collect();
    for name in names {
        let uid = journal.table_uid(&name)?;
        let change = history.at(uid, position).cloned();
        if change.is_none() && !offset.tables.contains_key(&uid) {
            // It comes in behind the offset: created by the log, taken in by an earlier run, or new.
            match history.first(uid) {
                Some(change) if change.kind == SchemaChangeKind::Create => {}
                Some(change) => requests.again(change.clone()),
                None => requests.introduce(name.clone()),
            }
            expected.push(name);
            continue;
        }
        let mut state = TableState::new(uid, name);
        state.parked = offset.held.get(&uid).is_some_and(|held| held.reason == HeldReason::Parked);
        state.generation = offset.snapshot.get(&uid).map_or(0, |progress| progress.generation);
        changes.push((tables.add(state), change));
    }
    let mut assembler = Assembler::new(config.clone(), journal.clone(), history, tables, offset.clone());
    for name in expected {
        assembler.expect(name);
    }
    for (table, change) in changes {
        let since = change.as_ref().map(|change| change.position);
        if let Some(change) = change {
            assembler.hand_out(table, change);
        }
        assembler.recall(table, since, position)?;
        let state = &assembler.tables()[table];
        let (uid, listed) = (state.uid, catalog.contains_key(&*state.name));
        match offset.snapshot.get(&uid) {
            Some(progress) if !progress.done && !state.parked => snapshots.resume(uid),
            None if listed && !state.parked && config.snapshot != SnapshotMode::Latest => {
                snapshots.begin(&mut assembler, table, 1);
            }
            _ => {}
        }
    }
    Ok(Started { offset, assembler, snapshots, requests })
}

/// Takes a table in that the catalog has just at the assembler's place.
///
/// # Errors
/// When the journal cannot be written.
pub(crate) fn introduce(
    config: &SourceConfig,
    assembler: &mut Assembler,
    snapshots: &mut Snapshots,
    catalog: &CatalogTable,
) -> Result<()> {
    let name = &catalog.name;
    let table = assembler.add_table(name.clone())?;
    let observed = match structure::listed(catalog) {
        Ok(observed) => observed,
        Err(obstacle) => {
            assembler.park(table, mend(name, &obstacle));
            return Ok(());
        }
    };
    assembler.adopt(table, observed, catalog)?;
    match (config.snapshot, catalog.snapshot_obstacle()) {
        (SnapshotMode::Latest, _) => {}
        (_, None) => snapshots.begin(assembler, table, 1),
        (_, Some(obstacle)) => {
            assembler.park(table, format!("{}, or set `source.snapshot.mode: latest`", mend(name, obstacle)))
        }
    }
    Ok(())
}
