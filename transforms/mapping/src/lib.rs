//! The standard transform for mapping columns: rename, cast, fill nulls, mask,
//! drop, compute texts from templates, and choose the output's key.
//!
//! ```yaml
//! config:
//!   rename: { cust_nm: customer_name, $commit-time: changed_at }
//!   cast: { qty: int64, price: "decimal(10,2)" }   # exact, or the row is refused
//!   default: { qty: 0 }                            # where null
//!   mask: { email: { keep_last: 4 } }
//!   drop: [note]
//!   compute: { id: "{shop}-{order_no}" }           # text
//!   key: [id]                                      # by output names
//!   unlisted_columns: pass                         # or drop; keep: [a, b] lists a column as it is
//!   unlisted_tables: pass                          # or drop: tables without an entry below
//!   per_table:
//!     shop.items: { drop: [], mask: { ean: {} } }  # the same keys, on top of the flat ones
//! ```
//!
//! Columns are named as in the source; a value passes cast, default and mask in
//! this order, and templates see it before the mask. **Flat keys** hold for all
//! tables, and are ignored for a table that lacks the column. A key **per
//! table** that names a missing column makes the schema incompatible: the table
//! stops before the first row, with a message that says what to do. So a mask
//! that must hold whatever happens at the source belongs under `per_table`, or
//! beside `unlisted_columns: drop`.
//!
//! A configuration that only renames, drops, passes and sets keys computes
//! nothing: no row enters the sandbox.

mod cast;
mod config;
mod keys;
mod mask;
mod planner;
mod program;
mod rules;
mod scalar;
mod template;
#[cfg(test)]
mod tests;
mod types;

use tidegate_guest::{
    Batch, BatchError, Descriptor, Output, PlanError, TablePlan, TableSchema, Transform, descriptor, export,
};

/// The mapping, configured.
#[derive(Debug)]
pub struct Mapping {
    config: config::Config,
}

impl Transform for Mapping {
    type Table = program::Program;

    fn describe() -> Descriptor {
        descriptor!("mapping")
    }

    fn configure(config: &str) -> Result<Self, String> {
        Ok(Self { config: config::Config::parse(config)? })
    }

    fn plan(&self, table: &TableSchema) -> Result<(TablePlan, Self::Table), PlanError> {
        planner::plan(table, &self.config)
    }

    fn transform(&self, program: &Self::Table, batch: Batch) -> Result<Output, BatchError> {
        program.run(batch)
    }
}

export!(Mapping);
