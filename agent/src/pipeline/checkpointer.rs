//! The only place that decides that an offset may move.
//!
//! Sinks commit on their own; each commit's record is the truth about that sink.
//! The checkpointer gathers those records, keeps them with the lowest of them in
//! the state file, once an interval, and acknowledges the source up to the
//! lowest, after the state file has it. Offsets only grow: a record that is
//! lower than the one before breaks an invariant and ends the run.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tidegate_model::{Error, ErrorKind, Offset, Result};
use tidegate_state::recovery::accounted_by_all;
use tidegate_state::{Checkpoint, State};
use tokio::sync::{mpsc, watch};

use super::report::{Board, Committed, now_ms};

pub(super) struct Checkpointer {
    pub(super) state: Arc<State>,
    pub(super) board: Arc<Board>,
    /// At most one checkpoint in this time.
    pub(super) interval: Duration,
    pub(super) sinks: BTreeMap<Arc<str>, Arc<Offset>>,
    pub(super) dead_letters: u64,
    /// Tells the reader what the source may forget.
    pub(super) acknowledged: watch::Sender<Option<Arc<Offset>>>,
}

impl Checkpointer {
    /// Runs until every lane has ended, then writes a last checkpoint.
    ///
    /// # Errors
    /// When the state file cannot be written, or an offset went backwards.
    pub(super) async fn run(mut self, mut commits: mpsc::UnboundedReceiver<Committed>) -> Result<()> {
        let mut due: Option<Instant> = None;
        loop {
            let at = due.unwrap_or_else(Instant::now);
            tokio::select! {
                commit = commits.recv() => match commit {
                    Some(commit) => {
                        self.note(commit)?;
                        due.get_or_insert_with(|| Instant::now() + self.interval);
                    }
                    None if due.is_some() => return self.checkpoint().await,
                    None => return Ok(()),
                },
                () = tokio::time::sleep_until(at.into()), if due.is_some() => {
                    self.checkpoint().await?;
                    due = None;
                }
            }
        }
    }

    fn note(&mut self, commit: Committed) -> Result<()> {
        let before = self.sinks.insert(commit.sink.clone(), commit.offset.clone());
        self.dead_letters = self.dead_letters.max(commit.dead_letters);
        match before {
            Some(before)
                if before.epoch == commit.offset.epoch && before.scanned.log > commit.offset.scanned.log =>
            {
                Err(Error::new(ErrorKind::Internal, "an offset went backwards")
                    .with("sink", &commit.sink)
                    .with("from", before.scanned.log)
                    .with("to", commit.offset.scanned.log))
            }
            _ => Ok(()),
        }
    }

    async fn checkpoint(&mut self) -> Result<()> {
        let started = Instant::now();
        let low = Arc::new(accounted_by_all(self.sinks.values().map(Arc::as_ref))?);
        let checkpoint = Checkpoint {
            state_offset: low.as_ref().clone(),
            sinks: (self.sinks.iter())
                .map(|(name, offset)| (name.to_string(), offset.as_ref().clone()))
                .collect(),
            dead_letters: self.dead_letters,
            counters: BTreeMap::new(),
        };
        let state = self.state.clone();
        let bytes = tokio::task::spawn_blocking(move || state.checkpoint(&checkpoint))
            .await
            .map_err(|e| Error::new(ErrorKind::Internal, "the checkpoint task ended").because(e))??;
        self.board.metrics().checkpoint(started.elapsed(), bytes);
        self.board.update(|s| {
            s.last_checkpoint_ms = Some(now_ms());
            s.position = Some(low.scanned.log.to_string());
            s.gtid = Some(low.scanned.gtid.to_string());
        });
        tracing::debug!(position = %low.scanned.log, bytes, "checkpoint completed");
        self.acknowledged.send_replace(Some(low));
        Ok(())
    }
}
