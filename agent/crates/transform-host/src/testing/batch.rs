//! A small table and its changes.

use std::sync::Arc;

use tidegate_model::{
    BatchBuilder, Cell, ChangeBatch, Column, ColumnBuilder, DataType, Image, LogPosition, Operation,
    TableName, TableUid, TableVersion, Transaction, TxPosition,
};

/// `id`, `number`, `text`.
pub(crate) type Row = (i64, Option<i64>, Option<&'static str>);

/// One event.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Change<T = Row> {
    Insert(T),
    Update(T, T),
    /// Without its before image.
    UpdateAfter(T),
    Delete(T),
    Snapshot(T),
}

/// `shop.items`: key `id`, then `number` and `text`, both nullable.
pub(crate) fn table() -> Arc<TableVersion> {
    let column = |id, name: &str, data_type, nullable| Column {
        id,
        name: name.into(),
        data_type,
        nullable,
        source_type: String::new(),
        initial_default: None,
    };
    let text = DataType::Text { length: 40, charset: "latin1".into() };
    let columns = vec![
        column(1, "id", DataType::Integer { bits: 64, unsigned: false }, false),
        column(2, "number", DataType::Integer { bits: 64, unsigned: false }, true),
        column(3, "text", text, true),
    ];
    Arc::new(TableVersion::new(TableUid(1), TableName::new("shop", "items"), 1, columns, vec![0]))
}

/// A batch of [`table`].
pub(crate) fn batch(changes: &[Change]) -> ChangeBatch {
    let mut builder = BatchBuilder::new(table(), 1);
    builder.transaction(Transaction {
        position: TxPosition { epoch: 1, log: LogPosition { file_no: 1, offset: 4 } },
        gtid: Some("0-1-7".parse().expect("a GTID")),
        commit_time_us: 1_700_000_000_000_000,
    });
    for (idx, change) in changes.iter().enumerate() {
        let event = |operation| (operation, idx as i64, idx as u64);
        match *change {
            Change::Insert(after) => push(&mut builder, event(Operation::Insert), None, Some(after)),
            Change::Update(before, after) => {
                push(&mut builder, event(Operation::Update), Some(before), Some(after));
            }
            Change::UpdateAfter(after) => push(&mut builder, event(Operation::Update), None, Some(after)),
            Change::Delete(before) => push(&mut builder, event(Operation::Delete), Some(before), None),
            Change::Snapshot(after) => push(&mut builder, event(Operation::Snapshot), None, Some(after)),
        }
    }
    builder.finish().expect("a batch has an event")
}

fn push(builder: &mut BatchBuilder, event: (Operation, i64, u64), before: Option<Row>, after: Option<Row>) {
    builder.event(event.0, event.1, event.2);
    for (image, row) in [(Image::Before, before), (Image::After, after)] {
        let Some((id, number, text)) = row else { continue };
        let [ColumnBuilder::Int64(ids), ColumnBuilder::Int64(numbers), ColumnBuilder::Text(texts)] =
            builder.columns()
        else {
            unreachable!("the table's own columns");
        };
        ids.append_value(id);
        numbers.append_option(number);
        texts.append_option(text);
        builder.row(image);
    }
}

/// The events of a batch with their cells in words, to be compared.
pub(crate) fn changes(batch: &ChangeBatch) -> Vec<Change<String>> {
    let row = |row: usize| {
        let cells = (0..batch.table.columns.len()).map(|column| match batch.cell(row, column) {
            Cell::Absent => "absent".to_owned(),
            Cell::Null => "null".to_owned(),
            Cell::Integer(value) => value.to_string(),
            Cell::Text(value) => value.to_owned(),
            other => format!("{other:?}"),
        });
        cells.collect::<Vec<_>>().join(" ")
    };
    (0..batch.len())
        .map(|event| {
            let rows = batch.rows_of(event);
            match (batch.events.operation[event], rows.len()) {
                (Operation::Insert, _) => Change::Insert(row(rows.start)),
                (Operation::Update, 2) => Change::Update(row(rows.start), row(rows.start + 1)),
                (Operation::Update, _) => Change::UpdateAfter(row(rows.start)),
                (Operation::Delete, _) => Change::Delete(row(rows.start)),
                (Operation::Snapshot, _) => Change::Snapshot(row(rows.start)),
            }
        })
        .collect()
}
