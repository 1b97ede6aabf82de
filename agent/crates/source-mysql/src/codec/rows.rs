//! Row events into a batch.

use tidegate_model::{
    BatchBuilder, Column, ColumnBuilder, Error, ErrorKind, Image, Operation, Refusal, RefusalCode, Result,
    TableVersion,
};

use super::ROW_BYTES_MAX;
use super::cell::{CellCodec, CellError, Refused};
use super::skip::skip_cell;
use crate::binlog::{Bytes, ColumnType, Malformed, RowsEvent, RowsKind, TableMap};

/// What an event added to the batch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RowsDecoded {
    /// Row changes in the event, skipped ones included.
    pub changes: u64,
    /// Row changes appended to the batch.
    pub appended: u64,
}

/// Decodes the row events of one table version.
#[derive(Debug)]
pub struct TableCodec {
    cells: Vec<CellCodec>,
    wires: Vec<ColumnType>,
    version: TableVersion,
}

impl TableCodec {
    /// A codec for rows that this map describes, into batches of this version.
    ///
    /// # Errors
    /// `Schema` when map and version differ in a column's number, name or type:
    /// a schema change comes first. `Unsupported`, naming table, column and
    /// type, when a type is not exact: the table is to be parked.
    pub fn new(version: &TableVersion, map: &TableMap) -> Result<Self> {
        let differs = |what: String| {
            Error::new(ErrorKind::Schema, format!("the log's rows differ from the recorded schema: {what}"))
                .during("read table map")
                .with("table", &version.name)
                .hint("run `tidegate snapshot` for this table to record its schema anew")
        };
        if version.columns.len() != map.columns.len() {
            let (log, known) = (map.columns.len(), version.columns.len());
            return Err(differs(format!("{log} columns, not {known}")));
        }
        let mut cells = Vec::with_capacity(map.columns.len());
        for (column, wire) in version.columns.iter().zip(&map.columns) {
            if let Some(name) = wire.name.as_ref().filter(|name| **name != column.name) {
                return Err(differs(format!("column '{name}', not '{}'", column.name)));
            }
            let cell =
                CellCodec::new(&column.data_type, Some(wire)).ok_or_else(|| unsupported(version, column))?;
            if !wire.carries(&column.data_type) {
                return Err(differs(format!("column '{}' is no {}", column.name, column.data_type)));
            }
            cells.push(cell);
        }
        let wires = map.columns.iter().map(|column| column.wire).collect();
        Ok(Self { cells, wires, version: version.clone() })
    }

    /// The version whose batches it fills.
    pub fn version(&self) -> &TableVersion {
        &self.version
    }

    /// Appends the changes of an event to a batch. `next` is asked for each
    /// change, in order, and gives its running numbers (in the transaction and
    /// in the table), or `None` to leave it out: an offset covers it already, or
    /// its operation is not captured. The builder's current transaction is the
    /// event's.
    ///
    /// # Errors
    /// `Corrupt` when the images are not those of the map; `Unsupported` when an
    /// image is longer than [`ROW_BYTES_MAX`]. Changes before the fault may have
    /// been appended; the builder is then unusable.
    pub fn decode_rows(
        &self,
        rows: &RowsEvent<'_>,
        builder: &mut BatchBuilder,
        mut next: impl FnMut() -> Option<(i64, u64)>,
    ) -> Result<RowsDecoded> {
        debug_assert!(builder.table().version == self.version.version, "a batch of another version");
        let mut decoded = RowsDecoded::default();
        if rows.width != self.cells.len() || builder.columns().len() != self.cells.len() {
            return Err(self.fail(Malformed("row event, of another number of columns than its map"), None));
        }
        let first = Present::new(rows.present, rows.width);
        let second = Present::new(rows.present_after, rows.width);
        // Every other change takes at least the byte of its null bitmap.
        if first.count + second.count == 0 {
            return Err(self.fail(Malformed("row event, with no column in its images"), None));
        }
        let (operation, image) = match rows.kind {
            RowsKind::Write => (Operation::Insert, Image::After),
            RowsKind::Update => (Operation::Update, Image::Before),
            RowsKind::Delete => (Operation::Delete, Image::Before),
        };
        let mut bytes = Bytes(&rows.images);
        while !bytes.is_empty() {
            decoded.changes += 1;
            let Some((idx, table_idx)) = next() else {
                self.skip_image(&first, &mut bytes)?;
                if rows.kind == RowsKind::Update {
                    self.skip_image(&second, &mut bytes)?;
                }
                continue;
            };
            decoded.appended += 1;
            builder.event(operation, idx, table_idx);
            let mut texts = Texts::default();
            self.append_image(&first, &mut bytes, builder, &mut texts)?;
            builder.row(image);
            if rows.kind == RowsKind::Update {
                self.append_image(&second, &mut bytes, builder, &mut texts)?;
                builder.row(Image::After);
            }
            texts.refuse(&self.version, builder);
        }
        Ok(decoded)
    }

    /// Appends one image, a cell to every column.
    #[inline]
    fn append_image(
        &self,
        present: &Present<'_>,
        bytes: &mut Bytes<'_>,
        builder: &mut BatchBuilder,
        texts: &mut Texts,
    ) -> Result<()> {
        let before = bytes.0.len();
        let nulls = bytes.take(present.count.div_ceil(8), "null bitmap").map_err(|m| self.fail(m, None))?;
        let row = builder.rows() as u32;
        if present.count == self.cells.len() {
            for (index, (cell, out)) in self.cells.iter().zip(builder.columns()).enumerate() {
                self.append_cell(index, cell, is_set(nulls, index), bytes, out, row, texts)?;
            }
        } else {
            let mut sent = 0;
            for (index, cell) in self.cells.iter().enumerate() {
                if !is_set(present.bits, index) {
                    builder.absent(index);
                    continue;
                }
                let out = &mut builder.columns()[index];
                self.append_cell(index, cell, is_set(nulls, sent), bytes, out, row, texts)?;
                sent += 1;
            }
        }
        if before - bytes.0.len() > ROW_BYTES_MAX {
            return Err(Error::new(ErrorKind::Unsupported, "a row is longer than the agent takes")
                .during("read row event")
                .with("table", &self.version.name)
                .with("bytes", before - bytes.0.len())
                .with("limit", ROW_BYTES_MAX));
        }
        Ok(())
    }

    #[inline]
    #[expect(clippy::too_many_arguments, reason = "the hot loop's state, kept in registers")]
    fn append_cell(
        &self,
        index: usize,
        cell: &CellCodec,
        is_null: bool,
        bytes: &mut Bytes<'_>,
        out: &mut ColumnBuilder,
        row: u32,
        texts: &mut Texts,
    ) -> Result<()> {
        if is_null {
            out.append_null();
            return Ok(());
        }
        match cell.append_wire(bytes, out) {
            Ok(()) => Ok(()),
            Err(CellError::Refused(refused)) => {
                out.append_null();
                texts.note(row, index, *refused);
                Ok(())
            }
            Err(CellError::Malformed(malformed)) => Err(self.fail(malformed, Some(index))),
        }
    }

    /// Reads over one image.
    fn skip_image(&self, present: &Present<'_>, bytes: &mut Bytes<'_>) -> Result<()> {
        let nulls = bytes.take(present.count.div_ceil(8), "null bitmap").map_err(|m| self.fail(m, None))?;
        let mut sent = 0;
        for (index, wire) in self.wires.iter().enumerate() {
            if is_set(present.bits, index) {
                if !is_set(nulls, sent) {
                    skip_cell(*wire, bytes).map_err(|malformed| self.fail(malformed, Some(index)))?;
                }
                sent += 1;
            }
        }
        Ok(())
    }

    #[cold]
    fn fail(&self, malformed: Malformed, column: Option<usize>) -> Error {
        let error = Error::new(ErrorKind::Corrupt, malformed.to_string())
            .during("read row event")
            .with("table", &self.version.name);
        match column.and_then(|index| self.version.columns.get(index)) {
            Some(column) => error.with("column", &column.name),
            None => error,
        }
    }
}

/// Which columns an image holds.
struct Present<'a> {
    bits: &'a [u8],
    count: usize,
}

impl<'a> Present<'a> {
    fn new(bits: &'a [u8], width: usize) -> Self {
        let count = (0..width).filter(|&index| is_set(bits, index)).count();
        Self { bits, count }
    }
}

/// Bit `index` of a bitmap, lowest first; what lies beyond its end is not set.
#[inline]
fn is_set(bits: &[u8], index: usize) -> bool {
    bits.get(index / 8).is_some_and(|byte| byte >> (index % 8) & 1 != 0)
}

/// The refused cells of one event.
#[derive(Default)]
pub(super) struct Texts(Option<Box<Noted>>);

struct Noted {
    column: usize,
    reason: &'static str,
    texts: Vec<(u32, u32, String)>,
}

impl Texts {
    /// Notes a refused cell.
    #[cold]
    pub(super) fn note(&mut self, row: u32, column: usize, refused: Refused) {
        let first = || Box::new(Noted { column, reason: refused.reason, texts: Vec::new() });
        self.0.get_or_insert_with(first).texts.push((row, column as u32, refused.text));
    }

    /// Refuses the builder's current event if a cell of it was.
    #[inline]
    pub(super) fn refuse(self, version: &TableVersion, builder: &mut BatchBuilder) {
        if let Some(noted) = self.0 {
            let Noted { column, reason, texts } = *noted;
            builder.refuse(Refusal {
                event: builder.events() as u32 - 1,
                code: RefusalCode::InvalidValue,
                column: version.columns.get(column).map(|column| column.name.clone()),
                message: reason.into(),
                texts,
            });
        }
    }
}

/// The error that parks a table.
pub(super) fn unsupported(version: &TableVersion, column: &Column) -> Error {
    let words =
        if column.source_type.is_empty() { column.data_type.to_string() } else { column.source_type.clone() };
    Error::new(ErrorKind::Unsupported, "a column's type cannot be captured exactly yet")
        .during("make codec")
        .with("table", &version.name)
        .with("column", &column.name)
        .with("type", words)
        .hint(
            "leave the column out of the table (`columns: { exclude: […] }` comes later) or change its type",
        )
}
