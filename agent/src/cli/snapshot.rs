//! `tidegate snapshot TABLE`.

use clap::Args;
use tidegate_model::Result;

use super::output::talk;
use super::target::Target;
use crate::control::{AgentStatus, SnapshotRequest};

#[derive(Debug, Args)]
pub(super) struct SnapshotArguments {
    /// The table as schema.table
    table: String,
}

pub(super) fn snapshot(target: &Target, arguments: &SnapshotArguments) -> Result<()> {
    let agent = target.running()?;
    let request = SnapshotRequest { table: arguments.table.clone() };
    let SnapshotRequest { table } = agent.post(&target.resource("snapshots")?, &request)?;
    talk(format_args!(
        "the agent was asked to read {table} anew, in a generation of its own; `tidegate status` shows how far it is"
    ));
    // The server is asked later, in the log's order, so a name that nothing bears is accepted.
    let status: AgentStatus = agent.get("/v1/status")?;
    let mut known = status.pipelines.iter().flat_map(|pipeline| &pipeline.tables);
    if known.all(|known| known.table != table) {
        talk(format_args!(
            "warning: the agent knows no table {table} yet; if the server has none either, the agent's log says so"
        ));
    }
    Ok(())
}
