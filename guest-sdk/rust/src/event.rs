//! Views over the records of a batch: rows by index, columns by the plan's
//! `reads`, cells in their three states.

use crate::bindings::exports::tidegate::transform::columns as wire;
use crate::{BatchError, Column, Image, Operation, Packed, Vector};

/// A cell: `Absent` means that the source did not send it (an unchanged large
/// value, a column outside the replica identity). It is not null, and what is
/// computed from it must be absent too, which [`map`](Cell::map) and
/// [`zip`](Cell::zip) do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell<T> {
    /// The cell has this value.
    Value(T),
    /// The cell is null.
    Null,
    /// The source did not send the cell.
    Absent,
}

impl<T> Cell<T> {
    /// Applies `f` to a value; null stays null and absent stays absent.
    #[inline]
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Cell<U> {
        match self {
            Cell::Value(value) => Cell::Value(f(value)),
            Cell::Null => Cell::Null,
            Cell::Absent => Cell::Absent,
        }
    }

    /// Both values, or absent if one is absent, or null if one is null.
    #[inline]
    pub fn zip<U>(self, other: Cell<U>) -> Cell<(T, U)> {
        match (self, other) {
            (Cell::Value(a), Cell::Value(b)) => Cell::Value((a, b)),
            (Cell::Absent, _) | (_, Cell::Absent) => Cell::Absent,
            _ => Cell::Null,
        }
    }

    /// The value, if there is one.
    #[inline]
    pub fn value(self) -> Option<T> {
        match self {
            Cell::Value(value) => Some(value),
            Cell::Null | Cell::Absent => None,
        }
    }
}

/// The rows of one batch. The `before` image of an event lies directly in
/// front of its `after` image, with the same event index.
#[derive(Debug)]
pub struct Batch(wire::Batch);

impl Batch {
    pub(crate) fn new(batch: wire::Batch) -> Self {
        Self(batch)
    }

    /// Number of rows, that is of images.
    #[inline]
    pub fn len(&self) -> usize {
        self.0.row_count as usize
    }

    /// Whether the batch has no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Event index of a row; equal on the two images of one event.
    #[inline]
    pub fn event(&self, row: usize) -> u32 {
        self.0.events[row]
    }

    /// Which image of its event a row is.
    #[inline]
    pub fn image(&self, row: usize) -> Image {
        if self.0.images[row] == 0 { Image::Before } else { Image::After }
    }

    /// What happened to the source row.
    #[inline]
    pub fn operation(&self, row: usize) -> Operation {
        match self.0.operations[row] {
            0 => Operation::Insert,
            1 => Operation::Update,
            2 => Operation::Delete,
            _ => Operation::Snapshot,
        }
    }

    /// The column at this position of the plan's `reads`.
    ///
    /// # Panics
    /// If the plan reads fewer columns.
    #[inline]
    pub fn column(&self, read: usize) -> &Column {
        &self.0.columns[read]
    }

    /// All columns, in the order of the plan's `reads`; they can be returned
    /// without a copy.
    pub fn into_columns(self) -> Vec<Column> {
        self.0.columns
    }
}

/// How the cells of one physical form are read.
pub trait Values: Copy {
    /// What a cell with a value holds.
    type Item;

    /// The value of a row whose mark says that it has one.
    fn value(self, row: usize) -> Self::Item;
}

impl<T: Copy> Values for &[T] {
    type Item = T;

    #[inline]
    fn value(self, row: usize) -> T {
        self[row]
    }
}

/// Cells of a boolean column, one byte each.
#[derive(Clone, Copy, Debug)]
pub struct Booleans<'a>(&'a [u8]);

impl Values for Booleans<'_> {
    type Item = bool;

    #[inline]
    fn value(self, row: usize) -> bool {
        self.0[row] != 0
    }
}

/// Cells of a text column: one heap, checked for UTF-8 once.
#[derive(Clone, Copy, Debug)]
pub struct Texts<'a> {
    offsets: &'a [u32],
    heap: &'a str,
}

impl<'a> Values for Texts<'a> {
    type Item = &'a str;

    #[inline]
    fn value(self, row: usize) -> &'a str {
        &self.heap[self.offsets[row] as usize..self.offsets[row + 1] as usize]
    }
}

/// Cells of a binary column.
#[derive(Clone, Copy, Debug)]
pub struct Binaries<'a> {
    offsets: &'a [u32],
    heap: &'a [u8],
}

impl<'a> Values for Binaries<'a> {
    type Item = &'a [u8];

    #[inline]
    fn value(self, row: usize) -> &'a [u8] {
        &self.heap[self.offsets[row] as usize..self.offsets[row + 1] as usize]
    }
}

/// Typed, borrowed view over the cells of a column.
#[derive(Clone, Copy, Debug)]
pub struct Cells<'a, V> {
    marks: &'a [u8],
    values: V,
}

impl<V: Values> Cells<'_, V> {
    /// The cell of a row.
    ///
    /// # Panics
    /// If the batch has fewer rows.
    #[inline]
    pub fn get(&self, row: usize) -> Cell<V::Item> {
        match self.marks.get(row) {
            None | Some(0) => Cell::Value(self.values.value(row)),
            Some(1) => Cell::Null,
            Some(_) => Cell::Absent,
        }
    }
}

impl Column {
    /// Number of cells.
    pub fn rows(&self) -> usize {
        match &self.vector {
            Vector::Boolean(cells) => cells.len(),
            Vector::Integer(cells) => cells.len(),
            Vector::Unsigned(cells) => cells.len(),
            Vector::Float(cells) => cells.len(),
            Vector::Text(cells) | Vector::Binary(cells) => cells.offsets.len().saturating_sub(1),
        }
    }

    /// The cells of an `integer` column (int16 to int64, dates and times).
    ///
    /// # Errors
    /// [`BatchError::Fatal`] if the column has another form: the transform
    /// reads another column than it planned.
    pub fn integers(&self) -> Result<Cells<'_, &[i64]>, BatchError> {
        match &self.vector {
            Vector::Integer(values) => Ok(self.cells(values.as_slice())),
            _ => Err(self.mismatch("integer")),
        }
    }

    /// The cells of an `unsigned` column (uint64).
    ///
    /// # Errors
    /// As [`integers`](Self::integers).
    pub fn unsigneds(&self) -> Result<Cells<'_, &[u64]>, BatchError> {
        match &self.vector {
            Vector::Unsigned(values) => Ok(self.cells(values.as_slice())),
            _ => Err(self.mismatch("unsigned")),
        }
    }

    /// The cells of a `float` column (float32, float64).
    ///
    /// # Errors
    /// As [`integers`](Self::integers).
    pub fn floats(&self) -> Result<Cells<'_, &[f64]>, BatchError> {
        match &self.vector {
            Vector::Float(values) => Ok(self.cells(values.as_slice())),
            _ => Err(self.mismatch("float")),
        }
    }

    /// The cells of a `boolean` column.
    ///
    /// # Errors
    /// As [`integers`](Self::integers).
    pub fn booleans(&self) -> Result<Cells<'_, Booleans<'_>>, BatchError> {
        match &self.vector {
            Vector::Boolean(values) => Ok(self.cells(Booleans(values))),
            _ => Err(self.mismatch("boolean")),
        }
    }

    /// The cells of a `text` column (text, decimal, uuid, json, other).
    ///
    /// # Errors
    /// As [`integers`](Self::integers); also if the heap is not UTF-8.
    pub fn texts(&self) -> Result<Cells<'_, Texts<'_>>, BatchError> {
        let Vector::Text(Packed { offsets, bytes }) = &self.vector else {
            return Err(self.mismatch("text"));
        };
        let heap = core::str::from_utf8(bytes)
            .map_err(|_| BatchError::Fatal("a text column is not UTF-8".into()))?;
        Ok(self.cells(Texts { offsets, heap }))
    }

    /// The cells of a `binary` column.
    ///
    /// # Errors
    /// As [`integers`](Self::integers).
    pub fn binaries(&self) -> Result<Cells<'_, Binaries<'_>>, BatchError> {
        match &self.vector {
            Vector::Binary(Packed { offsets, bytes }) => Ok(self.cells(Binaries { offsets, heap: bytes })),
            _ => Err(self.mismatch("binary")),
        }
    }

    fn cells<V>(&self, values: V) -> Cells<'_, V> {
        Cells { marks: &self.marks, values }
    }

    fn mismatch(&self, wanted: &str) -> BatchError {
        let found = match self.vector {
            Vector::Boolean(_) => "boolean",
            Vector::Integer(_) => "integer",
            Vector::Unsigned(_) => "unsigned",
            Vector::Float(_) => "float",
            Vector::Text(_) => "text",
            Vector::Binary(_) => "binary",
        };
        BatchError::Fatal(format!("the transform reads a column as {wanted}, but it is {found}"))
    }
}
