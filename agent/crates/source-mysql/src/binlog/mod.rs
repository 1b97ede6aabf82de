//! MariaDB's binary log, decoded without I/O: events in, facts out.
//!
//! A log is a sequence of *groups*: GTID, then either one QUERY (a DDL) or
//! TABLE_MAP and row events up to XID (or a QUERY "COMMIT" for engines without
//! transactions). [`Decoder`] takes one [`RawEvent`] after the other, verifies
//! its checksum, keeps the 64-bit position and says what it is ([`Event`]);
//! grouping, tables and rows' values are its callers' work. It never waits and
//! never panics on input, so a file, a socket and a fuzzer can feed it alike.
//!
//! Why not the driver's own event types: they do not know MariaDB's events (160
//! to 171), never verify a checksum, and decode rows twenty times slower than
//! [`crate::codec`], wrongly for MEDIUMINT and YEAR.
//!
//! Sources: MariaDB Knowledge Base, "Replication Protocol" with one page an
//! event; sql/log_event.h. What they leave open was read off a 10.11 server,
//! and the captures in `testdata/` hold it.

mod bytes;
mod compressed;
mod control;
mod decoder;
mod format;
mod gtid;
mod query;
mod raw;
mod rows;
mod table_map;
#[cfg(test)]
mod tests;
pub mod type_code;

pub use bytes::{Bytes, Malformed};
pub use control::{Incident, Rotate, XaPrepare};
pub use decoder::{Decoded, Decoder, Event};
pub use format::FormatDescription;
pub use gtid::{AlterPhase, GtidEvent, GtidList};
pub use query::Query;
pub use raw::RawEvent;
pub use rows::{RowsEvent, RowsKind};
pub use table_map::{
    ColumnShape, ColumnType, Fingerprint, KeyPart, MapColumn, TableMap, TableMapEvent, TypeHint,
};
