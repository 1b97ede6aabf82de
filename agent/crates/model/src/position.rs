//! Positions (a point in the server's log, momentary) and offsets (where we
//! resume, durable).
//!
//! An [`Offset`] is the truth about how far one sink has come. It names the
//! place in the log twice: by GTID set, with which a server is asked to resume,
//! and by file and 64-bit offset, by which events are compared inside one
//! process and one epoch. A transaction may be cut anywhere, so the offset also
//! counts, per table, what of an open transaction has been delivered: a replica
//! groups events differently, but hands out the same rows of a table in the same
//! order.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::gtid::{Gtid, GtidSet};
use crate::schema::{TableName, TableUid};

/// A place in the server's log: file number and 64-bit byte offset.
///
/// The offset is counted by us; the protocol's own is 32 bits wide and wraps in
/// a file that grows beyond 4 GiB. Ordered only within one [`Lineage`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogPosition {
    /// The number at the end of the log file's name.
    pub file_no: u64,
    /// Bytes from the start of the file.
    pub offset: u64,
}

impl fmt::Display for LogPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file_no, self.offset)
    }
}

/// Where a transaction starts (its GTID event), in an order that outlives a
/// failover: the epoch leads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TxPosition {
    /// [`Offset::epoch`] at the time.
    pub epoch: u32,
    /// Start of the transaction's GTID event; for a snapshot row, its high mark.
    pub log: LogPosition,
}

/// The sortable text of `__pos`: `<epoch 6>-<file 10>-<offset 20>`, zero-padded.
impl fmt::Display for TxPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:06}-{:010}-{:020}", self.epoch, self.log.file_no, self.log.offset)
    }
}

/// One row change: its transaction and its running number in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventPosition {
    /// The transaction.
    pub tx: TxPosition,
    /// Running number from 0 of the captured row change in its transaction;
    /// −1 for a snapshot row, which sorts before the transaction that may begin
    /// at the same place.
    pub idx: i64,
}

/// A transaction that an offset has cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenTransaction {
    /// Its id.
    pub gtid: Gtid,
    /// Row changes of it that are accounted, per table.
    pub delivered: BTreeMap<TableUid, u64>,
}

/// How far the log is accounted: every event up to here is in the target,
/// filtered, or among the dead letters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scanned {
    /// Everything before the open transaction, or before `log` if none is open.
    pub gtid: GtidSet,
    /// The transaction that starts at `log` and of which a part is accounted.
    pub open: Option<OpenTransaction>,
    /// Where the next transaction may begin, or where the open one began.
    pub log: LogPosition,
}

impl Scanned {
    /// True when this row change is accounted. `table_idx` is its running number
    /// among the changes of its table in the transaction.
    pub fn covers(&self, at: LogPosition, gtid: &Gtid, table: TableUid, table_idx: u64) -> bool {
        if at < self.log {
            return true;
        }
        match &self.open {
            Some(open) if open.gtid == *gtid => table_idx < open.delivered.get(&table).copied().unwrap_or(0),
            _ => false,
        }
    }
}

/// Proof that a log still is the one it was: a transaction and the CRC of its
/// GTID event, read again at resume. It tells a server that was initialised
/// anew, or a RESET MASTER, although names and numbers are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Witness {
    /// The last committed transaction that was seen.
    pub gtid: Gtid,
    /// CRC32 of its GTID event's bytes, as the server wrote it.
    pub crc: u32,
    /// Where that event starts.
    pub log: LogPosition,
}

/// Which server's log an offset belongs to. Positions of two lineages are
/// never compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lineage {
    /// A MariaDB server.
    MariaDb {
        /// `@@gtid_domain_id`.
        domain: u32,
        /// `@@server_id`.
        server_id: u32,
        /// Base name of the binlog files, without folder and number.
        log_base: String,
        /// The newest proof.
        witness: Option<Witness>,
    },
}

impl Lineage {
    /// True when both name the same server's log, whatever their witnesses.
    pub fn same_log(&self, other: &Self) -> bool {
        let Self::MariaDb { domain, server_id, log_base, .. } = self;
        let Self::MariaDb { domain: d, server_id: s, log_base: l, .. } = other;
        domain == d && server_id == s && log_base == l
    }
}

/// Progress of one table's snapshot.
///
/// Chunks of one table follow each other in key order, so the finished ranges
/// always merge into one that starts at the table's first key: a count and an
/// upper bound tell all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TableSnapshot {
    /// Counts the snapshots of this table from 1; a new one makes readers drop
    /// rows of lower generations.
    pub generation: u64,
    /// Chunks finished.
    pub chunks: u64,
    /// Key of the last finished chunk's last row, as SQL literals of the server,
    /// one a key column; empty before the first. The only row value that leaves
    /// the state folder.
    pub upper: Vec<String>,
    /// The snapshot is complete.
    pub done: bool,
}

/// Why a table's rows are not delivered further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeldReason {
    /// The table cannot go on; a person must act.
    Parked,
    /// A schema change is under way.
    Barrier,
}

/// From where on a table's rows are not in the sink although `scanned` passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// First position that is not delivered.
    pub from: LogPosition,
    /// Why.
    pub reason: HeldReason,
    /// Cause and way out, for `status`. No row values.
    pub message: String,
}

/// How far one sink has come; a new run resumes from the lowest of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offset {
    /// Raised only by `offsets set` and by a change of lineage; the higher wins.
    pub epoch: u32,
    /// The log that `scanned` belongs to.
    pub lineage: Lineage,
    /// Every event up to here is accounted.
    pub scanned: Scanned,
    /// Snapshot progress by table.
    pub snapshot: BTreeMap<TableUid, TableSnapshot>,
    /// Tables whose rows are not delivered.
    pub held: BTreeMap<TableUid, Held>,
    /// Names of the tables in `snapshot` and `held`: a lost state folder finds
    /// the uids again.
    pub tables: BTreeMap<TableUid, Arc<TableName>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(offset: u64) -> LogPosition {
        LogPosition { file_no: 1, offset }
    }

    #[test]
    fn position_text_sorts_like_the_position() {
        let one = TxPosition { epoch: 1, log: LogPosition { file_no: 9, offset: 4_294_967_296 } };
        let two = TxPosition { epoch: 1, log: LogPosition { file_no: 10, offset: 4 } };
        assert!(one < two && one.to_string() < two.to_string());
        assert_eq!(two.to_string(), "000001-0000000010-00000000000000000004");
    }

    #[test]
    fn an_open_transaction_is_covered_by_count() {
        let gtid: Gtid = "0-1-7".parse().unwrap();
        let scanned = Scanned {
            gtid: "0-1-6".parse().unwrap(),
            open: Some(OpenTransaction { gtid, delivered: [(TableUid(1), 3)].into() }),
            log: at(100),
        };
        assert!(scanned.covers(at(50), &"0-1-6".parse().unwrap(), TableUid(1), 9));
        assert!(scanned.covers(at(100), &gtid, TableUid(1), 2));
        assert!(!scanned.covers(at(100), &gtid, TableUid(1), 3));
        assert!(!scanned.covers(at(100), &gtid, TableUid(2), 0));
        assert!(!scanned.covers(at(200), &"0-1-8".parse().unwrap(), TableUid(1), 0));
    }
}
