//! Pipelines as resources: status, offsets, schema versions, snapshots.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use tidegate_format::SchemaChangeRecord;

use super::answer::Refused;
use super::{Control, Served};
use crate::pipeline::{PipelineStatus, State as Life};

/// `GET /v1/status`: the agent with all that its pipelines tell.
#[derive(Debug, Serialize, Deserialize)]
pub struct AgentStatus {
    /// The agent's version.
    pub version: String,
    /// Its process id.
    pub pid: u32,
    /// Seconds since it started.
    pub uptime_seconds: u64,
    /// Its pipelines, in the order of the files.
    pub pipelines: Vec<PipelineStatus>,
}

/// An item of `GET /v1/pipelines`.
#[derive(Debug, Serialize, Deserialize)]
pub struct PipelineSummary {
    /// The pipeline's name.
    pub pipeline: String,
    /// Where it is in its life.
    pub state: Life,
}

/// An item of `GET /v1/pipelines/ID/offsets`.
#[derive(Debug, Serialize, Deserialize)]
pub struct SinkOffset {
    /// The sink; `dead_letters` for the dead-letter queue.
    pub sink: String,
    /// Last committed position as `file number:offset`.
    pub committed: Option<String>,
    /// The GTID set that goes with it.
    pub gtid: Option<String>,
    /// Epoch of the position; `None` when the agent does not tell.
    pub epoch: Option<u32>,
    /// Last commit of this run, ms since the epoch, UTC.
    pub last_commit_ms: Option<i64>,
}

/// Body of `POST /v1/pipelines/ID/snapshots`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SnapshotRequest {
    /// `schema.table`.
    pub table: String,
}

type Shared = State<Arc<Control>>;

pub(super) async fn status(State(control): Shared) -> Json<AgentStatus> {
    Json(AgentStatus {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        pid: std::process::id(),
        uptime_seconds: control.started.elapsed().as_secs(),
        pipelines: control.pipelines.iter().map(|served| served.handle.status()).collect(),
    })
}

pub(super) async fn list(State(control): Shared) -> Json<Vec<PipelineSummary>> {
    let summaries = control.pipelines.iter().map(|served| PipelineSummary {
        pipeline: served.config.name.clone(),
        state: served.handle.status().state,
    });
    Json(summaries.collect())
}

pub(super) async fn get(
    State(control): Shared,
    Path(name): Path<String>,
) -> Result<Json<PipelineStatus>, Refused> {
    Ok(Json(find(&control, &name)?.handle.status()))
}

pub(super) async fn offsets(
    State(control): Shared,
    Path(name): Path<String>,
) -> Result<Json<Vec<SinkOffset>>, Refused> {
    let status = find(&control, &name)?.handle.status();
    let offsets = status.sinks.into_iter().map(|sink| SinkOffset {
        sink: sink.sink,
        committed: sink.committed,
        gtid: sink.gtid,
        epoch: None,
        last_commit_ms: sink.last_commit_ms,
    });
    Ok(Json(offsets.collect()))
}

pub(super) async fn schemas(
    State(control): Shared,
    Path(name): Path<String>,
) -> Result<Json<Vec<SchemaChangeRecord>>, Refused> {
    let history = find(&control, &name)?.handle.schema_history()?;
    Ok(Json(history.iter().map(|change| SchemaChangeRecord::from(change.as_ref())).collect()))
}

pub(super) async fn snapshot(
    State(control): Shared,
    Path(name): Path<String>,
    request: Result<Json<SnapshotRequest>, JsonRejection>,
) -> Result<(StatusCode, Json<SnapshotRequest>), Refused> {
    let Json(request) = request.map_err(not_understood)?;
    find(&control, &name)?.handle.snapshot(&request.table).await?;
    tracing::info!(pipeline = %name, table = %request.table, "snapshot requested");
    Ok((StatusCode::ACCEPTED, Json(request)))
}

/// A body that is not what the call takes.
fn not_understood(rejection: JsonRejection) -> Refused {
    let hint = "send `Content-Type: application/json` with {\"table\": \"schema.table\"}";
    Refused::new(rejection.status(), rejection.body_text(), hint)
}

/// The pipeline of this name.
pub(super) fn find<'a>(control: &'a Control, name: &str) -> Result<&'a Served, Refused> {
    control.pipelines.iter().find(|served| served.config.name == name).ok_or_else(|| {
        let names: Vec<&str> = control.pipelines.iter().map(|served| served.config.name.as_str()).collect();
        let hint = format!("this agent runs {}", names.join(", "));
        Refused::new(StatusCode::NOT_FOUND, format!("there is no pipeline '{name}'"), hint)
    })
}
