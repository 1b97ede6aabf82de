//! One event as it lies in the log: header fields, body, checksum.
//!
//! mysql_async hands out an event whose 19 header bytes are parsed and whose
//! body has lost its checksum, and for FORMAT_DESCRIPTION also the byte in
//! front of it that names the checksum's algorithm. Nothing is lost by that:
//! the header is written back in 19 bytes, so the CRC is computed over exactly
//! what the server wrote, without a second copy of the body.

use mysql_async::binlog::events::Event as DriverEvent;

use super::bytes::{Bytes, Malformed};
use super::type_code;

/// Set in the header of the file that the server still writes; never part of
/// the checksum, since it is cleared when the file is closed.
pub(super) const FLAG_BINLOG_IN_USE: u16 = 0x01;
/// The server made this event for the reader; it does not lie in the file.
pub(super) const FLAG_ARTIFICIAL: u16 = 0x20;
/// A reader that does not know this event may go on without it.
pub(super) const FLAG_IGNORABLE: u16 = 0x80;

/// Bytes of the header of every event of a version 4 log.
pub(super) const HEADER_LEN: usize = 19;
/// Bytes of the checksum behind every event.
pub(super) const CHECKSUM_LEN: usize = 4;

/// A raw event (MariaDB: "Event Header"; sql/log_event.h).
#[derive(Debug, Clone, Copy)]
pub struct RawEvent<'a> {
    /// Seconds since the epoch, UTC; 0 in artificial events.
    pub timestamp: u32,
    /// One of [`type_code`], or a number that we do not know.
    pub type_code: u8,
    /// The server that wrote it first.
    pub server_id: u32,
    /// Bytes in the file, header and checksum included.
    pub size: u32,
    /// End of the event in the file, modulo 2^32; 0 in artificial events.
    pub log_pos: u32,
    /// Bits of `FLAG_…`: 01 in use, 20 artificial, 80 ignorable.
    pub flags: u16,
    /// What lies between header and checksum.
    pub body: &'a [u8],
    /// FORMAT_DESCRIPTION only: 0 none, 1 CRC32.
    pub checksum_algorithm: Option<u8>,
    /// The bytes behind the body, if the reader knew that they are a checksum.
    pub checksum: Option<u32>,
}

impl<'a> RawEvent<'a> {
    /// The view of an event of mysql_async's binlog stream. No copy.
    pub fn of(event: &'a DriverEvent) -> Self {
        let header = event.header();
        let type_code = header.event_type_raw();
        // An algorithm that the driver has no name for must not look like none.
        let algorithm = match event.footer().get_checksum_alg() {
            Ok(known) => known.map(|alg| alg as u8),
            Err(_) => Some(u8::MAX),
        };
        Self {
            timestamp: header.timestamp(),
            type_code,
            server_id: header.server_id(),
            size: header.event_size(),
            log_pos: header.log_pos(),
            flags: header.flags_raw(),
            body: event.data(),
            checksum_algorithm: algorithm.filter(|_| type_code == type_code::FORMAT_DESCRIPTION),
            checksum: event.checksum().map(u32::from_le_bytes),
        }
    }

    /// An event out of a log file's bytes: the first `size` bytes of `file`.
    /// `checksummed` tells whether the file's events carry one
    /// ([`Decoder::checksummed`](super::Decoder::checksummed)); a
    /// FORMAT_DESCRIPTION says so itself. For replays and tests.
    ///
    /// # Errors
    /// When fewer bytes are left than the header says.
    pub fn parse(file: &'a [u8], checksummed: bool) -> Result<Self, Malformed> {
        let mut header = Bytes(file);
        let timestamp = header.u32("event header")?;
        let type_code = header.u8("event header")?;
        let server_id = header.u32("event header")?;
        let size = header.u32("event header")?;
        let log_pos = header.u32("event header")?;
        let flags = header.u16("event header")?;
        let length = (size as usize).checked_sub(HEADER_LEN).ok_or(Malformed("event size"))?;
        let mut body = header.take(length, "event body")?;
        let mut checksum = None;
        let mut checksum_algorithm = None;
        let describes = type_code == type_code::FORMAT_DESCRIPTION;
        if describes || checksummed {
            let (rest, crc) = body.split_last_chunk::<CHECKSUM_LEN>().ok_or(Malformed("event checksum"))?;
            checksum = Some(u32::from_le_bytes(*crc));
            body = rest;
        }
        if describes {
            let (algorithm, rest) = body.split_last().ok_or(Malformed("checksum algorithm"))?;
            checksum_algorithm = Some(*algorithm);
            body = rest;
        }
        Ok(Self { timestamp, type_code, server_id, size, log_pos, flags, body, checksum_algorithm, checksum })
    }

    /// The server made it for the reader: it takes no room in the file.
    pub fn is_artificial(&self) -> bool {
        self.log_pos == 0 || self.flags & FLAG_ARTIFICIAL != 0
    }

    /// CRC32 over header and body, as the server computes it.
    pub fn crc32(&self) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        let in_use = if self.type_code == type_code::FORMAT_DESCRIPTION { FLAG_BINLOG_IN_USE } else { 0 };
        let mut header = [0; HEADER_LEN];
        header[..4].copy_from_slice(&self.timestamp.to_le_bytes());
        header[4] = self.type_code;
        header[5..9].copy_from_slice(&self.server_id.to_le_bytes());
        header[9..13].copy_from_slice(&self.size.to_le_bytes());
        header[13..17].copy_from_slice(&self.log_pos.to_le_bytes());
        header[17..].copy_from_slice(&(self.flags & !in_use).to_le_bytes());
        hasher.update(&header);
        hasher.update(self.body);
        if let Some(algorithm) = self.checksum_algorithm {
            hasher.update(&[algorithm]);
        }
        hasher.finalize()
    }
}
