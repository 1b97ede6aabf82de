//! Planning: a guest maps a table's schema, the host checks the mapping before
//! the first row and keeps what it needs to run it.
//!
//! Renaming, dropping, reordering and passing columns through is then the host's
//! work: such cells never enter the sandbox. Nothing of a plan is believed: an
//! index that is out of range here would be a wrong column in every row later.

use std::collections::HashSet;
use std::sync::Arc;

use tidegate_model::transform::Plan;
use tidegate_model::{Column, DataType, Operation, TableName, TableVersion};

use crate::bindings::tidegate::transform::planning as wit;
use crate::bindings::tidegate::transform::types::{ColumnRole, ColumnSchema};
use crate::convert::{SYSTEM_COLUMNS, described, from_wit, visible};

/// No table of a supported source has more columns than this.
const COLUMNS_MAX: usize = 4_096;
const NAME_CHARS_MAX: usize = 128;

/// How a batch of a table version is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TablePlan {
    pub(crate) input: Arc<TableVersion>,
    pub(crate) plan: Plan,
    /// `None` when [`Self::plan`] is not `Output`.
    pub(crate) guest: Option<GuestPlan>,
}

/// The guest's part of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GuestPlan {
    /// Input columns by index; system columns follow the table's own.
    pub(crate) reads: Vec<usize>,
    /// Where each output column comes from.
    pub(crate) sources: Vec<Source>,
    /// The computed columns, in the order in which they come back.
    pub(crate) computed: Vec<ComputedColumn>,
    pub(crate) filter: Filter,
    /// By [`Operation`].
    sees: [bool; 4],
    pub(crate) drops_unseen: bool,
}

impl GuestPlan {
    /// True when the guest must see events of this operation.
    pub(crate) fn sees(&self, operation: Operation) -> bool {
        self.sees[operation as usize]
    }

    /// A plan that sees everything and passes nothing.
    #[cfg(test)]
    pub(crate) fn for_test(reads: Vec<usize>, computed: Vec<ComputedColumn>, filter: Filter) -> Self {
        let sources = (0..computed.len()).map(Source::Computed).collect();
        Self { reads, sources, computed, filter, sees: [true; 4], drops_unseen: false }
    }

    /// False when no row needs the sandbox: nothing is computed, filtered or read.
    pub(crate) fn needs_guest(&self) -> bool {
        self.sees.contains(&true)
            && !(self.computed.is_empty() && self.reads.is_empty() && self.filter == Filter::None)
    }
}

/// Where an output column comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// A column of the table, as it is.
    Table(usize),
    /// A system column, by its index in [`SYSTEM_COLUMNS`].
    System(usize),
    /// A computed column.
    Computed(usize),
}

/// A column that the guest returns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ComputedColumn {
    pub(crate) name: String,
    pub(crate) data_type: DataType,
    pub(crate) nullable: bool,
    pub(crate) key: bool,
}

/// Whether and how a guest drops rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Filter {
    /// Never: a missing row breaks the contract.
    None,
    /// Each image is judged alone.
    PerImage,
    /// Dropping one image drops the event.
    PerEvent,
}

/// Why a plan is no good.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PlanFault {
    /// The plan breaks a rule; names it.
    Rule(String),
    /// Known, but not built yet.
    Unsupported(&'static str),
}

/// The columns of a table as a guest is told them.
pub(crate) fn columns(table: &TableVersion) -> Vec<ColumnSchema<'_>> {
    let own = table.columns.iter().enumerate().map(|(index, column)| ColumnSchema {
        name: &column.name,
        role: ColumnRole::Table,
        data_type: described(&column.data_type),
        nullable: column.nullable,
        key_position: table.key.iter().position(|key| *key == index).map_or(0, |at| at as u8 + 1),
    });
    own.chain(system_columns()).collect()
}

fn system_columns<'a>() -> impl Iterator<Item = ColumnSchema<'a>> {
    use crate::bindings::tidegate::transform::types::DataTypeParam;
    SYSTEM_COLUMNS.iter().map(|column| ColumnSchema {
        name: column.name,
        role: ColumnRole::System,
        data_type: match (column.data_type)() {
            DataType::Timestamp { .. } => DataTypeParam::Timestamptz,
            _ => DataTypeParam::Text,
        },
        nullable: column.nullable,
        key_position: 0,
    })
}

/// Checks a guest's plan for a table.
///
/// # Errors
/// The first rule that the plan breaks, or what is not supported yet.
pub(crate) fn check(table: &Arc<TableVersion>, plan: wit::Plan) -> Result<TablePlan, PlanFault> {
    let inputs = table.columns.len() + SYSTEM_COLUMNS.len();
    let reads: Vec<usize> = plan.reads.iter().map(|read| *read as usize).collect();
    if let Some(read) = reads.iter().find(|read| **read >= inputs) {
        return Err(rule(format!("`reads` names column {read}, the table has {inputs}")));
    }
    if reads.len() > inputs || reads.iter().collect::<HashSet<_>>().len() < reads.len() {
        return Err(rule("`reads` names a column twice"));
    }
    let [output] =
        <[wit::OutputTable; 1]>::try_from(plan.outputs).map_err(|outputs| match outputs.len() {
            0 => rule("the plan has no output table"),
            _ => PlanFault::Unsupported("a plan with several output tables"),
        })?;
    let all = [
        wit::Operations::INSERT,
        wit::Operations::UPDATE,
        wit::Operations::DELETE,
        wit::Operations::SNAPSHOT,
    ];
    let sees = all.map(|operation| plan.sees.contains(operation));
    let drops_unseen = plan.unseen == wit::UnseenEvents::Drop;
    let filter = match plan.filter {
        wit::FilterMode::None => Filter::None,
        wit::FilterMode::PerImage => Filter::PerImage,
        wit::FilterMode::PerEvent => Filter::PerEvent,
    };
    if drops_unseen && !sees.contains(&true) {
        return Ok(TablePlan { input: table.clone(), plan: Plan::Drop, guest: None });
    }
    let name = output_name(table, output.name)?;
    let columns = Columns::check(table, &output.columns)?;
    if !drops_unseen && sees.contains(&false) {
        // Events that skip the guest have null in every computed column.
        if let Some(column) = columns.computed.iter().find(|column| !column.nullable) {
            return Err(rule(format!(
                "column {:?} is never null, but null in events that the plan does not see",
                column.name
            )));
        }
    }
    let output = TableVersion::new(table.uid, name, table.version, columns.output, columns.key);
    let guest =
        GuestPlan { reads, sources: columns.sources, computed: columns.computed, filter, sees, drops_unseen };
    Ok(TablePlan { input: table.clone(), plan: Plan::Output(Arc::new(output)), guest: Some(guest) })
}

fn output_name(table: &TableVersion, name: Option<Vec<String>>) -> Result<TableName, PlanFault> {
    let Some(parts) = name else { return Ok(table.name.clone()) };
    let bad = |part: &String| part.is_empty() || part.chars().any(char::is_control);
    match <[String; 2]>::try_from(parts) {
        Ok(parts) if parts.iter().any(bad) => {
            Err(rule("a part of the output's name is empty or has a control character"))
        }
        Ok([schema, table]) => Ok(TableName::new(schema, table)),
        Err(parts) => Err(rule(format!("the output's name has {} parts, not schema and table", parts.len()))),
    }
}

/// The output's columns, checked one by one and together.
struct Columns {
    output: Vec<Column>,
    sources: Vec<Source>,
    computed: Vec<ComputedColumn>,
    key: Vec<usize>,
}

impl Columns {
    fn check(table: &TableVersion, declared: &[wit::OutputColumn]) -> Result<Self, PlanFault> {
        if declared.is_empty() || declared.len() > COLUMNS_MAX {
            return Err(rule(format!("the output has {} columns, not 1 to {COLUMNS_MAX}", declared.len())));
        }
        check_names(declared)?;
        let mut checked = Self {
            output: Vec::with_capacity(declared.len()),
            sources: Vec::with_capacity(declared.len()),
            computed: computed_columns(declared)?,
            key: key(declared)?,
        };
        for column in declared {
            checked.add(table, column)?;
        }
        Ok(checked)
    }

    fn add(&mut self, table: &TableVersion, declared: &wit::OutputColumn) -> Result<(), PlanFault> {
        let data_type = data_type(declared)?;
        let (source, column) = match declared.source {
            // Its id is 0 even when it looks like one source column: the plan does not say which
            // of the columns it reads a value comes from, and a guess would change with the plan.
            wit::ColumnSource::Computed(n) => (Source::Computed(n as usize), computed(declared, data_type)),
            wit::ColumnSource::Input(index) => {
                let index = index as usize;
                if let Some(input) = table.columns.get(index) {
                    check_same(declared, &data_type, &input.data_type, input.nullable)?;
                    (Source::Table(index), self.passed(declared, input))
                } else if let Some(system) = SYSTEM_COLUMNS.get(index - table.columns.len()) {
                    check_same(declared, &data_type, &(system.data_type)(), system.nullable)?;
                    (Source::System(index - table.columns.len()), computed(declared, data_type))
                } else {
                    return Err(rule(format!(
                        "column {:?} takes over input column {index}, which does not exist",
                        declared.name
                    )));
                }
            }
        };
        self.sources.push(source);
        self.output.push(column);
        Ok(())
    }

    /// The input's exact type and identity under the output's name. Of several
    /// copies the first has the identity, so that it stays unique.
    fn passed(&self, declared: &wit::OutputColumn, input: &Column) -> Column {
        let taken = self.output.iter().any(|column| column.id == input.id);
        Column {
            id: if taken { 0 } else { input.id },
            name: declared.name.clone(),
            nullable: declared.nullable,
            ..input.clone()
        }
    }
}

fn computed(declared: &wit::OutputColumn, data_type: DataType) -> Column {
    Column {
        id: 0,
        name: declared.name.clone(),
        data_type,
        nullable: declared.nullable,
        source_type: String::new(),
        initial_default: None,
    }
}

fn check_names(declared: &[wit::OutputColumn]) -> Result<(), PlanFault> {
    let mut seen = HashSet::new();
    for wit::OutputColumn { name, .. } in declared {
        if name.is_empty() || name.chars().count() > NAME_CHARS_MAX || name.chars().any(char::is_control) {
            return Err(rule(format!(
                "a column's name is empty, longer than {NAME_CHARS_MAX} characters or has a control character"
            )));
        }
        if name.starts_with('$') || name.starts_with("__") {
            return Err(rule(format!("column {name:?} has a reserved name (`$…` or `__…`)")));
        }
        if !seen.insert(name) {
            return Err(rule(format!("two output columns are named {name:?}")));
        }
    }
    Ok(())
}

/// The computed columns by number: 0, 1, 2, … without a gap, each used once.
fn computed_columns(declared: &[wit::OutputColumn]) -> Result<Vec<ComputedColumn>, PlanFault> {
    let mut numbered = Vec::new();
    for column in declared {
        if let wit::ColumnSource::Computed(n) = column.source {
            let data_type = data_type(column)?;
            let (nullable, key) = (column.nullable, column.key_position > 0);
            numbered.push((n, ComputedColumn { name: column.name.clone(), data_type, nullable, key }));
        }
    }
    numbered.sort_by_key(|(n, _)| *n);
    if numbered.iter().enumerate().any(|(at, (n, _))| at != *n as usize) {
        return Err(rule("the numbers of the computed columns are not 0, 1, 2, … each once"));
    }
    Ok(numbered.into_iter().map(|(_, column)| column).collect())
}

/// The key by position: 1, 2, … without a gap, none of them nullable. A row
/// whose key is null could never be updated or deleted at a target.
fn key(declared: &[wit::OutputColumn]) -> Result<Vec<usize>, PlanFault> {
    let mut key: Vec<_> = declared.iter().enumerate().filter(|(_, column)| column.key_position > 0).collect();
    key.sort_by_key(|(_, column)| column.key_position);
    if key.iter().enumerate().any(|(at, (_, column))| at + 1 != usize::from(column.key_position)) {
        return Err(rule("the key positions are not 1, 2, … each once"));
    }
    match key.iter().find(|(_, column)| column.nullable) {
        Some((_, column)) => Err(rule(format!("key column {:?} may be null", column.name))),
        None => Ok(key.into_iter().map(|(index, _)| index).collect()),
    }
}

fn data_type(declared: &wit::OutputColumn) -> Result<DataType, PlanFault> {
    from_wit(&declared.data_type).map_err(|fault| rule(format!("column {:?}: {fault}", declared.name)))
}

/// A column that passes through keeps its type and may not lose its nulls.
fn check_same(
    declared: &wit::OutputColumn,
    data_type: &DataType,
    input: &DataType,
    nullable: bool,
) -> Result<(), PlanFault> {
    if *data_type != visible(input) {
        return Err(rule(format!(
            "column {:?} passes through as {data_type}, its input is {}: a cast must be computed",
            declared.name,
            visible(input)
        )));
    }
    if nullable && !declared.nullable {
        return Err(rule(format!(
            "column {:?} passes through as never null, its input may be",
            declared.name
        )));
    }
    Ok(())
}

fn rule(message: impl Into<String>) -> PlanFault {
    PlanFault::Rule(message.into())
}

#[cfg(test)]
mod tests;
