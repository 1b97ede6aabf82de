//! `tidegate lake`: what is committed in a lake, read from its log alone.

use clap::{Args, Subcommand};
use serde::Serialize;
use tidegate_format::FileRecord;
use tidegate_model::{Error, ErrorKind, Result, TableName};
use tidegate_sink_object::{Lake, Latest};

use super::output::{json, line, table, talk, thousands};
use super::target::Target;
use super::{Format, runtime};
use crate::config::resolve::SinkKind;

#[derive(Debug, Subcommand)]
pub(super) enum LakeCommand {
    /// List the committed files; a plain glob may also find files of an open commit
    Files(FilesArguments),
    /// Print ready queries for a table's current rows
    Latest(LatestArguments),
}

#[derive(Debug, Args)]
pub(super) struct FilesArguments {
    /// The table as schema.table; all of them when it is left out
    table: Option<String>,
    #[command(flatten)]
    lake: LakeArguments,
}

#[derive(Debug, Args)]
pub(super) struct LatestArguments {
    /// The table as schema.table
    table: String,
    #[command(flatten)]
    lake: LakeArguments,
}

#[derive(Debug, Args)]
struct LakeArguments {
    /// The sink that writes the lake, where the pipeline has several
    #[arg(long, value_name = "NAME")]
    sink: Option<String>,
    #[command(flatten)]
    format: Format,
}

pub(super) fn lake(target: &Target, command: &LakeCommand) -> Result<()> {
    let runtime = runtime()?;
    match command {
        LakeCommand::Files(FilesArguments { table, lake: arguments }) => runtime.block_on(async {
            let lake = open(target, arguments).await?;
            let tables = match table {
                Some(table) => vec![table_name(table)?],
                None => lake.tables(),
            };
            let mut files = Vec::new();
            for table in &tables {
                files.extend(lake.files(table).await?);
            }
            show_files(&lake, &files, arguments.format)
        }),
        LakeCommand::Latest(LatestArguments { table, lake: arguments }) => runtime.block_on(async {
            let lake = open(target, arguments).await?;
            let latest = lake.latest(&table_name(table)?).await?;
            show_queries(&latest, arguments.format)
        }),
    }
}

/// The lake that the arguments mean.
async fn open(target: &Target, arguments: &LakeArguments) -> Result<Lake> {
    let pipeline = target.config()?;
    let lakes = pipeline.sinks.iter().filter_map(|sink| match &sink.kind {
        SinkKind::Object { path, .. } => Some((sink.name.as_str(), path)),
        SinkKind::Stdout => None,
    });
    let lakes: Vec<_> = lakes.collect();
    let names: Vec<&str> = lakes.iter().map(|(name, _)| *name).collect();
    let path = match (&arguments.sink, &lakes[..]) {
        (Some(wanted), _) => {
            lakes.iter().find(|(name, _)| name == wanted).map(|(_, path)| path).ok_or_else(|| {
                Error::new(ErrorKind::Config, format!("there is no object sink '{wanted}'"))
                    .hint(format!("the pipeline has {}", names.join(", ")))
            })?
        }
        (None, [(_, only)]) => only,
        (None, []) => return Err(Error::new(ErrorKind::Config, "the pipeline has no object sink")),
        (None, _) => {
            return Err(Error::new(
                ErrorKind::Config,
                format!("the pipeline writes {}", names.join(" and ")),
            )
            .hint("say which with --sink NAME"));
        }
    };
    Lake::open(path).await
}

fn show_files(lake: &Lake, files: &[FileRecord], format: Format) -> Result<()> {
    if format.json {
        return json(&files);
    }
    line(format_args!("below {}", lake.root().display()))?;
    // The name begins with the table; positions are for programs and stand in the JSON.
    table(
        ["file", "rows", "bytes", "transforms"],
        files.iter().map(|file| {
            let (rows, bytes) = (thousands(file.rows), thousands(file.bytes));
            [file.key.clone(), rows, bytes, file.modules.join(", ")]
        }),
    )
}

/// What a reader can run as it is.
#[derive(Debug, Serialize)]
struct Queries<'a> {
    duckdb: String,
    pyarrow: String,
    /// Empty: the table has no key, and the queries return every event.
    key: &'a [String],
    diverges: Option<&'a str>,
}

fn show_queries(latest: &Latest, format: Format) -> Result<()> {
    let queries = Queries {
        duckdb: latest.duckdb(),
        pyarrow: latest.pyarrow(),
        key: latest.key(),
        diverges: latest.diverges(),
    };
    if let Some(why) = queries.diverges {
        talk(format_args!("warning: {why}"));
    }
    if queries.key.is_empty() {
        talk("warning: the table has no key, so the queries return every event");
    }
    if format.json {
        return json(&queries);
    }
    line("-- DuckDB")?;
    line(queries.duckdb)?;
    line("\n# Python with pyarrow")?;
    line(queries.pyarrow)
}

fn table_name(text: &str) -> Result<TableName> {
    match text.split_once('.') {
        Some((schema, table)) if !schema.is_empty() && !table.is_empty() => Ok(TableName::new(schema, table)),
        _ => {
            Err(Error::new(ErrorKind::Config, format!("'{text}' is not a table")).hint("write schema.table"))
        }
    }
}
