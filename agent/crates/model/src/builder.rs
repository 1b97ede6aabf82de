//! How a decoder appends cells and events without making rows.

use std::sync::Arc;

use arrow::array::{
    ArrayBuilder, ArrayRef, BinaryBuilder, BooleanBufferBuilder, BooleanBuilder, Date32Builder,
    Decimal128Builder, Float32Builder, Float64Builder, Int16Builder, Int32Builder, Int64Builder, RecordBatch,
    StringBuilder, TimestampMicrosecondBuilder, UInt64Builder,
};
use arrow::datatypes::{DataType as Physical, TimeUnit};

use crate::batch::{ChangeBatch, Events, Image, Operation, Rows, Transaction};
use crate::dead_letter::Refusal;
use crate::schema::TableVersion;

/// One Arrow builder by physical form. Decoders match on it once a cell.
#[allow(missing_docs)] // the variants are the physical forms of `DataType::physical`
#[derive(Debug)]
pub enum ColumnBuilder {
    Boolean(BooleanBuilder),
    Int16(Int16Builder),
    Int32(Int32Builder),
    Int64(Int64Builder),
    UInt64(UInt64Builder),
    Float32(Float32Builder),
    Float64(Float64Builder),
    Decimal(Decimal128Builder),
    Text(StringBuilder),
    Binary(BinaryBuilder),
    Date(Date32Builder),
    Timestamp(TimestampMicrosecondBuilder),
}

macro_rules! each {
    ($self:expr, $b:ident => $e:expr) => {
        match $self {
            ColumnBuilder::Boolean($b) => $e,
            ColumnBuilder::Int16($b) => $e,
            ColumnBuilder::Int32($b) => $e,
            ColumnBuilder::Int64($b) => $e,
            ColumnBuilder::UInt64($b) => $e,
            ColumnBuilder::Float32($b) => $e,
            ColumnBuilder::Float64($b) => $e,
            ColumnBuilder::Decimal($b) => $e,
            ColumnBuilder::Text($b) => $e,
            ColumnBuilder::Binary($b) => $e,
            ColumnBuilder::Date($b) => $e,
            ColumnBuilder::Timestamp($b) => $e,
        }
    };
}

impl ColumnBuilder {
    /// A builder for this physical form.
    ///
    /// # Panics
    /// On a form that [`crate::DataType::physical`] never gives.
    pub fn new(physical: &Physical) -> Self {
        match physical {
            Physical::Boolean => Self::Boolean(BooleanBuilder::new()),
            Physical::Int16 => Self::Int16(Int16Builder::new()),
            Physical::Int32 => Self::Int32(Int32Builder::new()),
            Physical::Int64 => Self::Int64(Int64Builder::new()),
            Physical::UInt64 => Self::UInt64(UInt64Builder::new()),
            Physical::Float32 => Self::Float32(Float32Builder::new()),
            Physical::Float64 => Self::Float64(Float64Builder::new()),
            Physical::Decimal128(..) => {
                Self::Decimal(Decimal128Builder::new().with_data_type(physical.clone()))
            }
            Physical::Utf8 => Self::Text(StringBuilder::new()),
            Physical::Binary => Self::Binary(BinaryBuilder::new()),
            Physical::Date32 => Self::Date(Date32Builder::new()),
            Physical::Timestamp(TimeUnit::Microsecond, _) => {
                Self::Timestamp(TimestampMicrosecondBuilder::new().with_data_type(physical.clone()))
            }
            other => panic!("physical form {other} is not one of the model's"),
        }
    }

    /// Appends SQL NULL (also the filler under an absent cell).
    pub fn append_null(&mut self) {
        each!(self, b => b.append_null());
    }

    /// Bytes of the cells appended so far: values, offsets and validity. What the
    /// allocator holds may be up to twice as much.
    pub fn bytes(&self) -> usize {
        let rows = match self {
            Self::Boolean(b) => b.len().div_ceil(8),
            Self::Int16(b) => b.len() * 2,
            Self::Int32(b) => b.len() * 4,
            Self::Int64(b) => b.len() * 8,
            Self::UInt64(b) => b.len() * 8,
            Self::Float32(b) => b.len() * 4,
            Self::Float64(b) => b.len() * 8,
            Self::Decimal(b) => b.len() * 16,
            Self::Text(b) => b.len() * 4 + b.values_slice().len(),
            Self::Binary(b) => b.len() * 4 + b.values_slice().len(),
            Self::Date(b) => b.len() * 4,
            Self::Timestamp(b) => b.len() * 8,
        };
        rows + each!(self, b => b.validity_slice().map_or(0, <[u8]>::len))
    }

    /// The array built so far; the builder starts anew.
    pub fn finish(&mut self) -> ArrayRef {
        each!(self, b => Arc::new(b.finish()))
    }
}

/// Builds one [`ChangeBatch`].
///
/// Order of calls for each event: [`transaction`](Self::transaction) when a new
/// one began, [`event`](Self::event), then for each image one cell appended to
/// **every** column (through [`columns`](Self::columns) or
/// [`absent`](Self::absent)) and [`row`](Self::row).
#[derive(Debug)]
pub struct BatchBuilder {
    table: Arc<TableVersion>,
    generation: u64,
    columns: Vec<ColumnBuilder>,
    absent: Vec<Option<BooleanBufferBuilder>>,
    event: Vec<u32>,
    image: Vec<Image>,
    events: Events,
    transactions: Vec<Transaction>,
    refused: Vec<Refusal>,
}

impl BatchBuilder {
    /// An empty batch of this table version and snapshot generation.
    pub fn new(table: Arc<TableVersion>, generation: u64) -> Self {
        let columns: Vec<_> =
            table.columns.iter().map(|c| ColumnBuilder::new(&c.data_type.physical())).collect();
        Self {
            absent: columns.iter().map(|_| None).collect(),
            table,
            generation,
            columns,
            event: Vec::new(),
            image: Vec::new(),
            events: Events::default(),
            transactions: Vec::new(),
            refused: Vec::new(),
        }
    }

    /// The table version that is being built.
    pub fn table(&self) -> &Arc<TableVersion> {
        &self.table
    }

    /// Rows finished so far.
    pub fn rows(&self) -> usize {
        self.event.len()
    }

    /// Events begun so far.
    pub fn events(&self) -> usize {
        self.events.len()
    }

    /// Bytes of the cells appended so far: what a byte budget should look at
    /// between two events, since the log's bytes say little about a table of
    /// many nulls. Costs a look at each column.
    pub fn bytes(&self) -> usize {
        self.columns.iter().map(ColumnBuilder::bytes).sum()
    }

    /// Later events belong to this transaction.
    pub fn transaction(&mut self, transaction: Transaction) {
        self.transactions.push(transaction);
    }

    /// Begins an event of the current transaction.
    pub fn event(&mut self, operation: Operation, idx: i64, table_idx: u64) {
        debug_assert!(!self.transactions.is_empty(), "an event before its transaction");
        self.events.operation.push(operation);
        self.events.transaction.push(self.transactions.len() as u32 - 1);
        self.events.idx.push(idx);
        self.events.table_idx.push(table_idx);
    }

    /// The columns' builders, in the table's order.
    pub fn columns(&mut self) -> &mut [ColumnBuilder] {
        &mut self.columns
    }

    /// Appends an absent cell to a column.
    pub fn absent(&mut self, column: usize) {
        let row = self.event.len();
        let mask = self.absent[column].get_or_insert_with(|| {
            let mut mask = BooleanBufferBuilder::new(row + 1);
            mask.append_n(row, false);
            mask
        });
        mask.append_n(row - mask.len(), false);
        mask.append(true);
        self.columns[column].append_null();
    }

    /// Ends a row of the current event.
    pub fn row(&mut self, image: Image) {
        self.event.push(self.events.len() as u32 - 1);
        self.image.push(image);
    }

    /// Refuses the current event.
    pub fn refuse(&mut self, refusal: Refusal) {
        debug_assert_eq!(refusal.event as usize + 1, self.events.len());
        self.refused.push(refusal);
    }

    /// The batch; `None` when it has no event.
    ///
    /// # Panics
    /// When the columns' lengths differ: a decoder appended too few or too many
    /// cells.
    pub fn finish(mut self) -> Option<ChangeBatch> {
        if self.events.is_empty() {
            return None;
        }
        let rows = self.event.len();
        let arrays = self.columns.iter_mut().map(ColumnBuilder::finish).collect();
        let data = RecordBatch::try_new_with_options(
            self.table.arrow().clone(),
            arrays,
            &arrow::array::RecordBatchOptions::new().with_row_count(Some(rows)),
        )
        .expect("one cell a column and row");
        let absent = (self.absent.into_iter())
            .map(|mask| {
                mask.map(|mut mask| {
                    mask.append_n(rows - mask.len(), false);
                    mask.finish()
                })
            })
            .collect();
        Some(ChangeBatch {
            table: self.table,
            rows: Rows { data, event: self.event, image: self.image, absent },
            events: self.events,
            transactions: self.transactions,
            generation: self.generation,
            module: "".into(),
            refused: self.refused,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cell, Column, DataType, LogPosition, TableName, TableUid, TxPosition};

    fn table() -> Arc<TableVersion> {
        let column = |id, name: &str, data_type| Column {
            id,
            name: name.into(),
            data_type,
            nullable: true,
            source_type: String::new(),
            initial_default: None,
        };
        let columns = vec![
            column(1, "id", DataType::Integer { bits: 32, unsigned: false }),
            column(2, "note", DataType::text()),
        ];
        Arc::new(TableVersion::new(TableUid(1), TableName::new("shop", "orders"), 1, columns, vec![0]))
    }

    fn push(builder: &mut BatchBuilder, image: Image, id: i32, note: Option<&str>) {
        let ColumnBuilder::Int32(ids) = &mut builder.columns()[0] else { panic!() };
        ids.append_value(id);
        match note {
            None => builder.absent(1),
            Some(text) => {
                let ColumnBuilder::Text(notes) = &mut builder.columns()[1] else { panic!() };
                notes.append_value(text);
            }
        }
        builder.row(image);
    }

    fn batch() -> ChangeBatch {
        let mut builder = BatchBuilder::new(table(), 1);
        builder.transaction(Transaction {
            position: TxPosition { epoch: 1, log: LogPosition { file_no: 1, offset: 4 } },
            gtid: None,
            commit_time_us: 0,
        });
        builder.event(Operation::Insert, 0, 0);
        push(&mut builder, Image::After, 1, Some("a"));
        builder.event(Operation::Update, 1, 1);
        push(&mut builder, Image::Before, 1, Some("a"));
        push(&mut builder, Image::After, 1, None);
        builder.event(Operation::Delete, 2, 2);
        push(&mut builder, Image::Before, 1, Some("b"));
        builder.finish().unwrap()
    }

    #[test]
    fn absent_is_neither_null_nor_value() {
        let batch = batch();
        assert_eq!(batch.cell(0, 1), Cell::Text("a"));
        assert_eq!(batch.cell(2, 1), Cell::Absent);
        assert_eq!(batch.cell(3, 1), Cell::Text("b"));
        assert_eq!(batch.rows_of(1), 1..3);
    }

    #[test]
    fn bytes_count_cells_whether_null_or_not() {
        let mut builder = BatchBuilder::new(table(), 1);
        assert_eq!(builder.bytes(), 0);
        for _ in 0..1000 {
            builder.columns().iter_mut().for_each(ColumnBuilder::append_null);
        }
        assert!(builder.bytes() >= 1000 * (4 + 4), "{}", builder.bytes());
        let ColumnBuilder::Text(notes) = &mut builder.columns()[1] else { panic!() };
        let before = notes.values_slice().len();
        notes.append_value("four");
        assert_eq!(notes.values_slice().len(), before + 4);
    }

    #[test]
    fn selecting_keeps_a_refusal_with_its_event_and_its_texts_with_their_rows() {
        let mut batch = batch();
        let refusal = |event, row| Refusal {
            event,
            code: crate::RefusalCode::InvalidValue,
            column: None,
            message: String::new(),
            texts: vec![(row, 1, "0000-00-00".into())],
        };
        batch.refused = vec![refusal(0, 0), refusal(1, 2), refusal(2, 3)];
        let part = batch.select(&[1, 2]).unwrap();
        let kept: Vec<_> = part.refused.iter().map(|r| (r.event, r.texts[0].0)).collect();
        assert_eq!(kept, [(0, 1), (1, 2)]);
    }

    #[test]
    fn selecting_keeps_images_with_their_events() {
        let batch = batch();
        for keep in [vec![1], vec![0, 2], vec![1, 2]] {
            let part = batch.select(&keep).unwrap();
            assert_eq!(part.len(), keep.len());
            for (n, &event) in keep.iter().enumerate() {
                assert_eq!(part.position(n), batch.position(event as usize));
                for (new, old) in part.rows_of(n).zip(batch.rows_of(event as usize)) {
                    assert_eq!(part.cell(new, 1), batch.cell(old, 1));
                    assert_eq!(part.rows.image[new], batch.rows.image[old]);
                }
            }
        }
    }
}
