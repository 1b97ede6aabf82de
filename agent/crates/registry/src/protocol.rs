//! States of a change, and the records that keep them.

use serde::{Deserialize, Serialize};
use tidegate_format::record::Record;
use tidegate_format::{SchemaChangeRecord, TargetChangeRecord, TargetVersionRecord, TxPositionRecord};
use tidegate_model::TargetChange;

/// How far a change has come. It only moves forwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeState {
    /// The intent is durable; the target is as it was.
    Planned,
    /// The sink is being asked: the target is as it was or as it will be.
    Applying,
    /// The target is as it will be, and the version is recorded.
    Applied,
    /// Rows of the new schema may go on.
    Done,
}

/// What may be done to a target without asking a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// Everything: a target with versioned folders can express every column
    /// change.
    Evolve,
}

/// A change that is not done.
#[derive(Debug, Clone, PartialEq)]
pub struct PendingChange {
    /// The sink of the target.
    pub sink: String,
    /// The change, to be handed to the sink again unless it is applied.
    pub change: TargetChange,
    /// How far it is.
    pub state: ChangeState,
    /// How often the sink was asked.
    pub attempts: u32,
}

/// A change with all that is known of it: `docs/specs/state-file.md`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ChangeRecord {
    pub(crate) version: u32,
    pub(crate) sink: String,
    pub(crate) state: ChangeState,
    pub(crate) change: TargetChangeRecord,
    pub(crate) source: SchemaChangeRecord,
    pub(crate) policy: Policy,
    pub(crate) attempts: u32,
    /// µs since the epoch.
    pub(crate) planned_us: u64,
    /// When the target had it.
    pub(crate) applied_us: Option<u64>,
}

impl Record for ChangeRecord {
    const NAME: &'static str = "registry change";
    const VERSION: u32 = 1;
}

/// A target as it stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct TargetRecord {
    pub(crate) version: u32,
    pub(crate) current: TargetVersionRecord,
    /// The next column id; never goes back, so that a dropped column's id is
    /// never given again.
    pub(crate) next_id: u32,
    /// The change's place in the log; null when the version was taken over from
    /// the sink's record.
    pub(crate) position: Option<TxPositionRecord>,
}

impl Record for TargetRecord {
    const NAME: &'static str = "registry target";
    const VERSION: u32 = 1;
}

/// Where a target version comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct VersionRecord {
    pub(crate) version: u32,
    /// The change that made it; null when it was taken over from the sink.
    pub(crate) change_id: Option<String>,
    pub(crate) target: TargetVersionRecord,
    /// µs since the epoch.
    pub(crate) time_us: u64,
}

impl Record for VersionRecord {
    const NAME: &'static str = "registry version";
    const VERSION: u32 = 1;
}
