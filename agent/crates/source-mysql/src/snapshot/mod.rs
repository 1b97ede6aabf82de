//! Tables' rows in chunks by primary key, while the stream runs: lock-free,
//! resumable, exact.
//!
//! A SELECT and a place in the log read before or after it do not fit together;
//! a consistent view with its own place does. So, per chunk:
//!
//! 1. The chunk's bounds are chosen. They become durable before its rows are
//!    handed out (a chunk handed out again has the same rows' keys), not before
//!    they are read: one that turns out too large is planned anew.
//! 2. Between two transactions the stream stops, at Q, and notes the keys of
//!    every row that it hands out from there on.
//! 3. A view is opened whose place H covers Q, and told. The stream goes on
//!    while the rows are read into memory.
//! 4. At H the stream stops again until the rows are there. Rows whose keys it
//!    has handed out are left out: the stream's are as new or newer. The others
//!    are exactly what the table holds at H, where they enter the flow.
//!
//! If the table's structure at H is another one than the stream's (a DDL whose
//! first row has not come yet), the change is handed out first and the chunk is
//! read again.
//!
//! A run starts at its slowest sink; a faster one has events behind that place
//! already, under the generation of their time. A chunk of a newer generation
//! that left their keys out would lose those rows there. So no view is opened in
//! front of the place where the log ended when the run began: no sink is beyond.
//!
//! The last key is looked up once at the start: rows beyond it were inserted
//! later, so the stream has them, and a growing table has an end.

mod bounds;
mod reader;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tidegate_model::source::{ChunkPlan, Journal};
use tidegate_model::{
    ChangeBatch, Error, ErrorKind, Item, LogPosition, Result, Segment, SnapshotMark, TableSnapshot, TableUid,
};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use self::reader::{ChunkReader, PlanJob, PlanOutcome, Planned, ReadJob, ReadOutcome};
use crate::assembler::{Assembler, mend};
use crate::catalog::CatalogTable;
use crate::config::SourceConfig;
use crate::keys;
use crate::structure;

/// Pause before a chunk is tried again after the connection broke.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

type Task<T> = JoinHandle<(ChunkReader, Result<T>)>;

/// What the open chunk waits for.
enum State {
    /// The next table.
    Idle,
    /// The bounds.
    Planning(Task<PlanOutcome>),
    /// The end of a transaction, to open the view.
    Planned(Box<Planned>),
    /// The view.
    Opening { plan: ChunkPlan, high: oneshot::Receiver<LogPosition>, task: Task<ReadOutcome> },
    /// The rows, and the stream to reach `high` (`None`: the view failed).
    Reading { plan: ChunkPlan, high: Option<LogPosition>, task: Task<ReadOutcome> },
    /// The end of a transaction behind `high`, to hand the rows out.
    Read { plan: ChunkPlan, high: Option<LogPosition>, outcome: ReadOutcome },
    /// Time to pass after a failure.
    Pausing(tokio::time::Instant),
}

/// What the stream may do meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    /// Go on.
    Open,
    /// Hand out nothing until [`Snapshots::wait`] returns.
    Stopped,
}

/// The table whose chunks are being read.
#[derive(Debug)]
struct Current {
    table: usize,
    generation: u64,
    /// Rows of a chunk; `None`: not known yet.
    rows: Option<u64>,
    ceiling: Option<Vec<String>>,
    /// The plan comes from an earlier run, so its bounds stand.
    kept: bool,
    /// The table's version when the plan, and with it the catalog, was read.
    planned_at: Option<u64>,
}

/// The snapshots that are still to be taken, one chunk at a time.
pub(crate) struct Snapshots {
    config: Arc<SourceConfig>,
    journal: Arc<dyn Journal>,
    queue: VecDeque<TableUid>,
    current: Option<Current>,
    reader: Option<ChunkReader>,
    state: State,
    /// Where the log ended when this run began.
    not_before: LogPosition,
}

impl Snapshots {
    /// Nothing to do yet; no chunk is read in front of `not_before`.
    pub(crate) fn new(config: Arc<SourceConfig>, journal: Arc<dyn Journal>, not_before: LogPosition) -> Self {
        let reader = Some(ChunkReader::new(config.clone()));
        Self {
            config,
            journal,
            queue: VecDeque::new(),
            current: None,
            reader,
            state: State::Idle,
            not_before,
        }
    }

    /// Opens a generation of a table, and takes its snapshot after those that
    /// wait already.
    pub(crate) fn begin(&mut self, assembler: &mut Assembler, table: usize, generation: u64) {
        self.abandon(table);
        let (uid, name) = (assembler.tables()[table].uid, assembler.tables()[table].name.clone());
        let position = assembler.at(assembler.offset().scanned.log);
        assembler.regenerate(table, generation);
        let fresh = TableSnapshot { generation, ..TableSnapshot::default() };
        assembler.offset_mut().snapshot.insert(uid, fresh);
        assembler.offset_mut().tables.insert(uid, name.clone());
        assembler.push(Item::Snapshot(SnapshotMark::Begin { table: uid, name, generation, position }));
        self.resume(uid);
    }

    /// Goes on with a snapshot whose begin has been handed out.
    pub(crate) fn resume(&mut self, table: TableUid) {
        self.queue.retain(|waiting| *waiting != table);
        self.queue.push_back(table);
    }

    /// True when every snapshot is complete.
    pub(crate) fn is_done(&self) -> bool {
        self.queue.is_empty() && self.current.is_none()
    }

    /// Drops what is under way for a table.
    fn abandon(&mut self, table: usize) {
        if self.current.as_ref().is_some_and(|current| current.table == table) {
            self.current = None;
            self.drop_task();
        }
    }

    fn drop_task(&mut self) {
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Planning(task) => task.abort(),
            State::Opening { task, .. } | State::Reading { task, .. } => task.abort(),
            _ => return,
        }
        self.reader = Some(ChunkReader::new(self.config.clone()));
    }

    /// Does what can be done now without waiting; segments come back in `out`.
    ///
    /// # Errors
    /// When the journal cannot be written, or a chunk cannot be read for good.
    pub(crate) fn advance(&mut self, assembler: &mut Assembler, out: &mut VecDeque<Segment>) -> Result<Flow> {
        if let Some(current) = &self.current
            && assembler.tables()[current.table].parked
        {
            self.abandon(current.table);
        }
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Idle => self.next_table(assembler),
            State::Pausing(until) if tokio::time::Instant::now() >= until => {
                self.next_chunk(assembler, false)
            }
            State::Planned(planned) => Ok(self.open(assembler, planned)),
            State::Read { plan, high, outcome } => match assembler.position() {
                Some(here) if high.is_none_or(|high| here >= high) => {
                    self.take(assembler, &plan, outcome, out)?;
                    Ok(Flow::Open)
                }
                _ => {
                    self.state = State::Read { plan, high, outcome };
                    Ok(Flow::Open)
                }
            },
            State::Opening { plan, high, task } => {
                self.state = State::Opening { plan, high, task };
                Ok(Flow::Stopped)
            }
            State::Reading { plan, high, task } => {
                let reached = assembler.position().is_some_and(|here| high.is_none_or(|high| here >= high));
                self.state = State::Reading { plan, high, task };
                Ok(if reached { Flow::Stopped } else { Flow::Open })
            }
            waiting => {
                self.state = waiting;
                Ok(Flow::Open)
            }
        }
    }

    /// Waits for the task under way. May be dropped at any point.
    ///
    /// # Errors
    /// When a chunk cannot be read for good; a broken connection is tried again.
    pub(crate) async fn wait(&mut self, assembler: &mut Assembler) -> Result<()> {
        match &mut self.state {
            State::Planning(task) => {
                let outcome = join(&mut self.reader, &self.config, task.await)?;
                self.state = State::Idle;
                self.planned(assembler, outcome)
            }
            State::Opening { high, .. } => {
                let mark = high.await.ok();
                if let State::Opening { plan, task, .. } = std::mem::replace(&mut self.state, State::Idle) {
                    self.state = State::Reading { plan, high: mark, task };
                }
                Ok(())
            }
            State::Reading { task, .. } => {
                let outcome = join(&mut self.reader, &self.config, task.await)?;
                if let State::Reading { plan, high, .. } = std::mem::replace(&mut self.state, State::Idle)
                    && let Some(outcome) = self.retried(outcome)?
                {
                    self.state = State::Read { plan, high, outcome };
                }
                Ok(())
            }
            State::Pausing(until) => {
                tokio::time::sleep_until(*until).await;
                Ok(())
            }
            State::Idle | State::Planned(_) | State::Read { .. } => std::future::pending().await,
        }
    }

    fn next_table(&mut self, assembler: &mut Assembler) -> Result<Flow> {
        if self.current.is_none() {
            let Some(uid) = self.queue.pop_front() else { return Ok(Flow::Open) };
            let Some(table) = assembler.tables().of_uid(uid) else { return Ok(Flow::Open) };
            let progress = assembler.offset().snapshot.get(&uid).cloned().unwrap_or_default();
            if assembler.tables()[table].parked || progress.done {
                return Ok(Flow::Open);
            }
            tracing::info!(table = %assembler.tables()[table].name, generation = progress.generation, "snapshot started");
            let generation = progress.generation;
            self.current =
                Some(Current { table, generation, rows: None, ceiling: None, kept: false, planned_at: None });
        }
        self.next_chunk(assembler, false)
    }

    /// Starts planning the chunk behind the finished ones, or again the kept one
    /// unless that one was too large.
    fn next_chunk(&mut self, assembler: &Assembler, oversized: bool) -> Result<Flow> {
        let Some(current) = &mut self.current else { return Ok(Flow::Open) };
        let state = &assembler.tables()[current.table];
        let progress = assembler.offset().snapshot.get(&state.uid).cloned().unwrap_or_default();
        let chunk = progress.chunks + 1;
        let kept = self.journal.planned_chunk(state.uid, current.generation, chunk)?;
        // A plan for another lower bound is not about this chunk.
        let kept = kept.filter(|plan| plan.lower == progress.upper && !oversized);
        current.kept = kept.is_some();
        current.planned_at = state.version.as_ref().map(|version| version.version);
        let plan = kept.unwrap_or(ChunkPlan {
            table: state.uid,
            generation: current.generation,
            chunk,
            lower: progress.upper,
            upper: Vec::new(),
        });
        let job =
            PlanJob { name: state.name.clone(), plan, rows: current.rows, ceiling: current.ceiling.clone() };
        let mut reader = self.take_reader();
        self.state = State::Planning(tokio::spawn(async move {
            let outcome = reader.plan(job).await;
            (reader, outcome)
        }));
        Ok(Flow::Open)
    }

    fn planned(&mut self, assembler: &mut Assembler, outcome: Result<PlanOutcome>) -> Result<()> {
        let Some(outcome) = self.retried(outcome)? else { return Ok(()) };
        let Some(current) = &mut self.current else { return Ok(()) };
        match outcome {
            PlanOutcome::Chunk(planned) => {
                current.rows = Some(planned.rows);
                current.ceiling = Some(planned.ceiling.clone());
                self.state = State::Planned(planned);
            }
            PlanOutcome::Done => {
                let (table, generation) = (current.table, current.generation);
                self.current = None;
                self.end(assembler, table, generation);
            }
            PlanOutcome::Obstacle(why) => {
                let table = current.table;
                self.current = None;
                let message = mend(&assembler.tables()[table].name, &why);
                assembler.park(table, message);
            }
        }
        Ok(())
    }

    fn end(&mut self, assembler: &mut Assembler, table: usize, generation: u64) {
        let state = &assembler.tables()[table];
        let (uid, name) = (state.uid, state.name.clone());
        let position = assembler.at(assembler.offset().scanned.log);
        if let Some(progress) = assembler.offset_mut().snapshot.get_mut(&uid) {
            progress.done = true;
            tracing::info!(table = %name, generation, chunks = progress.chunks, "snapshot completed");
        }
        assembler.push(Item::Snapshot(SnapshotMark::End { table: uid, name, generation, position }));
    }

    /// At a transaction's end: opens the view.
    fn open(&mut self, assembler: &mut Assembler, planned: Box<Planned>) -> Flow {
        let reached = assembler.position().filter(|here| *here >= self.not_before);
        let (Some(low), Some(current)) = (reached, &self.current) else {
            self.state = State::Planned(planned);
            return Flow::Open;
        };
        assembler.note_keys(current.table);
        let plan = planned.plan.clone();
        let job = ReadJob {
            planned,
            low,
            version: assembler.tables()[current.table].version.clone(),
            epoch: assembler.offset().epoch,
            fresh: !current.kept,
        };
        let (told, high) = oneshot::channel();
        let mut reader = self.take_reader();
        let task = tokio::spawn(async move {
            let outcome = reader.read(job, told).await;
            (reader, outcome)
        });
        self.state = State::Opening { plan, high, task };
        Flow::Stopped
    }

    /// Hands a chunk out, or finds out what is in its way.
    fn take(
        &mut self,
        assembler: &mut Assembler,
        plan: &ChunkPlan,
        outcome: ReadOutcome,
        out: &mut VecDeque<Segment>,
    ) -> Result<()> {
        let Some(current) = &mut self.current else { return Ok(()) };
        let table = current.table;
        let noted = assembler.noted_keys(table);
        let mut oversized = false;
        let known = assembler.tables()[table].version.as_ref().map(|version| version.version);
        // When the log has shown another version since, the plan's catalog may be older than
        // that one, and taking it over would undo the change: the chunk is planned again.
        let outdated = known != current.planned_at;
        match outcome {
            ReadOutcome::Rows(chunk) => {
                if assembler.is_reshuffled(table) || known != Some(chunk.version) {
                    if !outdated {
                        self.restructure(assembler, table, &chunk.catalog)?;
                    }
                } else if let Some(noted) = noted {
                    let rows = chunk.rows.map(|rows| untouched(&rows, &noted)).transpose()?.flatten();
                    if !current.kept {
                        self.journal.plan_chunk(plan)?;
                    }
                    emit(assembler, plan, rows, out);
                }
            }
            ReadOutcome::Differs(catalog) if !outdated => self.restructure(assembler, table, &catalog)?,
            ReadOutcome::Differs(_) | ReadOutcome::Changed => {}
            ReadOutcome::TooLarge(rows) => {
                current.rows = Some((rows / 2).max(1));
                oversized = true;
            }
        }
        self.next_chunk(assembler, oversized).map(|_| ())
    }

    /// Brings the table's version up to the catalog's at the high mark.
    fn restructure(&mut self, assembler: &mut Assembler, table: usize, catalog: &CatalogTable) -> Result<()> {
        assembler.replay(table)?;
        match structure::listed(catalog) {
            Err(obstacle) => {
                let message = mend(&assembler.tables()[table].name, &obstacle);
                assembler.park(table, message);
                Ok(())
            }
            Ok(observed) => assembler.adopt(table, observed, catalog),
        }
    }

    fn take_reader(&mut self) -> ChunkReader {
        self.reader.take().unwrap_or_else(|| ChunkReader::new(self.config.clone()))
    }

    /// Passes a result on; a failure that may heal starts a pause instead.
    fn retried<T>(&mut self, outcome: Result<T>) -> Result<Option<T>> {
        match outcome {
            Ok(outcome) => Ok(Some(outcome)),
            Err(error) if error.is_transient() => {
                tracing::warn!(%error, "chunk is read again");
                self.state = State::Pausing(tokio::time::Instant::now() + RETRY_PAUSE);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

impl Drop for Snapshots {
    fn drop(&mut self) {
        self.drop_task();
    }
}

/// A task's result, with its reader back for the next one.
fn join<T>(
    slot: &mut Option<ChunkReader>,
    config: &Arc<SourceConfig>,
    joined: std::result::Result<(ChunkReader, Result<T>), tokio::task::JoinError>,
) -> Result<Result<T>> {
    match joined {
        Ok((reader, outcome)) => {
            *slot = Some(reader);
            Ok(outcome)
        }
        Err(error) => {
            *slot = Some(ChunkReader::new(config.clone()));
            Err(Error::new(ErrorKind::Internal, "the task that reads chunks failed").because(error))
        }
    }
}

/// The rows whose keys the stream has not handed out; `None` when it has all.
fn untouched(rows: &ChangeBatch, noted: &std::collections::HashSet<Vec<u8>>) -> Result<Option<ChangeBatch>> {
    let keep = keys::untouched(rows, noted);
    if keep.is_empty() {
        return Ok(None);
    }
    let kept = rows.select(&keep);
    kept.map(Some)
        .map_err(|e| Error::new(ErrorKind::Internal, "rows of a chunk cannot be selected").because(e))
}

/// One chunk, one segment; what waited in front of it goes first, in its own.
fn emit(assembler: &mut Assembler, plan: &ChunkPlan, rows: Option<ChangeBatch>, out: &mut VecDeque<Segment>) {
    if assembler.oldest().is_some() {
        out.push_back(assembler.cut());
    }
    if let Some(progress) = assembler.offset_mut().snapshot.get_mut(&plan.table) {
        progress.chunks = plan.chunk;
        progress.upper.clone_from(&plan.upper);
    }
    let (count, bytes) = rows.as_ref().map_or((0, 0), |rows| (rows.len() as u64, rows.bytes()));
    if let Some(rows) = rows {
        assembler.push(Item::Batch(rows));
    }
    assembler.push(Item::Snapshot(SnapshotMark::Chunk {
        table: plan.table,
        generation: plan.generation,
        chunk: plan.chunk,
        rows: count,
    }));
    let mut segment = assembler.cut();
    segment.bytes += bytes;
    out.push_back(segment);
}
