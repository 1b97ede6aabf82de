//! `tidegate status`.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tidegate_model::Result;

use super::Format;
use super::output::{count, json, line, table, thousands};
use super::target::Target;
use crate::control::AgentStatus;
use crate::pipeline::{PipelineStatus, State, TableStatus};

pub(super) fn status(target: &Target, format: Format) -> Result<()> {
    let status: AgentStatus = target.running()?.get("/v1/status")?;
    if format.json {
        return json(&status);
    }
    line(format_args!(
        "agent {} with pid {}, up {}",
        status.version,
        status.pid,
        age(Duration::from_secs(status.uptime_seconds))
    ))?;
    status.pipelines.iter().try_for_each(show)
}

fn show(status: &PipelineStatus) -> Result<()> {
    line("")?;
    let fact = |name: &str, value: String| line(format_args!("{name:<16}{value}"));
    fact("pipeline", status.pipeline.clone())?;
    fact("state", state_name(status.state).to_owned())?;
    if let Some(error) = &status.error {
        fact("last error", error.clone())?;
    }
    let lag =
        status.lag_ms.map_or_else(|| "none".to_owned(), |ms| format!("{} ms", thousands(ms.unsigned_abs())));
    fact("lag", lag)?;
    let rate =
        format!("{:.0} a second, {} in this run", status.events_per_second.abs(), thousands(status.events));
    fact("events", rate)?;
    fact("position", status.position.clone().unwrap_or_else(|| "none yet".into()))?;
    fact("gtid", status.gtid.clone().unwrap_or_else(|| "none yet".into()))?;
    fact("checkpoint", ago(status.last_checkpoint_ms))?;
    fact("dead letters", thousands(status.dead_letters))?;
    fact("restarts", status.restarts.to_string())?;

    let tables = status.tables.iter();
    table(
        ["table", "version", "snapshot", "rows read", "remark"],
        tables.map(|t| {
            [t.table.clone(), t.version.to_string(), snapshot(t), thousands(t.snapshot_rows), remark(t)]
        }),
    )?;
    if status.sinks.is_empty() {
        return line("no sink has committed in this run yet");
    }
    let sinks = status.sinks.iter();
    table(
        ["sink", "committed", "gtid", "last commit", "events"],
        sinks.map(|s| {
            let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| "none yet".into());
            [
                s.sink.clone(),
                or_none(&s.committed),
                or_none(&s.gtid),
                ago(s.last_commit_ms),
                thousands(s.events),
            ]
        }),
    )
}

/// The word for a pipeline's state.
pub(super) fn state_name(state: State) -> &'static str {
    match state {
        State::Starting => "starting",
        State::Snapshotting => "snapshotting",
        State::Running => "running",
        State::Retrying => "waiting to try again",
        State::Stopping => "stopping",
        State::Stopped => "stopped",
        State::Failed => "failed",
    }
}

fn snapshot(table: &TableStatus) -> String {
    match table.snapshot.as_str() {
        "none" => "none".into(),
        state => {
            format!("{state} (generation {}, {})", table.generation, count(table.snapshot_chunks, "chunk"))
        }
    }
}

fn remark(table: &TableStatus) -> String {
    match (&table.parked, &table.diverges) {
        (Some(why), _) => format!("parked: {why}"),
        (None, Some(why)) => format!("diverges: {why}"),
        (None, None) => String::new(),
    }
}

/// How long ago a moment was.
pub(super) fn ago(ms: Option<i64>) -> String {
    let Some(ms) = ms.and_then(|ms| u64::try_from(ms).ok()) else { return "none yet".into() };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{} ago", age(now.saturating_sub(Duration::from_millis(ms))))
}

/// A duration in its largest unit and the next.
fn age(duration: Duration) -> String {
    match duration.as_secs() {
        0 => format!("{} ms", duration.as_millis()),
        seconds @ 1..60 => format!("{seconds} s"),
        seconds @ 60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        seconds @ 3_600..86_400 => format!("{} h {} min", seconds / 3_600, seconds / 60 % 60),
        seconds => format!("{} d {} h", seconds / 86_400, seconds / 3_600 % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_have_two_units() {
        for (seconds, text) in [(1, "1 s"), (75, "1 min 15 s"), (7_260, "2 h 1 min"), (90_000, "1 d 1 h")] {
            assert_eq!(age(Duration::from_secs(seconds)), text);
        }
        assert_eq!(age(Duration::from_millis(20)), "20 ms");
        assert_eq!(ago(None), "none yet");
    }
}
