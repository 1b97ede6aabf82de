//! MariaDB capture: a server's tables and its binary log as segments of changes.
//!
//! Read [`MariaDbSource`] first (`source.rs`: the loop), then `assembler/` (the
//! log into transactions, versions and batches) and `snapshot/` (tables' rows
//! joined to the log). Below them, without I/O: [`binlog`] says what an event
//! is, [`codec`] what a cell is, `ddl/` and `derive.rs` what a statement did.

pub mod binlog;
pub mod charset;
pub mod codec;

#[cfg(test)]
mod captures;
#[cfg(test)]
mod damage_tests;

mod assembler;
mod catalog;
mod config;
mod connection;
mod ddl;
mod derive;
mod history;
mod keys;
mod pattern;
mod preflight;
mod requests;
mod server;
mod snapshot;
mod source;
mod sql;
mod start;
mod stream;
mod structure;
mod table;
mod tls;
mod type_words;

pub use config::{Secret, SegmentBounds, SnapshotMode, SourceConfig, Tls};
pub use pattern::TablePattern;
pub use source::MariaDbSource;
