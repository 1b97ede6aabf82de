//! Facts about a change that the host offers as if they were columns.

use std::sync::Arc;

use arrow::array::{ArrayRef, StringBuilder, TimestampMicrosecondArray};
use tidegate_model::{ChangeBatch, DataType, Operation};

/// One of them.
#[derive(Debug)]
pub(crate) struct SystemColumn {
    pub(crate) name: &'static str,
    pub(crate) data_type: fn() -> DataType,
    pub(crate) nullable: bool,
}

/// In the order in which they follow the table's own columns. A snapshot row
/// belongs to no transaction.
pub(crate) const SYSTEM_COLUMNS: [SystemColumn; 4] = [
    SystemColumn { name: "$operation", data_type: DataType::text, nullable: false },
    SystemColumn { name: "$commit-time", data_type: || DataType::Timestamp { fraction: 6 }, nullable: false },
    SystemColumn { name: "$position", data_type: DataType::text, nullable: false },
    SystemColumn { name: "$transaction", data_type: DataType::text, nullable: true },
];

/// The cells of a system column, one per row of the batch. `$operation` is the
/// contract's word (`insert`, `update`, `delete`, `snapshot`), `$position` the
/// text of `__pos`, `$transaction` that of `__tx`.
///
/// # Panics
/// On an index beyond [`SYSTEM_COLUMNS`].
pub(crate) fn system_array(batch: &ChangeBatch, index: usize) -> ArrayRef {
    let events = || batch.rows.event.iter().map(|event| *event as usize);
    match index {
        0 => texts(batch, events().map(|event| Some(word(batch.events.operation[event])))),
        1 => {
            let times = events().map(|event| batch.transaction(event).commit_time_us);
            Arc::new(TimestampMicrosecondArray::from_iter_values(times).with_timezone("UTC"))
        }
        2 => {
            let positions: Vec<String> = batch.transactions.iter().map(|t| t.position.to_string()).collect();
            texts(batch, events().map(|event| Some(&*positions[batch.events.transaction[event] as usize])))
        }
        3 => {
            let gtids: Vec<Option<String>> =
                batch.transactions.iter().map(|t| t.gtid.as_ref().map(ToString::to_string)).collect();
            texts(batch, events().map(|event| gtids[batch.events.transaction[event] as usize].as_deref()))
        }
        _ => unreachable!("a plan's indices were checked"),
    }
}

fn texts<'a>(batch: &ChangeBatch, cells: impl Iterator<Item = Option<&'a str>>) -> ArrayRef {
    let mut builder = StringBuilder::with_capacity(batch.rows.event.len(), 0);
    cells.for_each(|cell| builder.append_option(cell));
    Arc::new(builder.finish())
}

fn word(operation: Operation) -> &'static str {
    match operation {
        Operation::Insert => "insert",
        Operation::Update => "update",
        Operation::Delete => "delete",
        Operation::Snapshot => "snapshot",
    }
}
