//! Two questions: does the process live, and does every pipeline really move?

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::extract::State;
use axum::http::StatusCode;

use super::{Control, Served};
use crate::config::resolve::SinkKind;
use crate::pipeline::{PipelineStatus, State as Life};

/// `GET /healthz`: the process answers. Restart it when it does not.
pub(super) async fn alive() -> &'static str {
    "ok\n"
}

/// `GET /readyz`: 200 when every pipeline moves, else 503 with a line for each
/// that does not.
pub(super) async fn ready(State(control): State<Arc<Control>>) -> (StatusCode, String) {
    let up = control.started.elapsed();
    let still: Vec<String> = control.pipelines.iter().filter_map(|served| standstill(served, up)).collect();
    if still.is_empty() {
        (StatusCode::OK, "ok\n".into())
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, still.concat())
    }
}

/// Why a pipeline does not move, as a line; `None` when it does.
fn standstill(served: &Served, up: Duration) -> Option<String> {
    let status = served.handle.status();
    let reason = stopped(&status).or_else(|| silent(&status, patience(served), up))?;
    Some(format!("{}: {reason}\n", served.config.name))
}

fn stopped(status: &PipelineStatus) -> Option<String> {
    let state = match status.state {
        Life::Running | Life::Snapshotting => return None,
        Life::Starting => "starting",
        Life::Retrying => "waiting to try again",
        Life::Stopping => "stopping",
        Life::Stopped => "stopped",
        Life::Failed => "failed",
    };
    Some(status.error.as_ref().map_or_else(|| state.to_owned(), |error| format!("{state}: {error}")))
}

/// A sink that has not committed for longer than a healthy one can: an idle
/// pipeline commits its position with every heartbeat.
fn silent(status: &PipelineStatus, patience: Duration, up: Duration) -> Option<String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let sink = status.sinks.iter().find(|sink| {
        let silent = match sink.last_commit_ms.and_then(|ms| u64::try_from(ms).ok()) {
            Some(ms) => now.saturating_sub(Duration::from_millis(ms)).min(up),
            None => up,
        };
        silent > patience
    })?;
    Some(format!("sink '{}' has not committed for more than {} s", sink.sink, patience.as_secs()))
}

/// Three of the longest pauses that the configuration allows, and ten seconds
/// for a commit that is slow.
fn patience(served: &Served) -> Duration {
    let intervals = served.config.sinks.iter().map(|sink| match sink.kind {
        SinkKind::Object { commit_interval, .. } => commit_interval,
        SinkKind::Stdout => Duration::ZERO,
    });
    let longest = intervals.chain([served.config.source.heartbeat]).max().unwrap_or_default();
    longest.saturating_mul(3).saturating_add(Duration::from_secs(10))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::SinkStatus;

    fn status(state: Life, last_commit_age: Option<u64>) -> PipelineStatus {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let last = last_commit_age.map(|age| (now - Duration::from_secs(age)).as_millis() as i64);
        let sink = SinkStatus { sink: "lake".into(), last_commit_ms: last, ..SinkStatus::default() };
        PipelineStatus { state, sinks: vec![sink], ..PipelineStatus::default() }
    }

    #[test]
    fn only_what_moves_is_ready() {
        let patience = Duration::from_secs(30);
        let reason = |status: &PipelineStatus, up| stopped(status).or_else(|| silent(status, patience, up));
        let (young, old) = (Duration::from_secs(5), Duration::from_secs(500));
        assert_eq!(reason(&status(Life::Running, Some(3)), old), None);
        assert_eq!(reason(&status(Life::Snapshotting, None), young), None);
        // The last commit may be another run's.
        assert_eq!(reason(&status(Life::Running, Some(4000)), young), None);
        assert!(reason(&status(Life::Running, Some(60)), old).is_some_and(|line| line.contains("'lake'")));
        assert!(reason(&status(Life::Running, None), old).is_some());
        assert_eq!(reason(&status(Life::Starting, Some(1)), young).as_deref(), Some("starting"));
        let failed = PipelineStatus { error: Some("no".into()), ..status(Life::Failed, None) };
        assert_eq!(reason(&failed, young).as_deref(), Some("failed: no"));
    }
}
