//! The agent's durable state: one folder a pipeline, a redb file in it.
//!
//! What is here is a *copy* of what the sinks know, plus what only this agent
//! knows: which table has which uid, which schema held from which position, how
//! a snapshot was cut into chunks, which transform module runs from where. Rows
//! are never here; redb would store them at two to three times their size, and a
//! commit costs a flush of the disk.
//!
//! Start with [`State`], then [`recovery`], which decides where a pipeline goes
//! on. The file's format is `docs/specs/state-file.md`.

mod checkpoint;
mod ddl_notes;
mod identity;
mod lock;
mod migration;
mod module_table;
mod modules;
mod schema_history;
mod snapshot_progress;
mod state;
mod store;
mod tables;

pub mod recovery;

pub use checkpoint::Checkpoint;
pub use module_table::{Chain, ChainChange, ChainEntry, ModuleUse};
pub use modules::Digest;
pub use state::State;
