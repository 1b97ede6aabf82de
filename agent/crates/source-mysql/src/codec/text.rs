//! Text and bytes.

use std::fmt::Write as _;

use tidegate_model::ColumnBuilder;

use super::cell::{CellError, WRONG_FORM};
use crate::charset::Charset;

/// Appends text as UTF-8; refuses what is not valid in its charset.
#[inline]
pub(super) fn append(charset: Charset, bytes: &[u8], out: &mut ColumnBuilder) -> Result<(), CellError> {
    let ColumnBuilder::Text(out) = out else { return Err(WRONG_FORM) };
    if charset == Charset::Latin1 {
        // Writing into a string builder never fails.
        let _ = Charset::write_latin1(bytes, out);
        out.append_value("");
        return Ok(());
    }
    let Some(text) = charset.decode_utf8(bytes) else {
        return Err(CellError::refused("text is not valid in its charset", hex(bytes)));
    };
    out.append_value(text);
    Ok(())
}

/// Appends bytes as they are.
#[inline]
pub(super) fn append_binary(bytes: &[u8], out: &mut ColumnBuilder) -> Result<(), CellError> {
    let ColumnBuilder::Binary(out) = out else { return Err(WRONG_FORM) };
    out.append_value(bytes);
    Ok(())
}

/// Appends BINARY(n), padded with the zero bytes that the log strips.
#[inline]
pub(super) fn append_fixed(bytes: &[u8], length: usize, out: &mut ColumnBuilder) -> Result<(), CellError> {
    let ColumnBuilder::Binary(out) = out else { return Err(WRONG_FORM) };
    const ZEROS: [u8; 255] = [0; 255];
    let missing = length.saturating_sub(bytes.len()).min(ZEROS.len());
    if missing > 0 {
        // Writing into a byte builder never fails.
        let _ = std::io::Write::write_all(out, bytes);
        out.append_value(&ZEROS[..missing]);
    } else {
        out.append_value(bytes);
    }
    Ok(())
}

/// Bytes that are no text, for a dead letter.
pub(super) fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 + 2 * bytes.len());
    text.push_str("0x");
    for byte in bytes {
        let _ = write!(text, "{byte:02X}");
    }
    text
}
