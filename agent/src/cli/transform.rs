//! `tidegate transform`: tools for who writes modules.

use std::fs;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use tidegate_model::{Error, ErrorKind, Result};
use tidegate_transform_host::encode::{World, encode};

use super::output::talk;
use crate::bounded::{MODULE_BYTES_MAX, read_bounded};

#[derive(Debug, Subcommand)]
pub(super) enum TransformCommand {
    /// Make a component of a core WebAssembly module, or of its text
    Encode(EncodeArguments),
}

#[derive(Debug, Args)]
pub(super) struct EncodeArguments {
    /// The core module
    core: PathBuf,
    /// Where the component goes
    out: PathBuf,
    /// What it implements; by default the module tells
    #[arg(long)]
    world: Option<WorldArgument>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum WorldArgument {
    /// One verdict per row
    RowTransform,
    /// Whole columns
    ColumnTransform,
}

pub(super) fn transform(command: &TransformCommand) -> Result<()> {
    let TransformCommand::Encode(EncodeArguments { core, out, world }) = command;
    let module = read_bounded(core, MODULE_BYTES_MAX).map_err(|error| {
        Error::new(ErrorKind::Config, format!("'{}' cannot be read", core.display())).because(error)
    })?;
    let world = world.map(|world| match world {
        WorldArgument::RowTransform => World::Row,
        WorldArgument::ColumnTransform => World::Column,
    });
    let component = encode(&module, world).map_err(|error| {
        Error::new(ErrorKind::Transform, format!("'{}' cannot become a component", core.display()))
            .because(chain(&error))
            .hint("docs/guides/writing-a-transform.md tells what a module exports and imports")
    })?;
    fs::write(out, &component).map_err(|error| {
        Error::new(ErrorKind::Storage, format!("'{}' cannot be written", out.display())).because(error)
    })?;
    talk(format_args!("wrote {} ({} bytes)", out.display(), component.len()));
    Ok(())
}

/// The error with all its causes: the last one names the import that is wrong.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
