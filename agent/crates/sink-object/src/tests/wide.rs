//! A table of many types through two versions, for the queries of current rows.

use std::sync::Arc;

use tidegate_model::{
    BatchBuilder, ChangeBatch, Column, ColumnBuilder, DataType, ExistingRows, Gtid, Image, Operation,
    TableName, TableUid, TableVersion, TargetChange, TargetColumn, TargetVersion, Transaction,
};

use super::sample::position;

pub(crate) fn wide() -> TableName {
    TableName::new("shop", "wide rows")
}

/// Id, name, type and default of each column.
fn columns(version: u64) -> Vec<(u32, &'static str, DataType, Option<&'static str>)> {
    let int = |bits| DataType::Integer { bits, unsigned: false };
    let mut columns = vec![
        (1, "id", DataType::Integer { bits: 64, unsigned: true }, None),
        (2, if version == 1 { "na\"me" } else { "ti'tle" }, DataType::text(), None),
        (3, "price", DataType::Decimal { precision: 12, scale: 2 }, None),
        (4, "raw", DataType::Binary { length: 4, fixed: false }, None),
        (5, "day", DataType::Date, None),
        (6, "local", DataType::DateTime { fraction: 6 }, None),
        (7, "instant", DataType::Timestamp { fraction: 6 }, None),
        (8, "span", DataType::Time { fraction: 6 }, None),
        (9, "single", DataType::Float32, None),
        (10, "double", DataType::Float64, None),
        (11, "huge", DataType::Decimal { precision: 65, scale: 30 }, None),
        (12, "small", int(if version == 1 { 8 } else { 32 }), None),
    ];
    columns.extend(match version {
        1 => vec![(13, "gone", int(32), None)],
        _ => vec![
            (14, "qty", int(32), Some("7")),
            (15, "since", DataType::Timestamp { fraction: 0 }, Some("2026-01-02 03:04:05")),
            (16, "tag", DataType::Binary { length: 4, fixed: false }, Some("ab")),
            (17, "pause", DataType::Time { fraction: 0 }, Some("-00:00:01.5")),
            (18, "rate", DataType::Decimal { precision: 5, scale: 3 }, Some("1.250")),
            (19, "gone", DataType::text(), None),
        ],
    });
    columns
}

pub(crate) fn target(version: u64, key: bool) -> Arc<TargetVersion> {
    let column = |(id, name, data_type, default): (u32, &str, DataType, Option<&str>)| TargetColumn {
        id,
        name: name.into(),
        data_type,
        nullable: true,
        origin: id,
        initial_default: default.map(str::to_owned),
    };
    Arc::new(TargetVersion {
        uid: TableUid(9),
        name: wide(),
        version,
        source_version: version,
        columns: columns(version).into_iter().map(column).collect(),
        key: if key { vec![0] } else { vec![] },
    })
}

pub(crate) fn change(version: u64, key: bool, existing_rows: ExistingRows) -> TargetChange {
    TargetChange {
        change_id: format!("wide-{version}"),
        base: version.checked_sub(1).filter(|base| *base > 0),
        after: (*target(version, key)).clone(),
        existing_rows,
        position: position(500 * version),
    }
}

/// An event of ids and a number that all its other cells derive from.
pub(crate) type Event = (Operation, &'static [u64], i64);

pub(crate) fn batch(version: u64, at: u64, generation: u64, events: &[Event]) -> ChangeBatch {
    let column = |(id, name, data_type, _): (u32, &str, DataType, Option<&str>)| Column {
        id,
        name: name.into(),
        data_type,
        nullable: true,
        source_type: String::new(),
        initial_default: None,
    };
    let columns = columns(version).into_iter().map(column).collect();
    let table = Arc::new(TableVersion::new(TableUid(9), wide(), version, columns, vec![0]));
    let mut builder = BatchBuilder::new(table, generation);
    let gtid = Gtid { domain: 0, server: 1, sequence: at };
    builder.transaction(Transaction { position: position(at), gtid: Some(gtid), commit_time_us: 5 });
    for (idx, (operation, ids, seed)) in (0..).zip(events) {
        let idx = if *operation == Operation::Snapshot { -1 } else { idx };
        builder.event(*operation, idx, 0);
        for (n, id) in ids.iter().enumerate() {
            cells(builder.columns(), *id, *seed);
            let before = *operation == Operation::Delete || (*operation == Operation::Update && n == 0);
            builder.row(if before { Image::Before } else { Image::After });
        }
    }
    builder.finish().unwrap()
}

fn cells(columns: &mut [ColumnBuilder], id: u64, seed: i64) {
    for column in columns {
        match column {
            ColumnBuilder::UInt64(b) => b.append_value(id),
            other if seed < 0 => other.append_null(),
            ColumnBuilder::Int16(b) => b.append_value(-(seed as i16)),
            ColumnBuilder::Int32(b) => b.append_value(i32::MIN + seed as i32),
            ColumnBuilder::Int64(b) => b.append_value(-3_020_399_000_000 - seed),
            ColumnBuilder::Float32(b) => b.append_value(0.1 + seed as f32),
            ColumnBuilder::Float64(b) => b.append_value(0.1 + seed as f64),
            ColumnBuilder::Decimal(b) => b.append_value(-12_345 - i128::from(seed)),
            ColumnBuilder::Text(b) => {
                b.append_value(format!("-{seed}.000000000000000000000000000001 é'\"\\\n"))
            }
            ColumnBuilder::Binary(b) => b.append_value([0, 255, seed as u8]),
            ColumnBuilder::Date(b) => b.append_value(-100_000 + seed as i32),
            ColumnBuilder::Timestamp(b) => b.append_value(-1 - seed),
            ColumnBuilder::Boolean(_) => panic!("no such column"),
        }
    }
}
