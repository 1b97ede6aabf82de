//! The command line: what can be asked for, and nothing of how it is done.
//!
//! Data goes to standard output, talk to standard error. Exit codes: 0 done,
//! 1 failed, 2 bad usage or configuration, 3 refused for safety.

mod check;
pub(crate) mod client;
mod dead_letters;
mod lake;
mod offsets;
pub(crate) mod output;
mod progress;
mod run;
pub(crate) mod schema;
mod snapshot;
mod status;
mod target;
mod transform;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use indicatif::MultiProgress;
use tidegate_model::{Error, ErrorKind, Result};

use crate::demo;
use crate::telemetry::logging;

use self::target::Target;

/// Captures a database's changes, transforms them and delivers them exactly once.
#[derive(Debug, Parser)]
#[command(name = "tidegate", version, propagate_version = true, arg_required_else_help = true)]
pub struct Arguments {
    #[command(flatten)]
    target: TargetArguments,
    #[command(subcommand)]
    command: Command,
}

/// Which agent or pipeline a command is about.
#[derive(Debug, Clone, Args)]
struct TargetArguments {
    /// Pipeline file
    #[arg(short, long, global = true, value_name = "FILE", env = "TIDEGATE_CONFIG", hide_env_values = true)]
    config: Option<PathBuf>,
    /// Address of a running agent, instead of a pipeline file
    #[arg(long, global = true, value_name = "URL")]
    url: Option<String>,
    /// Pipeline, where an agent runs several
    #[arg(short, long, global = true, value_name = "NAME")]
    pipeline: Option<String>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Check configuration, modules, connection and server settings, without changing anything
    Check(check::CheckArguments),
    /// Run the pipelines of these files until they are stopped
    Run(run::RunArguments),
    /// Show how the pipelines do
    Status(Format),
    /// Show or set where the sinks stand
    #[command(subcommand)]
    Offsets(offsets::OffsetsCommand),
    /// Read a table's contents anew; the way out for a parked or diverging table
    Snapshot(snapshot::SnapshotArguments),
    /// Show refused events
    #[command(subcommand)]
    DeadLetters(dead_letters::DeadLettersCommand),
    /// Show the versions of the captured tables
    #[command(subcommand)]
    Schema(schema::SchemaCommand),
    /// Find a table's files in a lake
    #[command(subcommand)]
    Lake(lake::LakeCommand),
    /// Work with transform modules
    #[command(subcommand)]
    Transform(transform::TransformCommand),
    /// Watch a small shop's changes arrive in a lake of files
    Demo(demo::DemoArguments),
}

/// How a command prints.
#[derive(Debug, Clone, Copy, Args)]
struct Format {
    /// Print JSON for a program
    #[arg(long)]
    json: bool,
}

/// Runs the command that the process was started with.
pub fn main() -> ExitCode {
    crate::memory::set_up();
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            let code = if error.use_stderr() { 2 } else { 0 };
            let _ = error.print();
            return ExitCode::from(code);
        }
    };
    // Two providers end up in the build; without a choice TLS panics at its
    // first connection. It fails only when one is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    match execute(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output::talk(format!("error: {error}"));
            ExitCode::from(error.exit_code())
        }
    }
}

fn execute(arguments: Arguments) -> Result<()> {
    let progress = MultiProgress::new();
    logging::init(&progress)?;
    let target = || Target::find(&arguments.target);
    match arguments.command {
        Command::Check(arguments) => check::check(&arguments),
        Command::Run(arguments) => run::run(&arguments, &progress),
        Command::Status(format) => status::status(&target()?, format),
        Command::Offsets(command) => offsets::offsets(&target()?, &command),
        Command::Snapshot(arguments) => snapshot::snapshot(&target()?, &arguments),
        Command::DeadLetters(command) => dead_letters::dead_letters(&target()?, &command),
        Command::Schema(command) => schema::schema(&target()?, &command),
        Command::Lake(command) => lake::lake(&target()?, &command),
        Command::Transform(command) => transform::transform(&command),
        Command::Demo(arguments) => demo::demo(&arguments),
    }
}

/// The runtime of commands that talk to servers.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(|error| {
        Error::new(ErrorKind::Internal, "the runtime's threads cannot be started").because(error)
    })
}

#[cfg(test)]
mod tests;
