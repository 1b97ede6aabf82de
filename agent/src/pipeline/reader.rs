//! Pulls segments from the source within the byte budget.

use std::sync::Arc;

use tidegate_model::source::{Source, SourceRequest};
use tidegate_model::{Error, ErrorKind, Item, Offset, Result, Segment};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

use super::report::Board;

/// One unit of the budget in bytes: a semaphore counts in `u32`.
const UNIT: usize = 1024;

/// A segment with its share of the budget.
pub(super) struct Granted {
    pub(super) segment: Segment,
    pub(super) permit: OwnedSemaphorePermit,
}

/// A request with where its answer goes.
pub(super) type Request = (SourceRequest, oneshot::Sender<Result<()>>);

pub(super) struct Reader {
    pub(super) source: Box<dyn Source>,
    pub(super) board: Arc<Board>,
    /// Bytes of rows in flight.
    pub(super) budget_bytes: u64,
    pub(super) acknowledged: watch::Receiver<Option<Arc<Offset>>>,
    pub(super) stop: CancellationToken,
}

/// Everything that wakes the reader.
enum Event {
    Segment(Option<Segment>),
    Request(Request),
    Acknowledge,
    Stop,
}

impl Reader {
    /// Runs until it is asked to stop, the source is done, or nobody listens.
    ///
    /// # Errors
    /// What the source says.
    pub(super) async fn run(
        mut self,
        requests: &mut mpsc::Receiver<Request>,
        segments: mpsc::Sender<Granted>,
    ) -> Result<()> {
        let units = u32::try_from(self.budget_bytes / UNIT as u64).unwrap_or(u32::MAX).max(1);
        let budget = Arc::new(Semaphore::new(units as usize));
        loop {
            let event = tokio::select! {
                biased;
                () = self.stop.cancelled() => Event::Stop,
                Some(request) = requests.recv() => Event::Request(request),
                Ok(()) = self.acknowledged.changed() => Event::Acknowledge,
                segment = self.source.next() => Event::Segment(segment?),
            };
            match event {
                Event::Stop | Event::Segment(None) => return Ok(()),
                Event::Request((request, answer)) => {
                    let _ = answer.send(self.source.request(request).await);
                }
                Event::Acknowledge => {
                    let offset = self.acknowledged.borrow_and_update().clone();
                    if let Some(offset) = offset {
                        self.source.acknowledge(&offset).await?;
                    }
                }
                Event::Segment(Some(segment)) => {
                    self.tell(&segment);
                    // A segment over the whole budget takes all of it and goes alone.
                    let want = (segment.bytes.div_ceil(UNIT) as u32).clamp(1, units);
                    let permit = tokio::select! {
                        permit = budget.clone().acquire_many_owned(want) => permit,
                        () = segments.closed() => return Ok(()),
                    };
                    let permit =
                        permit.map_err(|e| Error::new(ErrorKind::Internal, "budget closed").because(e))?;
                    if segments.send(Granted { segment, permit }).await.is_err() {
                        return Ok(()); // the stage behind has ended and says why
                    }
                }
            }
        }
    }

    fn tell(&self, segment: &Segment) {
        for item in &segment.items {
            if let Item::Batch(batch) = item {
                self.board.captured(batch);
            }
        }
    }
}
