//! Row events: which table, which columns, and the images' bytes.
//!
//! The images are cut by [`crate::codec`], which alone knows the columns.

use std::borrow::Cow;

use super::bytes::{Bytes, Malformed};
use super::compressed;
use super::raw::RawEvent;
use super::type_code::{
    DELETE_ROWS, DELETE_ROWS_COMPRESSED, DELETE_ROWS_COMPRESSED_V1, DELETE_ROWS_V1, UPDATE_ROWS,
    UPDATE_ROWS_COMPRESSED, UPDATE_ROWS_COMPRESSED_V1, UPDATE_ROWS_V1, WRITE_ROWS, WRITE_ROWS_COMPRESSED,
    WRITE_ROWS_COMPRESSED_V1, WRITE_ROWS_V1,
};

/// Table id of a row event that changes nothing and only ends a statement.
pub(super) const DUMMY_TABLE_ID: u64 = 0x00ff_ffff;

/// What the rows of an event are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowsKind {
    /// Inserted: after images.
    Write,
    /// Updated: before and after, in pairs.
    Update,
    /// Deleted: before images.
    Delete,
}

/// Rows of one table (MariaDB: "ROWS_EVENT_V1/V2", "RC_…COMPRESSED").
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowsEvent<'a> {
    /// What happened.
    pub kind: RowsKind,
    /// Id of the TABLE_MAP before it. [`Self::is_dummy`] has none.
    pub table_id: u64,
    /// Last row event of its statement: table ids end here.
    pub statement_end: bool,
    /// Number of columns; equals the TABLE_MAP's.
    pub width: usize,
    /// Bit per column, lowest first: it is in the (first) image. For WRITE the
    /// after image, else the before image.
    pub present: &'a [u8],
    /// The same for the after image of an update; empty otherwise.
    pub present_after: &'a [u8],
    /// The images, one behind the other.
    pub images: Cow<'a, [u8]>,
}

impl<'a> RowsEvent<'a> {
    pub(super) fn parse(raw: &RawEvent<'a>) -> Result<Self, Malformed> {
        let (kind, second, packed) = match raw.type_code {
            WRITE_ROWS_V1 => (RowsKind::Write, false, false),
            UPDATE_ROWS_V1 => (RowsKind::Update, false, false),
            DELETE_ROWS_V1 => (RowsKind::Delete, false, false),
            WRITE_ROWS => (RowsKind::Write, true, false),
            UPDATE_ROWS => (RowsKind::Update, true, false),
            DELETE_ROWS => (RowsKind::Delete, true, false),
            WRITE_ROWS_COMPRESSED_V1 => (RowsKind::Write, false, true),
            UPDATE_ROWS_COMPRESSED_V1 => (RowsKind::Update, false, true),
            DELETE_ROWS_COMPRESSED_V1 => (RowsKind::Delete, false, true),
            WRITE_ROWS_COMPRESSED => (RowsKind::Write, true, true),
            UPDATE_ROWS_COMPRESSED => (RowsKind::Update, true, true),
            DELETE_ROWS_COMPRESSED => (RowsKind::Delete, true, true),
            _ => return Err(Malformed("row event type")),
        };
        let mut bytes = Bytes(raw.body);
        let table_id = bytes.u48("row event table id")?;
        let flags = bytes.u16("row event flags")?;
        if second {
            let extra = bytes.u16("row event extra data")?.checked_sub(2);
            bytes.take(extra.ok_or(Malformed("row event extra data"))?.into(), "row event extra data")?;
        }
        let width = bytes.length("row event width")?;
        let bitmap = width.div_ceil(8);
        let present = bytes.take(bitmap, "row event columns")?;
        let present_after =
            if kind == RowsKind::Update { bytes.take(bitmap, "row event columns")? } else { &[] };
        let images = if packed { Cow::Owned(compressed::inflate(bytes.0)?) } else { Cow::Borrowed(bytes.0) };
        Ok(Self { kind, table_id, statement_end: flags & 1 != 0, width, present, present_after, images })
    }

    /// True when the images hold less than what a row was and is: with all columns
    /// in them, or for a delete those of the key, nothing is missing.
    pub fn is_partial(&self, key: &[usize]) -> bool {
        let has =
            |bitmap: &[u8], column: usize| bitmap.get(column / 8).is_some_and(|b| b >> (column % 8) & 1 == 1);
        let all = |bitmap: &[u8]| (0..self.width).all(|column| has(bitmap, column));
        match self.kind {
            RowsKind::Write => !all(self.present),
            RowsKind::Update => !all(self.present) || !all(self.present_after),
            RowsKind::Delete if key.is_empty() => !all(self.present),
            RowsKind::Delete => !key.iter().all(|&column| has(self.present, column)),
        }
    }

    /// It has no rows and no table; it only ends a statement.
    pub fn is_dummy(&self) -> bool {
        self.table_id == DUMMY_TABLE_ID
    }
}
