//! FORMAT_DESCRIPTION: what the events behind it look like.

use super::bytes::{Bytes, Malformed};
use super::raw::HEADER_LEN;
use super::type_code;

/// The first event of each log file; also sent at the start of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormatDescription {
    /// `10.11.6-MariaDB-log`.
    pub server_version: String,
    /// When the file was begun, seconds since the epoch; 0 when the server
    /// describes a file that it reads from the middle.
    pub created: u32,
    /// The events behind it carry a CRC32.
    pub checksummed: bool,
}

/// Fixed part of the events that we cut: any other length is another format.
const POST_HEADERS: [(u8, u8); 6] = [
    (type_code::QUERY, 13),
    (type_code::ROTATE, 8),
    (type_code::TABLE_MAP, 8),
    (type_code::WRITE_ROWS_V1, 8),
    (type_code::UPDATE_ROWS_V1, 8),
    (type_code::DELETE_ROWS_V1, 8),
];

impl FormatDescription {
    pub(super) fn parse(body: &[u8], algorithm: Option<u8>) -> Result<Self, Malformed> {
        let mut bytes = Bytes(body);
        if bytes.u16("binlog version")? != 4 {
            return Err(Malformed("binlog version, not 4"));
        }
        let version = bytes.take(50, "server version")?;
        let version = version.split(|&byte| byte == 0).next().unwrap_or_default();
        let created = bytes.u32("creation time")?;
        if usize::from(bytes.u8("header length")?) != HEADER_LEN {
            return Err(Malformed("header length, not 19"));
        }
        for (code, length) in POST_HEADERS {
            if bytes.0.get(usize::from(code) - 1) != Some(&length) {
                return Err(Malformed("post-header lengths, not those of a version 4 log"));
            }
        }
        let checksummed = match algorithm {
            None | Some(0) => false,
            Some(1) => true,
            Some(_) => return Err(Malformed("checksum algorithm, neither NONE nor CRC32")),
        };
        Ok(Self { server_version: String::from_utf8_lossy(version).into_owned(), created, checksummed })
    }
}
