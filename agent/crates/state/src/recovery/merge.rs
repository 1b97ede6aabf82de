//! The lowest of several offsets, and the highest of two, part by part.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use tidegate_model::{Held, HeldReason, Offset, Result, TableSnapshot, TableUid};

use super::{compare, refusal};

/// The offset up to which everything is accounted in **all** of `offsets`, which
/// are of one epoch: the lowest position, the common part of an open
/// transaction, the common chunks, and what any of them holds back.
///
/// # Errors
/// `Refused` when two of them have no order.
///
/// # Panics
/// When there is none.
pub fn accounted_by_all<'a>(offsets: impl Iterator<Item = &'a Offset> + Clone) -> Result<Offset> {
    let mut start: Option<Offset> = None;
    for offset in offsets.clone() {
        let Some(lowest) = &mut start else {
            start = Some(offset.clone());
            continue;
        };
        compare::same_log(lowest, offset).map_err(|why| refusal::incomparable_sinks(lowest, offset, why))?;
        match offset.scanned.log.cmp(&lowest.scanned.log) {
            Ordering::Less => {
                lowest.scanned = offset.scanned.clone();
                lowest.lineage = offset.lineage.clone();
            }
            Ordering::Equal => {
                lowest.scanned.open = compare::common_part(&lowest.scanned.open, &offset.scanned.open);
            }
            Ordering::Greater => {}
        }
    }
    let mut start = start.expect("a decision over sinks has at least one");
    start.tables = offsets.clone().flat_map(|offset| offset.tables.clone()).collect();
    start.snapshot = tables(offsets.clone())
        .map(|table| (table, common_progress(offsets.clone().map(|offset| offset.snapshot.get(&table)))))
        .collect();
    start.held = union_of_held(offsets);
    // Rows behind a barrier that `scanned` did not pass come again.
    let passed = start.scanned.log;
    start.held.retain(|_, held| held.reason == HeldReason::Parked || held.from < passed);
    Ok(start)
}

/// What a sink has once it has taken everything up to `end` beside what its
/// `record` says: the higher of the two, part by part.
///
/// Reading restarts at the lowest sink, so what comes first to the others ends
/// below their records. Such an `end` as the next record would forget events
/// that the sink holds, and after one more crash they would come twice.
pub fn accounted_by_either(record: &Offset, end: &Offset) -> Offset {
    let mut both = end.clone();
    if record.epoch != end.epoch {
        return both;
    }
    for (table, progress) in &record.snapshot {
        let own = both.snapshot.entry(*table).or_default();
        if compare::progress(progress) > compare::progress(own) {
            own.clone_from(progress);
        }
    }
    match record.scanned.log.cmp(&end.scanned.log) {
        Ordering::Less => {}
        Ordering::Equal => both.scanned.open = compare::whole_part(&record.scanned.open, &end.scanned.open),
        Ordering::Greater => {
            both.scanned = record.scanned.clone();
            both.lineage = record.lineage.clone();
            // What is held back there, but for tables that a newer generation reads anew.
            let generation = |offset: &Offset, table| offset.snapshot.get(table).map_or(0, |p| p.generation);
            both.held = (record.held.iter())
                .filter(|(table, _)| generation(record, table) >= generation(end, table))
                .map(|(table, held)| (*table, held.clone()))
                .collect();
        }
    }
    for (table, name) in &record.tables {
        both.tables.entry(*table).or_insert_with(|| name.clone());
    }
    both
}

/// Begins every generation that `state` began and no sink knows yet.
pub(super) fn raise_generations(start: &mut Offset, state: &Offset) {
    for (table, progress) in &state.snapshot {
        let own = start.snapshot.entry(*table).or_default();
        if progress.generation > own.generation {
            *own = TableSnapshot { generation: progress.generation, ..TableSnapshot::default() };
            if let Some(name) = state.tables.get(table) {
                start.tables.insert(*table, name.clone());
            }
        }
    }
}

/// Begins a table's snapshot anew where the sinks hold different numbers of its
/// chunks: the bounds of the chunks between them were in the state folder, and a
/// chunk read again under other bounds would be another chunk.
pub(super) fn reopen_uneven_snapshots<'a>(
    start: &mut Offset,
    sinks: impl Iterator<Item = &'a Offset> + Clone,
) -> Vec<TableUid> {
    let mut reopened = Vec::new();
    for (table, progress) in &mut start.snapshot {
        let counts =
            |offset: &Offset| offset.snapshot.get(table).map_or((0, 0), |p| (p.generation, p.chunks));
        let even = sinks.clone().all(|offset| counts(offset) == (progress.generation, progress.chunks));
        if !even && !progress.done {
            *progress = TableSnapshot { generation: progress.generation + 1, ..TableSnapshot::default() };
            reopened.push(*table);
        }
    }
    reopened
}

fn tables<'a>(offsets: impl Iterator<Item = &'a Offset>) -> impl Iterator<Item = TableUid> {
    let tables: BTreeSet<TableUid> = offsets.flat_map(|offset| offset.snapshot.keys().copied()).collect();
    tables.into_iter()
}

/// The newest generation with as many chunks of it as every sink has.
fn common_progress<'a>(all: impl Iterator<Item = Option<&'a TableSnapshot>> + Clone) -> TableSnapshot {
    let generation = all.clone().flatten().map(|progress| progress.generation).max().unwrap_or(0);
    let none = TableSnapshot { generation, ..TableSnapshot::default() };
    let fewest = all
        .map(|progress| match progress {
            Some(progress) if progress.generation == generation => progress.clone(),
            _ => none.clone(),
        })
        .min_by_key(|progress| (progress.chunks, progress.done));
    fewest.unwrap_or(none)
}

fn union_of_held<'a>(offsets: impl Iterator<Item = &'a Offset>) -> BTreeMap<TableUid, Held> {
    let mut union: BTreeMap<TableUid, Held> = BTreeMap::new();
    for (table, held) in offsets.flat_map(|offset| &offset.held) {
        let parked_first = |held: &Held| (held.reason != HeldReason::Parked, held.from);
        match union.get(table) {
            Some(known) if parked_first(known) <= parked_first(held) => {}
            _ => drop(union.insert(*table, held.clone())),
        }
    }
    union
}
