//! Lays rows out as the columns that a plan reads.

use super::events::{Row, Value};
use crate::bindings::exports::tidegate::transform::columns::Batch;
use crate::bindings::tidegate::transform::planning::Plan;
use crate::{
    BinaryBuilder, BooleanBuilder, Cell, Column, DataType, FloatBuilder, Image, IntegerBuilder, TableSchema,
    TextBuilder, UnsignedBuilder,
};

pub(super) fn project(schema: &TableSchema, plan: &Plan, rows: &[Row<'_>]) -> Batch {
    for row in rows {
        assert_eq!(row.cells.len(), schema.columns.len(), "an image has one cell per column of the schema");
    }
    let column = |read: &u32| {
        let index = *read as usize;
        column(&schema.columns[index].data_type, rows.iter().map(|row| &row.cells[index]))
    };
    Batch {
        row_count: rows.len() as u32,
        events: rows.iter().map(|row| row.event as u32).collect(),
        images: rows.iter().map(|row| u8::from(row.image == Image::After)).collect(),
        operations: rows.iter().map(|row| row.operation as u8).collect(),
        columns: plan.reads.iter().map(column).collect(),
    }
}

/// Fills a builder; `$case` is the form that the column's type demands.
macro_rules! fill {
    ($builder:expr, $cells:expr, $case:ident, $borrow:expr) => {{
        let mut builder = $builder;
        for value in $cells {
            builder.push(match value {
                Value::Null => Cell::Null,
                Value::Absent => Cell::Absent,
                Value::$case(value) => Cell::Value($borrow(value)),
                other => panic!("{other:?} in a column of {}", stringify!($case)),
            });
        }
        builder.finish()
    }};
}

fn column<'e>(data_type: &DataType, cells: impl Iterator<Item = &'e Value>) -> Column {
    match data_type {
        DataType::Boolean => fill!(BooleanBuilder::with_capacity(0), cells, Boolean, |value: &bool| *value),
        DataType::Int16
        | DataType::Int32
        | DataType::Int64
        | DataType::Date
        | DataType::Time
        | DataType::Timestamp
        | DataType::Timestamptz => {
            fill!(IntegerBuilder::with_capacity(0), cells, Integer, |value: &i64| *value)
        }
        DataType::Uint64 => fill!(UnsignedBuilder::with_capacity(0), cells, Unsigned, |value: &u64| *value),
        DataType::Float32 | DataType::Float64 => {
            fill!(FloatBuilder::with_capacity(0), cells, Float, |value: &f64| *value)
        }
        DataType::Decimal(_) | DataType::Text | DataType::Uuid | DataType::Json | DataType::Other(_) => {
            fill!(TextBuilder::with_capacity(0, 0), cells, Text, String::as_str)
        }
        DataType::Binary => fill!(BinaryBuilder::with_capacity(0, 0), cells, Binary, Vec::as_slice),
    }
}
