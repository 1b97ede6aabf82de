//! One sink's way: what it already has is dropped, the rest written, and
//! committed when it is due.
//!
//! A lane owns its sink and is the only caller. It knows three positions: the
//! offset that the sink recovered (events up to it are dropped, one by one,
//! since cuts move between runs), the end of the last delivery it has written,
//! and the offset it has committed. Rows that were written but not committed
//! are lost in a crash and come again.
//!
//! The dead-letter queue is a lane too and is committed first: another sink's
//! commit waits until the queue is durable up to the same delivery, so that no
//! offset ever covers a refused event that is not kept.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tidegate_model::sink::{Commit, Outcome, Part, Sink};
use tidegate_model::{
    ChangeBatch, DeadLetter, Error, ErrorKind, Offset, Result, SnapshotMark, TableVersion, TargetVersion,
};
use tidegate_state::recovery::accounted_by_either;
use tokio::sync::{mpsc, watch};
use tokio::time::sleep_until;

use super::delivery::{Delivery, Out};
use super::gate::{Gate, Origin};
use super::report::Report;

/// When a lane commits.
#[derive(Debug, Clone, Copy)]
pub(super) struct CommitPolicy {
    /// At the latest this long after something came.
    pub(super) interval: Duration,
    /// At this many bytes since the last commit.
    pub(super) bytes: u64,
    /// How long a commit may be retried before the pipeline starts over.
    pub(super) timeout: Duration,
}

/// How the dead-letter lane and the others meet.
#[derive(Debug)]
pub(super) enum Order {
    /// This lane is the dead-letter queue: it commits when asked, too.
    First {
        /// The delivery that others want to commit.
        wanted: watch::Receiver<u64>,
        /// The delivery that is durable here.
        durable: watch::Sender<u64>,
    },
    /// Any other lane.
    After {
        /// Asks the dead-letter lane.
        wanted: watch::Sender<u64>,
        /// Its answer.
        durable: watch::Receiver<u64>,
    },
}

/// One sink's way.
pub(super) struct Lane {
    pub(super) name: Arc<str>,
    pub(super) sink: Box<dyn Sink>,
    /// What the sink had when this run began.
    pub(super) recovered: Arc<Offset>,
    /// What the sink has now.
    pub(super) committed: Arc<Offset>,
    /// Deliveries end beyond `recovered` in every part.
    pub(super) caught_up: bool,
    pub(super) dead_letters: u64,
    pub(super) gate: Gate,
    pub(super) policy: CommitPolicy,
    pub(super) order: Order,
    pub(super) report: Report,
}

/// What the lane has written since its last commit.
struct Pending {
    seq: u64,
    end: Arc<Offset>,
    /// When the first uncommitted delivery came; `None`: nothing is pending.
    since: Option<Instant>,
    /// Something was written since then, were it only a mark.
    wrote: bool,
    events: u64,
    commit_time_us: Option<i64>,
}

/// One thing to write.
#[expect(clippy::large_enum_variant, reason = "nearly every one is rows, and it lives for one call")]
enum Write<'a> {
    Rows(Arc<TargetVersion>, ChangeBatch),
    Snapshot(&'a SnapshotMark),
    /// Every lane counts it, the dead-letter queue keeps it.
    DeadLetter(&'a DeadLetter),
}

impl Lane {
    /// Runs until the channel closes, then commits what is left.
    ///
    /// # Errors
    /// What the sink says; the lane is then good for nothing but `abort`.
    pub(super) async fn run(mut self, mut deliveries: mpsc::Receiver<Arc<Delivery>>) -> Result<()> {
        let ended = self.drive(&mut deliveries).await;
        if ended.is_err() {
            // What is uncommitted comes again; a failing abort changes nothing
            // about that, and recovery clears what it leaves.
            if let Err(error) = self.sink.abort().await {
                tracing::warn!(sink = %self.name, %error, "uncommitted files stay until the next recovery");
            }
        }
        ended.map_err(|e| e.with("sink", &self.name))
    }

    async fn drive(&mut self, deliveries: &mut mpsc::Receiver<Arc<Delivery>>) -> Result<()> {
        let mut pending = Pending {
            seq: 0,
            end: self.recovered.clone(),
            since: None,
            wrote: false,
            events: 0,
            commit_time_us: None,
        };
        loop {
            let due = pending.since.map(|since| since + self.policy.interval);
            tokio::select! {
                biased;
                () = asked(&mut self.order, pending.seq) => self.commit(&mut pending).await?,
                // In front of the queue, which is never empty under load.
                () = sleep_until(due.unwrap_or_else(Instant::now).into()), if due.is_some() => {
                    self.commit(&mut pending).await?;
                }
                delivery = deliveries.recv() => match delivery {
                    Some(delivery) => self.take(&mut pending, &delivery).await?,
                    None => return self.commit(&mut pending).await,
                },
            }
        }
    }

    async fn take(&mut self, pending: &mut Pending, delivery: &Delivery) -> Result<()> {
        let has_chunk = delivery.chunk().is_some_and(|(table, generation, chunk)| {
            self.recovered.snapshot.get(&table).is_some_and(|s| {
                s.generation > generation || (s.generation == generation && s.chunks >= chunk)
            })
        });
        if !has_chunk {
            // Targets change before the first row of the delivery is written: a commit
            // in between would hold rows that its offset does not cover.
            let mut parts = Vec::with_capacity(delivery.items.len());
            for item in &delivery.items {
                parts.extend(self.prepare(pending, item).await?);
            }
            for part in parts {
                self.write(pending, part).await?;
            }
        }
        pending.seq = delivery.seq;
        pending.end = self.reached(&delivery.end);
        pending.commit_time_us = delivery.commit_time_us.or(pending.commit_time_us);
        pending.since.get_or_insert_with(Instant::now);
        if self.sink.uncommitted_bytes() >= self.policy.bytes {
            self.commit(pending).await?;
        }
        Ok(())
    }

    /// The sink's offset behind a delivery: never below what it recovered, which a
    /// run that starts at a slower sink comes to only after a while.
    fn reached(&mut self, end: &Arc<Offset>) -> Arc<Offset> {
        if self.caught_up {
            return end.clone();
        }
        let reached = accounted_by_either(&self.recovered, end);
        self.caught_up = reached == **end;
        Arc::new(reached)
    }

    /// What of an item is to be written here, with its target as the item needs it.
    async fn prepare<'a>(&mut self, pending: &mut Pending, item: &'a Out) -> Result<Option<Write<'a>>> {
        let dead_letters = matches!(self.order, Order::First { .. });
        Ok(match item {
            Out::Rows { batch, origin } if !dead_letters => match self.unseen(batch)? {
                Some(batch) => {
                    let target = self.ensure(pending, origin, &batch.table).await?;
                    Some(Write::Rows(target, batch))
                }
                None => None,
            },
            Out::Schema { origin, output } if !dead_letters => {
                self.change(pending, origin, output).await?;
                None
            }
            Out::Snapshot(mark) if !dead_letters => Some(Write::Snapshot(mark)),
            Out::DeadLetter(letter) => self.unseen(&letter.event)?.map(|_| Write::DeadLetter(letter)),
            _ => None,
        })
    }

    async fn write(&mut self, pending: &mut Pending, write: Write<'_>) -> Result<()> {
        pending.wrote = true;
        match write {
            Write::Rows(target, batch) => {
                self.sink.write(Part::Rows { target: &target, batch: &batch }).await?;
                pending.events += batch.len() as u64;
                self.report.wrote(batch.len() as u64);
            }
            Write::Snapshot(mark) => self.sink.write(Part::Snapshot(mark)).await?,
            Write::DeadLetter(letter) => {
                self.dead_letters += 1;
                if matches!(self.order, Order::First { .. }) {
                    self.sink.write(Part::DeadLetter(letter)).await?;
                    self.report.dead_letter(letter, self.dead_letters);
                }
            }
        }
        Ok(())
    }

    /// The events of a batch that the sink does not have yet.
    fn unseen(&self, batch: &ChangeBatch) -> Result<Option<ChangeBatch>> {
        let has = |event: usize| {
            let transaction = batch.transaction(event);
            let Some(gtid) = &transaction.gtid else { return false }; // a snapshot row: decided by its chunk
            transaction.position.epoch <= self.recovered.epoch
                && self.recovered.scanned.covers(
                    transaction.position.log,
                    gtid,
                    batch.table.uid,
                    batch.events.table_idx[event],
                )
        };
        // Coverage ends once and for all, since events are in log order.
        let (mut low, mut high) = (0, batch.len());
        if batch.is_empty() || !has(0) {
            high = 0;
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if has(middle) { low = middle + 1 } else { high = middle }
        }
        self.report.dropped(low as u64);
        match low {
            0 if batch.is_empty() => Ok(None),
            0 => Ok(Some(batch.clone())),
            all if all == batch.len() => Ok(None),
            first => batch.from_event(first).map(Some).map_err(super::dead_letter::arrow),
        }
    }

    /// The target for rows of this output schema.
    async fn ensure(
        &mut self,
        pending: &mut Pending,
        origin: &Origin,
        output: &Arc<TableVersion>,
    ) -> Result<Arc<TargetVersion>> {
        if self.gate.fitting(output).is_none() {
            self.change(pending, origin, output).await?;
        }
        self.gate.ready(output)
    }

    /// Changes the target if it must be, behind a commit of everything older.
    async fn change(
        &mut self,
        pending: &mut Pending,
        origin: &Origin,
        output: &Arc<TableVersion>,
    ) -> Result<()> {
        if let Some(change) = self.gate.plan(origin, output)? {
            self.sink.seal(std::slice::from_ref(&change.after.name)).await?;
            self.commit(pending).await?;
            self.gate.pass(self.sink.as_mut(), &origin.change, &change).await?;
            self.report.target_changed(&origin.change.after.name, &change);
        } else if self.gate.misses(origin, output) {
            self.report.diverges(&origin.change.after.name);
        }
        Ok(())
    }

    async fn commit(&mut self, pending: &mut Pending) -> Result<()> {
        if pending.since.is_none() {
            return Ok(());
        }
        if let Order::After { wanted, durable } = &mut self.order {
            // send_if_modified: several lanes ask, the furthest counts.
            wanted.send_if_modified(|w| {
                let further = *w < pending.seq;
                *w = (*w).max(pending.seq);
                further
            });
            durable
                .wait_for(|&seq| seq >= pending.seq)
                .await
                .map_err(|_| Error::transient(ErrorKind::Internal, "the dead-letter queue stopped"))?;
        }
        let record = Commit { offset: pending.end.clone(), dead_letters: self.dead_letters };
        let started = Instant::now();
        // An idle source repeats its position with every heartbeat; the sink's
        // record says the same already.
        if pending.wrote || pending.end != self.committed {
            self.commit_until_told(&record, started).await?;
            self.committed = pending.end.clone();
        }
        if let Order::First { durable, .. } = &self.order {
            durable.send_replace(pending.seq);
        }
        self.report.committed(&record, pending.events, pending.commit_time_us, started.elapsed());
        pending.since = None;
        pending.wrote = false;
        pending.events = 0;
        Ok(())
    }

    /// Repeats a commit whose outcome is open, within the policy's timeout.
    async fn commit_until_told(&mut self, record: &Commit, started: Instant) -> Result<()> {
        let mut pause = Duration::from_millis(50);
        loop {
            match self.sink.commit(record).await? {
                Outcome::Committed => return Ok(()),
                Outcome::Fenced => {
                    return Err(Error::new(ErrorKind::Fenced, "another agent has taken over this sink").hint(
                        "only one agent may run a pipeline; stop the other one, or give this one another pipeline name",
                    ));
                }
                Outcome::NotApplied | Outcome::Unknown if started.elapsed() < self.policy.timeout => {
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(Duration::from_secs(5));
                }
                Outcome::NotApplied | Outcome::Unknown => {
                    return Err(Error::transient(ErrorKind::Storage, "a commit did not go through in time"));
                }
            }
        }
    }
}

/// Resolves when another lane wants a commit that the dead-letter lane owes:
/// one it has written (`seq` reaches it) but not made durable.
async fn asked(order: &mut Order, seq: u64) {
    match order {
        Order::First { wanted, durable } => {
            let done = *durable.borrow();
            if wanted.wait_for(|&w| w > done && w <= seq).await.is_err() {
                std::future::pending::<()>().await;
            }
        }
        Order::After { .. } => std::future::pending().await,
    }
}
