//! Row events into a batch.

use tidegate_model::{
    BatchBuilder, Column, Error, ErrorKind, Image, Operation, Refusal, RefusalCode, Result, TableVersion,
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
            return Err(self.fail(TOO_FEW.into()));
        }
        let first = Present::new(rows.present, rows.width);
        let second = Present::new(rows.present_after, rows.width);
        // Every other change takes at least the byte of its null bitmap.
        if first.count + second.count == 0 {
            return Err(self.fail(Malformed("row event, with no column in its images").into()));
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
                let mut skipped = self.skip_image(&first, &mut bytes);
                if rows.kind == RowsKind::Update {
                    skipped = skipped.and_then(|()| self.skip_image(&second, &mut bytes));
                }
                skipped.map_err(|fault| self.fail(fault))?;
                continue;
            };
            decoded.appended += 1;
            builder.event(operation, idx, table_idx);
            let mut texts = Texts::default();
            let mut appended = self.append_image(&first, image, &mut bytes, builder, &mut texts);
            if rows.kind == RowsKind::Update {
                appended = appended
                    .and_then(|()| self.append_image(&second, Image::After, &mut bytes, builder, &mut texts));
            }
            appended.map_err(|fault| self.fail(fault))?;
            texts.refuse(&self.version, builder);
        }
        Ok(decoded)
    }

    /// Bytes of the longest image of an event: a table whose rows are over
    /// [`ROW_BYTES_MAX`] is parked before anything of the event is taken.
    ///
    /// # Errors
    /// `Corrupt` when the images are not those of the map.
    pub fn longest_image(&self, rows: &RowsEvent<'_>) -> Result<usize> {
        let first = Present::new(rows.present, rows.width);
        let second = Present::new(rows.present_after, rows.width);
        if rows.width != self.cells.len() || first.count + second.count == 0 {
            return Err(self.fail(TOO_FEW.into()));
        }
        let (mut bytes, mut longest) = (Bytes(&rows.images), 0);
        while !bytes.is_empty() {
            for present in std::iter::once(&first).chain((rows.kind == RowsKind::Update).then_some(&second)) {
                let before = bytes.0.len();
                self.skip_image(present, &mut bytes).map_err(|fault| self.fail(fault))?;
                longest = longest.max(before - bytes.0.len());
            }
        }
        Ok(longest)
    }

    /// Appends one image, a cell to every column.
    #[inline]
    fn append_image(
        &self,
        present: &Present<'_>,
        image: Image,
        bytes: &mut Bytes<'_>,
        builder: &mut BatchBuilder,
        texts: &mut Texts,
    ) -> Result<(), Fault> {
        let before = bytes.0.len();
        let nulls = bytes.take(present.count.div_ceil(8), "null bitmap")?;
        let row = builder.rows() as u32;
        let all = present.count == self.cells.len();
        let mut sent = 0;
        for (index, cell) in self.cells.iter().enumerate() {
            if !all && !is_set(present.bits, index) {
                builder.absent(index);
                continue;
            }
            let Some(out) = builder.columns().get_mut(index) else { return Err(TOO_FEW.into()) };
            if is_set(nulls, sent) {
                out.append_null();
            } else if let Err(error) = cell.append_wire(bytes, out) {
                match error {
                    CellError::Refused(refused) => {
                        out.append_null();
                        texts.note(row, index, *refused);
                    }
                    CellError::Malformed(malformed) => return Err(Fault::Cell(malformed, index)),
                }
            }
            sent += 1;
        }
        builder.row(image);
        let length = before - bytes.0.len();
        if length > ROW_BYTES_MAX { Err(Fault::TooLong(length)) } else { Ok(()) }
    }

    /// Reads over one image.
    fn skip_image(&self, present: &Present<'_>, bytes: &mut Bytes<'_>) -> Result<(), Fault> {
        let nulls = bytes.take(present.count.div_ceil(8), "null bitmap")?;
        let mut sent = 0;
        for (index, wire) in self.wires.iter().enumerate() {
            if is_set(present.bits, index) {
                if !is_set(nulls, sent) {
                    skip_cell(*wire, bytes).map_err(|malformed| Fault::Cell(malformed, index))?;
                }
                sent += 1;
            }
        }
        Ok(())
    }

    #[cold]
    fn fail(&self, fault: Fault) -> Error {
        let error = match &fault {
            Fault::Rows(malformed) | Fault::Cell(malformed, _) => {
                Error::new(ErrorKind::Corrupt, malformed.to_string())
            }
            Fault::TooLong(bytes) => {
                Error::new(ErrorKind::Unsupported, "a row is longer than the agent takes")
                    .with("bytes", bytes)
                    .with("limit", ROW_BYTES_MAX)
            }
        };
        let error = error.during("read row event").with("table", &self.version.name);
        match fault {
            Fault::Cell(_, index) => match self.version.columns.get(index) {
                Some(column) => error.with("column", &column.name),
                None => error,
            },
            _ => error,
        }
    }
}

const TOO_FEW: Malformed = Malformed("row event, of another number of columns than its map");

/// What is wrong with an event's images. Small: it travels through the hot path.
enum Fault {
    /// The event as a whole.
    Rows(Malformed),
    /// The cell of the column of this index.
    Cell(Malformed, usize),
    /// An image of this many bytes.
    TooLong(usize),
}

impl From<Malformed> for Fault {
    fn from(malformed: Malformed) -> Self {
        Self::Rows(malformed)
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
