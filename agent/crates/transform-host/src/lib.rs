//! Runs the user's WebAssembly components on batches of changes.
//!
//! A module first maps the *schema* of a table ([`Transform::plan`]): which
//! columns it reads, which it computes, what passes through under which name.
//! Batches then cross into the sandbox as the few columns that it reads, in bulk
//! copies, and what it computes comes back the same way; the host does the rest.
//! A module is granted nothing but its rows, and can neither hang nor exhaust nor
//! crash the agent: memory, time, instructions and answers are bounded, and an
//! event that breaks it is refused alone.
//!
//! Start with [`WasmTransform`], then [`Chain`]; inside, `plan` (what a module
//! may declare), `run` (one batch, whatever the guest does with it) and
//! `assemble` (from verdicts on rows to events). The contract itself is in
//! `wit/`.
//!
//! [`Transform::plan`]: tidegate_model::transform::Transform::plan

mod assemble;
mod bindings;
mod cache;
mod chain;
mod component;
mod convert;
mod digest;
pub mod encode;
mod engine;
mod imports;
mod instance;
mod limits;
mod observe;
mod plan;
mod run;
mod tally;
mod transform;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use chain::{Chain, ChainOutput, Link, StageRefusal, TableFilter};
pub use digest::Digest;
pub use instance::Descriptor;
pub use limits::MEMORY_DEFAULT;
pub use observe::GuestText;
pub use transform::{OnError, TransformConfig, WasmTransform};
