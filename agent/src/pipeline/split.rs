//! Splits a segment at the edges of eras.

use std::sync::Arc;

use tidegate_model::{ChangeBatch, Item, Offset, Result, Scanned, Segment, SnapshotMark, TxPosition};

use super::dead_letter::arrow;

/// A part of a segment with the offset after it.
#[derive(Debug)]
pub(super) struct PartOf {
    pub(super) items: Vec<Item>,
    pub(super) end: Arc<Offset>,
}

/// The segment, split in front of the first transaction at or behind each edge
/// that lies inside it. `start` is where the segment before ended.
///
/// The offset between two parts names the edge itself as the place in the log;
/// its GTID set is that of the captured transactions before it, which may trail
/// the log by some that were not captured. Resuming there reads those again and
/// finds nothing new.
///
/// # Errors
/// When Arrow cannot slice a batch.
pub(super) fn split(
    segment: Segment,
    start: &Arc<Offset>,
    edges: impl IntoIterator<Item = TxPosition>,
) -> Result<Vec<PartOf>> {
    let mut parts = Vec::with_capacity(1);
    if segment.items.iter().any(|item| matches!(item, Item::Snapshot(SnapshotMark::Chunk { .. }))) {
        // A chunk is committed whole; all its rows lie at one position, so in one era.
        return Ok(vec![PartOf { items: segment.items, end: segment.end }]);
    }
    let mut rest = segment.items;
    let mut before = start.clone();
    for edge in edges {
        if edge.epoch != segment.end.epoch
            || edge.log <= before.scanned.log
            || edge.log >= segment.end.scanned.log
        {
            continue;
        }
        let mut scanned = Scanned { open: None, log: edge.log, ..before.scanned.clone() };
        let (mut first, mut second) = (Vec::new(), Vec::new());
        for item in rest {
            match item {
                Item::Batch(batch) => {
                    let (head, tail) = halves(batch, edge, &mut scanned)?;
                    first.extend(head.map(Item::Batch));
                    second.extend(tail.map(Item::Batch));
                }
                Item::SchemaChange(ref change) if change.position < edge => first.push(item),
                Item::DeadLetter(ref letter) if letter.position().tx < edge => first.push(item),
                other => second.push(other),
            }
        }
        rest = second;
        before = Arc::new(Offset { scanned, ..before.as_ref().clone() });
        parts.push(PartOf { items: first, end: before.clone() });
    }
    parts.push(PartOf { items: rest, end: segment.end });
    Ok(parts)
}

fn halves(
    batch: ChangeBatch,
    edge: TxPosition,
    scanned: &mut Scanned,
) -> Result<(Option<ChangeBatch>, Option<ChangeBatch>)> {
    for transaction in batch.transactions.iter().filter(|t| t.position < edge) {
        if let Some(gtid) = transaction.gtid {
            scanned.gtid.advance(gtid);
        }
    }
    let events: Vec<u32> = (0..batch.len() as u32).collect();
    let at = events.partition_point(|&e| batch.transaction(e as usize).position < edge);
    let part = |events: &[u32]| {
        if events.is_empty() { Ok(None) } else { batch.select(events).map(Some).map_err(arrow) }
    };
    Ok((part(&events[..at])?, part(&events[at..])?))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{at, ids, inserts, offset_before, table};
    use super::*;

    fn segment(rows: &[(u64, i32)], end: u64) -> Segment {
        let items = vec![Item::Batch(inserts(&table(1, 0), rows))];
        Segment { seq: 1, items, end: Arc::new(offset_before(end)), commit_time_us: None, bytes: 1 }
    }

    fn rows(part: &PartOf) -> Vec<i64> {
        part.items
            .iter()
            .flat_map(|item| match item {
                Item::Batch(batch) => ids(batch),
                _ => Vec::new(),
            })
            .collect()
    }

    #[test]
    fn a_segment_inside_one_era_stays_whole() {
        let start = Arc::new(offset_before(1));
        for edge in [100, 400] {
            let parts = split(segment(&[(1, 1), (2, 2), (3, 3)], 4), &start, [at(edge)]).unwrap();
            assert_eq!(parts.len(), 1, "edge {edge}");
            assert_eq!(rows(&parts[0]), [1, 2, 3]);
        }
    }

    #[test]
    fn the_part_before_an_edge_ends_at_the_edge() {
        let start = Arc::new(offset_before(1));
        let parts = split(segment(&[(1, 1), (2, 2), (3, 3)], 4), &start, [at(201), at(300)]).unwrap();
        assert_eq!(parts.iter().map(rows).collect::<Vec<_>>(), [vec![1, 2], vec![], vec![3]]);
        assert_eq!(parts[0].end.scanned.log, at(201).log);
        assert_eq!(parts[0].end.scanned.gtid.to_string(), "0-1-2");
        assert_eq!(parts[2].end.scanned, offset_before(4).scanned);
        // Every event is on the side of the offset that its part says.
        let second: tidegate_model::Gtid = "0-1-2".parse().unwrap();
        assert!(parts[0].end.scanned.covers(at(200).log, &second, tidegate_model::TableUid(1), 0));
    }
}
