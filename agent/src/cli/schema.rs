//! `tidegate schema history`: every version of the captured tables with the
//! place in the log where it began.

use clap::{Args, Subcommand};
use tidegate_format::{ColumnOpRecord, ExistingRowsRecord, SchemaChangeKindRecord, SchemaChangeRecord};
use tidegate_model::Result;
use tidegate_model::source::Journal;

use super::Format;
use super::output::{count, json, table};
use super::target::Target;

#[derive(Debug, Subcommand)]
pub(super) enum SchemaCommand {
    /// Show every version of the tables
    History(HistoryArguments),
}

#[derive(Debug, Args)]
pub(super) struct HistoryArguments {
    /// Only this table, as schema.table
    table: Option<String>,
    #[command(flatten)]
    format: Format,
}

pub(super) fn schema(target: &Target, command: &SchemaCommand) -> Result<()> {
    let SchemaCommand::History(arguments) = command;
    let mut history = history(target)?;
    if let Some(only) = &arguments.table {
        history.retain(|change| table_name(change) == *only);
    }
    if arguments.format.json {
        return json(&history);
    }
    show(&history)
}

fn history(target: &Target) -> Result<Vec<SchemaChangeRecord>> {
    if let Some(client) = target.client() {
        return client.get(&target.resource("schemas")?);
    }
    let history = target.state()?.schema_history()?;
    Ok(history.iter().map(|change| SchemaChangeRecord::from(change.as_ref())).collect())
}

/// Prints the versions, a row each.
///
/// # Errors
/// `Storage` when standard output cannot be written.
pub(crate) fn show(history: &[SchemaChangeRecord]) -> Result<()> {
    table(
        ["table", "version", "position", "what changed", "existing rows", "statement"],
        history.iter().map(|change| {
            [
                table_name(change),
                change.after.source_version.to_string(),
                format!("{}:{}", change.position.file_no, change.position.offset64),
                what(change),
                existing_rows(change.existing_rows).to_owned(),
                change.ddl.join("; "),
            ]
        }),
    )
}

fn table_name(change: &SchemaChangeRecord) -> String {
    format!("{}.{}", change.after.name.schema, change.after.name.table)
}

fn what(change: &SchemaChangeRecord) -> String {
    let columns = count(change.after.columns.len() as u64, "column");
    match change.kind {
        SchemaChangeKindRecord::Baseline => format!("found with {columns}"),
        SchemaChangeKindRecord::Create => format!("created with {columns}"),
        SchemaChangeKindRecord::Alter => {
            let ops = change.ops.iter().map(|op| match op {
                ColumnOpRecord::Add { name, .. } => format!("+ {name}"),
                ColumnOpRecord::Drop { name, .. } => format!("- {name}"),
                ColumnOpRecord::Rename { from, to, .. } => format!("{from} → {to}"),
                ColumnOpRecord::Modify { name, .. } => format!("~ {name}"),
                ColumnOpRecord::Key => "~ primary key".to_owned(),
            });
            ops.collect::<Vec<_>>().join(", ")
        }
    }
}

fn existing_rows(existing: ExistingRowsRecord) -> &'static str {
    match existing {
        ExistingRowsRecord::None => "unchanged",
        ExistingRowsRecord::InitialDefault => "read as the default",
        ExistingRowsRecord::Diverges => "diverge until snapshotted",
    }
}
