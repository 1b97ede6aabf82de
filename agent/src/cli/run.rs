//! `tidegate run`: the agent itself.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use indicatif::MultiProgress;
use tidegate_model::{Error, ErrorKind, Result};
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::progress;
use crate::config::{self, Configuration};
use crate::control::{self, AgentFile, Control, Served, running_agent};
use crate::pipeline::{self, Handle};
use crate::telemetry::Metrics;

/// The exit code of a process that a second signal ends at once.
const INTERRUPTED: i32 = 130;

#[derive(Debug, Args)]
pub(super) struct RunArguments {
    /// Pipeline files, one pipeline each
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Go on although a lost state folder may have held what no sink's record tells
    #[arg(long)]
    accept_state_loss: bool,
}

pub(super) fn run(arguments: &RunArguments, progress: &MultiProgress) -> Result<()> {
    let mut configuration = config::load(&arguments.files)?;
    for pipeline in &mut configuration.pipelines {
        pipeline.accept_state_loss = arguments.accept_state_loss;
    }
    if let Some(other) = running_agent(&configuration.agent.state)? {
        return Err(Error::new(
            ErrorKind::Refused,
            format!("an agent with pid {} runs on this state folder", other.pid),
        )
        .with("folder", configuration.agent.state.display())
        .hint("stop it, or give this one another `agent.state`"));
    }
    super::runtime()?.block_on(serve(configuration, progress))
}

async fn serve(configuration: Configuration, progress: &MultiProgress) -> Result<()> {
    let Configuration { agent, pipelines } = configuration;
    // From here on a signal must not cut anything short.
    let signals = Signals::new()?;
    let listener = match agent.listen {
        None => None,
        Some(address) => Some(TcpListener::bind(address).await.map_err(|error| {
            Error::new(ErrorKind::Connection, "the HTTP interface cannot listen")
                .with("address", address)
                .because(error)
                .hint("another agent may be there: set `agent.listen`, port 0 takes a free one")
        })?),
    };

    let metrics = Arc::new(Metrics::new());
    let mut served = Vec::new();
    for config in pipelines {
        match pipeline::start(&agent, config.clone(), Arc::clone(&metrics)).await {
            Ok(handle) => served.push(Served { config, handle }),
            Err(error) => {
                let started: Vec<Handle> = served.into_iter().map(|served| served.handle).collect();
                let _ = end(&started).await;
                return Err(error);
            }
        }
    }
    let handles: Vec<Handle> = served.iter().map(|served| served.handle.clone()).collect();

    let done = CancellationToken::new();
    let mut helpers = JoinSet::new();
    let address = listener.as_ref().and_then(|listener| listener.local_addr().ok());
    let agent_file = AgentFile::write(&agent.state, address)?;
    if let Some(listener) = listener {
        let control = Control { pipelines: served, metrics, token: agent.token, started: Instant::now() };
        let stop = done.clone();
        helpers.spawn(async move {
            if let Err(error) = control::serve(listener, Arc::new(control), stop).await {
                tracing::error!(%error, "http interface ended");
            }
        });
        tracing::info!(url = %address.map(|address| format!("http://{address}")).unwrap_or_default(), "agent started");
    } else {
        tracing::info!("agent started");
    }
    helpers.spawn(progress::show(handles.clone(), progress.clone(), done.clone()));
    helpers.spawn(signals.stop(handles.clone()));

    let result = finished(&handles).await;
    done.cancel();
    helpers.abort_all();
    drop(agent_file);
    if result.is_ok() {
        tracing::info!("agent stopped");
    }
    result
}

/// Asks the pipelines to end and waits until they have.
async fn end(handles: &[Handle]) -> Result<()> {
    handles.iter().for_each(Handle::stop);
    finished(handles).await
}

/// Waits until every pipeline has ended. One that fails leaves the others
/// running; the first failure is the agent's.
async fn finished(handles: &[Handle]) -> Result<()> {
    let mut running = JoinSet::new();
    for handle in handles {
        let handle = handle.clone();
        running.spawn(async move { (handle.status().pipeline, handle.finished().await) });
    }
    let mut result = Ok(());
    while let Some(ended) = running.join_next().await {
        let (pipeline, ended) = ended
            .map_err(|error| Error::new(ErrorKind::Internal, "a pipeline's end was lost").because(error))?;
        if let Err(error) = ended {
            tracing::error!(%pipeline, %error, "pipeline failed");
            result = result.and(Err(error));
        }
    }
    result
}

/// Ctrl-C and SIGTERM.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    fn new() -> Result<Self> {
        let listen = |kind| {
            signal(kind)
                .map_err(|error| Error::new(ErrorKind::Internal, "signals cannot be received").because(error))
        };
        Ok(Self { interrupt: listen(SignalKind::interrupt())?, terminate: listen(SignalKind::terminate())? })
    }

    /// The first one drains, commits and checkpoints; the second ends the
    /// process at once, which loses nothing either: that is what a crash does.
    async fn stop(mut self, handles: Vec<Handle>) {
        self.next().await;
        tracing::info!("stopping: draining, committing, checkpointing; a second signal ends at once");
        handles.iter().for_each(Handle::stop);
        self.next().await;
        tracing::warn!("ended by a second signal");
        std::process::exit(INTERRUPTED);
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
