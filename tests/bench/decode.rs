//! Raw events into Arrow batches, as the source does it, without segments and offsets.

use std::hint::black_box;
use std::sync::Arc;

use mysql_async::binlog::events::Event as DriverEvent;
use tidegate_model::{BatchBuilder, Column, TableUid, TableVersion, Transaction, TxPosition};
use tidegate_source_mysql::binlog::{Decoded, Decoder, Event, RawEvent, RowsEvent, TableMap, TableMapEvent};
use tidegate_source_mysql::codec::TableCodec;

/// Log bytes of a batch: the size of the source's segments while a log is caught up with.
const BATCH_BYTES: usize = 4 << 20;

/// Decodes events of one table after the other and throws the batches away.
#[derive(Default)]
pub(crate) struct ToArrow {
    decoder: Decoder,
    transaction: Option<Transaction>,
    /// Number of the next change in its transaction.
    next: u64,
    table: Option<Table>,
    changes: u64,
}

/// The table whose rows come.
struct Table {
    map: TableMap,
    codec: TableCodec,
    version: Arc<TableVersion>,
    batch: Option<Batch>,
}

/// A batch that is being built.
struct Batch {
    builder: BatchBuilder,
    log_bytes: usize,
    /// The builder knows the current transaction.
    in_transaction: bool,
}

impl ToArrow {
    /// Takes the next event of the log.
    pub(crate) fn take(&mut self, event: &DriverEvent) {
        let Decoded { start, timestamp, event, .. } =
            self.decoder.decode(RawEvent::of(event)).expect("the rig's log is sound");
        match event {
            Event::Gtid(gtid) => {
                self.transaction = Some(Transaction {
                    position: TxPosition { epoch: 1, log: start },
                    gtid: Some(gtid.gtid),
                    commit_time_us: i64::from(timestamp) * 1_000_000,
                });
                self.next = 0;
                if let Some(batch) = self.table.as_mut().and_then(|table| table.batch.as_mut()) {
                    batch.in_transaction = false;
                }
            }
            Event::TableMap(map) if !self.table.as_ref().is_some_and(|table| table.map.matches(&map)) => {
                self.flush();
                self.table = Some(Table::new(&map));
            }
            Event::Rows(rows) => self.rows(&rows),
            _ => {}
        }
    }

    /// Ends the last batch and tells how many changes all of them had.
    pub(crate) fn finish(mut self) -> u64 {
        self.flush();
        self.changes
    }

    fn rows(&mut self, rows: &RowsEvent<'_>) {
        let (table, transaction) =
            self.table.as_mut().zip(self.transaction.as_ref()).expect("they lead the rows");
        let batch = table.batch.get_or_insert_with(|| Batch {
            builder: BatchBuilder::new(table.version.clone(), 1),
            log_bytes: 0,
            in_transaction: false,
        });
        if !batch.in_transaction {
            batch.builder.transaction(transaction.clone());
            batch.in_transaction = true;
        }
        let next = &mut self.next;
        let numbers = || {
            let number = *next;
            *next += 1;
            Some((number as i64, number))
        };
        table.codec.decode_rows(rows, &mut batch.builder, numbers).expect("the rig's rows are sound");
        batch.log_bytes += rows.images.len();
        if batch.log_bytes >= BATCH_BYTES {
            self.flush();
        }
    }

    fn flush(&mut self) {
        let batch = self.table.as_mut().and_then(|table| table.batch.take());
        if let Some(batch) = batch.and_then(|batch| batch.builder.finish()) {
            self.changes += batch.len() as u64;
            black_box(batch);
        }
    }
}

impl Table {
    fn new(event: &TableMapEvent<'_>) -> Self {
        let map = TableMap::parse(event).expect("the rig's log is sound");
        let shapes = map.columns(&[]).expect("the rig's server logs full metadata");
        let columns = shapes.into_iter().zip(1..).map(|(shape, id)| Column {
            id,
            name: shape.name,
            data_type: shape.data_type,
            nullable: shape.nullable,
            source_type: shape.source_type,
            initial_default: None,
        });
        let version = TableVersion::new(TableUid(1), map.name.clone(), 1, columns.collect(), vec![0]);
        let codec = TableCodec::new(&version, &map).expect("all of the load's types are exact");
        Self { map, codec, version: Arc::new(version), batch: None }
    }
}
