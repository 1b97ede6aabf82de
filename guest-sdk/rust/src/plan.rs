//! Building the plan of a table.

use crate::bindings::tidegate::transform::planning::Plan;
use crate::{
    ColumnRole, ColumnSource, DataType, FilterMode, Operations, OutputColumn, OutputTable, PlanError,
    TableSchema, UnseenEvents,
};

/// A plan without its id, which the SDK gives.
#[derive(Clone, Debug, PartialEq)]
pub struct TablePlan {
    /// Input columns by index that the transform reads, in its order.
    pub reads: Vec<u32>,
    /// The output tables, at least one.
    pub outputs: Vec<OutputTable>,
    /// Operations that the transform must see.
    pub sees: Operations,
    /// What becomes of events of other operations.
    pub unseen: UnseenEvents,
    /// Whether and how the transform drops rows.
    pub filter: FilterMode,
}

impl TablePlan {
    /// A plan with one output table of the input's name. If it computes nothing
    /// and reads nothing, no operation is seen and every event passes: then no
    /// row enters the sandbox.
    pub fn single(reads: Vec<u32>, columns: Vec<OutputColumn>) -> Self {
        let computes = columns.iter().any(|column| matches!(column.source, ColumnSource::Computed(_)));
        let idle = reads.is_empty() && !computes;
        Self {
            reads,
            outputs: vec![OutputTable { name: None, columns }],
            sees: if idle { Operations::empty() } else { Operations::all() },
            unseen: UnseenEvents::PassComputedAsNull,
            filter: FilterMode::None,
        }
    }

    pub(crate) fn with_id(self, plan_id: u32) -> Plan {
        let Self { reads, outputs, sees, unseen, filter } = self;
        Plan { plan_id, reads, outputs, sees, unseen, filter }
    }
}

/// Builds a plan with one output table, column by column.
#[derive(Debug)]
pub struct PlanBuilder<'t> {
    table: &'t TableSchema,
    reads: Vec<u32>,
    columns: Vec<OutputColumn>,
    computed: u32,
    filter: FilterMode,
}

impl<'t> PlanBuilder<'t> {
    /// Starts without any output column.
    pub fn empty(table: &'t TableSchema) -> Self {
        Self { table, reads: Vec::new(), columns: Vec::new(), computed: 0, filter: FilterMode::None }
    }

    /// Starts with all columns of the table passing through.
    pub fn passing(table: &'t TableSchema) -> Self {
        let mut plan = Self::empty(table);
        for (index, column) in table.columns.iter().enumerate() {
            if column.role == ColumnRole::Table {
                plan.pass(index, &column.name);
            }
        }
        plan
    }

    /// Lets an input column through under a name, with its type and its place
    /// in the key.
    pub fn pass(&mut self, index: usize, name: &str) {
        let column = &self.table.columns[index];
        self.columns.push(OutputColumn {
            name: name.into(),
            source: ColumnSource::Input(wire_index(index)),
            data_type: column.data_type.clone(),
            nullable: column.nullable,
            key_position: column.key_position,
        });
    }

    /// Makes the transform read a column; returns its position in the batch.
    ///
    /// # Errors
    /// [`PlanError::Incompatible`] if the table has no such column.
    pub fn read(&mut self, name: &str) -> Result<usize, PlanError> {
        let index = self.table.columns.iter().position(|column| column.name == name).ok_or_else(|| {
            PlanError::Incompatible(format!("table {} has no column `{name}`", self.table.name.join(".")))
        })?;
        let read = self.reads.iter().position(|read| *read == wire_index(index));
        Ok(read.unwrap_or_else(|| {
            self.reads.push(wire_index(index));
            self.reads.len() - 1
        }))
    }

    /// Takes an output column out again.
    pub fn drop(&mut self, name: &str) {
        self.columns.retain(|column| column.name != name);
    }

    /// Appends a computed column. The transform returns its computed columns
    /// in the order in which they were declared here.
    pub fn compute(&mut self, name: &str, data_type: DataType, nullable: bool) {
        let source = self.next_computed();
        self.columns.push(OutputColumn { name: name.into(), source, data_type, nullable, key_position: 0 });
    }

    /// Computes an output column that so far passes through, in its place and
    /// with its place in the key.
    ///
    /// # Errors
    /// [`PlanError::Incompatible`] if there is no such output column.
    pub fn replace(&mut self, name: &str, data_type: DataType, nullable: bool) -> Result<(), PlanError> {
        let source = self.next_computed();
        let table = self.table.name.join(".");
        let column = self.columns.iter_mut().find(|column| column.name == name);
        let column =
            column.ok_or_else(|| PlanError::Incompatible(format!("table {table} has no column `{name}`")))?;
        *column = OutputColumn { source, data_type, nullable, ..column.clone() };
        Ok(())
    }

    /// Declares that the transform drops rows.
    pub fn filter(&mut self, mode: FilterMode) {
        self.filter = mode;
    }

    /// The plan: every operation is seen, unless there is nothing to do.
    pub fn build(self) -> TablePlan {
        let mut plan = TablePlan::single(self.reads, self.columns);
        if self.filter != FilterMode::None {
            plan.sees = Operations::all();
        }
        TablePlan { filter: self.filter, ..plan }
    }

    fn next_computed(&mut self) -> ColumnSource {
        self.computed += 1;
        ColumnSource::Computed(self.computed - 1)
    }
}

fn wire_index(index: usize) -> u32 {
    u32::try_from(index).expect("a table has fewer than 2^32 columns")
}
