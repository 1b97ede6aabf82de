//! Runs a transform natively, without wasm: schema and events in, output rows
//! out. The [`Harness`] does what the host does around the sandbox: it copies
//! only the columns that the plan reads, holds the transform to the contract
//! and composes the output rows from passing and computed columns.
//!
//! ```no_run
//! # use tidegate_guest::{testing::*, Transform, DataType};
//! # fn example<Total: Transform>() {
//! let mut harness = Harness::<Total>::configure("{}").unwrap();
//! let table = harness
//!     .plan(table("shop.orders").key("id", DataType::Int64).column("price", DataType::Int64).build())
//!     .unwrap();
//! let result = harness.transform(&table, &[insert([1.into(), 250.into()])]).unwrap();
//! assert_eq!(result.rows[0].cell("total"), &Value::from(250));
//! # }
//! ```

mod batch;
mod contract;
mod events;
pub mod host;
mod schema;

use crate::bindings::exports::tidegate::transform::columns::{Output, RowError, Selection};
use crate::bindings::tidegate::transform::planning::{ColumnSource, Plan, UnseenEvents};
use crate::bindings::tidegate::transform::types::BatchContext;
use crate::instance::Instance;
use crate::{BatchError, Image, PlanError, TableSchema, Transform};

pub use events::{Event, Row, Value, delete, insert, snapshot, update};
pub use schema::{SchemaBuilder, table};

/// A configured transform under test.
#[allow(missing_debug_implementations, reason = "a transform need not implement Debug")]
pub struct Harness<T: Transform> {
    instance: Instance<T>,
}

/// A table with the plan that the transform made for it.
#[derive(Clone, Debug)]
pub struct PlannedTable {
    /// The input schema.
    pub schema: TableSchema,
    /// The plan as the host receives it.
    pub plan: Plan,
}

/// What became of the events of one batch.
#[derive(Debug)]
pub struct Results {
    /// The rows that go on, in their order.
    pub rows: Vec<OutputRow>,
    /// The rows refused, ascending; their events go to the dead-letter queue.
    pub errors: Vec<RowError>,
}

/// One output row.
#[derive(Debug, PartialEq)]
pub struct OutputRow {
    /// Index of its event in the batch.
    pub event: usize,
    /// Which image of its event it is.
    pub image: Image,
    /// Index of its output table in the plan.
    pub table: usize,
    /// Column names and cells.
    pub cells: Vec<(String, Value)>,
}

impl OutputRow {
    /// The cell of an output column.
    ///
    /// # Panics
    /// If the output has no such column.
    pub fn cell(&self, name: &str) -> &Value {
        let cell = self.cells.iter().find(|(column, _)| column == name);
        &cell.unwrap_or_else(|| panic!("the output has no column `{name}`: {:?}", self.cells)).1
    }
}

impl<T: Transform> Harness<T> {
    /// Configures the transform with the JSON of its `config` key.
    ///
    /// # Errors
    /// The transform's own message.
    pub fn configure(config: &str) -> Result<Self, String> {
        Ok(Self { instance: Instance::configure(config)? })
    }

    /// Plans a table twice, as a host may, and checks the plan.
    ///
    /// # Errors
    /// The transform's answer.
    ///
    /// # Panics
    /// If the plan breaks the contract.
    pub fn plan(&mut self, schema: TableSchema) -> Result<PlannedTable, PlanError> {
        let plan = self.instance.plan_table(schema.clone())?;
        let again = self.instance.plan_table(schema.clone())?;
        assert_eq!(plan, again, "the same schema must give the same plan");
        contract::check_plan(&schema, &plan);
        Ok(PlannedTable { schema, plan })
    }

    /// Runs a batch. Events outside the plan's `sees` do not reach the
    /// transform, and no call is made when none is left.
    ///
    /// # Errors
    /// The transform's answer for the batch as a whole.
    ///
    /// # Panics
    /// If the output breaks the contract.
    pub fn transform(&self, table: &PlannedTable, events: &[Event]) -> Result<Results, BatchError> {
        let plan = &table.plan;
        let (seen, unseen): (Vec<_>, Vec<_>) =
            Row::of(events).into_iter().partition(|row| plan.sees.contains(row.flag()));
        let mut results = Results { rows: Vec::new(), errors: Vec::new() };
        if !seen.is_empty() {
            let batch = batch::project(&table.schema, plan, &seen);
            let output = self.instance.transform(BatchContext { plan_id: plan.plan_id }, batch)?;
            contract::check_output(plan, seen.len(), &output);
            compose_seen(plan, &seen, output, &mut results);
        }
        if plan.unseen == UnseenEvents::PassComputedAsNull {
            results.rows.extend(unseen.iter().map(|row| compose(plan, 0, row, |_| Value::Null)));
        }
        results.rows.sort_by_key(|row| (row.event, row.image == Image::After));
        Ok(results)
    }
}

/// Composes the kept rows of a call. A refused row takes its whole event along.
fn compose_seen(plan: &Plan, rows: &[Row<'_>], output: Output, results: &mut Results) {
    let kept: Vec<usize> = match &output.keep {
        Selection::All => (0..rows.len()).collect(),
        Selection::Rows(kept) => kept.iter().map(|row| *row as usize).collect(),
    };
    let refused: Vec<usize> = output.errors.iter().map(|error| rows[error.row as usize].event).collect();
    for (cell, row) in kept.into_iter().map(|row| &rows[row]).enumerate() {
        if !refused.contains(&row.event) {
            let table = output.route.get(cell).map_or(0, |table| usize::from(*table));
            let computed = |column: u32| Value::at(&output.columns[column as usize], cell);
            results.rows.push(compose(plan, table, row, computed));
        }
    }
    results.errors.extend(output.errors);
}

fn compose(plan: &Plan, table: usize, row: &Row<'_>, computed: impl Fn(u32) -> Value) -> OutputRow {
    let cells = plan.outputs[table].columns.iter().map(|column| {
        let cell = match column.source {
            ColumnSource::Input(index) => row.cells[index as usize].clone(),
            ColumnSource::Computed(index) => computed(index),
        };
        (column.name.clone(), cell)
    });
    OutputRow { event: row.event, image: row.image, table, cells: cells.collect() }
}
