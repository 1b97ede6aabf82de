//! The registry, embedded: versions of targets and the barrier around a change.
//!
//! A table's structure changes in the middle of a log, and a target must not
//! have a row of the old schema behind the change or one of the new before it,
//! whatever crashes in between. Three things give that: a durable intent before
//! the target is touched, a compare-and-set on the target's version in the sink,
//! and a key that makes the same change the same. The steps are those of a
//! registry that serves a fleet, with one writer; [`Registry`] names them.
//!
//! [`plan_target`] says what a change means to a target; `docs/specs/recovery.md`
//! what happens after a crash between two steps.

mod barrier;
mod history;
mod plan;
mod protocol;
mod registry;
mod storage;

pub use history::{HistoryChange, HistoryEntry};
pub use plan::{COLUMNS_MAX, Cause, Previous, change_id, plan_target};
pub use protocol::{ChangeState, PendingChange, Policy};
pub use registry::Registry;
