//! ENUM and SET: a number in the log, labels in the model.

use std::fmt::Write;
use std::sync::Arc;

use tidegate_model::ColumnBuilder;

use super::cell::{CellError, WRONG_FORM};
use crate::binlog::{Bytes, Malformed};

/// The labels of a column and how many bytes a cell takes in the log.
#[derive(Debug, Clone)]
pub(super) struct Labels {
    labels: Arc<[String]>,
    bytes: u8,
}

impl Labels {
    pub(super) fn new(labels: Arc<[String]>, bytes: u8) -> Self {
        Self { labels, bytes }
    }

    /// The number out of a row image.
    #[inline]
    pub(super) fn number_of_wire(&self, bytes: &mut Bytes<'_>) -> Result<u64, Malformed> {
        let cell = bytes.take(self.bytes.into(), "ENUM or SET")?;
        Ok(cell.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    }

    /// Appends the label of an ENUM; 0, an invalid value, is the empty text.
    #[inline]
    pub(super) fn append_enum(&self, number: u64, out: &mut ColumnBuilder) -> Result<(), CellError> {
        let ColumnBuilder::Text(out) = out else { return Err(WRONG_FORM) };
        let label = match number.checked_sub(1) {
            None => "",
            Some(index) => {
                let label = usize::try_from(index).ok().and_then(|index| self.labels.get(index));
                label.ok_or(Malformed("ENUM number, beyond its labels"))?
            }
        };
        out.append_value(label);
        Ok(())
    }

    /// Appends the labels of a SET, joined by commas in the server's order. No
    /// label can contain a comma.
    pub(super) fn append_set(&self, members: u64, out: &mut ColumnBuilder) -> Result<(), CellError> {
        let ColumnBuilder::Text(out) = out else { return Err(WRONG_FORM) };
        let known = u64::MAX.checked_shr(64 - self.labels.len().min(64) as u32).unwrap_or(0);
        if members & !known != 0 {
            return Err(Malformed("SET member, beyond its labels").into());
        }
        let mut left = members;
        while left != 0 {
            let index = left.trailing_zeros() as usize;
            left &= left - 1;
            let comma = if left == 0 { "" } else { "," };
            // Writing into a string builder never fails.
            let _ = out.write_str(&self.labels[index]).and_then(|()| out.write_str(comma));
        }
        out.append_value("");
        Ok(())
    }
}
