//! A number for a table's layout.

use std::fmt;

use super::{KeyPart, MapColumn};
use crate::charset::Charset;

/// Hash of everything that decides how rows are cut and what their columns are
/// called: types with their sizes, nullability, names, signs, charsets, labels,
/// primary key. Over the meaning, not the bytes: the server may spell the same
/// layout in two ways (default charsets). Stable across versions of the agent:
/// recorded schema changes carry it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fingerprint(pub [u8; 16]);

impl Fingerprint {
    pub(super) fn of(columns: &[MapColumn], key: &[KeyPart]) -> Self {
        let mut hash = blake3::Hasher::new();
        let mut number = |value: u64| {
            hash.update(&value.to_le_bytes());
        };
        number(1); // version of this list
        number(columns.len() as u64);
        for column in columns {
            let (kind, size) = column.wire.parts();
            number(u64::from(kind) << 32 | u64::from(size));
            number(column.nullable.into());
            number(column.unsigned.map_or(2, u64::from));
            number(if let Some(Charset::Unknown(id)) = column.charset { id.into() } else { 0 });
            number(column.geometry.map_or(u64::MAX, u64::from));
        }
        number(key.len() as u64);
        for part in key {
            number(part.column as u64);
            number(part.prefix as u64);
        }
        let mut text = |value: &[u8]| {
            hash.update(&(value.len() as u64).to_le_bytes());
            hash.update(value);
        };
        for column in columns {
            text(column.charset.map_or("", Charset::name).as_bytes());
            text(column.name.as_deref().unwrap_or_default().as_bytes());
            let labels = column.labels.as_deref().unwrap_or_default();
            text(&(labels.len() as u64).to_le_bytes());
            labels.iter().for_each(|label| text(label));
        }
        let mut short = [0; 16];
        short.copy_from_slice(&hash.finalize().as_bytes()[..16]);
        Self(short)
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}
