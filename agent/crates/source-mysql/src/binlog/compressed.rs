//! MariaDB's compressed events (`log_bin_compress`): the text of a QUERY and
//! the images of a row event as a zlib stream; everything before them is plain.
//!
//! Layout (sql/log_event.cc, `binlog_buf_compress`): one byte with bit 7 set,
//! the algorithm in bits 4–6 (0: zlib) and the number of length bytes in bits
//! 0–2; the plain length, big-endian; the stream.

use std::io::Read;

use flate2::read::ZlibDecoder;

use super::bytes::{Bytes, Malformed};

/// Longest plain form: both images of an update at the largest row that the
/// agent takes (64 MiB), and the server's own packing around them.
const PLAIN_MAX: usize = (2 * 64 + 1) << 20;

/// The plain bytes. Memory grows with what really comes out of the stream,
/// never with what the length claims.
pub(super) fn inflate(packed: &[u8]) -> Result<Vec<u8>, Malformed> {
    let mut bytes = Bytes(packed);
    let head = bytes.u8("compressed event")?;
    let length_bytes = usize::from(head & 0x07);
    if head & 0xf0 != 0x80 || !(1..=4).contains(&length_bytes) {
        return Err(Malformed("compressed event, not zlib"));
    }
    let length = bytes.take(length_bytes, "compressed event length")?;
    let length = length.iter().fold(0_usize, |value, &byte| value << 8 | usize::from(byte));
    if length > PLAIN_MAX {
        return Err(Malformed("compressed event, larger than any row that the agent takes"));
    }
    let mut plain = Vec::with_capacity(length.min(64 << 10));
    let mut stream = ZlibDecoder::new(bytes.0).take(length as u64 + 1);
    stream.read_to_end(&mut plain).map_err(|_| Malformed("zlib stream"))?;
    if plain.len() != length {
        return Err(Malformed("compressed event, of another length than it says"));
    }
    Ok(plain)
}
