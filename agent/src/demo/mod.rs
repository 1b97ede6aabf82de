//! `tidegate demo`: a small shop whose changes arrive in two lakes while one
//! watches.
//!
//! Everything is real and private: a MariaDB server in a temporary folder, this
//! same binary as the agent, and readers that take only what the lakes' logs
//! say. What is compared at the end is read from the files, never from memory.

mod lake;
mod shop;
mod show;
mod stage;

use std::time::{Duration, Instant};

use clap::Args;
use tidegate_model::{Error, ErrorKind, GtidSet, Result};
use tokio::time::sleep;

use self::shop::Size;
use self::show::step;
use self::stage::{Stage, keep_it_running};
use crate::control::AgentStatus;
use crate::pipeline::PipelineStatus;

/// Nothing in the demo takes this long on the slowest machine that it was tried on.
const PATIENCE: Duration = Duration::from_secs(120);

const POLL: Duration = Duration::from_millis(100);

#[derive(Debug, Args)]
pub(crate) struct DemoArguments {
    /// A smaller shop
    #[arg(long)]
    short: bool,
}

pub(crate) fn demo(arguments: &DemoArguments) -> Result<()> {
    let size = if arguments.short { Size::SHORT } else { Size::FULL };
    crate::cli::runtime()?.block_on(async {
        // Dropping the play strikes its stage, so an interrupted demo leaves nothing behind.
        tokio::select! {
            played = play(size) => played,
            _ = tokio::signal::ctrl_c() => Err(Error::new(ErrorKind::Internal, "interrupted; everything is cleaned up")),
        }
    })
}

async fn play(size: Size) -> Result<()> {
    let began = Instant::now();
    show::introduction(size)?;

    step("starting a private MariaDB server")?;
    let stage = Stage::build()?;
    stage.sql(&shop::schema_and_rows(size))?;
    show::source(&stage)?;

    step("starting `tidegate run` with this pipeline")?;
    show::pipeline(&stage)?;
    let agent = stage.start_agent()?;
    let snapshot = wait_for(&stage, &agent, "the snapshot", snapshot_done).await?;
    show::snapshot(&snapshot)?;

    step("changing the shop while the agent watches")?;
    for (what, sql) in shop::live_changes(size) {
        show::change(what, &sql)?;
        stage.sql(&format!("USE shop; {sql}"))?;
        sleep(Duration::from_millis(300)).await;
    }
    let position: GtidSet = stage.sql("SELECT @@gtid_binlog_pos")?.trim().parse()?;
    let changed = Instant::now();
    wait_for(&stage, &agent, "the changes", |status| reached(status, &position)).await?;
    show::arrival(changed.elapsed())?;

    step("what arrived")?;
    show::arrived(&stage).await?;
    show::schema_history(&agent)?;
    let equal = show::comparison(&stage).await?;
    if !equal {
        return Err(Error::new(ErrorKind::Internal, "the lakes do not equal the source")
            .hint("KEEP=1 keeps everything for a look"));
    }
    if keep_it_running() {
        return stage.keep(agent);
    }

    step("stopping: the agent drains, commits and checkpoints")?;
    agent.stop().await?;
    drop(stage);
    show::end(began.elapsed())
}

/// Waits until the pipeline's status satisfies the condition, and returns it.
async fn wait_for(
    stage: &Stage,
    agent: &stage::Agent,
    what: &str,
    reached: impl Fn(&PipelineStatus) -> bool,
) -> Result<PipelineStatus> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = agent.ended()? {
            return Err(Error::new(ErrorKind::Internal, format!("the agent ended ({status}) before {what}"))
                .because(stage.last_log_lines()));
        }
        // Until it listens there is nothing to ask.
        let answer = agent.client().and_then(|client| client.get::<AgentStatus>("/v1/status"));
        let pipeline = answer.ok().and_then(|status| status.pipelines.into_iter().next());
        match pipeline {
            Some(status) if reached(&status) => return Ok(status),
            Some(PipelineStatus { error: Some(error), .. }) if Instant::now() > deadline => {
                return Err(
                    Error::new(ErrorKind::Internal, format!("waited too long for {what}")).because(error)
                );
            }
            _ if Instant::now() > deadline => {
                return Err(Error::new(ErrorKind::Internal, format!("waited too long for {what}"))
                    .because(stage.last_log_lines()));
            }
            _ => sleep(POLL).await,
        }
    }
}

fn snapshot_done(status: &PipelineStatus) -> bool {
    status.tables.len() == shop::TABLES.len() && status.tables.iter().all(|table| table.snapshot == "done")
}

/// Every sink, the dead letters among them, has committed up to here.
fn reached(status: &PipelineStatus, position: &GtidSet) -> bool {
    let covers = |gtid: &str| {
        gtid.parse::<GtidSet>().is_ok_and(|reached| position.iter().all(|gtid| reached.covers(gtid)))
    };
    !status.sinks.is_empty() && status.sinks.iter().all(|sink| sink.gtid.as_deref().is_some_and(covers))
}
