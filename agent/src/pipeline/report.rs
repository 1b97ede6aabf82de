//! Where the stages tell what they did: status, metrics and the checkpointer
//! hear it from here, so that no stage knows who listens.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tidegate_model::sink::{Commit, Recovered};
use tidegate_model::{
    ChangeBatch, DeadLetter, ExistingRows, Offset, Operation, SnapshotMark, TableName, TableVersion,
    TargetChange,
};
use tokio::sync::mpsc;

use super::status::{PipelineStatus, SinkStatus, State, TableStatus};
use crate::telemetry::metrics::{PipelineMetrics, WriteStatus};

/// A sink's new record, for the checkpointer.
#[derive(Debug)]
pub(super) struct Committed {
    pub(super) sink: Arc<str>,
    pub(super) offset: Arc<Offset>,
    pub(super) dead_letters: u64,
}

/// Status and metrics of one pipeline, over all its restarts.
#[derive(Debug)]
pub(super) struct Board {
    status: Mutex<PipelineStatus>,
    rate: Mutex<VecDeque<(Instant, u64)>>,
    metrics: PipelineMetrics,
}

/// `sink_type` of the dead-letter queue.
pub(super) const DEAD_LETTER_TYPE: &str = "dead_letters";

/// Window of `events_per_second`.
const RATE_WINDOW: Duration = Duration::from_secs(10);

impl Board {
    pub(super) fn new(pipeline: &str, metrics: PipelineMetrics) -> Arc<Self> {
        let status = PipelineStatus { pipeline: pipeline.into(), ..PipelineStatus::default() };
        Arc::new(Self { status: Mutex::new(status), rate: Mutex::default(), metrics })
    }

    pub(super) fn metrics(&self) -> &PipelineMetrics {
        &self.metrics
    }

    fn lock(&self) -> MutexGuard<'_, PipelineStatus> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the status in place.
    pub(super) fn update(&self, change: impl FnOnce(&mut PipelineStatus)) {
        change(&mut self.lock());
    }

    /// A copy of the status, with rate and lag as of now.
    pub(super) fn status(&self) -> PipelineStatus {
        let mut status = self.lock().clone();
        let now = Instant::now();
        let mut rate = self.rate.lock().unwrap_or_else(PoisonError::into_inner);
        while rate.front().is_some_and(|(at, _)| now - *at > RATE_WINDOW) {
            rate.pop_front();
        }
        let events: u64 = rate.iter().map(|(_, n)| n).sum();
        status.events_per_second = events as f64 / RATE_WINDOW.as_secs_f64();
        status
    }

    pub(super) fn set_state(&self, state: State) {
        self.metrics.up(matches!(state, State::Running | State::Snapshotting));
        self.update(|s| s.state = state);
    }

    /// The captured tables as the source knows them after opening.
    pub(super) fn tables(&self, tables: &[Arc<TableVersion>], offset: &Offset) {
        self.update(|s| {
            for table in tables {
                let entry = table_entry(s, &table.name);
                entry.version = table.version;
                if let Some(snapshot) = offset.snapshot.get(&table.uid) {
                    entry.generation = snapshot.generation;
                    entry.snapshot_chunks = snapshot.chunks;
                    entry.snapshot = if snapshot.done { "done" } else { "running" }.into();
                } else {
                    entry.snapshot = "none".into();
                }
                entry.parked = offset.held.get(&table.uid).map(|held| held.message.clone());
            }
            // A table that was parked before its first version is nowhere else.
            for (uid, held) in &offset.held {
                if let Some(name) = offset.tables.get(uid) {
                    table_entry(s, name).parked = Some(held.message.clone());
                }
            }
        });
        self.count_tables();
    }

    /// About how many rows the tables have.
    pub(super) fn expected(&self, rows: &BTreeMap<TableName, u64>) {
        self.update(|s| {
            for (name, rows) in rows {
                table_entry(s, name).snapshot_rows_expected = Some(*rows);
            }
        });
    }

    /// What a sink has at the start of a run.
    pub(super) fn recovered(&self, sink: &str, recovered: &Recovered) {
        self.update(|s| {
            s.dead_letters = s.dead_letters.max(recovered.dead_letters);
            let entry = sink_entry(s, sink);
            if let Some(offset) = &recovered.offset {
                entry.committed = Some(offset.scanned.log.to_string());
                entry.gtid = Some(offset.scanned.gtid.to_string());
            }
        });
    }

    /// A batch left the source.
    pub(super) fn captured(&self, batch: &ChangeBatch) {
        let mut counts = [0_u64; 4];
        for operation in &batch.events.operation {
            counts[*operation as usize] += 1;
        }
        let operations = [Operation::Insert, Operation::Update, Operation::Delete, Operation::Snapshot];
        for (operation, count) in operations.into_iter().zip(counts).filter(|(_, count)| *count > 0) {
            self.metrics.source_events(&batch.table.name, operation, count);
        }
        self.update(|s| s.events += batch.len() as u64);
        let mut rate = self.rate.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        match rate.back_mut() {
            Some((at, n)) if now - *at < Duration::from_millis(100) => *n += batch.len() as u64,
            _ => rate.push_back((now, batch.len() as u64)),
        }
    }

    /// The table has a new source version.
    pub(super) fn version(&self, table: &TableVersion) {
        self.update(|s| table_entry(s, &table.name).version = table.version);
    }

    /// A snapshot began, moved or ended.
    pub(super) fn snapshot(
        &self,
        mark: &SnapshotMark,
        names: impl Fn(tidegate_model::TableUid) -> Option<TableName>,
    ) {
        match mark {
            SnapshotMark::Begin { name, generation, .. } => self.update(|s| {
                s.state = State::Snapshotting;
                let entry = table_entry(s, name);
                entry.generation = *generation;
                entry.snapshot = "running".into();
                entry.parked = None;
                (entry.snapshot_chunks, entry.snapshot_rows) = (0, 0);
            }),
            SnapshotMark::Chunk { table, chunk, rows, .. } => {
                let Some(name) = names(*table) else { return };
                self.metrics.snapshot_progress(&name, *rows, *chunk, false);
                self.update(|s| {
                    let entry = table_entry(s, &name);
                    entry.snapshot = "running".into();
                    entry.snapshot_chunks = *chunk;
                    entry.snapshot_rows += rows;
                });
            }
            SnapshotMark::End { name, .. } => {
                let chunks = {
                    let mut status = self.lock();
                    let entry = table_entry(&mut status, name);
                    entry.snapshot = "done".into();
                    entry.diverges = None;
                    entry.snapshot_chunks
                };
                self.metrics.snapshot_progress(name, 0, chunks, true);
                self.update(|s| {
                    if s.state == State::Snapshotting && s.tables.iter().all(|t| t.snapshot != "running") {
                        s.state = State::Running;
                    }
                });
            }
        }
        self.count_tables();
    }

    /// A table stopped.
    pub(super) fn parked(&self, name: &TableName, message: &str) {
        tracing::warn!(table = %name, reason = message, "table parked");
        self.update(|s| table_entry(s, name).parked = Some(message.into()));
        self.count_tables();
    }

    /// Rows of a target differ from the source's until the table is snapshotted.
    pub(super) fn diverges(&self, source: &TableName) {
        let message = format!(
            "rows at the target are not what the source has now; run `tidegate snapshot {source}` to deliver them again"
        );
        tracing::warn!(table = %source, "target diverges: {message}");
        self.update(|s| table_entry(s, source).diverges = Some(message));
        self.count_tables();
    }

    fn count_tables(&self) {
        let (parked, diverging) = {
            let status = self.lock();
            let count = |f: fn(&TableStatus) -> bool| status.tables.iter().filter(|t| f(t)).count() as u64;
            (count(|t| t.parked.is_some()), count(|t| t.diverges.is_some()))
        };
        self.metrics.parked_tables(parked);
        self.metrics.diverging_tables(diverging);
    }

    fn committed(&self, sink: &str, record: &Commit) {
        self.update(|s| {
            let entry = sink_entry(s, sink);
            entry.committed = Some(record.offset.scanned.log.to_string());
            entry.gtid = Some(record.offset.scanned.gtid.to_string());
            entry.last_commit_ms = Some(now_ms());
        });
    }
}

fn sink_entry<'a>(status: &'a mut PipelineStatus, name: &str) -> &'a mut SinkStatus {
    let n = match status.sinks.iter().position(|s| s.sink == name) {
        Some(n) => n,
        None => {
            status.sinks.push(SinkStatus { sink: name.into(), ..SinkStatus::default() });
            status.sinks.len() - 1
        }
    };
    &mut status.sinks[n]
}

fn table_entry<'a>(status: &'a mut PipelineStatus, name: &TableName) -> &'a mut TableStatus {
    let name = name.to_string();
    let n = match status.tables.iter().position(|t| t.table == name) {
        Some(n) => n,
        None => {
            status.tables.push(TableStatus {
                table: name,
                snapshot: "none".into(),
                ..TableStatus::default()
            });
            status.tables.len() - 1
        }
    };
    &mut status.tables[n]
}

/// Milliseconds since the epoch, for people and lag, never for a decision.
pub(super) fn now_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as i64)
}

/// One lane's way to the board and the checkpointer.
#[derive(Debug, Clone)]
pub(super) struct Report {
    pub(super) sink: Arc<str>,
    pub(super) sink_type: &'static str,
    pub(super) board: Arc<Board>,
    pub(super) commits: mpsc::UnboundedSender<Committed>,
}

impl Report {
    /// Rows were taken over by the sink.
    pub(super) fn wrote(&self, events: u64) {
        self.board.update(|s| sink_entry(s, &self.sink).events += events);
    }

    /// Events came again that the sink has.
    pub(super) fn dropped(&self, events: u64) {
        if events > 0 {
            self.board.metrics.dedup_hits(events);
        }
    }

    /// A dead letter was taken over; `count` over the pipeline's life.
    pub(super) fn dead_letter(&self, letter: &DeadLetter, count: u64) {
        self.board.metrics.dead_letters(&letter.stage, 1);
        self.board.update(|s| s.dead_letters = count);
    }

    /// A target has a new version.
    pub(super) fn target_changed(&self, source: &TableName, change: &TargetChange) {
        if change.existing_rows == ExistingRows::Diverges {
            self.diverges(source);
        }
    }

    /// A target's rows differ from the source's.
    pub(super) fn diverges(&self, source: &TableName) {
        self.board.diverges(source);
    }

    /// A commit went through.
    pub(super) fn committed(
        &self,
        record: &Commit,
        events: u64,
        commit_time_us: Option<i64>,
        took: Duration,
    ) {
        self.board.metrics.sink_writes(self.sink_type, WriteStatus::Committed, events);
        self.board.metrics.sink_latency(self.sink_type, took);
        if self.sink_type != DEAD_LETTER_TYPE {
            // An idle source has no lag.
            let lag = commit_time_us.filter(|_| events > 0).map_or(0, |t| (now_ms() - t / 1000).max(0));
            self.board.metrics.source_lag(Duration::from_millis(lag.unsigned_abs()));
            self.board.update(|s| s.lag_ms = (events > 0).then_some(lag));
        }
        self.board.committed(&self.sink, record);
        // The checkpointer is gone only when the run ends anyway.
        let _ = self.commits.send(Committed {
            sink: self.sink.clone(),
            offset: record.offset.clone(),
            dead_letters: record.dead_letters,
        });
    }
}
