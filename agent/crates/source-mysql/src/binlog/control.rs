//! Small events about the log itself: ROTATE, INCIDENT, XA_PREPARE.

use super::bytes::{Bytes, Malformed};
use super::raw::RawEvent;

/// The log goes on in another file. A real one ends its file; an artificial one
/// names the file that the next events lie in, and leads every stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rotate {
    /// Name of the file, without folder.
    pub file: String,
    /// Where in it.
    pub position: u64,
    /// Made for the reader.
    pub artificial: bool,
}

impl Rotate {
    pub(super) fn parse(raw: &RawEvent<'_>) -> Result<Self, Malformed> {
        let mut bytes = Bytes(raw.body);
        let position = bytes.u64("ROTATE position")?;
        if position > i64::MAX as u64 {
            return Err(Malformed("ROTATE position"));
        }
        let file = String::from_utf8(bytes.0.to_vec()).map_err(|_| Malformed("ROTATE file name"))?;
        Ok(Self { file, position, artificial: raw.is_artificial() })
    }

    /// The number at the end of the file's name.
    pub(super) fn file_no(&self) -> Result<u64, Malformed> {
        let (_, number) =
            self.file.rsplit_once('.').ok_or(Malformed("ROTATE file name, without a number"))?;
        number.parse().map_err(|_| Malformed("ROTATE file name, without a number"))
    }
}

/// The server says that events may be missing from its log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incident {
    /// 1: lost events.
    pub number: u16,
    /// The server's words.
    pub message: String,
}

impl Incident {
    pub(super) fn parse(body: &[u8]) -> Result<Self, Malformed> {
        let mut bytes = Bytes(body);
        let number = bytes.u16("INCIDENT number")?;
        let length = if bytes.is_empty() { 0 } else { bytes.u8("INCIDENT message")? };
        let message = bytes.take(length.into(), "INCIDENT message")?;
        Ok(Self { number, message: String::from_utf8_lossy(message).into_owned() })
    }
}

/// The rows before it are prepared; whether they count is told by a later
/// XA COMMIT or XA ROLLBACK, unless `one_phase`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct XaPrepare {
    /// XA COMMIT … ONE PHASE: prepared and committed at once.
    pub one_phase: bool,
    /// Format, global and branch part of the transaction's name.
    pub xid: (u32, Vec<u8>, Vec<u8>),
}

impl XaPrepare {
    pub(super) fn parse(body: &[u8]) -> Result<Self, Malformed> {
        let mut bytes = Bytes(body);
        let one_phase = bytes.u8("XA_PREPARE phase")? != 0;
        let format = bytes.u32("xid format")?;
        let global = bytes.u32("xid length")? as usize;
        let branch = bytes.u32("xid length")? as usize;
        let global = bytes.take(global, "xid")?.to_vec();
        let branch = bytes.take(branch, "xid")?.to_vec();
        Ok(Self { one_phase, xid: (format, global, branch) })
    }
}
