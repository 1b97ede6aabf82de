//! Primary keys as bytes, to tell which rows of a chunk the stream has handed
//! out already.
//!
//! Bytes are compared, not collations: an update that only changes the case of a
//! case-insensitive key hands out both spellings, and the chunk shows the last
//! one. So exact bytes find every row that was touched, and never drop another.

use std::collections::HashSet;

use tidegate_model::{Cell, ChangeBatch};

/// Notes the keys of all images in the batch.
pub(crate) fn note(batch: &ChangeBatch, noted: &mut HashSet<Vec<u8>>) {
    for row in 0..batch.rows.event.len() {
        noted.insert(key_of(batch, row));
    }
}

/// Events of a chunk whose keys are not among these.
pub(crate) fn untouched(chunk: &ChangeBatch, noted: &HashSet<Vec<u8>>) -> Vec<u32> {
    let rows = chunk.rows.event.iter().enumerate();
    rows.filter(|(row, _)| noted.is_empty() || !noted.contains(&key_of(chunk, *row)))
        .map(|(_, &event)| event)
        .collect()
}

/// The key of one row: per column a tag, and the value with its length.
fn key_of(batch: &ChangeBatch, row: usize) -> Vec<u8> {
    let mut key = Vec::with_capacity(16);
    for &column in &batch.table.key {
        match batch.cell(row, column) {
            Cell::Absent | Cell::Null => null(batch, row, column, &mut key),
            Cell::Boolean(value) => value_bytes(&mut key, 2, &[value.into()]),
            Cell::Integer(value) => value_bytes(&mut key, 3, &value.to_le_bytes()),
            Cell::Unsigned(value) => value_bytes(&mut key, 4, &value.to_le_bytes()),
            Cell::Float32(value) => value_bytes(&mut key, 5, &value.to_bits().to_le_bytes()),
            Cell::Float64(value) => value_bytes(&mut key, 6, &value.to_bits().to_le_bytes()),
            Cell::Decimal(value, _) => value_bytes(&mut key, 7, &value.to_le_bytes()),
            Cell::Text(value) => value_bytes(&mut key, 8, value.as_bytes()),
            Cell::Binary(value) => value_bytes(&mut key, 9, value),
            Cell::Date(value) => value_bytes(&mut key, 10, &value.to_le_bytes()),
            Cell::Timestamp(value) => value_bytes(&mut key, 11, &value.to_le_bytes()),
        }
    }
    key
}

fn value_bytes(key: &mut Vec<u8>, tag: u8, value: &[u8]) {
    key.push(tag);
    key.extend_from_slice(&(value.len() as u32).to_le_bytes());
    key.extend_from_slice(value);
}

/// A key column is never NULL, so this cell was refused: its text is the value.
fn null(batch: &ChangeBatch, row: usize, column: usize, key: &mut Vec<u8>) {
    let texts = batch.refused.iter().flat_map(|refusal| &refusal.texts);
    let text =
        texts.filter(|(r, c, _)| (*r as usize, *c as usize) == (row, column)).map(|(.., text)| text).next();
    value_bytes(key, 1, text.map(String::as_bytes).unwrap_or_default());
}
