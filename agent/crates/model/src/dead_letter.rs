//! Events that cannot go on: each keeps its original images, position and
//! reason, and goes to a sink of its own.

use std::fmt;
use std::sync::Arc;

use crate::batch::ChangeBatch;
use crate::position::EventPosition;

/// Why an event was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalCode {
    /// The value cannot be parsed or converted exactly.
    InvalidValue,
    /// A constraint that the transform enforces does not hold.
    Rejected,
    /// Enrichment found no partner.
    LookupMissing,
    /// The module trapped, ran out of memory or of time on this event alone.
    Trap,
    /// Anything else; see the message.
    Other,
}

impl RefusalCode {
    /// The code as dead letters and metrics spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidValue => "invalid_value",
            Self::Rejected => "rejected",
            Self::LookupMissing => "lookup_missing",
            Self::Trap => "trap",
            Self::Other => "other",
        }
    }
}

/// One event of a batch that cannot go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Index of the event in its batch.
    pub event: u32,
    /// Why.
    pub code: RefusalCode,
    /// Name of the column to blame.
    pub column: Option<String>,
    /// For the person who mends it; may be a module's own text, so it stays in
    /// the dead letter and never reaches a log.
    pub message: String,
    /// Cells that the batch cannot hold as they are (a zero date), in the
    /// server's text: (row index in the batch, column index, text).
    pub texts: Vec<(u32, u32, String)>,
}

/// Who refused.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Stage {
    /// The source's codec.
    Source,
    /// The transform of this name.
    Transform(Arc<str>),
    /// The sink of this name.
    Sink(Arc<str>),
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Source => f.write_str("source"),
            Self::Transform(name) => write!(f, "transform:{name}"),
            Self::Sink(name) => write!(f, "sink:{name}"),
        }
    }
}

/// A refused event with its original images.
///
/// Identity: (pipeline, epoch, position, index, stage).
#[derive(Debug, Clone)]
pub struct DeadLetter {
    /// The event as the source sent it: a batch of one, with its refusal's
    /// `event` at 0.
    pub event: ChangeBatch,
    /// The reason.
    pub refusal: Refusal,
    /// Who refused.
    pub stage: Stage,
    /// `name@12 hex` of the module that refused; empty for other stages.
    pub module: Arc<str>,
}

impl DeadLetter {
    /// The event's position.
    pub fn position(&self) -> EventPosition {
        self.event.position(0)
    }
}
