//! What the pipeline's own tests build on: small batches and a sink in memory.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use tidegate_model::sink::{Commit, Outcome, Part, Recovered, Sink};
use tidegate_model::{
    BatchBuilder, Cell, ChangeBatch, Column, ColumnBuilder, DataType, ExistingRows, GtidSet, Image, Lineage,
    LogPosition, Offset, Operation, Result, Scanned, SchemaChange, SchemaChangeKind, TableName, TableUid,
    TableVersion, TargetChange, TargetVersion, Transaction, TxPosition,
};

/// `shop.orders(id int primary key)`, with `extra` further columns.
pub(super) fn table(version: u64, extra: usize) -> Arc<TableVersion> {
    let column = |id: u32| Column {
        id,
        name: if id == 1 { "id".into() } else { format!("c{id}") },
        data_type: DataType::Integer { bits: 32, unsigned: false },
        nullable: id != 1,
        source_type: "int(11)".into(),
        initial_default: None,
    };
    let columns = (1..=1 + extra as u32).map(column).collect();
    Arc::new(TableVersion::new(TableUid(1), TableName::new("shop", "orders"), version, columns, vec![0]))
}

pub(super) fn baseline(table: &Arc<TableVersion>) -> Arc<SchemaChange> {
    Arc::new(SchemaChange {
        kind: SchemaChangeKind::Baseline,
        before: None,
        after: table.clone(),
        ops: Vec::new(),
        existing_rows: ExistingRows::None,
        position: at(4),
        ddl: Vec::new(),
    })
}

pub(super) fn at(offset: u64) -> TxPosition {
    TxPosition { epoch: 1, log: LogPosition { file_no: 1, offset } }
}

/// Inserts of these ids, each with its transaction: the one at `100 × n` has
/// GTID 0-1-n. Equal numbers share a transaction.
pub(super) fn inserts(table: &Arc<TableVersion>, rows: &[(u64, i32)]) -> ChangeBatch {
    let mut builder = BatchBuilder::new(table.clone(), 1);
    let (mut current, mut idx) = (0, 0);
    for &(transaction, id) in rows {
        if transaction != current {
            current = transaction;
            idx = 0;
            builder.transaction(Transaction {
                position: at(100 * transaction),
                gtid: Some(format!("0-1-{transaction}").parse().unwrap()),
                commit_time_us: 1,
            });
        }
        builder.event(Operation::Insert, idx, idx as u64);
        idx += 1;
        for (n, column) in builder.columns().iter_mut().enumerate() {
            let ColumnBuilder::Int32(column) = column else { unreachable!("all columns are int") };
            column.append_value(if n == 0 { id } else { n as i32 });
        }
        builder.row(Image::After);
    }
    builder.finish().unwrap()
}

/// The ids in a batch.
pub(super) fn ids(batch: &ChangeBatch) -> Vec<i64> {
    (0..batch.rows.data.num_rows())
        .map(|row| match batch.cell(row, 0) {
            Cell::Integer(id) => id,
            other => unreachable!("{other:?}"),
        })
        .collect()
}

/// Everything before transaction `n` is accounted.
pub(super) fn offset_before(transaction: u64) -> Offset {
    let gtid = if transaction > 1 { format!("0-1-{}", transaction - 1) } else { String::new() };
    Offset {
        epoch: 1,
        lineage: Lineage::MariaDb { domain: 0, server_id: 1, log_base: "binlog".into(), witness: None },
        scanned: Scanned {
            gtid: gtid.parse::<GtidSet>().unwrap(),
            open: None,
            log: LogPosition { file_no: 1, offset: 100 * transaction },
        },
        snapshot: BTreeMap::new(),
        held: BTreeMap::new(),
        tables: BTreeMap::new(),
    }
}

/// What a [`MemorySink`] holds durably.
#[derive(Debug, Default)]
pub(super) struct Durable {
    pub(super) rows: Vec<(u64, i64)>,
    pub(super) letters: u64,
    pub(super) record: Option<Commit>,
    pub(super) targets: BTreeMap<TableName, TargetVersion>,
}

/// A sink whose outcome of the next commits can be scripted.
#[derive(Debug, Default, Clone)]
pub(super) struct MemorySink {
    pub(super) durable: Arc<Mutex<Durable>>,
    pub(super) script: Arc<Mutex<Vec<Outcome>>>,
    open: Vec<(u64, i64)>,
    open_letters: u64,
}

#[async_trait]
impl Sink for MemorySink {
    async fn recover(&mut self) -> Result<Recovered> {
        let durable = self.durable.lock().unwrap();
        Ok(Recovered {
            offset: durable.record.as_ref().map(|r| r.offset.as_ref().clone()),
            dead_letters: durable.record.as_ref().map_or(0, |r| r.dead_letters),
            targets: durable.targets.clone(),
            diverging: Default::default(),
        })
    }

    async fn write(&mut self, part: Part<'_>) -> Result<()> {
        match part {
            Part::Rows { target, batch } => {
                self.open.extend(ids(batch).into_iter().map(|id| (target.version, id)))
            }
            Part::DeadLetter(_) => self.open_letters += 1,
            Part::Snapshot(_) => {}
        }
        Ok(())
    }

    async fn seal(&mut self, _targets: &[TableName]) -> Result<()> {
        Ok(())
    }

    async fn commit(&mut self, commit: &Commit) -> Result<Outcome> {
        let mut script = self.script.lock().unwrap();
        if !script.is_empty() {
            return Ok(script.remove(0));
        }
        let mut durable = self.durable.lock().unwrap();
        durable.rows.append(&mut self.open);
        durable.letters += std::mem::take(&mut self.open_letters);
        durable.record = Some(commit.clone());
        Ok(Outcome::Committed)
    }

    async fn abort(&mut self) -> Result<()> {
        self.open.clear();
        Ok(())
    }

    async fn alter(&mut self, change: &TargetChange) -> Result<()> {
        assert!(self.open.is_empty(), "altered with rows of the old schema uncommitted");
        self.durable.lock().unwrap().targets.insert(change.after.name.clone(), change.after.clone());
        Ok(())
    }

    fn uncommitted_bytes(&self) -> u64 {
        self.open.len() as u64
    }
}
