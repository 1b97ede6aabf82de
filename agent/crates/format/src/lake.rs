//! Batches as Arrow record batches of the lake layout, as Parquet stores them.
//!
//! The columns of a batch become the lake's without being touched, unless the
//! batch holds images that the lake does not keep (the before images of
//! updates), or a type that not every reader knows: BIGINT UNSIGNED is
//! decimal(20,0). Facts that repeat (position, transaction, operation, module)
//! are dictionaries over the batch's few transactions, so a row costs an index.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayBuilder, ArrayRef, AsArray, Decimal128Array, DictionaryArray, Int32Array, Int64Array,
    ListBuilder, PrimitiveArray, RecordBatch, StringArray, StringBuilder, TimestampMicrosecondArray,
    UInt32Array, new_null_array,
};
use arrow::buffer::ScalarBuffer;
use arrow::compute;
use arrow::datatypes::{
    DataType as Physical, Field, Int8Type, Int32Type, Schema, SchemaRef, TimeUnit, UInt64Type,
};
use arrow::error::ArrowError;
use tidegate_model::{ChangeBatch, DataType, Error, ErrorKind, Operation, Result, TargetVersion};

use crate::layout::{self, OutputRows};

/// Turns batches of one target version into record batches of the lake.
#[derive(Debug)]
pub struct LakeEncoder {
    target: Arc<TargetVersion>,
    schema: SchemaRef,
}

impl LakeEncoder {
    /// An encoder for this target version.
    pub fn new(target: Arc<TargetVersion>) -> Self {
        let schema = Arc::new(Schema::new(fields(&target)));
        Self { target, schema }
    }

    /// The target version.
    pub fn target(&self) -> &Arc<TargetVersion> {
        &self.target
    }

    /// The Arrow schema of what [`encode`](Self::encode) returns.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The rows that a batch becomes.
    ///
    /// # Errors
    /// As [`OutputRows::of`]; `Internal` when a column is not of the target's type.
    pub fn encode(&self, batch: &ChangeBatch) -> Result<RecordBatch> {
        let rows = OutputRows::of(batch, &self.target)?;
        let columns =
            self.columns(batch, &rows).and_then(|columns| RecordBatch::try_new(self.schema.clone(), columns));
        columns.map_err(|error| {
            Error::new(ErrorKind::Internal, "a batch does not have its target's types")
                .with("table", &self.target.name)
                .with("version", self.target.version)
                .because(error)
        })
    }

    fn columns(&self, batch: &ChangeBatch, rows: &OutputRows) -> Result<Vec<ArrayRef>, ArrowError> {
        let picked = if rows.is_whole(batch) {
            batch.rows.data.columns().to_vec()
        } else {
            let indices = UInt32Array::from(rows.row.clone());
            compute::take_arrays(batch.rows.data.columns(), &indices, None)?
        };
        let mut columns: Vec<_> = picked.into_iter().map(widen).collect::<Result<_, _>>()?;
        columns.extend(self.facts(batch, rows)?);
        Ok(columns)
    }

    fn facts(&self, batch: &ChangeBatch, rows: &OutputRows) -> Result<[ArrayRef; 9], ArrowError> {
        let count = rows.len();
        let transaction = rows.event.iter().map(|&event| batch.events.transaction[event as usize]);
        let transaction: ScalarBuffer<i32> = transaction.map(|index| index as i32).collect::<Vec<_>>().into();
        let positions = batch.transactions.iter().map(|tx| Some(tx.position.to_string()));
        let gtids = batch.transactions.iter().map(|tx| tx.gtid.map(|gtid| gtid.to_string()));
        let commit_times = transaction.iter().map(|&tx| batch.transactions[tx as usize].commit_time_us);
        let idx = rows.event.iter().map(|&event| batch.events.idx[event as usize]);
        Ok([
            operations(&rows.operation)?,
            repeated(transaction.clone(), positions.collect())?,
            Arc::new(Int64Array::from_iter_values(idx)),
            repeated(transaction.clone(), gtids.collect())?,
            Arc::new(TimestampMicrosecondArray::from_iter_values(commit_times).with_timezone("UTC")),
            Arc::new(Int64Array::from_value(self.target.version as i64, count)),
            repeated(vec![0; count].into(), vec![Some(batch.module.as_ref())].into())?,
            Arc::new(Int64Array::from_value(batch.generation as i64, count)),
            self.absent(batch, rows),
        ])
    }

    fn absent(&self, batch: &ChangeBatch, rows: &OutputRows) -> ArrayRef {
        let masks: Vec<_> = (self.target.columns.iter().zip(&batch.rows.absent))
            .filter_map(|(column, mask)| mask.as_ref().map(|mask| (column.name.as_str(), mask)))
            .collect();
        if masks.is_empty() {
            return new_null_array(&absent_type(), rows.len());
        }
        let mut lists = ListBuilder::new(StringBuilder::new());
        for &row in &rows.row {
            let before = lists.values().len();
            for (name, mask) in &masks {
                if mask.value(row as usize) {
                    lists.values().append_value(name);
                }
            }
            let any = lists.values().len() > before;
            lists.append(any);
        }
        Arc::new(lists.finish())
    }
}

/// The Arrow form in which a lake stores a column of this type.
pub fn stored_type(data_type: &DataType) -> Physical {
    match data_type.physical() {
        Physical::UInt64 => Physical::Decimal128(20, 0),
        other => other,
    }
}

fn fields(target: &TargetVersion) -> Vec<Field> {
    let text = || Physical::Dictionary(Box::new(Physical::Int32), Box::new(Physical::Utf8));
    let columns = target.columns.iter();
    let mut fields: Vec<_> =
        columns.map(|column| Field::new(&column.name, stored_type(&column.data_type), true)).collect();
    fields.extend([
        Field::new(
            layout::OP,
            Physical::Dictionary(Box::new(Physical::Int8), Box::new(Physical::Utf8)),
            false,
        ),
        Field::new(layout::POS, text(), false),
        Field::new(layout::IDX, Physical::Int64, false),
        Field::new(layout::TX, text(), true),
        Field::new(layout::COMMIT_TS, Physical::Timestamp(TimeUnit::Microsecond, Some("UTC".into())), false),
        Field::new(layout::SCHEMA, Physical::Int64, false),
        Field::new(layout::MODULE, text(), false),
        Field::new(layout::GENERATION, Physical::Int64, false),
        Field::new(layout::ABSENT, absent_type(), true),
    ]);
    fields
}

fn absent_type() -> Physical {
    Physical::List(Arc::new(Field::new_list_field(Physical::Utf8, true)))
}

fn widen(column: ArrayRef) -> Result<ArrayRef, ArrowError> {
    if *column.data_type() != Physical::UInt64 {
        return Ok(column);
    }
    let numbers = column.as_primitive::<UInt64Type>();
    let values: Vec<i128> = numbers.values().iter().map(|&value| i128::from(value)).collect();
    let wide = Decimal128Array::new(values.into(), numbers.nulls().cloned());
    Ok(Arc::new(wide.with_precision_and_scale(20, 0)?))
}

fn operations(operations: &[Operation]) -> Result<ArrayRef, ArrowError> {
    let letters = [Operation::Insert, Operation::Update, Operation::Delete, Operation::Snapshot];
    let keys = operations.iter().map(|&operation| operation as i8);
    let keys = PrimitiveArray::<Int8Type>::from_iter_values(keys);
    let values = StringArray::from_iter_values(letters.iter().map(|operation| operation.letter()));
    Ok(Arc::new(DictionaryArray::try_new(keys, Arc::new(values))?))
}

/// Texts by index; an index whose text is null becomes a null of its own, since
/// not every consumer of dictionaries looks for nulls among their values.
fn repeated(keys: ScalarBuffer<i32>, values: StringArray) -> Result<ArrayRef, ArrowError> {
    let nulls = (values.null_count() > 0)
        .then(|| keys.iter().map(|&key| values.is_valid(key as usize)).collect::<Vec<bool>>().into());
    let keys: Int32Array = PrimitiveArray::<Int32Type>::new(keys, nulls);
    Ok(Arc::new(DictionaryArray::try_new(keys, Arc::new(values))?))
}
