//! A batch as a guest receives it.

use std::borrow::Cow;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, PrimitiveArray};
use arrow::buffer::{BooleanBuffer, Buffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::{
    DataType as Physical, Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type,
    Int64Type, TimestampMicrosecondType, UInt64Type,
};
use tidegate_model::{ChangeBatch, Image, Operation};

use super::{decimal, system_array};
use crate::bindings::exports::tidegate::transform::columns::Batch;
use crate::bindings::tidegate::transform::vectors::{ColumnParam, PackedParam, VectorParam};

/// A batch laid out for a guest; columns share the batch's buffers where the
/// form is the same.
pub(crate) struct Input<'b> {
    events: &'b [u32],
    images: Vec<u8>,
    operations: Vec<u8>,
    columns: Vec<Column<'b>>,
    bytes: usize,
}

struct Column<'b> {
    marks: Vec<u8>,
    vector: Vector<'b>,
}

enum Vector<'b> {
    Boolean(Vec<u8>),
    Integer(Cow<'b, [i64]>),
    Unsigned(&'b [u64]),
    Float(Cow<'b, [f64]>),
    Text(Packed<'b>),
    Binary(Packed<'b>),
}

struct Packed<'b> {
    offsets: ScalarBuffer<u32>,
    bytes: Cow<'b, [u8]>,
}

/// The arrays that a plan reads; kept beside [`Input`], which borrows them.
pub(crate) fn arrays(batch: &ChangeBatch, reads: &[usize]) -> Vec<ArrayRef> {
    let own = batch.rows.data.num_columns();
    let array = |index: &usize| match index.checked_sub(own) {
        None => batch.rows.data.column(*index).clone(),
        Some(system) => system_array(batch, system),
    };
    reads.iter().map(array).collect()
}

impl<'b> Input<'b> {
    /// Lays out the columns `reads` of a batch; `arrays` are theirs.
    pub(crate) fn new(batch: &'b ChangeBatch, reads: &[usize], arrays: &'b [ArrayRef]) -> Self {
        let operations: Vec<u8> = (batch.rows.event.iter())
            .map(|event| match batch.events.operation[*event as usize] {
                Operation::Insert => 0,
                Operation::Update => 1,
                Operation::Delete => 2,
                Operation::Snapshot => 3,
            })
            .collect();
        let images = batch.rows.image.iter().map(|image| u8::from(*image == Image::After)).collect();
        let absent = |index: &usize| batch.rows.absent.get(*index).and_then(Option::as_ref);
        let columns: Vec<_> = (reads.iter().zip(arrays))
            .map(|(index, array)| Column { marks: marks(array, absent(index)), vector: vector(array) })
            .collect();
        let bytes = 6 * operations.len() + columns.iter().map(Column::bytes).sum::<usize>();
        Self { events: &batch.rows.event, images, operations, columns, bytes }
    }

    /// Bytes that cross into the guest.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Rows of the batch.
    pub(crate) fn rows(&self) -> usize {
        self.events.len()
    }

    /// Calls `f` with the batch in the contract's form.
    pub(crate) fn with<R>(&self, f: impl FnOnce(Batch<'_>) -> R) -> R {
        let columns: Vec<ColumnParam<'_>> = self.columns.iter().map(Column::param).collect();
        f(Batch {
            row_count: self.events.len() as u32,
            events: self.events,
            images: &self.images,
            operations: &self.operations,
            columns: &columns,
        })
    }
}

impl Column<'_> {
    fn param(&self) -> ColumnParam<'_> {
        let vector = match &self.vector {
            Vector::Boolean(cells) => VectorParam::Boolean(cells),
            Vector::Integer(cells) => VectorParam::Integer(cells),
            Vector::Unsigned(cells) => VectorParam::Unsigned(cells),
            Vector::Float(cells) => VectorParam::Float(cells),
            Vector::Text(cells) => VectorParam::Text(cells.param()),
            Vector::Binary(cells) => VectorParam::Binary(cells.param()),
        };
        ColumnParam { marks: &self.marks, vector }
    }

    fn bytes(&self) -> usize {
        let cells = match &self.vector {
            Vector::Boolean(cells) => cells.len(),
            Vector::Integer(cells) => cells.len() * 8,
            Vector::Unsigned(cells) => cells.len() * 8,
            Vector::Float(cells) => cells.len() * 8,
            Vector::Text(cells) | Vector::Binary(cells) => cells.offsets.len() * 4 + cells.bytes.len(),
        };
        self.marks.len() + cells
    }
}

impl Packed<'_> {
    fn param(&self) -> PackedParam<'_> {
        PackedParam { offsets: &self.offsets, bytes: &self.bytes }
    }
}

/// One byte a row: 1 null, 2 absent; none when every cell has a value.
fn marks(array: &ArrayRef, absent: Option<&BooleanBuffer>) -> Vec<u8> {
    let absent = absent.filter(|absent| absent.count_set_bits() > 0);
    let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0);
    if absent.is_none() && nulls.is_none() {
        return Vec::new();
    }
    let mut marks: Vec<u8> = match nulls {
        Some(nulls) => nulls.iter().map(|valid| u8::from(!valid)).collect(),
        None => vec![0; array.len()],
    };
    if let Some(absent) = absent {
        absent.set_indices().for_each(|row| marks[row] = 2);
    }
    marks
}

/// # Panics
/// On a physical form that `DataType::physical` never gives.
fn vector(array: &ArrayRef) -> Vector<'_> {
    match array.data_type() {
        Physical::Boolean => Vector::Boolean(booleans(array.as_boolean())),
        Physical::Int16 => Vector::Integer(widened::<Int16Type>(array)),
        Physical::Int32 => Vector::Integer(widened::<Int32Type>(array)),
        Physical::Date32 => Vector::Integer(widened::<Date32Type>(array)),
        Physical::Int64 => Vector::Integer(Cow::Borrowed(array.as_primitive::<Int64Type>().values())),
        Physical::Timestamp(..) => {
            Vector::Integer(Cow::Borrowed(array.as_primitive::<TimestampMicrosecondType>().values()))
        }
        Physical::UInt64 => Vector::Unsigned(array.as_primitive::<UInt64Type>().values()),
        Physical::Float32 => {
            let cells = array.as_primitive::<Float32Type>().values();
            Vector::Float(cells.iter().map(|cell| f64::from(*cell)).collect())
        }
        Physical::Float64 => Vector::Float(Cow::Borrowed(array.as_primitive::<Float64Type>().values())),
        Physical::Decimal128(_, scale) => {
            Vector::Text(decimals(array.as_primitive::<Decimal128Type>(), scale.unsigned_abs()))
        }
        Physical::Utf8 => {
            let array = array.as_string::<i32>();
            Vector::Text(packed(array.offsets(), array.values()))
        }
        Physical::Binary => {
            let array = array.as_binary::<i32>();
            Vector::Binary(packed(array.offsets(), array.values()))
        }
        other => unreachable!("physical form {other} is not one of the model's"),
    }
}

fn booleans(array: &BooleanArray) -> Vec<u8> {
    array.values().iter().map(u8::from).collect()
}

fn widened<T>(array: &ArrayRef) -> Cow<'_, [i64]>
where
    T: ArrowPrimitiveType,
    T::Native: Into<i64>,
{
    array.as_primitive::<T>().values().iter().map(|cell| (*cell).into()).collect()
}

fn decimals(array: &PrimitiveArray<Decimal128Type>, scale: u8) -> Packed<'static> {
    let mut offsets = Vec::with_capacity(array.len() + 1);
    let mut bytes = Vec::with_capacity(array.len() * 8);
    offsets.push(0);
    for row in 0..array.len() {
        if array.is_valid(row) {
            decimal::append(array.value(row), scale, &mut bytes);
        }
        offsets.push(bytes.len() as u32);
    }
    Packed { offsets: offsets.into(), bytes: Cow::Owned(bytes) }
}

/// Arrow's offsets are never negative, so they are the contract's bit by bit. A
/// slice's offsets start somewhere in the heap and are moved to 0: a guest gets
/// neither the bytes nor the numbers of its neighbours.
fn packed<'b>(offsets: &OffsetBuffer<i32>, heap: &'b Buffer) -> Packed<'b> {
    let (first, last) = (offsets[0] as usize, offsets[offsets.len() - 1] as usize);
    let bytes = Cow::Borrowed(&heap[first..last]);
    let offsets = if first == 0 {
        ScalarBuffer::new(offsets.inner().inner().clone(), 0, offsets.len())
    } else {
        offsets.iter().map(|offset| *offset as u32 - first as u32).collect()
    };
    Packed { offsets, bytes }
}
