//! SDK for transform components in Rust.
//!
//! A transform implements [`Transform`] and is exported with [`export!`]:
//! [`Transform::plan`] maps a table's schema once, [`Transform::transform`]
//! then sees batches of only the columns that the plan reads. The SDK is a thin
//! layer over the column form of the contract in `wit/`: a batch crosses the
//! sandbox in a few bulk copies, and reading or writing a cell allocates
//! nothing.
//!
//! ```
//! use tidegate_guest::{
//!     Batch, BatchError, Cell, DataType, Descriptor, IntegerBuilder, Output, PlanBuilder, PlanError,
//!     TablePlan, TableSchema, Transform,
//! };
//!
//! /// Adds `total = quantity * price`.
//! struct Total;
//!
//! impl Transform for Total {
//!     type Table = ();
//!
//!     fn describe() -> Descriptor {
//!         tidegate_guest::descriptor!("total")
//!     }
//!
//!     fn configure(_config: &str) -> Result<Self, String> {
//!         Ok(Self)
//!     }
//!
//!     fn plan(&self, table: &TableSchema) -> Result<(TablePlan, ()), PlanError> {
//!         let mut plan = PlanBuilder::passing(table);
//!         plan.read("quantity")?;
//!         plan.read("price")?;
//!         plan.compute("total", DataType::Int64, true);
//!         Ok((plan.build(), ()))
//!     }
//!
//!     fn transform(&self, _table: &(), batch: Batch) -> Result<Output, BatchError> {
//!         let (quantity, price) = (batch.column(0).integers()?, batch.column(1).integers()?);
//!         let mut total = IntegerBuilder::with_capacity(batch.len());
//!         for row in 0..batch.len() {
//!             total.push(quantity.get(row).zip(price.get(row)).map(|(q, p)| q * p));
//!         }
//!         Ok(Output::all(vec![total.finish()]))
//!     }
//! }
//!
//! tidegate_guest::export!(Total);
//! # fn main() {}
//! ```
//!
//! On `wasm32-unknown-unknown` there is no clock, no randomness and no
//! environment; that is intended, since the same log must give the same rows.

#[doc(hidden)]
pub mod bindings;
mod builder;
mod event;
#[doc(hidden)]
pub mod export;
pub mod host;
mod instance;
mod output;
mod plan;
#[cfg(not(target_family = "wasm"))]
pub mod testing;
mod transform;

pub use bindings::exports::tidegate::transform::lifecycle::{Descriptor, StateEntry};
pub use bindings::tidegate::transform::planning::{
    ColumnSource, FilterMode, Operations, OutputColumn, OutputTable, PlanError, UnseenEvents,
};
pub use bindings::tidegate::transform::types::{
    BatchError, ColumnRole, ColumnSchema, DataType, DecimalType, Image, Operation, RowErrorCode, TableSchema,
};
pub use bindings::tidegate::transform::vectors::{Column, Packed, Vector};
pub use builder::{
    BinaryBuilder, BooleanBuilder, FixedBuilder, FloatBuilder, IntegerBuilder, TextBuilder, UnsignedBuilder,
};
pub use event::{Batch, Binaries, Booleans, Cell, Cells, Texts, Values};
pub use output::Output;
pub use plan::{PlanBuilder, TablePlan};
pub use transform::Transform;

/// The guide's code, compiled with the doc tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guides/writing-a-transform.md")]
struct Guide;
