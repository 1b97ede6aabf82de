//! A small table, its changes, and a lake to write them to.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;
use tidegate_format::FileRecord;
use tidegate_model::sink::{Commit, Part, Sink};
use tidegate_model::{
    BatchBuilder, ChangeBatch, Column, ColumnBuilder, DataType, ExistingRows, Gtid, Image, Lineage,
    LogPosition, Offset, Operation, Scanned, TableName, TableUid, TableVersion, TargetChange, TargetColumn,
    TargetVersion, Transaction, TxPosition,
};

use crate::{Format, Lake, ObjectSink, ObjectSinkConfig};

/// A lake in a temporary folder, with a staging folder for each process.
pub(crate) struct Scratch {
    folder: TempDir,
}

impl Scratch {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("lake")
    }

    pub(crate) fn config(&self, format: Format, sink: &str) -> ObjectSinkConfig {
        ObjectSinkConfig::new(
            self.root(),
            format,
            self.folder.path().join("staging").join(sink),
            "shop",
            sink,
        )
    }

    /// A sink of the writer `shop/lake`.
    pub(crate) fn sink(&self) -> ObjectSink {
        ObjectSink::new(self.config(Format::JsonLines, "lake"))
    }

    pub(crate) async fn lake(&self) -> Lake {
        Lake::open(&self.root()).await.unwrap()
    }

    pub(crate) async fn files(&self) -> Vec<FileRecord> {
        self.lake().await.files(&orders()).await.unwrap()
    }

    /// What a plain glob finds, as keys.
    pub(crate) fn globbed(&self) -> BTreeSet<String> {
        let mut keys = BTreeSet::new();
        walk(&self.root(), &self.root(), &mut keys);
        keys
    }

    /// Ids of all committed rows, in order, read from JSON lines.
    pub(crate) async fn ids(&self) -> Vec<i64> {
        let mut ids = Vec::new();
        for file in self.files().await {
            let text = std::fs::read_to_string(self.root().join(&file.key)).unwrap();
            assert_eq!(text.lines().count() as u64, file.rows);
            assert_eq!(text.len() as u64, file.bytes);
            ids.extend(text.lines().map(|line| {
                let row: serde_json::Value = serde_json::from_str(line).unwrap();
                row["id"].as_i64().unwrap()
            }));
        }
        ids
    }
}

fn walk(root: &Path, folder: &Path, keys: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.ends_with("_tidegate") {
            continue;
        }
        if path.is_dir() {
            walk(root, &path, keys);
        } else {
            keys.insert(path.strip_prefix(root).unwrap().to_str().unwrap().to_owned());
        }
    }
}

pub(crate) fn orders() -> TableName {
    TableName::new("shop", "orders")
}

fn columns() -> Vec<(&'static str, DataType)> {
    vec![
        ("id", DataType::Integer { bits: 32, unsigned: false }),
        ("note", DataType::text()),
        ("total", DataType::Integer { bits: 64, unsigned: true }),
    ]
}

fn table() -> Arc<TableVersion> {
    let columns = columns().into_iter().zip(1..).map(|((name, data_type), id)| Column {
        id,
        name: name.into(),
        data_type,
        nullable: true,
        source_type: String::new(),
        initial_default: None,
    });
    Arc::new(TableVersion::new(TableUid(1), orders(), 1, columns.collect(), vec![0]))
}

pub(crate) fn target(version: u64) -> Arc<TargetVersion> {
    let columns = columns().into_iter().zip(1..).map(|((name, data_type), id)| TargetColumn {
        id,
        name: name.into(),
        data_type,
        nullable: true,
        origin: id,
        initial_default: None,
    });
    Arc::new(TargetVersion {
        uid: TableUid(1),
        name: orders(),
        version,
        source_version: version,
        columns: columns.collect(),
        key: vec![0],
    })
}

pub(crate) fn change(version: u64) -> TargetChange {
    TargetChange {
        change_id: format!("orders-{version}"),
        base: version.checked_sub(1).filter(|base| *base > 0),
        after: (*target(version)).clone(),
        existing_rows: ExistingRows::None,
        position: position(4),
    }
}

pub(crate) fn position(offset: u64) -> TxPosition {
    TxPosition { epoch: 1, log: LogPosition { file_no: 1, offset } }
}

/// One event of the sample table: the ids of its images.
#[derive(Clone, Copy)]
pub(crate) enum Event {
    Insert(i32),
    Update(i32, i32),
    Delete(i32),
}

/// A transaction at this offset.
pub(crate) fn batch(offset: u64, events: &[Event]) -> ChangeBatch {
    let mut builder = BatchBuilder::new(table(), 1);
    let gtid = Gtid { domain: 0, server: 1, sequence: offset };
    builder.transaction(Transaction { position: position(offset), gtid: Some(gtid), commit_time_us: 1 });
    for (idx, event) in (0..).zip(events) {
        let (operation, images) = match *event {
            Event::Insert(id) => (Operation::Insert, vec![(Image::After, id)]),
            Event::Update(before, after) => {
                (Operation::Update, vec![(Image::Before, before), (Image::After, after)])
            }
            Event::Delete(id) => (Operation::Delete, vec![(Image::Before, id)]),
        };
        builder.event(operation, idx, idx as u64);
        for (image, id) in images {
            let [ColumnBuilder::Int32(ids), ColumnBuilder::Text(notes), ColumnBuilder::UInt64(totals)] =
                builder.columns()
            else {
                panic!("the sample's columns")
            };
            ids.append_value(id);
            notes.append_value(format!("note {id}"));
            totals.append_value(u64::MAX - id as u64);
            builder.row(image);
        }
    }
    builder.finish().unwrap()
}

pub(crate) fn insert(id: i32) -> ChangeBatch {
    batch(id as u64 * 100, &[Event::Insert(id)])
}

/// The offset behind the transaction at this offset.
pub(crate) fn offset(offset: u64) -> Arc<Offset> {
    Arc::new(Offset {
        epoch: 1,
        lineage: Lineage::MariaDb { domain: 0, server_id: 1, log_base: "binlog".into(), witness: None },
        scanned: Scanned {
            gtid: format!("0-1-{offset}").parse().unwrap(),
            open: None,
            log: LogPosition { file_no: 1, offset: offset + 1 },
        },
        snapshot: Default::default(),
        held: Default::default(),
        tables: Default::default(),
    })
}

pub(crate) fn commit_to(at: u64) -> Commit {
    Commit { offset: offset(at), dead_letters: 0 }
}

pub(crate) async fn write(sink: &mut ObjectSink, batch: &ChangeBatch) -> tidegate_model::Result<()> {
    sink.write(Part::Rows { target: &target(1), batch }).await
}

/// A sink that has recovered and has the sample's target.
pub(crate) async fn ready(mut sink: ObjectSink) -> ObjectSink {
    sink.recover().await.unwrap();
    sink.alter(&change(1)).await.unwrap();
    sink
}
