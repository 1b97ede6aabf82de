//! Maps a table's schema: which columns pass, which are computed, and how.

use std::collections::BTreeMap;

use tidegate_guest::{
    ColumnRole, ColumnSchema, ColumnSource, DataType, OutputColumn, PlanError, TablePlan, TableSchema,
    TextBuilder, UnseenEvents,
};

use crate::cast::Cast;
use crate::config::Config;
use crate::keys::suggestion;
use crate::program::{Piece, Program, Slot, Step};
use crate::rules::Rules;
use crate::template::{Part, Template};
use crate::types;

/// The plan of a table, and the steps that compute its columns.
pub(crate) fn plan(table: &TableSchema, config: &Config) -> Result<(TablePlan, Program), PlanError> {
    let own = config.per_table.get(&table.name.join("."));
    if own.is_none() && config.drop_unlisted_tables {
        return Ok((drop_all(table), Program::default()));
    }
    if let Some(own) = own {
        check_columns_exist(table, own)?;
    }
    let rules = config.flat.overlaid(own.unwrap_or(&Rules::default()));
    let mut planner = Planner {
        table,
        rules: &rules,
        reads: Vec::new(),
        program: Program::default(),
        values: BTreeMap::new(),
    };
    let mut columns = planner.table_columns()?;
    columns.extend(planner.templates()?);
    check_names(table, &columns)?;
    planner.set_key(&mut columns, own.is_some_and(|own| own.key.is_some()))?;
    if is_identity(table, &columns) {
        return Err(PlanError::NotApplicable);
    }
    Ok((TablePlan::single(planner.reads, columns), planner.program))
}

/// No operation is seen and the unseen are dropped: no row gets anywhere.
fn drop_all(table: &TableSchema) -> TablePlan {
    let columns = table_columns(table).map(|(index, column)| passing(index, column, &column.name)).collect();
    TablePlan { unseen: UnseenEvents::Drop, ..TablePlan::single(Vec::new(), columns) }
}

/// A column named for this very table must be there; its absence is usually a
/// rename or a drop at the source that the configuration has not followed.
fn check_columns_exist(table: &TableSchema, own: &Rules) -> Result<(), PlanError> {
    for (key, name) in own.named() {
        if position(table, name).is_none() {
            let hint = suggestion(name, table.columns.iter().map(|column| column.name.as_str()));
            return Err(incompatible(
                table,
                &format!(
                    "`{key}` names column `{name}`, which the table does not have{hint}; change the mapping"
                ),
            ));
        }
    }
    Ok(())
}

struct Planner<'p> {
    table: &'p TableSchema,
    rules: &'p Rules,
    reads: Vec<u32>,
    program: Program,
    /// Input columns whose cast and default are planned already.
    values: BTreeMap<usize, PlannedColumn>,
}

/// A column of input or of a step, with its type.
#[derive(Clone)]
struct PlannedColumn {
    /// `None` as long as nothing is computed.
    slot: Option<Slot>,
    data_type: DataType,
    nullable: bool,
}

impl Planner<'_> {
    /// The output columns that stem from one input column each.
    fn table_columns(&mut self) -> Result<Vec<OutputColumn>, PlanError> {
        let (table, rules) = (self.table, self.rules);
        let mut columns = Vec::new();
        for (index, column) in table.columns.iter().enumerate() {
            let name = rules.rename.get(&column.name);
            let out = match column.role {
                ColumnRole::System => name.is_some(),
                ColumnRole::Table => {
                    let unlisted = rules.drop_unlisted == Some(true) && !rules.lists(&column.name);
                    !rules.drop.contains(&column.name) && !unlisted
                }
            };
            if !out {
                continue;
            }
            let mut output = passing(index, column, name.unwrap_or(&column.name));
            let planned = self.masked(index)?;
            if let Some(Slot::Step(step)) = planned.slot {
                output.source = self.output(step);
                output.data_type = planned.data_type;
                output.nullable = planned.nullable;
            }
            columns.push(output);
        }
        Ok(columns)
    }

    /// The computed texts, by name. One for all tables is left out where a
    /// table lacks one of its columns.
    fn templates(&mut self) -> Result<Vec<OutputColumn>, PlanError> {
        let (table, rules) = (self.table, self.rules);
        let mut columns = Vec::new();
        for (name, template) in &rules.compute {
            if template.columns().all(|column| position(table, column).is_some()) {
                let (pieces, nullable) = self.pieces(template)?;
                let step = self.push(Step::Template(pieces));
                let source = self.output(step);
                let data_type = DataType::Text;
                columns.push(OutputColumn {
                    name: name.clone(),
                    source,
                    data_type,
                    nullable,
                    key_position: 0,
                });
            }
        }
        Ok(columns)
    }

    fn pieces(&mut self, template: &Template) -> Result<(Vec<Piece>, bool), PlanError> {
        let table = self.table;
        let (mut pieces, mut nullable) = (Vec::new(), false);
        for part in template.parts() {
            pieces.push(match part {
                Part::Literal(text) => Piece::Literal(text.clone()),
                Part::Column(name) => {
                    let index = position(table, name).expect("the template's columns were looked up");
                    let value = self.value(index)?;
                    if value.data_type == DataType::Binary {
                        let problem =
                            format!("a template uses binary column `{name}`; cast it to text first");
                        return Err(incompatible(table, &problem));
                    }
                    nullable |= value.nullable;
                    let slot = self.slot(index, &value);
                    Piece::Column { slot, data_type: value.data_type }
                }
            });
        }
        Ok((pieces, nullable))
    }

    /// An input column after cast, default and mask.
    fn masked(&mut self, index: usize) -> Result<PlannedColumn, PlanError> {
        let mut value = self.value(index)?;
        let name = &self.table.columns[index].name;
        if let Some(mask) = self.rules.mask.get(name) {
            use DataType as T;
            if !matches!(value.data_type, T::Text | T::Uuid | T::Json | T::Decimal(_) | T::Other(_)) {
                let found = types::name(&value.data_type);
                let problem = format!("`mask` names column `{name}` of type {found}; cast it to text first");
                return Err(incompatible(self.table, &problem));
            }
            let of = self.slot(index, &value);
            value.slot = Some(Slot::Step(self.push(Step::Mask { of, mask: mask.clone() })));
            value.data_type = T::Text;
        }
        Ok(value)
    }

    /// An input column after cast and default, as templates see it.
    fn value(&mut self, index: usize) -> Result<PlannedColumn, PlanError> {
        if let Some(value) = self.values.get(&index) {
            return Ok(value.clone());
        }
        let column = &self.table.columns[index];
        let mut value =
            PlannedColumn { slot: None, data_type: column.data_type.clone(), nullable: column.nullable };
        if let Some(to) = self.rules.cast.get(&column.name).filter(|to| **to != value.data_type) {
            let step = self.cast(index, &value, to)?;
            value = PlannedColumn { slot: Some(Slot::Step(step)), data_type: to.clone(), ..value };
        }
        if let Some(literal) = self.rules.default.get(&column.name)
            && value.nullable
        {
            let of = self.slot(index, &value);
            let cell = literal_column(literal, &value.data_type).ok_or_else(|| {
                let wanted = types::name(&value.data_type);
                let problem = format!("the default {literal} of column `{}` is no {wanted}", column.name);
                incompatible(self.table, &problem)
            })?;
            value.slot = Some(Slot::Step(self.push(Step::Default { of, value: cell })));
            value.nullable = false;
        }
        self.values.insert(index, value.clone());
        Ok(value)
    }

    fn cast(&mut self, index: usize, value: &PlannedColumn, to: &DataType) -> Result<usize, PlanError> {
        let name = &self.table.columns[index].name;
        let cast = Cast::new(&value.data_type, to).ok_or_else(|| {
            let (from, to) = (types::name(&value.data_type), types::name(to));
            incompatible(self.table, &format!("column `{name}` of type {from} cannot be cast to {to}"))
        })?;
        let read = self.read(index);
        let refusal = format!("column `{name}` has no exact {} value", types::name(to));
        Ok(self.push(Step::Cast { of: Slot::Read(read), cast, read, refusal }))
    }

    /// Where steps find a value; a column that is not computed is read.
    fn slot(&mut self, index: usize, value: &PlannedColumn) -> Slot {
        value.slot.unwrap_or_else(|| Slot::Read(self.read(index)))
    }

    fn read(&mut self, index: usize) -> usize {
        let wanted = wire_index(index);
        self.reads.iter().position(|read| *read == wanted).unwrap_or_else(|| {
            self.reads.push(wanted);
            self.reads.len() - 1
        })
    }

    fn push(&mut self, step: Step) -> usize {
        self.program.steps.push(step);
        self.program.steps.len() - 1
    }

    fn output(&mut self, step: usize) -> ColumnSource {
        self.program.outputs.push(step);
        ColumnSource::Computed(wire_index(self.program.outputs.len() - 1))
    }

    /// Sets the key that the rules name. One for all tables is ignored where a
    /// column of it is missing.
    fn set_key(&self, columns: &mut [OutputColumn], strict: bool) -> Result<(), PlanError> {
        let missing = |key: &&String| !columns.iter().any(|column| column.name == **key);
        match &self.rules.key {
            Some(key) => match key.iter().find(missing) {
                Some(name) if strict => {
                    let hint = suggestion(name, columns.iter().map(|column| column.name.as_str()));
                    Err(incompatible(
                        self.table,
                        &format!("`key` names `{name}`, which is no output column{hint}"),
                    ))
                }
                Some(_) => self.check_key_kept(columns),
                None => {
                    for column in &mut *columns {
                        let place = key.iter().position(|name| *name == column.name);
                        column.key_position = place.map_or(0, |place| place as u8 + 1);
                    }
                    self.check_key_not_null(columns)
                }
            },
            None => self.check_key_kept(columns),
        }
    }

    fn check_key_kept(&self, columns: &[OutputColumn]) -> Result<(), PlanError> {
        for column in self.table.columns.iter().filter(|column| column.key_position > 0) {
            if !columns.iter().any(|output| output.key_position == column.key_position) {
                let problem = format!(
                    "key column `{}` is dropped; keep it, or name the output's key with `key` (`key: []` for none)",
                    column.name
                );
                return Err(incompatible(self.table, &problem));
            }
        }
        Ok(())
    }

    fn check_key_not_null(&self, columns: &[OutputColumn]) -> Result<(), PlanError> {
        match columns.iter().find(|column| column.key_position > 0 && column.nullable) {
            Some(column) => {
                let problem = format!("key column `{}` may be null; give it a `default`", column.name);
                Err(incompatible(self.table, &problem))
            }
            None => Ok(()),
        }
    }
}

/// The only cell of a default, made by the casts from its text; `None` if the
/// literal is no value of the type.
fn literal_column(literal: &serde_json::Value, data_type: &DataType) -> Option<tidegate_guest::Column> {
    use serde_json::Value as L;
    let text = match (literal, data_type) {
        (_, DataType::Binary) => return None,
        (L::String(text), _) => text.clone(),
        (L::Bool(_), DataType::Boolean) | (_, DataType::Json) => literal.to_string(),
        (L::Number(number), data_type) if !is_text(data_type) => number.to_string(),
        _ => return None,
    };
    let mut cell = TextBuilder::with_capacity(1, text.len());
    cell.push(tidegate_guest::Cell::Value(&text));
    let mut exact = true;
    let column = Cast::new(&DataType::Text, data_type)?.apply(&cell.finish(), |_| exact = false).ok()?;
    exact.then_some(column)
}

fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Text | DataType::Uuid | DataType::Other(_))
}

fn check_names(table: &TableSchema, columns: &[OutputColumn]) -> Result<(), PlanError> {
    for (index, column) in columns.iter().enumerate() {
        if columns[..index].iter().any(|other| other.name == column.name) {
            let problem = format!("two output columns are named `{}`; rename or drop one", column.name);
            return Err(incompatible(table, &problem));
        }
    }
    Ok(())
}

/// Whether the output is the input: then the table is none of our business.
fn is_identity(table: &TableSchema, columns: &[OutputColumn]) -> bool {
    let input = table_columns(table).map(|(index, column)| passing(index, column, &column.name));
    input.eq(columns.iter().cloned())
}

fn table_columns(table: &TableSchema) -> impl Iterator<Item = (usize, &ColumnSchema)> {
    table.columns.iter().enumerate().filter(|(_, column)| column.role == ColumnRole::Table)
}

fn passing(index: usize, column: &ColumnSchema, name: &str) -> OutputColumn {
    OutputColumn {
        name: name.into(),
        source: ColumnSource::Input(wire_index(index)),
        data_type: column.data_type.clone(),
        nullable: column.nullable,
        key_position: column.key_position,
    }
}

fn position(table: &TableSchema, name: &str) -> Option<usize> {
    table.columns.iter().position(|column| column.name == name)
}

fn wire_index(index: usize) -> u32 {
    u32::try_from(index).expect("a table has fewer than 2^32 columns")
}

fn incompatible(table: &TableSchema, problem: &str) -> PlanError {
    PlanError::Incompatible(format!(
        "table {}, schema version {}: {problem}",
        table.name.join("."),
        table.version
    ))
}
