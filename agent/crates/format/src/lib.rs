//! Wire forms of everything that outlives a process, and of rows in a lake.
//!
//! Inner types have no wire form: here stand their twins with explicit
//! conversion both ways, each with a version and a golden file under
//! `testdata/`. Start with [`record`], which every record shares; the rows of a
//! lake begin at [`layout`].

mod data_type;
mod dead_letter;
mod log_entry;
mod offset;
mod schema;

pub mod json;
pub mod lake;
pub mod layout;
pub mod name;
pub mod record;
pub mod text;

#[cfg(test)]
mod tests;

pub use data_type::DataTypeRecord;
pub use dead_letter::{DeadLetterRecord, TEXT_CELLS};
pub use log_entry::{
    EdgeRecord, EntryKind, FileRecord, LogEntry, LogSnapshot, PositionRecord, SnapshotMarkRecord,
    WriterChangeRecord, WriterMarkRecord, WriterRecord, writer_id,
};
pub use offset::{
    HeldReasonRecord, HeldRecord, LineageRecord, OffsetRecord, OpenTransactionRecord, ScannedRecord,
    TableNameRecord, TableSnapshotRecord, TxPositionRecord, WitnessRecord,
};
pub use schema::{
    ColumnOpRecord, ColumnRecord, ExistingRowsRecord, SchemaChangeKindRecord, SchemaChangeRecord,
    TableVersionRecord, TargetChangeRecord, TargetColumnRecord, TargetVersionRecord,
};
