//! Runs the chain; sends refused events to the dead-letter queue.
//!
//! Which modules run is decided by an event's position alone: the module table
//! names eras, and a replay sends an event through the modules of its era. A
//! segment that reaches over the edge of an era is split there, at a
//! transaction's end, so that a target can change between the two parts.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Instant;

use tidegate_model::transform::Plan;
use tidegate_model::{
    ChangeBatch, DeadLetter, Error, ErrorKind, Held, HeldReason, Item, Offset, Result, SchemaChange,
    SnapshotMark, Stage, TableName, TableUid, TableVersion, TxPosition,
};
use tidegate_transform_host::Chain;
use tokio::sync::{OwnedSemaphorePermit, mpsc};

use super::dead_letter::{Refused, letters, rest};
use super::delivery::{Delivery, Out};
use super::gate::Origin;
use super::reader::Granted;
use super::report::Board;
use super::split::split;

/// The chain from a position on.
pub(super) struct Era {
    pub(super) from: TxPosition,
    pub(super) chain: Chain,
    /// `__module` of the chain.
    module: Arc<str>,
}

impl Era {
    pub(super) fn new(from: TxPosition, chain: Chain) -> Self {
        let modules: Vec<&str> = chain.modules().map(AsRef::as_ref).collect();
        let module = modules.join(",").into();
        Self { from, chain, module }
    }
}

pub(super) struct Transformer {
    /// Ascending; the first one starts before everything.
    pub(super) eras: Vec<Era>,
    pub(super) board: Arc<Board>,
    /// Every known source version's change, by table and version.
    pub(super) changes: HashMap<(TableUid, u64), Arc<SchemaChange>>,
    /// Tables that the chain cannot go on with.
    pub(super) held: BTreeMap<TableUid, (Held, Arc<TableName>)>,
    /// Output by era, table and version.
    pub(super) plans: HashMap<(usize, TableUid, u64), Planned>,
    /// Where the last delivery ended.
    pub(super) end: Arc<Offset>,
    pub(super) seq: u64,
}

/// What the chain makes of a table version.
#[derive(Debug, Clone)]
pub(super) enum Planned {
    Output(Arc<TableVersion>),
    Drop,
    Held,
}

impl Transformer {
    /// Runs on a thread of its own until the reader ends.
    ///
    /// # Errors
    /// What stops the pipeline; a bad event or table does not.
    pub(super) fn run(
        mut self,
        mut segments: mpsc::Receiver<Granted>,
        lanes: &[mpsc::Sender<Arc<Delivery>>],
    ) -> Result<()> {
        while let Some(Granted { segment, permit }) = segments.blocking_recv() {
            let permit = Arc::new(permit);
            let started = Instant::now();
            let commit_time_us = segment.commit_time_us;
            for part in split(segment, &self.end, self.eras[1..].iter().map(|era| era.from))? {
                let delivery = Arc::new(self.deliver(part.items, part.end, commit_time_us, &permit)?);
                self.board.metrics().processing_latency("transform", started.elapsed());
                for lane in lanes {
                    if lane.blocking_send(delivery.clone()).is_err() {
                        return Ok(()); // the lane has ended and says why
                    }
                }
            }
        }
        Ok(())
    }

    fn deliver(
        &mut self,
        items: Vec<Item>,
        end: Arc<Offset>,
        commit_time_us: Option<i64>,
        permit: &Arc<OwnedSemaphorePermit>,
    ) -> Result<Delivery> {
        let mut out = Vec::with_capacity(items.len());
        for item in items {
            match item {
                Item::Batch(batch) => self.batch(batch, &mut out)?,
                Item::SchemaChange(change) => self.schema_change(&change, &mut out)?,
                Item::Snapshot(mark) => {
                    self.snapshot(&mark);
                    out.push(Out::Snapshot(mark));
                }
                Item::Parked(parked) => self.board.parked(&parked.name, &parked.message),
                Item::DeadLetter(letter) => out.push(Out::DeadLetter(letter)),
            }
        }
        self.seq += 1;
        self.end = self.with_held(end);
        Ok(Delivery {
            seq: self.seq,
            items: out,
            end: self.end.clone(),
            commit_time_us,
            _permit: permit.clone(),
        })
    }

    /// The offset with the tables that the chain holds.
    fn with_held(&self, end: Arc<Offset>) -> Arc<Offset> {
        if self.held.is_empty() {
            return end;
        }
        let mut end = Arc::unwrap_or_clone(end);
        for (uid, (held, name)) in &self.held {
            end.held.entry(*uid).or_insert_with(|| held.clone());
            end.tables.insert(*uid, name.clone());
        }
        Arc::new(end)
    }

    fn batch(&mut self, batch: ChangeBatch, out: &mut Vec<Out>) -> Result<()> {
        if batch.is_empty() || self.held.contains_key(&batch.table.uid) {
            return Ok(());
        }
        let era = self.era(batch.transaction(0).position);
        let at = batch.transaction(0).position;
        match self.plan(era, &batch.table.clone(), at)? {
            Planned::Held | Planned::Drop => return Ok(()),
            Planned::Output(_) => {}
        }
        let origin = self.origin(era, &batch.table)?;
        let mut dead: Vec<DeadLetter> = Vec::new();
        let by_source: Vec<Refused> = (batch.refused.iter())
            .map(|refusal| Refused { refusal: refusal.clone(), stage: Stage::Source, module: "".into() })
            .collect();
        let batch = if by_source.is_empty() {
            batch
        } else {
            dead.extend(letters(&batch, by_source.clone())?);
            match rest(&batch, &by_source)? {
                Some(rest) => rest,
                None => {
                    out.extend(dead.into_iter().map(|letter| Out::DeadLetter(Box::new(letter))));
                    return Ok(());
                }
            }
        };
        let (name, uid) = (batch.table.name.clone(), batch.table.uid);
        // Refusals name events of the chain's input; keeping it is a handful of reference counts.
        let input = batch.clone();
        let output = self.eras[era].chain.apply(batch)?;
        if !output.refused.is_empty() {
            let refused = (output.refused.into_iter())
                .map(|r| Refused { refusal: r.refusal, stage: r.stage, module: r.module })
                .collect();
            dead.extend(letters(&input, refused)?);
        }
        dead.sort_by_key(DeadLetter::position);
        out.extend(dead.into_iter().map(|letter| Out::DeadLetter(Box::new(letter))));
        if let Some(batch) = output.batch.filter(|batch| !batch.is_empty()) {
            out.push(Out::Rows { batch, origin });
        }
        if let Some(park) = output.park {
            let last = input.len() - 1;
            let from = input.transaction((park.from as usize).min(last)).position;
            self.park(uid, &Arc::new(name), from, &park.message);
        }
        Ok(())
    }

    fn schema_change(&mut self, change: &Arc<SchemaChange>, out: &mut Vec<Out>) -> Result<()> {
        let table = &change.after;
        self.changes.insert((table.uid, table.version), change.clone());
        self.board.version(table);
        let era = self.era(change.position);
        if let Planned::Output(output) = self.plan(era, table, change.position)? {
            out.push(Out::Schema { origin: self.origin(era, table)?, output });
        }
        Ok(())
    }

    fn snapshot(&mut self, mark: &SnapshotMark) {
        if let SnapshotMark::Begin { table, .. } = mark {
            // A new snapshot is the way out of a held table; it is planned again.
            self.held.remove(table);
            self.plans.retain(|(_, uid, _), planned| uid != table || !matches!(planned, Planned::Held));
        }
        let changes = &self.changes;
        self.board.snapshot(mark, |uid| {
            changes.iter().find(|((table, _), _)| *table == uid).map(|(_, change)| change.after.name.clone())
        });
    }

    fn era(&self, position: TxPosition) -> usize {
        self.eras.partition_point(|era| era.from <= position).saturating_sub(1)
    }

    fn plan(&mut self, era: usize, table: &Arc<TableVersion>, at: TxPosition) -> Result<Planned> {
        let key = (era, table.uid, table.version);
        if let Some(planned) = self.plans.get(&key) {
            return Ok(planned.clone());
        }
        let planned = match self.eras[era].chain.plan(table) {
            Ok(Plan::Pass) => Planned::Output(table.clone()),
            Ok(Plan::Output(output)) => Planned::Output(output),
            Ok(Plan::Drop) => Planned::Drop,
            Err(error) if error.kind() == ErrorKind::Schema => {
                self.park(table.uid, &Arc::new(table.name.clone()), at, &error.to_string());
                Planned::Held
            }
            Err(error) => return Err(error),
        };
        self.plans.insert(key, planned.clone());
        Ok(planned)
    }

    fn park(&mut self, uid: TableUid, name: &Arc<TableName>, at: TxPosition, reason: &str) {
        let message = format!("{reason}; mend the transform, then run `tidegate snapshot {name}`");
        self.board.parked(name, &message);
        self.held.insert(uid, (Held { from: at.log, reason: HeldReason::Parked, message }, name.clone()));
    }

    /// Why rows of this version come out as they do.
    fn origin(&self, era: usize, table: &TableVersion) -> Result<Origin> {
        let change = self.changes.get(&(table.uid, table.version)).cloned().ok_or_else(|| {
            Error::new(ErrorKind::Internal, "rows came before their schema change")
                .with("table", &table.name)
                .with("version", table.version)
        })?;
        let Era { from, module, .. } = &self.eras[era];
        Ok(Origin { change, module: module.clone(), era: *from })
    }
}
