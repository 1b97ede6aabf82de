//! Object sink: rows as files of a lake, each commit one entry of a log.
//!
//! Exactly once without transactions of a store needs one thing of it: creating
//! an object that must not exist yet. Data objects get names of their own and
//! mean nothing until an entry of the log lists them; the entry's number is the
//! one place that two writers can race for. `docs/specs/commit-log.md` has the
//! protocol and the argument for every crash.
//!
//! [`ObjectSink`] writes, [`Lake`] reads what the log says.

mod blocking;
mod cell_type;
mod claim;
mod config;
mod divergence;
mod fault;
mod file_store;
mod health;
mod latest;
mod layout;
mod lines;
mod log;
mod log_state;
mod parquet_file;
mod query;
mod sink;
mod staging;
mod store;
#[cfg(test)]
mod tests;

pub use config::{Format, ObjectSinkConfig, path_of_url};
pub use file_store::FileStore;
pub use health::check;
pub use latest::Latest;
pub use log_state::LogState;
pub use query::Lake;
pub use sink::ObjectSink;
pub use store::{KeyVisitor, Put, Store};
