//! What a transform returns for a batch.

use crate::bindings::exports::tidegate::transform::columns as wire;
use crate::{Column, RowErrorCode};
use wire::{RowError, Selection};

/// The rows kept, their computed columns and the rows refused.
#[derive(Debug)]
pub struct Output {
    keep: Selection,
    route: Vec<u8>,
    columns: Vec<Column>,
    errors: Vec<RowError>,
}

impl Output {
    /// Keeps every row; `columns` are the plan's computed columns, one cell
    /// per row of the batch.
    pub fn all(columns: Vec<Column>) -> Self {
        Self { keep: Selection::All, route: Vec::new(), columns, errors: Vec::new() }
    }

    /// Keeps the rows of these indices, strictly ascending; `columns` have one
    /// cell per kept row. The plan must have declared a filter.
    pub fn rows(kept: Vec<u32>, columns: Vec<Column>) -> Self {
        Self { keep: Selection::Rows(kept), ..Self::all(columns) }
    }

    /// Sends each kept row to the output table of the plan at this index.
    #[must_use]
    pub fn routed(mut self, tables: Vec<u8>) -> Self {
        self.route = tables;
        self
    }

    /// Refuses the event of a row: it goes to the dead-letter queue with its
    /// original images, the other rows go on. `read` is the position of the
    /// column to blame in the plan's `reads`. If a row is refused more than
    /// once, the first reason counts.
    pub fn reject(
        &mut self,
        row: usize,
        code: RowErrorCode,
        read: Option<usize>,
        message: impl Into<String>,
    ) {
        let index = |value: usize| u32::try_from(value).expect("an index within the batch");
        self.errors.push(RowError {
            row: index(row),
            code,
            column: read.map(index),
            message: message.into(),
        });
    }

    pub(crate) fn into_wire(mut self) -> wire::Output {
        self.errors.sort_by_key(|error| error.row);
        self.errors.dedup_by_key(|error| error.row);
        wire::Output { keep: self.keep, route: self.route, columns: self.columns, errors: self.errors }
    }
}
