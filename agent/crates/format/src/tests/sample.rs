//! Values with something in every field.

use std::sync::Arc;

use tidegate_model::{
    BatchBuilder, ChangeBatch, Column, ColumnBuilder, ColumnOp, DataType, ExistingRows, Gtid, Held,
    HeldReason, Image, Lineage, LogPosition, Offset, OpenTransaction, Operation, Scanned, SchemaChange,
    SchemaChangeKind, TableName, TableSnapshot, TableUid, TableVersion, TargetChange, TargetColumn,
    TargetVersion, Transaction, TxPosition, Witness,
};

pub(super) fn gtid(sequence: u64) -> Gtid {
    Gtid { domain: 0, server: 5501, sequence }
}

pub(super) fn log(offset: u64) -> LogPosition {
    LogPosition { file_no: 7, offset }
}

pub(super) fn position(offset: u64) -> TxPosition {
    TxPosition { epoch: 2, log: log(offset) }
}

pub(super) fn offset() -> Offset {
    let name = |table: &str| Arc::new(TableName::new("shop", table));
    Offset {
        epoch: 2,
        lineage: Lineage::MariaDb {
            domain: 0,
            server_id: 5501,
            log_base: "binlog".into(),
            witness: Some(Witness { gtid: gtid(41), crc: 0xDEAD_BEEF, log: log(4_294_967_300) }),
        },
        scanned: Scanned {
            gtid: "0-5501-41,3-1-9".parse().unwrap(),
            open: Some(OpenTransaction {
                gtid: gtid(42),
                delivered: [(TableUid(1), 3), (TableUid(2), u64::MAX)].into(),
            }),
            log: log(4_294_968_000),
        },
        snapshot: [
            (
                TableUid(1),
                TableSnapshot {
                    generation: 2,
                    chunks: 9,
                    upper: vec!["'é\\''".into(), "5".into()],
                    done: false,
                },
            ),
            (TableUid(2), TableSnapshot { generation: 1, chunks: 1, upper: vec![], done: true }),
        ]
        .into(),
        held: [
            (
                TableUid(2),
                Held {
                    from: log(99),
                    reason: HeldReason::Parked,
                    message: "the column type is not exact yet".into(),
                },
            ),
            (TableUid(3), Held { from: log(98), reason: HeldReason::Barrier, message: String::new() }),
        ]
        .into(),
        tables: [(TableUid(1), name("orders")), (TableUid(2), name("items")), (TableUid(3), name("a.b"))]
            .into(),
    }
}

/// One column of every type, by name.
pub(super) fn types() -> Vec<(&'static str, DataType)> {
    let labels = || Arc::from(["small".to_owned(), "big, red".to_owned()]);
    vec![
        ("flag", DataType::Boolean),
        ("tiny", DataType::Integer { bits: 8, unsigned: true }),
        ("medium", DataType::Integer { bits: 24, unsigned: false }),
        ("plain", DataType::Integer { bits: 32, unsigned: true }),
        ("id", DataType::Integer { bits: 64, unsigned: true }),
        ("single", DataType::Float32),
        ("double", DataType::Float64),
        ("price", DataType::Decimal { precision: 12, scale: 2 }),
        ("huge", DataType::Decimal { precision: 65, scale: 30 }),
        ("name", DataType::Text { length: 40, charset: "latin1".into() }),
        ("raw", DataType::Binary { length: 4, fixed: true }),
        ("bits", DataType::Bit { length: 9 }),
        ("day", DataType::Date),
        ("span", DataType::Time { fraction: 6 }),
        ("local", DataType::DateTime { fraction: 6 }),
        ("instant", DataType::Timestamp { fraction: 3 }),
        ("year", DataType::Year),
        ("size", DataType::Enum { labels: labels() }),
        ("sizes", DataType::Set { labels: labels() }),
        ("doc", DataType::Json),
        ("uuid", DataType::Uuid),
        ("address", DataType::Other("inet6".into())),
    ]
}

const KEY: usize = 4;

pub(super) fn table(version: u64) -> Arc<TableVersion> {
    let columns = types().into_iter().zip(1..).map(|((name, data_type), id)| Column {
        id,
        name: name.into(),
        source_type: data_type.to_string(),
        data_type,
        nullable: id != 5,
        initial_default: (id == 8).then(|| "1.50".into()),
    });
    let name = TableName::new("shop", "orders");
    Arc::new(TableVersion::new(TableUid(1), name, version, columns.collect(), vec![KEY]))
}

pub(super) fn target() -> TargetVersion {
    let columns = types().into_iter().zip(1..).map(|((name, data_type), id)| TargetColumn {
        id: id + 100,
        name: name.into(),
        data_type,
        nullable: id != 5,
        origin: id,
        initial_default: (id == 8).then(|| "1.50".into()),
    });
    TargetVersion {
        uid: TableUid(1),
        name: TableName::new("shop", "orders"),
        version: 3,
        source_version: 4,
        columns: columns.collect(),
        key: vec![KEY],
    }
}

pub(super) fn schema_change() -> SchemaChange {
    SchemaChange {
        kind: SchemaChangeKind::Alter,
        before: Some(table(3)),
        after: table(4),
        ops: vec![
            ColumnOp::Add { id: 8, name: "price".into() },
            ColumnOp::Drop { id: 23, name: "old".into() },
            ColumnOp::Rename { id: 10, from: "nm".into(), to: "name".into() },
            ColumnOp::Modify { id: 7, name: "double".into(), widening: true },
            ColumnOp::Key,
        ],
        existing_rows: ExistingRows::InitialDefault,
        position: position(500),
        ddl: vec!["ALTER TABLE orders ADD price DECIMAL(12,2) DEFAULT 1.50".into()],
    }
}

pub(super) fn target_change() -> TargetChange {
    TargetChange {
        change_id: "5f2c".into(),
        base: Some(2),
        after: target(),
        existing_rows: ExistingRows::Diverges,
        position: position(500),
    }
}

/// An insert, an update of a value with an absent cell, an update of the key and
/// a delete; extremes in the first row, nulls in the last.
pub(super) fn batch() -> ChangeBatch {
    let mut builder = BatchBuilder::new(table(4), 2);
    let transaction =
        |at, gtid| Transaction { position: position(at), gtid, commit_time_us: 1_764_439_328_000_000 };
    builder.transaction(transaction(600, None));
    builder.event(Operation::Snapshot, -1, 0);
    row(&mut builder, Image::After, Some(u64::MAX), false);
    builder.transaction(transaction(600, Some(gtid(42))));
    builder.event(Operation::Update, 0, 0);
    row(&mut builder, Image::Before, Some(2), false);
    row(&mut builder, Image::After, Some(2), true);
    builder.event(Operation::Update, 1, 1);
    row(&mut builder, Image::Before, Some(2), false);
    row(&mut builder, Image::After, Some(3), false);
    builder.transaction(transaction(700, Some(gtid(43))));
    builder.event(Operation::Delete, 0, 0);
    row(&mut builder, Image::Before, None, false);
    let mut batch = builder.finish().unwrap();
    batch.module = "clean@0123456789ab".into();
    batch
}

/// A row with this key, or of nulls; `name` and `doc` may be absent.
fn row(builder: &mut BatchBuilder, image: Image, key: Option<u64>, absent: bool) {
    for (column, (name, _)) in types().into_iter().enumerate() {
        if absent && ["name", "doc"].contains(&name) {
            builder.absent(column);
            continue;
        }
        let cells = &mut builder.columns()[column];
        let Some(key) = key else {
            match cells {
                ColumnBuilder::UInt64(b) => b.append_value(3),
                other => other.append_null(),
            }
            continue;
        };
        match cells {
            ColumnBuilder::Boolean(b) => b.append_value(true),
            ColumnBuilder::Int16(b) => b.append_value(if name == "year" { 0 } else { 255 }),
            ColumnBuilder::Int32(b) => b.append_value(-8_388_608),
            ColumnBuilder::Int64(b) => {
                b.append_value(if name == "span" { -3_020_399_000_001 } else { 4_294_967_295 })
            }
            ColumnBuilder::UInt64(b) => b.append_value(key),
            ColumnBuilder::Float32(b) => b.append_value(16_777_216.0),
            ColumnBuilder::Float64(b) => b.append_value(if key == 3 { f64::NAN } else { 1e300 }),
            ColumnBuilder::Decimal(b) => b.append_value(-999_999_999_999),
            ColumnBuilder::Text(b) => b.append_value(match name {
                "huge" => "-0.000000000000000000000000000001",
                "name" => "é \"quoted\"\n\\ \u{1}",
                "sizes" => "small,big, red",
                "doc" => "{\"a\": 1.0}",
                _ => "text",
            }),
            ColumnBuilder::Binary(b) => b.append_value(b"\x00\xffAB"),
            ColumnBuilder::Date(b) => b.append_value(-719_528),
            ColumnBuilder::Timestamp(b) => b.append_value(-1),
        }
    }
    builder.row(image);
}
