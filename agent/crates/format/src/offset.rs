//! Wire twin of [`Offset`]: `docs/specs/offset.md`.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tidegate_model::{
    Error, Gtid, Held, HeldReason, Lineage, LogPosition, Offset, OpenTransaction, Result, Scanned, TableName,
    TableSnapshot, TableUid, TxPosition, Witness,
};

use crate::record::Record;

/// An [`Offset`] as it is written: alone, and inside a log entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OffsetRecord {
    /// Format version.
    pub version: u32,
    /// [`Offset::epoch`].
    pub epoch: u32,
    /// [`Offset::lineage`].
    pub lineage: LineageRecord,
    /// [`Offset::scanned`].
    pub scanned: ScannedRecord,
    /// [`Offset::snapshot`], by table uid.
    #[serde(default)]
    pub snapshot: BTreeMap<u64, TableSnapshotRecord>,
    /// [`Offset::held`], by table uid.
    #[serde(default)]
    pub held: BTreeMap<u64, HeldRecord>,
    /// [`Offset::tables`], by table uid.
    #[serde(default)]
    pub tables: BTreeMap<u64, TableNameRecord>,
}

impl Record for OffsetRecord {
    const NAME: &'static str = "offset";
    const VERSION: u32 = 1;
}

/// Twin of [`Lineage`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LineageRecord {
    /// A MariaDB server.
    #[serde(rename = "mariadb")]
    MariaDb {
        /// Domain id.
        domain: u32,
        /// Server id.
        server_id: u32,
        /// Base name of the binlog files.
        log_base: String,
        /// Proof that the log is still the same.
        witness: Option<WitnessRecord>,
    },
}

/// Twin of [`Witness`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WitnessRecord {
    /// `domain-server-sequence`.
    pub gtid: String,
    /// CRC32 of the transaction's GTID event.
    pub crc: u32,
    /// Number of the log file.
    pub file_no: u64,
    /// Byte offset of that event.
    pub offset64: u64,
}

/// Twin of [`Scanned`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScannedRecord {
    /// GTID position before the open transaction.
    pub gtid: String,
    /// The transaction that was cut.
    pub open: Option<OpenTransactionRecord>,
    /// Number of the log file.
    pub file_no: u64,
    /// Byte offset in it.
    pub offset64: u64,
}

/// Twin of [`OpenTransaction`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenTransactionRecord {
    /// Its GTID.
    pub gtid: String,
    /// Row changes delivered, by table uid.
    pub delivered: BTreeMap<u64, u64>,
}

/// Twin of [`TableSnapshot`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableSnapshotRecord {
    /// Generation, from 1.
    pub generation: u64,
    /// Chunks finished.
    pub chunks: u64,
    /// Last finished key, as SQL literals. A row value: never printed.
    pub upper: Vec<String>,
    /// Complete.
    pub done: bool,
}

/// Twin of [`Held`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldRecord {
    /// Number of the log file.
    pub file_no: u64,
    /// First byte offset that is not delivered.
    pub offset64: u64,
    /// Why.
    pub reason: HeldReasonRecord,
    /// Cause and way out.
    pub message: String,
}

/// Twin of [`HeldReason`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeldReasonRecord {
    /// A person must act.
    Parked,
    /// A schema change is under way.
    Barrier,
}

/// Twin of [`TableName`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TableNameRecord {
    /// Database or schema.
    pub schema: String,
    /// Table.
    pub table: String,
}

/// Twin of [`TxPosition`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TxPositionRecord {
    /// Epoch.
    pub epoch: u32,
    /// Number of the log file.
    pub file_no: u64,
    /// Byte offset of the transaction's GTID event.
    pub offset64: u64,
}

impl From<&Offset> for OffsetRecord {
    fn from(offset: &Offset) -> Self {
        Self {
            version: Self::VERSION,
            epoch: offset.epoch,
            lineage: (&offset.lineage).into(),
            scanned: (&offset.scanned).into(),
            snapshot: offset.snapshot.iter().map(|(uid, snapshot)| (uid.0, snapshot.into())).collect(),
            held: offset.held.iter().map(|(uid, held)| (uid.0, held.into())).collect(),
            tables: offset.tables.iter().map(|(uid, name)| (uid.0, name.as_ref().into())).collect(),
        }
    }
}

impl TryFrom<&OffsetRecord> for Offset {
    type Error = Error;

    fn try_from(record: &OffsetRecord) -> Result<Self> {
        let by_uid = |uid: &u64| TableUid(*uid);
        Ok(Self {
            epoch: record.epoch,
            lineage: (&record.lineage).try_into()?,
            scanned: (&record.scanned).try_into()?,
            snapshot: record.snapshot.iter().map(|(uid, s)| (by_uid(uid), s.into())).collect(),
            held: record.held.iter().map(|(uid, h)| (by_uid(uid), h.into())).collect(),
            tables: (record.tables.iter()).map(|(uid, name)| (by_uid(uid), Arc::new(name.into()))).collect(),
        })
    }
}

impl From<&Lineage> for LineageRecord {
    fn from(lineage: &Lineage) -> Self {
        let Lineage::MariaDb { domain, server_id, log_base, witness } = lineage;
        Self::MariaDb {
            domain: *domain,
            server_id: *server_id,
            log_base: log_base.clone(),
            witness: witness.as_ref().map(|w| WitnessRecord {
                gtid: w.gtid.to_string(),
                crc: w.crc,
                file_no: w.log.file_no,
                offset64: w.log.offset,
            }),
        }
    }
}

impl TryFrom<&LineageRecord> for Lineage {
    type Error = Error;

    fn try_from(record: &LineageRecord) -> Result<Self> {
        let LineageRecord::MariaDb { domain, server_id, log_base, witness } = record;
        let witness = witness.as_ref().map(|w| -> Result<_> {
            Ok(Witness { gtid: w.gtid.parse()?, crc: w.crc, log: log_position(w.file_no, w.offset64) })
        });
        Ok(Self::MariaDb {
            domain: *domain,
            server_id: *server_id,
            log_base: log_base.clone(),
            witness: witness.transpose()?,
        })
    }
}

impl From<&Scanned> for ScannedRecord {
    fn from(scanned: &Scanned) -> Self {
        Self {
            gtid: scanned.gtid.to_string(),
            open: scanned.open.as_ref().map(|open| OpenTransactionRecord {
                gtid: open.gtid.to_string(),
                delivered: open.delivered.iter().map(|(uid, n)| (uid.0, *n)).collect(),
            }),
            file_no: scanned.log.file_no,
            offset64: scanned.log.offset,
        }
    }
}

impl TryFrom<&ScannedRecord> for Scanned {
    type Error = Error;

    fn try_from(record: &ScannedRecord) -> Result<Self> {
        let open = record.open.as_ref().map(|open| -> Result<_> {
            let gtid: Gtid = open.gtid.parse()?;
            let delivered = open.delivered.iter().map(|(uid, n)| (TableUid(*uid), *n)).collect();
            Ok(OpenTransaction { gtid, delivered })
        });
        Ok(Self {
            gtid: record.gtid.parse()?,
            open: open.transpose()?,
            log: log_position(record.file_no, record.offset64),
        })
    }
}

impl From<&TableSnapshot> for TableSnapshotRecord {
    fn from(snapshot: &TableSnapshot) -> Self {
        let TableSnapshot { generation, chunks, upper, done } = snapshot.clone();
        Self { generation, chunks, upper, done }
    }
}

impl From<&TableSnapshotRecord> for TableSnapshot {
    fn from(record: &TableSnapshotRecord) -> Self {
        let TableSnapshotRecord { generation, chunks, upper, done } = record.clone();
        Self { generation, chunks, upper, done }
    }
}

impl From<&Held> for HeldRecord {
    fn from(held: &Held) -> Self {
        Self {
            file_no: held.from.file_no,
            offset64: held.from.offset,
            reason: match held.reason {
                HeldReason::Parked => HeldReasonRecord::Parked,
                HeldReason::Barrier => HeldReasonRecord::Barrier,
            },
            message: held.message.clone(),
        }
    }
}

impl From<&HeldRecord> for Held {
    fn from(record: &HeldRecord) -> Self {
        Self {
            from: log_position(record.file_no, record.offset64),
            reason: match record.reason {
                HeldReasonRecord::Parked => HeldReason::Parked,
                HeldReasonRecord::Barrier => HeldReason::Barrier,
            },
            message: record.message.clone(),
        }
    }
}

impl From<&TableName> for TableNameRecord {
    fn from(name: &TableName) -> Self {
        Self { schema: name.schema.clone(), table: name.table.clone() }
    }
}

impl From<&TableNameRecord> for TableName {
    fn from(record: &TableNameRecord) -> Self {
        Self::new(&record.schema, &record.table)
    }
}

impl From<TxPosition> for TxPositionRecord {
    fn from(position: TxPosition) -> Self {
        Self { epoch: position.epoch, file_no: position.log.file_no, offset64: position.log.offset }
    }
}

impl From<TxPositionRecord> for TxPosition {
    fn from(record: TxPositionRecord) -> Self {
        Self { epoch: record.epoch, log: log_position(record.file_no, record.offset64) }
    }
}

fn log_position(file_no: u64, offset: u64) -> LogPosition {
    LogPosition { file_no, offset }
}
