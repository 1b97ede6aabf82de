//! Every history of a small pipeline, searched through.
//!
//! The pipeline: a log of five events with keys `a b a c b`; a transform that
//! lets the first event of each key pass (so it keeps keyed state) and whose
//! module is swapped once, anywhere; two sinks with offsets of their own and
//! bounded queues; a state file; two crashes, anywhere. What must hold in every
//! reachable state: each sink has exactly the events that it should have up to
//! its offset, none twice; both have the same event by the same module; and the
//! module changes once, at the boundary that was recorded.
//!
//! The real [`decide`] chooses the start. The rules that were turned down are
//! searched with the same steps, so that the test also shows that it can fail.

use std::collections::{BTreeMap, HashSet, VecDeque};

use tidegate_model::sink::Recovered;
use tidegate_model::{GtidSet, Lineage, LogPosition, Offset, Scanned};

use super::{Decision, Known, Resume, SinkRecord, decide};
use crate::checkpoint::Checkpoint;

const LOG: &[u8] = b"abacb";
const EVENTS: u8 = LOG.len() as u8;
const SINKS: usize = 2;
const QUEUE_MAX: usize = 3;
const NAMES: [&str; SINKS] = ["one", "two"];

/// How a variant of the pipeline remembers and resumes.
#[derive(Debug, Clone, Copy)]
struct Rules {
    resume: ResumeAt,
    /// The state is saved where the fastest sink stands, not the slowest.
    state_at_fastest: bool,
    /// Only the module that runs now is known, not the table of boundaries.
    one_digest: bool,
    /// The swap is durable before the first event beyond it.
    swap_ahead: bool,
    /// The boundary lies beyond every sink's offset.
    boundary_beyond_sinks: bool,
    keyed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum ResumeAt {
    /// The newest of all records.
    Newest,
    /// The slowest sink, with the keyed state of the state file.
    SlowestSink,
    /// What [`decide`] says.
    Decided,
}

const OURS: Rules = Rules {
    resume: ResumeAt::Decided,
    state_at_fastest: false,
    one_digest: false,
    swap_ahead: true,
    boundary_beyond_sinks: true,
    keyed: true,
};

/// An event in a sink: its number from 1, and the module that made it.
type Row = (u8, u8);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct State {
    // Durable.
    sinks: [(u8, Vec<Row>); SINKS],
    saved: Saved,
    // In memory.
    position: u8,
    keys: u8,
    boundary: Option<u8>,
    /// Keyed state after each position that a checkpoint may still ask for.
    kept: Vec<(u8, u8)>,
    queues: [Vec<(u8, Option<Row>)>; SINKS],
    // The history's bounds, and the oracle's knowledge.
    swapped_at: Option<u8>,
    crashes: u8,
}

/// The state file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
struct Saved {
    offset: u8,
    keys: u8,
    boundary: Option<u8>,
    copies: Option<[u8; SINKS]>,
}

fn module_at(boundary: Option<u8>, event: u8) -> u8 {
    if boundary.is_some_and(|boundary| event >= boundary) { 2 } else { 1 }
}

fn key(event: u8) -> u8 {
    1 << (LOG[usize::from(event) - 1] - b'a')
}

fn first() -> State {
    State {
        sinks: [(0, Vec::new()), (0, Vec::new())],
        saved: Saved::default(),
        position: 0,
        keys: 0,
        boundary: None,
        kept: vec![(0, 0)],
        queues: [Vec::new(), Vec::new()],
        swapped_at: None,
        crashes: 2,
    }
}

fn steps(rules: Rules, state: &State) -> Vec<State> {
    let mut next = Vec::new();
    next.extend(read(rules, state));
    next.extend(commits(state));
    next.extend(checkpoint(rules, state));
    next.extend(swap(rules, state));
    next.extend(crash(rules, state));
    next
}

fn read(rules: Rules, state: &State) -> Option<State> {
    let event = state.position + 1;
    if event > EVENTS {
        return None;
    }
    let mut next = state.clone();
    let seen = rules.keyed && state.keys & key(event) != 0;
    let row = (!seen).then(|| (event, module_at(state.boundary, event)));
    if rules.keyed {
        next.keys |= key(event);
    }
    next.position = event;
    next.kept.push((event, next.keys));
    for (queue, (offset, _)) in next.queues.iter_mut().zip(&state.sinks) {
        // A sink drops what it has.
        if event > *offset && queue.last().is_none_or(|(last, _)| event > *last) {
            queue.push((event, row));
        }
        if queue.len() > QUEUE_MAX {
            return None;
        }
    }
    Some(next)
}

fn commits(state: &State) -> Vec<State> {
    let mut next = Vec::new();
    for sink in 0..SINKS {
        for n in 1..=state.queues[sink].len() {
            let mut committed = state.clone();
            let part: Vec<_> = committed.queues[sink].drain(..n).collect();
            committed.sinks[sink].0 = part[n - 1].0;
            committed.sinks[sink].1.extend(part.into_iter().filter_map(|(_, row)| row));
            next.push(committed);
        }
    }
    next
}

fn checkpoint(rules: Rules, state: &State) -> Option<State> {
    let offsets = state.sinks.each_ref().map(|sink| sink.0);
    let all = offsets.iter().copied();
    let at = if rules.state_at_fastest { all.max()? } else { all.min()? };
    let (_, keys) = state.kept.iter().find(|(position, _)| *position == at)?;
    let boundary = if rules.one_digest {
        // The digest of the module that runs at the checkpoint, nothing else.
        state.boundary.filter(|boundary| at + 1 >= *boundary).map(|_| 1)
    } else {
        state.boundary
    };
    let saved = Saved { offset: at, keys: *keys, boundary, copies: Some(offsets) };
    let mut next = state.clone();
    next.kept.retain(|(position, _)| *position >= at);
    next.saved = saved;
    (at >= state.saved.offset && next.saved != state.saved).then_some(next)
}

fn swap(rules: Rules, state: &State) -> Option<State> {
    let fastest = state.sinks.iter().map(|sink| sink.0).max()?;
    if state.swapped_at.is_some()
        || state.position >= EVENTS
        || rules.boundary_beyond_sinks && state.position < fastest
    {
        return None;
    }
    let mut next = state.clone();
    let boundary = state.position + 1;
    next.boundary = Some(boundary);
    next.swapped_at = next.boundary;
    if rules.swap_ahead {
        next.saved.boundary = next.boundary;
    }
    Some(next)
}

fn crash(rules: Rules, state: &State) -> Option<State> {
    let mut next = state.clone();
    next.crashes = state.crashes.checked_sub(1)?;
    let offsets = state.sinks.each_ref().map(|sink| sink.0);
    next.position = match rules.resume {
        ResumeAt::Newest => offsets.into_iter().max()?.max(state.saved.offset),
        ResumeAt::SlowestSink => offsets.into_iter().min()?,
        ResumeAt::Decided => decided(rules, &state.saved, offsets),
    };
    next.keys = state.saved.keys;
    next.boundary = state.saved.boundary;
    next.kept = vec![(next.position, next.keys)];
    next.queues = [Vec::new(), Vec::new()];
    Some(next)
}

fn decided(rules: Rules, saved: &Saved, offsets: [u8; SINKS]) -> u8 {
    let copies =
        saved.copies.map(|copies| NAMES.iter().map(|n| (*n).to_owned()).zip(copies.map(offset)).collect());
    let checkpoint = Checkpoint {
        state_offset: offset(saved.offset),
        sinks: copies.unwrap_or_default(),
        dead_letters: 0,
        counters: BTreeMap::new(),
    };
    let recovered = offsets.map(|at| Recovered { offset: Some(offset(at)), ..Recovered::default() });
    let sinks =
        [0, 1].map(|n| SinkRecord { name: NAMES[n], recovered: &recovered[n], in_state_folder: false });
    let known = Known { checkpoint: Some(&checkpoint), keyed_state: rules.keyed, accept_state_loss: false };
    match decide(known, &sinks).expect("no history without a lost sink is refused") {
        Decision::Resume(resume) => {
            let Resume { start, .. } = *resume;
            start.scanned.log.offset as u8
        }
        Decision::New => panic!("the sinks have records"),
    }
}

fn offset(at: u8) -> Offset {
    Offset {
        epoch: 0,
        lineage: Lineage::MariaDb { domain: 0, server_id: 1, log_base: "binlog".into(), witness: None },
        scanned: Scanned {
            gtid: GtidSet::default(),
            open: None,
            log: LogPosition { file_no: 1, offset: at.into() },
        },
        snapshot: BTreeMap::new(),
        held: BTreeMap::new(),
        tables: BTreeMap::new(),
    }
}

/// What is wrong with a state, if anything.
fn fault(rules: Rules, state: &State) -> Option<&'static str> {
    for (offset, rows) in &state.sinks {
        let mut keys = 0;
        let mut wanted = Vec::new();
        for event in 1..=*offset {
            if !rules.keyed || keys & key(event) == 0 {
                wanted.push(event);
            }
            keys |= key(event);
        }
        let got: Vec<u8> = rows.iter().map(|row| row.0).collect();
        if wanted.iter().any(|event| !got.contains(event)) {
            return Some("a row is lost");
        }
        if got != wanted {
            return Some("a row is doubled or passed the filter");
        }
        if rows.iter().any(|(event, module)| *module != module_at(state.swapped_at, *event)) {
            return Some("a row is on the wrong side of the swap");
        }
    }
    let [(_, one), (_, two)] = &state.sinks;
    let differ = one.iter().any(|row| two.iter().any(|other| row.0 == other.0 && row.1 != other.1));
    differ.then_some("two sinks have a row by two modules")
}

/// All states, or the first fault.
fn search(rules: Rules) -> Result<usize, &'static str> {
    let mut seen = HashSet::from([first()]);
    let mut queue = VecDeque::from([first()]);
    while let Some(state) = queue.pop_front() {
        if let Some(fault) = fault(rules, &state) {
            return Err(fault);
        }
        for next in steps(rules, &state) {
            if !seen.contains(&next) {
                seen.insert(next.clone());
                queue.push_back(next);
            }
        }
    }
    Ok(seen.len())
}

#[test]
fn our_rules_hold_in_every_history() {
    let states = search(OURS).expect("no history ends in a fault");
    assert!(states > 10_000, "{states} states are too few to mean anything");
    search(Rules { keyed: false, ..OURS }).expect("nor does one without keyed state");
}

#[test]
fn the_newest_record_loses_rows() {
    let newest = Rules { resume: ResumeAt::Newest, ..OURS };
    assert_eq!(search(newest), Err("a row is lost"));
    assert_eq!(search(Rules { keyed: false, ..newest }), Err("a row is lost"));
}

#[test]
fn each_part_of_the_rules_is_needed() {
    assert!(
        search(Rules { resume: ResumeAt::SlowestSink, ..OURS }).is_err(),
        "reading starts at the keyed state"
    );
    let fastest = Rules { resume: ResumeAt::SlowestSink, state_at_fastest: true, ..OURS };
    assert!(search(fastest).is_err(), "the state stands at the slowest sink");
    assert!(search(Rules { swap_ahead: false, ..OURS }).is_err(), "a swap is durable before its first event");
    assert!(
        search(Rules { one_digest: true, swap_ahead: false, ..OURS }).is_err(),
        "modules are found by position"
    );
}
