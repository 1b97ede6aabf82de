//! What recovery says when it does not go on: both offsets, and the way out.

use std::fmt;

use tidegate_model::{Error, ErrorKind, Offset};

use super::SinkRecord;
use super::compare::Incomparable;
use crate::checkpoint::Checkpoint;

/// An offset as people read it; chunk bounds, which are row values, are left out.
struct Shown<'a>(&'a Offset);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Offset { epoch, scanned, snapshot, .. } = self.0;
        write!(f, "epoch {epoch} at {}", scanned.log)?;
        if !scanned.gtid.is_empty() {
            write!(f, " (GTID {})", scanned.gtid)?;
        }
        if let Some(open) = &scanned.open {
            write!(f, " with {} rows of {}", open.delivered.values().sum::<u64>(), open.gtid)?;
        }
        let chunks: u64 = snapshot.values().map(|progress| progress.chunks).sum();
        if chunks > 0 {
            write!(f, " and {chunks} snapshot chunks")?;
        }
        Ok(())
    }
}

pub(super) fn record_gone(sink: &str, copy: &Offset) -> Error {
    Error::new(
        ErrorKind::Refused,
        format!("sink '{sink}' has no record of this pipeline, the state folder knows it at {}", Shown(copy)),
    )
    .during("recover")
    .hint("bring the target back; or, to deliver everything again, remove the state folder as well")
}

pub(super) fn lost_commits(sink: &str, record: &Offset, copy: &Offset) -> Error {
    Error::new(
        ErrorKind::Refused,
        format!(
            "sink '{sink}' has lost commits: its own record says {}, the state folder {}",
            Shown(record),
            Shown(copy)
        ),
    )
    .during("recover")
    .hint("restore the target to its newest state; or set the position by hand with `tidegate offsets set`")
}

pub(super) fn incomparable(
    sink: &str,
    record: &Offset,
    whose: &str,
    other: &Offset,
    why: Incomparable,
) -> Error {
    Error::new(
        ErrorKind::Refused,
        format!("sink '{sink}' is at {}, {whose} at {}: {why}", Shown(record), Shown(other)),
    )
    .during("recover")
    .hint("check that the source is the server it was; set the position by hand with `tidegate offsets set`")
}

pub(super) fn incomparable_sinks(one: &Offset, other: &Offset, why: Incomparable) -> Error {
    Error::new(
        ErrorKind::Refused,
        format!("two sinks are at {} and at {}: {why}", Shown(one), Shown(other)),
    )
    .during("recover")
    .hint("check that all sinks belong to this pipeline; set the position by hand with `tidegate offsets set`")
}

pub(super) fn state_lost(what: String) -> Error {
    Error::new(
        ErrorKind::Refused,
        format!("the state folder is empty, but the sinks have records and {what}"),
    )
    .during("recover")
    .hint("bring the state folder back; or go on without what was in it by `--accept-state-loss`")
}

pub(super) fn new_sink(name: &str, checkpoint: Option<&Checkpoint>, sinks: &[SinkRecord<'_>]) -> Error {
    let known = |gone: &&String| !sinks.iter().any(|sink| sink.name == gone.as_str());
    let gone: Vec<String> = (checkpoint.into_iter().flat_map(|checkpoint| checkpoint.sinks.keys()))
        .filter(known)
        .map(|name| format!("'{name}'"))
        .collect();
    let renamed = match gone.is_empty() {
        true => String::new(),
        false => format!("; a renamed sink is a new one, and {} is gone", gone.join(", ")),
    };
    Error::new(
        ErrorKind::Unsupported,
        format!(
            "sink '{name}' is new beside sinks that have rows already, which is not yet supported{renamed}"
        ),
    )
    .during("recover")
    .hint("give the sink a pipeline of its own, which snapshots the tables into it")
}
