//! What is computed for a table: steps over whole columns, each from columns
//! read or from results of earlier steps.

use tidegate_guest::{
    Batch, BatchError, Cell, Column, DataType, Output, Packed, RowErrorCode, TextBuilder, Vector,
};

use crate::cast::Cast;
use crate::mask::Mask;
use crate::scalar::Reader;

/// The steps, and which of their results are the computed columns of the plan.
#[derive(Debug, Default)]
pub struct Program {
    pub(crate) steps: Vec<Step>,
    pub(crate) outputs: Vec<usize>,
}

/// Where a step takes a column from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    /// A column that the plan reads.
    Read(usize),
    /// The result of an earlier step.
    Step(usize),
}

#[derive(Debug)]
pub(crate) enum Step {
    /// Refuses rows with the message, blaming the column read.
    Cast {
        of: Slot,
        cast: Cast,
        read: usize,
        refusal: String,
    },
    /// Replaces nulls by the only cell of `value`.
    Default {
        of: Slot,
        value: Column,
    },
    Mask {
        of: Slot,
        mask: Mask,
    },
    Template(Vec<Piece>),
}

/// A piece of a template whose columns are found.
#[derive(Debug)]
pub(crate) enum Piece {
    Literal(String),
    Column { slot: Slot, data_type: DataType },
}

impl Program {
    /// Computes the columns of a batch; every row is kept.
    pub(crate) fn run(&self, batch: Batch) -> Result<Output, BatchError> {
        let rows = batch.len();
        let reads = batch.into_columns();
        let mut results: Vec<Column> = Vec::with_capacity(self.steps.len());
        let mut refused = Vec::new();
        for step in &self.steps {
            let column = |slot: &Slot| match slot {
                Slot::Read(index) => &reads[*index],
                Slot::Step(index) => &results[*index],
            };
            results.push(match step {
                Step::Cast { of, cast, read, refusal } => {
                    cast.apply(column(of), |row| refused.push((row, *read, refusal)))?
                }
                Step::Default { of, value } => fill_nulls(column(of), value)?,
                Step::Mask { of, mask } => mask_texts(column(of), mask)?,
                Step::Template(pieces) => fill_template(pieces, rows, column)?,
            });
        }
        let mut results: Vec<Option<Column>> = results.into_iter().map(Some).collect();
        let take = |step: &usize| results[*step].take().expect("each step is at most one output");
        let mut output = Output::all(self.outputs.iter().map(take).collect());
        for (row, read, refusal) in refused {
            output.reject(row, RowErrorCode::InvalidValue, Some(read), refusal);
        }
        Ok(output)
    }
}

/// Absent cells stay absent: they are not null.
fn fill_nulls(column: &Column, value: &Column) -> Result<Column, BatchError> {
    if let (Vector::Text(Packed { bytes, .. }), Ok(Cell::Value(value))) =
        (&column.vector, value.texts().map(|cells| cells.get(0)))
    {
        let cells = column.texts()?;
        let mut filled = TextBuilder::with_capacity(column.rows(), bytes.len());
        for row in 0..column.rows() {
            filled.push(match cells.get(row) {
                Cell::Null => Cell::Value(value),
                cell => cell,
            });
        }
        return Ok(filled.finish());
    }
    let mut filled = column.clone();
    let nulls = filled.marks.iter_mut().enumerate().filter(|(_, mark)| **mark == 1);
    let rows = nulls.map(|(row, mark)| {
        *mark = 0;
        row
    });
    match (&mut filled.vector, &value.vector) {
        (Vector::Boolean(cells), Vector::Boolean(value)) => rows.for_each(|row| cells[row] = value[0]),
        (Vector::Integer(cells), Vector::Integer(value)) => rows.for_each(|row| cells[row] = value[0]),
        (Vector::Unsigned(cells), Vector::Unsigned(value)) => rows.for_each(|row| cells[row] = value[0]),
        (Vector::Float(cells), Vector::Float(value)) => rows.for_each(|row| cells[row] = value[0]),
        _ => return Err(BatchError::Fatal("a default has another form than its column".into())),
    }
    Ok(filled)
}

fn mask_texts(column: &Column, mask: &Mask) -> Result<Column, BatchError> {
    let cells = column.texts()?;
    let heap_bytes = match &column.vector {
        Vector::Text(packed) => packed.bytes.len(),
        _ => 0,
    };
    let mut masked = TextBuilder::with_capacity(column.rows(), heap_bytes);
    for row in 0..column.rows() {
        masked.push_with(cells.get(row), |text, heap| mask.apply(text, heap));
    }
    Ok(masked.finish())
}

/// Null if one of the columns is null, absent if one is absent.
fn fill_template<'c>(
    pieces: &[Piece],
    rows: usize,
    column: impl Fn(&Slot) -> &'c Column,
) -> Result<Column, BatchError> {
    let mut columns = Vec::new();
    for piece in pieces {
        if let Piece::Column { slot, data_type } = piece {
            columns.push((Reader::of(column(slot))?, data_type));
        }
    }
    let mut texts = TextBuilder::with_capacity(rows, rows * 16);
    for row in 0..rows {
        let whole =
            columns.iter().fold(Cell::Value(()), |whole, (cells, _)| whole.zip(cells.get(row)).map(|_| ()));
        texts.push_with(whole, |(), heap| {
            let mut columns = columns.iter();
            for piece in pieces {
                if let Piece::Literal(text) = piece {
                    heap.push_str(text);
                } else if let Some((cells, data_type)) = columns.next()
                    && let Cell::Value(scalar) = cells.get(row)
                {
                    // Binary columns are refused with the plan; all others have a text.
                    let _ = scalar.write_text(data_type, heap);
                }
            }
        });
    }
    Ok(texts.finish())
}
