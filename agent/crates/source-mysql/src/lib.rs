//! source-mysql

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
mod type_words;

pub use config::{Secret, SegmentBounds, SnapshotMode, SourceConfig, Tls};
pub use pattern::TablePattern;
pub use source::MariaDbSource;
