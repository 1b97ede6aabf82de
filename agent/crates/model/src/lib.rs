//! Tidegate's change model and its three contracts: source, transform, sink.
//!
//! Everything here is plain data and traits. There is no I/O, no async runtime
//! and no serialisation: wire forms are twins in `tidegate-format`, converted
//! explicitly, so that an inner type can change without changing what is on disk.
//!
//! Start with [`Segment`], the unit that flows from the source through the
//! transform chain to the sinks, then [`ChangeBatch`] inside it, then the
//! contracts [`source`], [`transform`] and [`sink`].

mod batch;
mod builder;
mod cell;
mod dead_letter;
mod error;
mod gtid;
mod position;
mod schema;
mod schema_change;
mod segment;
mod types;

pub mod fail;
pub mod sink;
pub mod source;
pub mod transform;

pub use batch::{ChangeBatch, Events, Image, Operation, Rows, Transaction};
pub use builder::{BatchBuilder, ColumnBuilder};
pub use cell::Cell;
pub use dead_letter::{DeadLetter, Refusal, RefusalCode, Stage};
pub use error::{Error, ErrorKind, Result, Retry};
pub use gtid::{Gtid, GtidSet};
pub use position::{
    EventPosition, Held, HeldReason, Lineage, LogPosition, Offset, OpenTransaction, Scanned, TableSnapshot,
    TxPosition, Witness,
};
pub use schema::{Column, TableName, TableUid, TableVersion, TargetColumn, TargetVersion};
pub use schema_change::{ColumnOp, ExistingRows, SchemaChange, SchemaChangeKind, TargetChange};
pub use segment::{Item, Segment, SnapshotMark, TableParked};
pub use types::DataType;
