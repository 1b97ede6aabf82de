//! Where a pipeline starts: pure decisions over what the state folder and the
//! sinks remember.
//!
//! Several records tell how far a pipeline has come: each sink's own, written
//! in one commit with its rows, and copies in the state folder, written later.
//! They never agree after a crash. "The newest wins" is the obvious rule and
//! loses rows: events between the slowest and the newest record have reached
//! some sinks only. The rules here are those of `docs/specs/recovery.md`, where
//! the argument stands; the test module `exhaustive` searches every history of a
//! small pipeline and shows that they hold and that the obvious rule does not.
//!
//! * A sink's own record is the truth about that sink; a copy never overrides it.
//! * Within one epoch a copy beyond the record means that the sink lost commits.
//! * Between epochs the higher one wins: a person or a failover raised it.
//! * Reading starts at the lowest record, or with keyed state where that state
//!   stands; every event runs through the chain again, and each sink drops what
//!   it has.

mod compare;
mod merge;
mod refusal;

#[cfg(test)]
mod cases;
#[cfg(test)]
mod exhaustive;

use std::collections::BTreeMap;

use tidegate_model::sink::Recovered;
use tidegate_model::{Held, HeldReason, LogPosition, Offset, Result, TableUid, TxPosition};

use crate::checkpoint::Checkpoint;

pub use merge::{accounted_by_all, accounted_by_either};

/// What the state folder knows.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    /// The last checkpoint; `None`: the folder is fresh, or was lost.
    pub checkpoint: Option<&'a Checkpoint>,
    /// A transform keeps keyed state, which stands exactly at the checkpoint.
    pub keyed_state: bool,
    /// The person has said `--accept-state-loss`.
    pub accept_state_loss: bool,
}

/// What one sink says about itself.
#[derive(Debug, Clone, Copy)]
pub struct SinkRecord<'a> {
    /// Its name in the pipeline file.
    pub name: &'a str,
    /// What [`tidegate_model::sink::Sink::recover`] returned.
    pub recovered: &'a Recovered,
    /// Its record lies in the state folder and is lost with it: the default
    /// dead-letter queue.
    pub in_state_folder: bool,
}

/// How the pipeline starts.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// Nothing was ever read: the source chooses the position.
    New,
    /// Go on.
    Resume(Box<Resume>),
}

/// Where the parts of a pipeline go on.
#[derive(Debug, Clone, PartialEq)]
pub struct Resume {
    /// Where reading starts.
    pub start: Offset,
    /// Where each sink stands: it drops what this covers.
    pub sinks: BTreeMap<String, Offset>,
    /// The state folder was lost and is rebuilt: seed uids and versions from the
    /// sinks' targets before the source opens.
    pub state_lost: bool,
    /// Tables whose snapshot begins anew, since its chunk bounds were lost.
    pub snapshot_again: Vec<TableUid>,
    /// Sinks that the last checkpoint names and the pipeline file no longer does.
    pub removed: Vec<String>,
}

/// Decides where to start.
///
/// # Errors
/// `Refused` (exit 3) when going on could lose or double rows; both offsets
/// stand in the message. `Unsupported` for a sink added beside running ones.
pub fn decide(known: Known<'_>, sinks: &[SinkRecord<'_>]) -> Result<Decision> {
    if known.checkpoint.is_none() && sinks.iter().all(|sink| sink.recovered.offset.is_none()) {
        return Ok(Decision::New);
    }
    if let Some(checkpoint) = known.checkpoint {
        check_copies(checkpoint, sinks)?;
    } else if !known.accept_state_loss {
        check_loss(known, sinks)?;
    }
    let standing = standing(known.checkpoint, sinks)?;
    let mut start = lowest(known.checkpoint, &standing)?;
    let snapshot_again = match known.checkpoint {
        Some(checkpoint) => {
            if known.keyed_state && checkpoint.state_offset.epoch == start.epoch {
                start.scanned = checkpoint.state_offset.scanned.clone();
            }
            Vec::new()
        }
        None => merge::reopen_uneven_snapshots(&mut start, standing.values()),
    };
    let removed = match known.checkpoint {
        Some(checkpoint) => {
            checkpoint.sinks.keys().filter(|name| !standing.contains_key(*name)).cloned().collect()
        }
        None => Vec::new(),
    };
    Ok(Decision::Resume(Box::new(Resume {
        start,
        sinks: standing,
        state_lost: known.checkpoint.is_none(),
        snapshot_again,
        removed,
    })))
}

/// The first position at which a chain changed at start may run: no sink has an
/// event at or beyond it, so no row is written by two modules.
///
/// A transaction that a sink has cut stays with the old chain; the next one
/// starts at a higher offset, whatever its length.
pub fn swap_boundary<'a>(sinks: impl IntoIterator<Item = &'a Offset>) -> TxPosition {
    let after = |offset: &Offset| {
        let LogPosition { file_no, offset: at } = offset.scanned.log;
        let next = at + u64::from(offset.scanned.open.is_some());
        TxPosition { epoch: offset.epoch, log: LogPosition { file_no, offset: next } }
    };
    sinks.into_iter().map(after).max().unwrap_or_default()
}

/// No copy may lie beyond the record of its sink.
fn check_copies(checkpoint: &Checkpoint, sinks: &[SinkRecord<'_>]) -> Result<()> {
    for sink in sinks {
        let copy = checkpoint.sinks.get(sink.name);
        let Some(record) = &sink.recovered.offset else {
            match copy {
                Some(copy) => return Err(refusal::record_gone(sink.name, copy)),
                None => continue,
            }
        };
        if let Some(copy) = copy {
            let beyond = copy.epoch > record.epoch
                || copy.epoch == record.epoch
                    && (compare::scanned_beyond(copy, record).map_err(|why| {
                        refusal::incomparable(sink.name, record, "the state folder", copy, why)
                    })? || compare::snapshot_beyond(copy, record));
            if beyond {
                return Err(refusal::lost_commits(sink.name, record, copy));
            }
        }
        // The state's own offset is at most every sink's. Its snapshot may be
        // ahead: a start that began a generation is written here first.
        let state = &checkpoint.state_offset;
        if state.epoch == record.epoch
            && compare::scanned_beyond(state, record)
                .map_err(|why| refusal::incomparable(sink.name, record, "the state folder", state, why))?
        {
            return Err(refusal::lost_commits(sink.name, record, state));
        }
    }
    Ok(())
}

/// A lost state folder must not have held what no sink has.
fn check_loss(known: Known<'_>, sinks: &[SinkRecord<'_>]) -> Result<()> {
    let dead_letters = sinks.iter().map(|sink| sink.recovered.dead_letters).max().unwrap_or(0);
    if dead_letters > 0 {
        return Err(refusal::state_lost(format!("{dead_letters} dead letters are counted")));
    }
    if known.keyed_state {
        return Err(refusal::state_lost("transforms keep keyed state".into()));
    }
    for offset in sinks.iter().filter_map(|sink| sink.recovered.offset.as_ref()) {
        let passed = |held: &&Held| held.reason == HeldReason::Barrier && held.from < offset.scanned.log;
        let count = offset.held.values().filter(passed).count();
        if count > 0 {
            return Err(refusal::state_lost(format!("rows of {count} tables were held for a schema change")));
        }
    }
    Ok(())
}

/// Where each sink stands. A sink of a lower epoch has seen nothing of the
/// higher one: the start of an epoch is in every sink before its first event.
fn standing(checkpoint: Option<&Checkpoint>, sinks: &[SinkRecord<'_>]) -> Result<BTreeMap<String, Offset>> {
    let state = checkpoint.map(|checkpoint| &checkpoint.state_offset);
    let records = || sinks.iter().filter_map(|sink| sink.recovered.offset.as_ref());
    let epoch = records().chain(state).map(|offset| offset.epoch).max().unwrap_or(0);
    let raised = match state {
        Some(state) if state.epoch == epoch => state.clone(),
        _ => merge::accounted_by_all(records().filter(|offset| offset.epoch == epoch))?,
    };
    // A first start writes its position here before any sink has it; from the
    // next checkpoint on the sinks stand in it by name.
    let first_start = checkpoint.is_some_and(|checkpoint| checkpoint.sinks.is_empty());
    (sinks.iter())
        .map(|sink| {
            let offset = match &sink.recovered.offset {
                Some(record) if record.epoch == epoch => record.clone(),
                Some(_) => raised.clone(),
                None if first_start || (checkpoint.is_none() && sink.in_state_folder) => raised.clone(),
                None => return Err(refusal::new_sink(sink.name, checkpoint, sinks)),
            };
            Ok((sink.name.to_owned(), offset))
        })
        .collect()
}

/// The lowest of the sinks; the state's own offset adds the generations that it
/// began before a sink knew of them.
fn lowest(checkpoint: Option<&Checkpoint>, standing: &BTreeMap<String, Offset>) -> Result<Offset> {
    let mut start = merge::accounted_by_all(standing.values())?;
    if let Some(state) = checkpoint.map(|checkpoint| &checkpoint.state_offset)
        && state.epoch == start.epoch
    {
        merge::raise_generations(&mut start, state);
    }
    Ok(start)
}
