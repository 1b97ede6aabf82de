//! `tidegate dead-letters`: refused events, read from the queue's own files or
//! from the running agent.

use clap::{Args, Subcommand};
use tidegate_format::DeadLetterRecord;
use tidegate_model::{Error, ErrorKind, Result};

use super::output::{json, line, table};
use super::target::Target;
use super::{Format, runtime};
use crate::control::{DeadLetterSummary, list_dead_letters, show_dead_letter};

#[derive(Debug, Subcommand)]
pub(super) enum DeadLettersCommand {
    /// List the newest, with the reason but without the event's values
    List(ListArguments),
    /// Show one with the event's original images
    Show(ShowArguments),
}

#[derive(Debug, Args)]
pub(super) struct ListArguments {
    /// How many at most
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    #[command(flatten)]
    format: Format,
}

#[derive(Debug, Args)]
pub(super) struct ShowArguments {
    /// Its id, as the list tells it
    id: String,
}

pub(super) fn dead_letters(target: &Target, command: &DeadLettersCommand) -> Result<()> {
    match command {
        DeadLettersCommand::List(arguments) => list(target, arguments),
        DeadLettersCommand::Show(arguments) => show(target, &arguments.id),
    }
}

fn list(target: &Target, arguments: &ListArguments) -> Result<()> {
    let limit = arguments.limit;
    let letters: Vec<DeadLetterSummary> = match target.config() {
        Ok(pipeline) => runtime()?.block_on(list_dead_letters(&pipeline.dead_letter.path, limit as usize))?,
        Err(_) => target.running()?.get(&format!("{}?limit={limit}", target.resource("dead-letters")?))?,
    };
    if arguments.format.json {
        return json(&letters);
    }
    if letters.is_empty() {
        return line("no dead letters");
    }
    table(
        ["id", "table", "op", "refused by", "reason", "column", "committed at the source"],
        letters.into_iter().map(|letter| {
            let column = letter.column.unwrap_or_default();
            [letter.id, letter.table, letter.operation, letter.stage, letter.code, column, letter.commit_ts]
        }),
    )
}

fn show(target: &Target, id: &str) -> Result<()> {
    let letter: DeadLetterRecord = match target.config() {
        Ok(pipeline) => {
            runtime()?.block_on(show_dead_letter(&pipeline.dead_letter.path, id))?.ok_or_else(|| {
                Error::new(ErrorKind::Config, format!("there is no dead letter '{id}'"))
                    .hint("list them with `tidegate dead-letters list`")
            })?
        }
        Err(_) => target.running()?.get(&target.resource(&format!("dead-letters/{id}"))?)?,
    };
    json(&letter)
}
