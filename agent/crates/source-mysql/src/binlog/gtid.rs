//! GTID and GTID_LIST: which transaction comes, and which have been.

use tidegate_model::{Gtid, GtidSet};

use super::bytes::{Bytes, Malformed};
use super::raw::RawEvent;

/// Flag bits (sql/log_event.h, `Gtid_log_event`).
const STANDALONE: u8 = 1;
const GROUP_COMMIT_ID: u8 = 2;
const TRANSACTIONAL: u8 = 4;
const DDL: u8 = 32;
const PREPARED_XA: u8 = 64;
const COMPLETED_XA: u8 = 128;
/// Bits of the second flag byte, which is there only when one is set.
const MULTI_ENGINE: u8 = 1;
const START_ALTER: u8 = 2;
const COMMIT_ALTER: u8 = 4;
const ROLLBACK_ALTER: u8 = 8;

/// One step of an ALTER TABLE that is logged in two phases
/// (`binlog_alter_two_phase`): only the commit changes the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AlterPhase {
    /// It began; the statement follows.
    Start,
    /// The one that began under this sequence number took effect.
    Commit(u64),
    /// The one that began under this sequence number did not.
    Rollback(u64),
}

/// A group begins (MariaDB: "GTID_EVENT").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GtidEvent {
    /// The transaction's id.
    pub gtid: Gtid,
    /// One statement without XID or COMMIT behind it: the group ends with the
    /// next QUERY.
    pub standalone: bool,
    /// The group is a DDL.
    pub ddl: bool,
    /// Every row is in an engine that can roll back.
    pub transactional: bool,
    /// The group is an XA PREPARE: its rows count only at the XA COMMIT.
    pub xa_prepared: bool,
    /// The group is an XA COMMIT or XA ROLLBACK of an earlier group.
    pub xa_completed: bool,
    /// Set on a two-phase ALTER.
    pub alter: Option<AlterPhase>,
    /// Transactions of one group commit share it.
    pub commit_id: Option<u64>,
    /// CRC32 of the event as the server wrote it: the witness of a lineage.
    pub crc: u32,
}

impl GtidEvent {
    pub(super) fn parse(raw: &RawEvent<'_>, crc: u32) -> Result<Self, Malformed> {
        let mut bytes = Bytes(raw.body);
        let sequence = bytes.u64("GTID sequence")?;
        let domain = bytes.u32("GTID domain")?;
        let flags = bytes.u8("GTID flags")?;
        let commit_id = if flags & GROUP_COMMIT_ID != 0 { Some(bytes.u64("group commit id")?) } else { None };
        if flags & (PREPARED_XA | COMPLETED_XA) != 0 {
            bytes.u32("xid format")?;
            let global = bytes.u8("xid length")?;
            let branch = bytes.u8("xid length")?;
            bytes.take(usize::from(global) + usize::from(branch), "xid")?;
        }
        // The server fills short events up to 19 bytes with zeros, which read as no flag.
        let extra = if bytes.is_empty() { 0 } else { bytes.u8("GTID extra flags")? };
        if extra & MULTI_ENGINE != 0 {
            bytes.u8("GTID engines")?;
        }
        let alter = if extra & COMMIT_ALTER != 0 {
            Some(AlterPhase::Commit(bytes.u64("ALTER sequence")?))
        } else if extra & ROLLBACK_ALTER != 0 {
            Some(AlterPhase::Rollback(bytes.u64("ALTER sequence")?))
        } else {
            (extra & START_ALTER != 0).then_some(AlterPhase::Start)
        };
        Ok(Self {
            gtid: Gtid { domain, server: raw.server_id, sequence },
            standalone: flags & STANDALONE != 0,
            ddl: flags & DDL != 0,
            transactional: flags & TRANSACTIONAL != 0,
            xa_prepared: flags & PREPARED_XA != 0,
            xa_completed: flags & COMPLETED_XA != 0,
            alter,
            commit_id,
            crc,
        })
    }
}

/// The state of all domains at this place (MariaDB: "GTID_LIST_EVENT"): at the
/// start of each file; artificial ones tell a resumed reader where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GtidList {
    /// The newest transaction of each domain.
    pub set: GtidSet,
    /// Made for the reader, at the reader's true position.
    pub artificial: bool,
}

impl GtidList {
    pub(super) fn parse(raw: &RawEvent<'_>) -> Result<Self, Malformed> {
        let mut bytes = Bytes(raw.body);
        // The upper four bits are flags for replicas.
        let count = bytes.u32("GTID list length")? & 0x0fff_ffff;
        let mut newest: Vec<Gtid> = Vec::new();
        for _ in 0..count {
            let domain = bytes.u32("GTID list domain")?;
            let server = bytes.u32("GTID list server")?;
            let sequence = bytes.u64("GTID list sequence")?;
            newest.push(Gtid { domain, server, sequence });
        }
        // One entry per domain and server: the last of a domain is its newest.
        let mut set = GtidSet::default();
        for gtid in newest {
            set.advance(gtid);
        }
        Ok(Self { set, artificial: raw.is_artificial() })
    }
}
