//! `tidegate snapshot TABLE`.

use clap::Args;
use tidegate_model::Result;

use super::output::talk;
use super::target::Target;
use crate::control::SnapshotRequest;

#[derive(Debug, Args)]
pub(super) struct SnapshotArguments {
    /// The table as schema.table
    table: String,
}

pub(super) fn snapshot(target: &Target, arguments: &SnapshotArguments) -> Result<()> {
    let request = SnapshotRequest { table: arguments.table.clone() };
    let accepted: SnapshotRequest = target.running()?.post(&target.resource("snapshots")?, &request)?;
    talk(format_args!(
        "{} is read anew, in a generation of its own; `tidegate status` shows how far it is",
        accepted.table
    ));
    Ok(())
}
