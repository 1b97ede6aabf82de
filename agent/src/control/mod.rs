//! The HTTP interface of a running agent.
//!
//! Whoever reaches the address may read names, counts and positions. What
//! changes something, and what shows row values, needs the token when one is
//! set; without a token the interface only listens on loopback, and then a
//! browser must not be able to reach it in a visited page's name (see [`auth`]).

mod agent_file;
mod answer;
mod auth;
mod dead_letters;
mod health;
mod pipelines;

use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::middleware;
use axum::routing::{get, post};
use tidegate_model::{Error, ErrorKind, Result};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::config::Secret;
use crate::config::resolve::PipelineConfig;
use crate::pipeline::Handle;
use crate::telemetry::{Metrics, exporter};

pub use self::agent_file::{AgentFile, RunningAgent, running_agent};
pub(crate) use self::answer::Failure;
pub use self::dead_letters::{
    Summary as DeadLetterSummary, list as list_dead_letters, show as show_dead_letter,
};
pub use self::pipelines::{AgentStatus, PipelineSummary, SinkOffset, SnapshotRequest};

/// A pipeline of the agent.
#[derive(Debug)]
pub struct Served {
    /// What it was started with.
    pub config: PipelineConfig,
    /// The running pipeline.
    pub handle: Handle,
}

/// What the interface tells about and acts on.
#[derive(Debug)]
pub struct Control {
    /// The agent's pipelines.
    pub pipelines: Vec<Served>,
    /// The agent's metrics.
    pub metrics: Arc<Metrics>,
    /// What writing calls must carry.
    pub token: Option<Secret>,
    /// When the agent started.
    pub started: Instant,
}

/// Answers requests until `stop`; requests that are being answered are finished.
///
/// # Errors
/// `Connection` when the listener breaks.
pub async fn serve(listener: TcpListener, control: Arc<Control>, stop: CancellationToken) -> Result<()> {
    axum::serve(listener, router(control))
        .with_graceful_shutdown(stop.cancelled_owned())
        .await
        .map_err(|error| Error::new(ErrorKind::Connection, "the HTTP interface ended").because(error))
}

fn router(control: Arc<Control>) -> Router {
    let guarded = Router::new()
        .route("/v1/pipelines/{pipeline}/snapshots", post(pipelines::snapshot))
        .route("/v1/pipelines/{pipeline}/dead-letters/{id}", get(dead_letters::get_one))
        .layer(middleware::from_fn_with_state(Arc::clone(&control), auth::require_token));
    let metrics =
        Router::new().route("/metrics", get(exporter::export)).with_state(Arc::clone(&control.metrics));
    Router::new()
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
        .route("/v1/status", get(pipelines::status))
        .route("/v1/pipelines", get(pipelines::list))
        .route("/v1/pipelines/{pipeline}", get(pipelines::get))
        .route("/v1/pipelines/{pipeline}/offsets", get(pipelines::offsets))
        .route("/v1/pipelines/{pipeline}/schemas", get(pipelines::schemas))
        .route("/v1/pipelines/{pipeline}/dead-letters", get(dead_letters::get_list))
        .merge(guarded)
        .fallback(answer::not_found)
        .layer(middleware::from_fn_with_state(Arc::clone(&control), auth::refuse_rebound_hosts))
        .with_state(control)
        .merge(metrics)
}

#[cfg(test)]
mod tests;
