//! Runs a pipeline again after an error that may heal, with backoff.
//!
//! There is one way to retry: the whole run, from the sinks' own records. It is
//! the way that a crash takes, so it is the one that is tested most, and no
//! stage needs a second one.

use std::time::{Duration, Instant};

use tidegate_model::Result;
use tokio::sync::mpsc;

use super::reader::Request;
use super::run::{Context, run};
use super::status::State;

/// The longest pause between two attempts.
const BACKOFF_MAX: Duration = Duration::from_secs(60);

/// A run that lasted this long was a success: the next failure starts the
/// backoff anew.
const HEALTHY_AFTER: Duration = Duration::from_secs(60);

/// Runs until the pipeline is stopped, done, or fails for good.
///
/// # Errors
/// The error that ended it.
pub(super) async fn supervise(context: Context, mut requests: mpsc::Receiver<Request>) -> Result<()> {
    let mut attempt: u32 = 0;
    loop {
        context.board.set_state(State::Starting);
        let began = Instant::now();
        let error = match run(&context, &mut requests).await {
            Ok(()) => {
                context.board.set_state(State::Stopped);
                return Ok(());
            }
            Err(error) => error,
        };
        context.board.update(|s| s.error = Some(error.to_string()));
        if began.elapsed() > HEALTHY_AFTER {
            attempt = 0;
        }
        attempt += 1;
        let retry = &context.config.retry;
        if !error.is_transient() || retry.attempts_max.is_some_and(|max| attempt > max) {
            context.board.set_state(State::Failed);
            return Err(error);
        }
        let pause =
            retry.backoff.saturating_mul(1 << (attempt - 1).min(6)).min(BACKOFF_MAX.max(retry.backoff));
        tracing::warn!(pipeline = %context.config.name, %error, pause_ms = pause.as_millis() as u64, "will try again");
        context.board.set_state(State::Retrying);
        context.board.metrics().restart();
        context.board.update(|s| s.restarts += 1);
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = context.stop.cancelled() => {
                context.board.set_state(State::Stopped);
                return Ok(());
            }
        }
    }
}
