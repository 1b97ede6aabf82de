//! A lane against a sink in memory: what is dropped, when it commits, and that
//! a target never changes under uncommitted rows.

use std::sync::Arc;
use std::time::Duration;

use tidegate_model::sink::{Outcome, Sink};
use tidegate_model::{
    DeadLetter, ErrorKind, Offset, OpenTransaction, Refusal, RefusalCode, Result, Stage, TableSnapshot,
    TableUid, TxPosition,
};
use tidegate_registry::Registry;
use tokio::sync::{Semaphore, mpsc, watch};

use super::delivery::{Delivery, Out};
use super::gate::{Gate, Origin};
use super::lane::{CommitPolicy, Lane, Order};
use super::report::{Board, Committed, Report};
use super::testing::{MemorySink, baseline, inserts, offset_before, table};
use crate::telemetry::metrics::Metrics;

/// One lane with its ends.
struct Rig {
    sink: MemorySink,
    deliveries: mpsc::Sender<Arc<Delivery>>,
    commits: mpsc::UnboundedReceiver<Committed>,
    lane: tokio::task::JoinHandle<Result<()>>,
    _folder: tempfile::TempDir,
}

const NEVER: Duration = Duration::from_secs(3600);

fn policy(interval: Duration) -> CommitPolicy {
    CommitPolicy { interval, bytes: u64::MAX, timeout: Duration::from_secs(5) }
}

/// The dead-letter lane's ends, for a lane that comes after it.
fn after() -> (Order, watch::Receiver<u64>, watch::Sender<u64>) {
    let (wanted, asked) = watch::channel(0);
    let (answer, durable) = watch::channel(0);
    (Order::After { wanted, durable }, asked, answer)
}

async fn rig(sink: MemorySink, order: Order, start: Offset, interval: Duration) -> Rig {
    let folder = tempfile::tempdir().unwrap();
    let registry = Arc::new(Registry::open(&folder.path().join("registry.redb"), "test").unwrap());
    let recovered = sink.clone().recover().await.unwrap();
    let (commits_to, commits) = mpsc::unbounded_channel();
    let board = Board::new("test", Metrics::new().pipeline("test"));
    let name: Arc<str> = "memory".into();
    let offset = Arc::new(recovered.offset.unwrap_or(start));
    let lane = Lane {
        name: name.clone(),
        sink: Box::new(sink.clone()),
        recovered: offset.clone(),
        committed: offset,
        caught_up: false,
        dead_letters: recovered.dead_letters,
        gate: Gate::recover(registry, name.clone(), recovered.targets).unwrap(),
        policy: policy(interval),
        order,
        report: Report { sink: name, sink_type: "memory", board, commits: commits_to },
    };
    let (deliveries, received) = mpsc::channel(8);
    let lane = tokio::spawn(lane.run(received));
    Rig { sink, deliveries, commits, lane, _folder: folder }
}

async fn delivery(seq: u64, items: Vec<Out>, end: Offset) -> Arc<Delivery> {
    let permit = Arc::new(Semaphore::new(1)).acquire_owned().await.unwrap();
    Arc::new(Delivery { seq, items, end: Arc::new(end), commit_time_us: None, _permit: Arc::new(permit) })
}

fn origin(version: u64, extra: usize) -> Origin {
    let change = baseline(&table(version, extra));
    Origin { change, module: "".into(), era: TxPosition::default() }
}

fn rows(version: u64, extra: usize, rows: &[(u64, i32)]) -> Out {
    Out::Rows { batch: inserts(&table(version, extra), rows), origin: origin(version, extra) }
}

fn letter(transaction: u64) -> Out {
    let event = inserts(&table(1, 0), &[(transaction, 7)]);
    let code = RefusalCode::Rejected;
    let refusal = Refusal { event: 0, code, column: None, message: "no".into(), texts: Vec::new() };
    Out::DeadLetter(Box::new(DeadLetter { event, refusal, stage: Stage::Source, module: "".into() }))
}

impl Rig {
    /// Closes the lane's queue and waits for its end.
    async fn end(self) -> (MemorySink, Result<()>) {
        drop(self.deliveries);
        (self.sink, self.lane.await.unwrap())
    }
}

fn durable_ids(sink: &MemorySink) -> Vec<i64> {
    sink.durable.lock().unwrap().rows.iter().map(|(_, id)| *id).collect()
}

#[tokio::test]
async fn what_the_recovered_offset_covers_is_dropped_event_by_event() {
    let mut start = offset_before(2);
    start.scanned.open =
        Some(OpenTransaction { gtid: "0-1-2".parse().unwrap(), delivered: [(TableUid(1), 2)].into() });
    let (order, _asked, answer) = after();
    answer.send_replace(u64::MAX);
    let rig = rig(MemorySink::default(), order, start, NEVER).await;
    let items = vec![rows(1, 0, &[(1, 10), (2, 20), (2, 21), (2, 22), (3, 30)])];
    rig.deliveries.send(delivery(1, items, offset_before(4)).await).await.unwrap();
    let (sink, ended) = rig.end().await;
    ended.unwrap();
    assert_eq!(durable_ids(&sink), [22, 30]);
    assert_eq!(
        sink.durable.lock().unwrap().record.as_ref().unwrap().offset.scanned,
        offset_before(4).scanned
    );
}

#[tokio::test]
async fn a_commit_waits_until_the_dead_letters_are_durable() {
    let (order, mut asked, answer) = after();
    let mut rig = rig(MemorySink::default(), order, offset_before(1), Duration::from_millis(1)).await;
    rig.deliveries.send(delivery(1, vec![rows(1, 0, &[(1, 10)])], offset_before(2)).await).await.unwrap();
    asked.wait_for(|&seq| seq == 1).await.unwrap();
    assert!(rig.commits.try_recv().is_err(), "committed before the dead letters");
    answer.send_replace(1);
    rig.commits.recv().await.unwrap();
    assert_eq!(durable_ids(&rig.sink), [10]);
}

#[tokio::test]
async fn the_dead_letter_lane_commits_when_it_is_asked_and_counts_on() {
    let (want, wanted) = watch::channel(0);
    let (durable_to, mut durable) = watch::channel(0);
    let order = Order::First { wanted, durable: durable_to };
    let rig = rig(MemorySink::default(), order, offset_before(2), NEVER).await;
    let items = vec![letter(1), letter(2), rows(1, 0, &[(2, 20)]), letter(3)];
    rig.deliveries.send(delivery(1, items, offset_before(4)).await).await.unwrap();
    want.send_replace(1);
    durable.wait_for(|&seq| seq == 1).await.unwrap();
    {
        let durable = rig.sink.durable.lock().unwrap();
        assert_eq!((durable.letters, durable.rows.len()), (2, 0), "one letter is covered, rows are not ours");
        assert_eq!(durable.record.as_ref().unwrap().dead_letters, 2);
    }
    let (_, ended) = rig.end().await;
    ended.unwrap();
}

#[tokio::test]
async fn a_target_changes_behind_a_commit_of_its_old_rows() {
    let (order, _asked, answer) = after();
    answer.send_replace(u64::MAX);
    let mut rig = rig(MemorySink::default(), order, offset_before(1), NEVER).await;
    rig.deliveries.send(delivery(1, vec![rows(1, 0, &[(1, 10)])], offset_before(2)).await).await.unwrap();
    let schema = Out::Schema { origin: origin(2, 1), output: table(2, 1) };
    let items = vec![schema, rows(2, 1, &[(2, 20)])];
    rig.deliveries.send(delivery(2, items, offset_before(3)).await).await.unwrap();
    let committed = rig.commits.recv().await.unwrap();
    assert_eq!(
        committed.offset.scanned,
        offset_before(2).scanned,
        "the barrier's commit ends before the change"
    );
    let (sink, ended) = rig.end().await;
    ended.unwrap();
    assert_eq!(sink.durable.lock().unwrap().rows, [(1, 10), (2, 20)]);
}

#[tokio::test]
async fn a_position_that_the_record_has_already_is_not_committed_again() {
    let (order, _asked, answer) = after();
    answer.send_replace(u64::MAX);
    let rig = rig(MemorySink::default(), order, offset_before(2), NEVER).await;
    rig.deliveries.send(delivery(1, Vec::new(), offset_before(2)).await).await.unwrap();
    let (sink, ended) = rig.end().await;
    ended.unwrap();
    assert!(sink.durable.lock().unwrap().record.is_none(), "a heartbeat without news was committed");
}

#[tokio::test]
async fn a_run_that_starts_at_a_slower_sink_takes_nothing_back_from_a_faster_one() {
    let snapshot = |chunks| TableSnapshot { generation: 1, chunks, ..TableSnapshot::default() };
    let mut start = offset_before(4);
    start.snapshot = [(TableUid(1), snapshot(7))].into();
    let (order, _asked, answer) = after();
    answer.send_replace(u64::MAX);
    let mut rig = rig(MemorySink::default(), order, start.clone(), Duration::from_millis(1)).await;
    let behind = |transaction, chunks| {
        let mut end = offset_before(transaction);
        end.snapshot = [(TableUid(1), snapshot(chunks))].into();
        end
    };
    for (seq, row, end) in [(1, 1, behind(2, 3)), (2, 4, behind(5, 4)), (3, 5, behind(6, 8))] {
        rig.deliveries.send(delivery(seq, vec![rows(1, 0, &[(row, 10)])], end).await).await.unwrap();
        let committed = rig.commits.recv().await.unwrap().offset;
        let (scanned, chunks) = (&committed.scanned, committed.snapshot[&TableUid(1)].chunks);
        let expected = [(4, 7), (5, 7), (6, 8)][seq as usize - 1];
        assert_eq!((scanned, chunks), (&offset_before(expected.0).scanned, expected.1));
    }
    let (sink, ended) = rig.end().await;
    ended.unwrap();
    assert_eq!(durable_ids(&sink), [10, 10], "the first one is covered");
}

#[tokio::test]
async fn a_commit_that_was_not_applied_is_repeated_and_a_fenced_one_ends_the_lane() {
    let sink = MemorySink::default();
    *sink.script.lock().unwrap() = vec![Outcome::NotApplied, Outcome::Unknown];
    let (order, _asked, answer) = after();
    answer.send_replace(u64::MAX);
    let first = rig(sink, order, offset_before(1), NEVER).await;
    first.deliveries.send(delivery(1, vec![rows(1, 0, &[(1, 10)])], offset_before(2)).await).await.unwrap();
    let (sink, ended) = first.end().await;
    ended.unwrap();
    assert_eq!(durable_ids(&sink), [10]);

    *sink.script.lock().unwrap() = vec![Outcome::Fenced];
    let (order, _asked, answer) = after();
    answer.send_replace(u64::MAX);
    let second = rig(sink, order, offset_before(1), NEVER).await;
    second.deliveries.send(delivery(1, vec![rows(1, 0, &[(2, 20)])], offset_before(3)).await).await.unwrap();
    let (sink, ended) = second.end().await;
    assert_eq!(ended.unwrap_err().kind(), ErrorKind::Fenced);
    assert_eq!(durable_ids(&sink), [10], "nothing of a fenced commit is there");
}
