//! Builders for computed columns. Marks are kept only once a cell without a
//! value appears, so that a column of values costs nothing but its values.

use crate::{Cell, Column, Packed, Vector};

/// One byte per row, or nothing while every cell has a value.
#[derive(Debug, Default)]
struct Marks {
    rows: usize,
    marks: Vec<u8>,
}

impl Marks {
    #[inline]
    fn push<T>(&mut self, cell: &Cell<T>) {
        let mark = match cell {
            Cell::Value(_) => 0,
            Cell::Null => 1,
            Cell::Absent => 2,
        };
        if mark != 0 && self.marks.is_empty() {
            self.marks.resize(self.rows, 0);
        }
        self.rows += 1;
        if mark != 0 || !self.marks.is_empty() {
            self.marks.push(mark);
        }
    }
}

/// Builds a column of fixed-size cells; see its aliases.
#[derive(Debug)]
pub struct FixedBuilder<T> {
    marks: Marks,
    values: Vec<T>,
    wrap: fn(Vec<T>) -> Vector,
}

/// Builds an `integer` column (int16 to int64, dates and times).
pub type IntegerBuilder = FixedBuilder<i64>;
/// Builds an `unsigned` column (uint64).
pub type UnsignedBuilder = FixedBuilder<u64>;
/// Builds a `float` column (float32, float64).
pub type FloatBuilder = FixedBuilder<f64>;

impl FixedBuilder<i64> {
    /// An empty column with room for `rows`.
    pub fn with_capacity(rows: usize) -> Self {
        Self { marks: Marks::default(), values: Vec::with_capacity(rows), wrap: Vector::Integer }
    }
}

impl FixedBuilder<u64> {
    /// An empty column with room for `rows`.
    pub fn with_capacity(rows: usize) -> Self {
        Self { marks: Marks::default(), values: Vec::with_capacity(rows), wrap: Vector::Unsigned }
    }
}

impl FixedBuilder<f64> {
    /// An empty column with room for `rows`.
    pub fn with_capacity(rows: usize) -> Self {
        Self { marks: Marks::default(), values: Vec::with_capacity(rows), wrap: Vector::Float }
    }
}

impl<T: Copy + Default> FixedBuilder<T> {
    /// Appends a cell.
    #[inline]
    pub fn push(&mut self, cell: Cell<T>) {
        self.marks.push(&cell);
        self.values.push(cell.value().unwrap_or_default());
    }

    /// The finished column.
    pub fn finish(self) -> Column {
        Column { marks: self.marks.marks, vector: (self.wrap)(self.values) }
    }
}

/// Builds a `boolean` column.
#[derive(Debug, Default)]
pub struct BooleanBuilder {
    marks: Marks,
    values: Vec<u8>,
}

impl BooleanBuilder {
    /// An empty column with room for `rows`.
    pub fn with_capacity(rows: usize) -> Self {
        Self { marks: Marks::default(), values: Vec::with_capacity(rows) }
    }

    /// Appends a cell.
    #[inline]
    pub fn push(&mut self, cell: Cell<bool>) {
        self.marks.push(&cell);
        self.values.push(cell.value().unwrap_or_default().into());
    }

    /// The finished column.
    pub fn finish(self) -> Column {
        Column { marks: self.marks.marks, vector: Vector::Boolean(self.values) }
    }
}

/// Builds a `text` column (text, decimal, uuid, json, other) in one heap.
#[derive(Debug)]
pub struct TextBuilder {
    marks: Marks,
    offsets: Vec<u32>,
    heap: String,
}

impl TextBuilder {
    /// An empty column with room for `rows` and for `bytes` of text.
    pub fn with_capacity(rows: usize, bytes: usize) -> Self {
        Self { marks: Marks::default(), offsets: first_offset(rows), heap: String::with_capacity(bytes) }
    }

    /// Appends a cell.
    #[inline]
    pub fn push(&mut self, cell: Cell<&str>) {
        self.push_with(cell, |text, heap| heap.push_str(text));
    }

    /// Appends a cell whose text is written directly to the end of the heap
    /// by `write`, which must only append.
    #[inline]
    pub fn push_with<T>(&mut self, cell: Cell<T>, write: impl FnOnce(T, &mut String)) {
        self.marks.push(&cell);
        if let Cell::Value(value) = cell {
            write(value, &mut self.heap);
        }
        self.offsets.push(heap_end(self.heap.len()));
    }

    /// Appends a cell as [`push_with`](Self::push_with) does, or null if
    /// `write` gives up; what it has written by then is taken back.
    ///
    /// # Errors
    /// The error of `write`.
    #[inline]
    pub fn try_push_with<T, E>(
        &mut self,
        cell: Cell<T>,
        write: impl FnOnce(T, &mut String) -> Result<(), E>,
    ) -> Result<(), E> {
        let start = self.heap.len();
        let (cell, result) = match cell {
            Cell::Value(value) => match write(value, &mut self.heap) {
                Ok(()) => (Cell::Value(()), Ok(())),
                Err(error) => (Cell::Null, Err(error)),
            },
            Cell::Null => (Cell::Null, Ok(())),
            Cell::Absent => (Cell::Absent, Ok(())),
        };
        if result.is_err() {
            self.heap.truncate(start);
        }
        self.push_with(cell, |(), _| ());
        result
    }

    /// The finished column.
    pub fn finish(self) -> Column {
        let packed = Packed { offsets: self.offsets, bytes: self.heap.into_bytes() };
        Column { marks: self.marks.marks, vector: Vector::Text(packed) }
    }
}

/// Builds a `binary` column in one heap.
#[derive(Debug)]
pub struct BinaryBuilder {
    marks: Marks,
    offsets: Vec<u32>,
    heap: Vec<u8>,
}

impl BinaryBuilder {
    /// An empty column with room for `rows` and for `bytes` of content.
    pub fn with_capacity(rows: usize, bytes: usize) -> Self {
        Self { marks: Marks::default(), offsets: first_offset(rows), heap: Vec::with_capacity(bytes) }
    }

    /// Appends a cell.
    #[inline]
    pub fn push(&mut self, cell: Cell<&[u8]>) {
        self.marks.push(&cell);
        if let Cell::Value(value) = cell {
            self.heap.extend_from_slice(value);
        }
        self.offsets.push(heap_end(self.heap.len()));
    }

    /// The finished column.
    pub fn finish(self) -> Column {
        let packed = Packed { offsets: self.offsets, bytes: self.heap };
        Column { marks: self.marks.marks, vector: Vector::Binary(packed) }
    }
}

fn first_offset(rows: usize) -> Vec<u32> {
    let mut offsets = Vec::with_capacity(rows + 1);
    offsets.push(0);
    offsets
}

/// A batch is far below 4 GiB: the host limits the guest's memory to a
/// fraction of that.
#[inline]
fn heap_end(bytes: usize) -> u32 {
    u32::try_from(bytes).expect("a column heap below 4 GiB")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_appear_with_the_first_cell_without_a_value() {
        let mut column = IntegerBuilder::with_capacity(4);
        column.push(Cell::Value(7));
        assert!(column.marks.marks.is_empty());
        column.push(Cell::Absent);
        column.push(Cell::Null);
        column.push(Cell::Value(8));
        assert_eq!(
            column.finish(),
            Column { marks: vec![0, 2, 1, 0], vector: Vector::Integer(vec![7, 0, 0, 8]) }
        );
    }

    #[test]
    fn text_cells_without_a_value_are_empty_slices() {
        let mut column = TextBuilder::with_capacity(3, 8);
        column.push(Cell::Null);
        column.push(Cell::Value("añ"));
        column.push(Cell::Value(""));
        let finished = column.finish();
        let texts = finished.texts().unwrap();
        assert_eq!(texts.get(0), Cell::Null);
        assert_eq!(texts.get(1), Cell::Value("añ"));
        assert_eq!(texts.get(2), Cell::Value(""));
    }
}
