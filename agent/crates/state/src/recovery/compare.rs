//! How two offsets of one epoch lie to each other.
//!
//! Within one lineage the log position orders offsets; the GTID sets only have
//! to agree with it. They are the witness that both offsets speak of the same
//! log: a server that was restored from a backup keeps its names and counts its
//! files anew, but its GTIDs then contradict the positions.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;

use tidegate_model::{Gtid, GtidSet, Lineage, Offset, OpenTransaction, TableSnapshot, TableUid};

/// Why two offsets cannot be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Incomparable {
    /// Other servers, or other logs of one server.
    Lineage,
    /// One place of the log holds two different transactions.
    Witness,
    /// Neither GTID set contains the other, or they contradict the positions.
    Gtid,
    /// Two transactions are open at one place.
    OpenTransaction,
}

impl fmt::Display for Incomparable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lineage => "they belong to different servers or logs",
            Self::Witness => "the same place of the log holds different transactions",
            Self::Gtid => "their GTID sets are not comparable",
            Self::OpenTransaction => "they cut different transactions at the same place",
        })
    }
}

/// Proves that both offsets speak of one log.
pub(super) fn same_log(a: &Offset, b: &Offset) -> Result<(), Incomparable> {
    if !a.lineage.same_log(&b.lineage) {
        return Err(Incomparable::Lineage);
    }
    let Lineage::MariaDb { witness: one, .. } = &a.lineage;
    let Lineage::MariaDb { witness: other, .. } = &b.lineage;
    if let (Some(one), Some(other)) = (one, other)
        && one.log == other.log
        && one != other
    {
        return Err(Incomparable::Witness);
    }
    let by_gtid = gtid_order(&a.scanned.gtid, &b.scanned.gtid).ok_or(Incomparable::Gtid)?;
    let by_log = a.scanned.log.cmp(&b.scanned.log);
    if by_log != Ordering::Equal && by_gtid == by_log.reverse() {
        return Err(Incomparable::Gtid);
    }
    if let (Some(one), Some(other)) = (&a.scanned.open, &b.scanned.open)
        && by_log == Ordering::Equal
        && one.gtid != other.gtid
    {
        return Err(Incomparable::OpenTransaction);
    }
    Ok(())
}

/// True when `copy` accounts for an event that `record` does not.
pub(super) fn scanned_beyond(copy: &Offset, record: &Offset) -> Result<bool, Incomparable> {
    same_log(copy, record)?;
    Ok(match copy.scanned.log.cmp(&record.scanned.log) {
        Ordering::Greater => true,
        Ordering::Less => false,
        Ordering::Equal => {
            let counted = delivered(&record.scanned.open);
            (delivered(&copy.scanned.open).iter())
                .any(|(table, n)| *n > counted.get(table).copied().unwrap_or(0))
        }
    })
}

/// True when `copy` holds snapshot progress that `record` does not.
pub(super) fn snapshot_beyond(copy: &Offset, record: &Offset) -> bool {
    copy.snapshot
        .iter()
        .any(|(table, ours)| progress(ours) > record.snapshot.get(table).map_or((0, 0, false), progress))
}

/// Orders how far two snapshots of one table have come.
pub(super) fn progress(snapshot: &TableSnapshot) -> (u64, u64, bool) {
    (snapshot.generation, snapshot.chunks, snapshot.done)
}

/// What two cuts of one transaction have in common: the lower count of each table.
pub(super) fn common_part(
    a: &Option<OpenTransaction>,
    b: &Option<OpenTransaction>,
) -> Option<OpenTransaction> {
    let (a, b) = (a.as_ref()?, b.as_ref()?);
    let delivered: BTreeMap<TableUid, u64> = (a.delivered.iter())
        .filter_map(|(table, n)| Some((*table, (*n).min(*b.delivered.get(table)?))))
        .filter(|(_, n)| *n > 0)
        .collect();
    (!delivered.is_empty()).then_some(OpenTransaction { gtid: a.gtid, delivered })
}

/// What two cuts of one transaction have together: the higher count of each table.
pub(super) fn whole_part(
    a: &Option<OpenTransaction>,
    b: &Option<OpenTransaction>,
) -> Option<OpenTransaction> {
    let gtid = a.as_ref().or(b.as_ref())?.gtid;
    let mut all = delivered(a);
    for (table, n) in delivered(b) {
        let count = all.entry(table).or_default();
        *count = n.max(*count);
    }
    Some(OpenTransaction { gtid, delivered: all })
}

fn delivered(open: &Option<OpenTransaction>) -> BTreeMap<TableUid, u64> {
    open.as_ref().map(|open| open.delivered.clone()).unwrap_or_default()
}

/// Set order of two GTID positions; `None` when neither contains the other. A
/// domain that is missing has had no transaction yet.
fn gtid_order(a: &GtidSet, b: &GtidSet) -> Option<Ordering> {
    let by_domain =
        |set: &GtidSet| set.iter().map(|gtid| (gtid.domain, *gtid)).collect::<BTreeMap<u32, Gtid>>();
    let (a, b) = (by_domain(a), by_domain(b));
    let mut order = Ordering::Equal;
    let mut step = |next: Ordering| {
        if order == Ordering::Equal || next == Ordering::Equal {
            order = order.then(next);
            return Some(());
        }
        (order == next).then_some(())
    };
    for (domain, one) in &a {
        match b.get(domain) {
            Some(other) if one.sequence == other.sequence && one.server != other.server => return None,
            Some(other) => step(one.sequence.cmp(&other.sequence))?,
            None => step(Ordering::Greater)?,
        }
    }
    for _ in b.keys().filter(|domain| !a.contains_key(domain)) {
        step(Ordering::Less)?;
    }
    Some(order)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(a: &str, b: &str) -> Option<Ordering> {
        gtid_order(&a.parse().unwrap(), &b.parse().unwrap())
    }

    #[test]
    fn gtid_positions_are_sets() {
        assert_eq!(order("", ""), Some(Ordering::Equal));
        assert_eq!(order("", "0-1-1"), Some(Ordering::Less));
        assert_eq!(order("0-1-7,1-1-3", "0-1-7,1-1-3"), Some(Ordering::Equal));
        assert_eq!(order("0-1-8,1-1-3", "0-1-7,1-1-3"), Some(Ordering::Greater));
        assert_eq!(order("0-2-8", "0-1-7"), Some(Ordering::Greater), "a failover changes the server");
    }

    #[test]
    fn diverged_gtid_positions_have_no_order() {
        assert_eq!(order("0-1-8,1-1-2", "0-1-7,1-1-3"), None);
        assert_eq!(order("0-1-8", "1-1-3"), None);
        assert_eq!(order("0-1-8", "0-2-8"), None, "two servers wrote the same number");
    }
}
