//! One run of a pipeline: recover the sinks, decide where to start, open the
//! source, join the stages. No row is processed here.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tidegate_model::sink::{Commit, Outcome, Recovered, Sink};
use tidegate_model::source::{Finding, Journal, Severity, Source, Start};
use tidegate_model::{Error, ErrorKind, Offset, Result};
use tidegate_registry::Registry;
use tidegate_state::State;
use tidegate_state::recovery::{Decision, Known, SinkRecord, decide};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::checkpointer::Checkpointer;
use super::gate::Gate;
use super::lane::{CommitPolicy, Lane, Order};
use super::reader::{Reader, Request};
use super::report::{Board, Report};
use super::transformer::Transformer;
use super::{assembly, modules, status};
use crate::config::resolve::{AgentConfig, PipelineConfig};
use crate::memory;

/// Deliveries that wait in front of a lane; their bytes are in the budget.
const LANE_QUEUE: usize = 64;

/// Share of the memory budget for rows between source and sinks; the rest is for
/// decoder, chunk and open files.
const IN_FLIGHT_SHARE: u64 = 8;

/// What every run of a pipeline shares.
pub(super) struct Context {
    pub(super) agent: AgentConfig,
    pub(super) config: PipelineConfig,
    pub(super) state: Arc<State>,
    pub(super) board: Arc<Board>,
    pub(super) stop: CancellationToken,
}

/// A sink with what it recovered.
struct Ready {
    name: Arc<str>,
    sink_type: &'static str,
    sink: Box<dyn Sink>,
    policy: CommitPolicy,
    recovered: Recovered,
    in_state_folder: bool,
}

/// Runs until the pipeline is stopped or the source is done.
///
/// # Errors
/// What ended the run; a transient one may be run again.
pub(super) async fn run(context: &Context, requests: &mut mpsc::Receiver<Request>) -> Result<()> {
    // Opened anew for every run: an I/O error leaves an open database unusable.
    let registry =
        Arc::new(Registry::open(&context.state.folder().join("registry.redb"), &context.config.name)?);
    let mut sinks = recover(context).await?;
    let (mut source, offset) = open(context, &registry, &mut sinks).await?;
    let offset = Arc::new(offset);
    begin(&mut sinks, &offset).await?;
    let offsets: Vec<&Offset> = sinks.iter().filter_map(|s| s.recovered.offset.as_ref()).collect();
    // Compiling takes a while; the runtime's other tasks go on.
    let eras = tokio::task::block_in_place(|| modules::eras(context, &offsets))?;
    memory::trim();
    let tables = source.tables();
    context.board.tables(&tables, &offset);
    for ready in &sinks {
        context.board.recovered(&ready.name, &ready.recovered);
    }
    for table in tables.iter().filter(|t| sinks.iter().any(|s| s.recovered.diverging.contains(&t.uid))) {
        context.board.diverges(&table.name);
    }
    let snapshotting = offset.snapshot.values().any(|s| !s.done);
    if tables.iter().any(|t| offset.snapshot.get(&t.uid).is_none_or(|s| !s.done)) {
        context.board.expected(&source.rows_expected().await?);
    }
    context.board.set_state(if snapshotting { status::State::Snapshotting } else { status::State::Running });
    context.board.update(|s| s.error = None);

    let (commits_to, commits) = mpsc::unbounded_channel();
    let (acknowledged_to, acknowledged) = watch::channel(None);
    let (segments_to, segments) = mpsc::channel(2);
    let changes = (context.state.schema_history()?.into_iter())
        .map(|change| ((change.after.uid, change.after.version), change))
        .collect();

    let checkpointer = Checkpointer {
        state: context.state.clone(),
        board: context.board.clone(),
        interval: context.config.checkpoint.interval.max(context.config.checkpoint.min_pause),
        sinks: sinks
            .iter()
            .map(|s| (s.name.clone(), Arc::new(s.recovered.offset.clone().expect("begun"))))
            .collect(),
        dead_letters: sinks.iter().map(|s| s.recovered.dead_letters).max().unwrap_or(0),
        acknowledged: acknowledged_to,
    };
    let mut tasks: JoinSet<Result<()>> = JoinSet::new();
    tasks.spawn(checkpointer.run(commits));

    let (wanted_to, wanted) = watch::channel(0);
    let (durable_to, durable) = watch::channel(0);
    let mut first = Some(Order::First { wanted, durable: durable_to });
    let mut lanes = Vec::new();
    for ready in sinks {
        let order = first
            .take()
            .unwrap_or_else(|| Order::After { wanted: wanted_to.clone(), durable: durable.clone() });
        let (to, deliveries) = mpsc::channel(LANE_QUEUE);
        lanes.push(to);
        tasks.spawn(lane(context, &registry, ready, order, commits_to.clone())?.run(deliveries));
    }
    drop((commits_to, wanted_to, durable));

    let transformer = Transformer {
        eras,
        board: context.board.clone(),
        changes,
        held: BTreeMap::new(),
        plans: Default::default(),
        end: offset,
        seq: 0,
    };
    tasks.spawn(async move {
        let ended = tokio::task::spawn_blocking(move || transformer.run(segments, &lanes)).await;
        ended.map_err(|e| Error::new(ErrorKind::Internal, "the transform stage ended").because(e))?
    });

    let reader = Reader {
        source,
        board: context.board.clone(),
        budget_bytes: context.agent.memory_bytes / IN_FLIGHT_SHARE,
        acknowledged,
        stop: context.stop.clone(),
    };
    join(context, reader.run(requests, segments_to), tasks).await
}

/// Every sink takes over; the dead-letter queue is the first.
async fn recover(context: &Context) -> Result<Vec<Ready>> {
    let mut ready = Vec::new();
    for assembled in assembly::sinks(context)? {
        let assembly::Assembled { name, sink_type, mut sink, policy, in_state_folder } = assembled;
        let recovered = sink.recover().await.map_err(|e| e.with("sink", &name))?;
        ready.push(Ready { name, sink_type, sink, policy, recovered, in_state_folder });
    }
    Ok(ready)
}

/// Decides where to start, checks the source and opens it there.
async fn open(
    context: &Context,
    registry: &Registry,
    sinks: &mut [Ready],
) -> Result<(Box<dyn Source>, Offset)> {
    let (start, fresh) = start(context, registry, sinks)?;
    let mut source = assembly::source(&context.config, context.state.server_id())?;
    report_findings(&source.preflight().await?)?;
    if let Start::Resume(offset) = &start {
        tracing::info!(position = %offset.scanned.log, gtid = %offset.scanned.gtid, "resuming");
    }
    let offset = source.open(start, context.state.clone()).await?;
    if fresh {
        context.state.start_at(&offset)?;
    }
    Ok((source, offset))
}

/// The decision of `tidegate_state`'s recovery, carried out: a lost state folder
/// learns uids and versions from the sinks, and each sink its standing offset.
/// The second value: the state folder knows no start yet.
fn start(context: &Context, registry: &Registry, sinks: &mut [Ready]) -> Result<(Start, bool)> {
    let checkpoint = context.state.last_checkpoint()?;
    for ready in sinks.iter_mut().filter(|s| !s.sink.keeps_record()) {
        let Some(checkpoint) = &checkpoint else { continue };
        ready.recovered = Recovered {
            offset: checkpoint.sinks.get(&*ready.name).cloned(),
            dead_letters: checkpoint.dead_letters,
            targets: registry.targets(&ready.name)?.into_iter().map(|t| (t.name.clone(), t)).collect(),
            ..Recovered::default()
        };
    }
    let known = Known {
        checkpoint: checkpoint.as_ref(),
        keyed_state: false,
        accept_state_loss: context.config.accept_state_loss,
    };
    let records: Vec<SinkRecord<'_>> = (sinks.iter())
        .map(|s| SinkRecord { name: &s.name, recovered: &s.recovered, in_state_folder: s.in_state_folder })
        .collect();
    let resume = match decide(known, &records)? {
        Decision::New => return Ok((Start::New, true)),
        Decision::Resume(resume) => *resume,
    };
    for name in &resume.removed {
        tracing::warn!(sink = name, "a sink of the last run is not in the pipeline file any more");
    }
    if resume.state_lost {
        tracing::warn!("the state folder is new; going on from the sinks' records");
        for target in sinks.iter().flat_map(|s| s.recovered.targets.values()) {
            context.state.seed_version(target.uid, target.source_version)?;
        }
        for (uid, name) in &resume.start.tables {
            context.state.seed_uid(name, *uid)?;
        }
    }
    for ready in sinks {
        if let Some(offset) = resume.sinks.get(&*ready.name) {
            ready.recovered.offset = Some(offset.clone());
        }
    }
    Ok((Start::Resume(Box::new(resume.start)), resume.state_lost))
}

/// Logs what preflight found; one fatal finding ends the run.
fn report_findings(findings: &[Finding]) -> Result<()> {
    for finding in findings {
        let table = finding.table.as_ref().map(ToString::to_string).unwrap_or_default();
        match finding.severity {
            Severity::Info => tracing::info!(table, fix = finding.fix, "{}", finding.message),
            _ => tracing::warn!(table, fix = finding.fix, "{}", finding.message),
        }
    }
    match findings.iter().find(|f| f.severity == Severity::Fatal) {
        None => Ok(()),
        Some(finding) => {
            let mut error = Error::new(ErrorKind::Config, finding.message.clone()).during("check the source");
            if let Some(table) = &finding.table {
                error = error.with("table", table);
            }
            Err(if finding.fix.is_empty() { error } else { error.hint(finding.fix.clone()) })
        }
    }
}

/// The start position becomes durable in every sink that has no record yet,
/// before the first event is read.
async fn begin(sinks: &mut [Ready], offset: &Arc<Offset>) -> Result<()> {
    for ready in sinks.iter_mut().filter(|s| s.recovered.offset.is_none()) {
        let record = Commit { offset: offset.clone(), dead_letters: 0 };
        match ready.sink.commit(&record).await? {
            Outcome::Committed => ready.recovered.offset = Some(offset.as_ref().clone()),
            Outcome::Fenced => {
                return Err(Error::new(ErrorKind::Fenced, "another agent has taken over this sink")
                    .with("sink", &ready.name));
            }
            Outcome::NotApplied | Outcome::Unknown => {
                return Err(Error::transient(
                    ErrorKind::Storage,
                    "the start position could not be committed",
                )
                .with("sink", &ready.name));
            }
        }
    }
    Ok(())
}

fn lane(
    context: &Context,
    registry: &Arc<Registry>,
    ready: Ready,
    order: Order,
    commits: mpsc::UnboundedSender<super::report::Committed>,
) -> Result<Lane> {
    let Ready { name, sink_type, sink, policy, recovered, .. } = ready;
    let offset = Arc::new(recovered.offset.expect("every sink has begun"));
    Ok(Lane {
        gate: Gate::recover(registry.clone(), name.clone(), recovered.targets)?,
        report: Report { sink: name.clone(), sink_type, board: context.board.clone(), commits },
        name,
        sink,
        recovered: offset.clone(),
        committed: offset,
        caught_up: false,
        dead_letters: recovered.dead_letters,
        policy,
        order,
    })
}

/// Waits for all stages; the first error is the run's. When one stage ends, its
/// neighbours see their channels close, commit what they have and end too.
async fn join(
    context: &Context,
    reader: impl Future<Output = Result<()>>,
    mut tasks: JoinSet<Result<()>>,
) -> Result<()> {
    let mut failure = {
        tokio::pin!(reader);
        loop {
            tokio::select! {
                ended = &mut reader => break ended.err(),
                Some(ended) = tasks.join_next() => {
                    if let Err(error) = flatten(ended) {
                        break Some(error);
                    }
                    // A stage that ended well before the reader has lost its neighbour: its error follows.
                }
            }
        }
    };
    if context.stop.is_cancelled() {
        context.board.set_state(status::State::Stopping);
    }
    // The reader is gone, so the stages drain in turn; bounded, since a sink may hang.
    let drained =
        tokio::time::timeout(context.config.checkpoint.timeout.max(Duration::from_secs(1)), async {
            while let Some(ended) = tasks.join_next().await {
                if let Err(error) = flatten(ended) {
                    failure.get_or_insert(error);
                }
            }
        });
    if drained.await.is_err() {
        tasks.abort_all();
        let error = Error::transient(ErrorKind::Storage, "the sinks did not finish in time").during("drain");
        failure.get_or_insert(error);
    }
    failure.map_or(Ok(()), Err)
}

fn flatten(ended: Result<Result<()>, tokio::task::JoinError>) -> Result<()> {
    ended.map_err(|e| Error::new(ErrorKind::Internal, "a stage panicked").because(e))?
}
