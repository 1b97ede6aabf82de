//! A sink for people: each event a line of JSON on standard output.
//!
//! It keeps no record; the agent's checkpoint stands in for it, and it is at
//! least once: what was printed after the last checkpoint is printed again.

use std::io::{self, Write};

use async_trait::async_trait;
use tidegate_format::{DeadLetterRecord, json, record};
use tidegate_model::sink::{Commit, Outcome, Part, Recovered, Sink};
use tidegate_model::{Error, ErrorKind, Result, TableName, TargetChange};

/// Writes rows in the lake layout, and dead letters, as they come.
#[derive(Debug)]
pub(crate) struct StdoutSink {
    pipeline: String,
}

impl StdoutSink {
    /// A sink of this pipeline.
    pub(crate) fn new(pipeline: impl Into<String>) -> Self {
        Self { pipeline: pipeline.into() }
    }
}

#[async_trait]
impl Sink for StdoutSink {
    async fn recover(&mut self) -> Result<Recovered> {
        Ok(Recovered::default())
    }

    async fn write(&mut self, part: Part<'_>) -> Result<()> {
        let mut lines = Vec::new();
        match part {
            Part::Rows { target, batch } => {
                json::write_lines(batch, target, &mut lines)?;
            }
            Part::DeadLetter(letter) => {
                lines = record::encode(&DeadLetterRecord::new(&self.pipeline, letter))?;
                lines.push(b'\n');
            }
            Part::Snapshot(_) => return Ok(()),
        }
        print(lines).await
    }

    async fn seal(&mut self, _targets: &[TableName]) -> Result<()> {
        Ok(())
    }

    async fn commit(&mut self, _commit: &Commit) -> Result<Outcome> {
        Ok(Outcome::Committed)
    }

    async fn abort(&mut self) -> Result<()> {
        Ok(())
    }

    /// A line names its version in `__schema`; there is nothing else to change.
    async fn alter(&mut self, _change: &TargetChange) -> Result<()> {
        Ok(())
    }

    fn uncommitted_bytes(&self) -> u64 {
        0
    }

    fn keeps_record(&self) -> bool {
        false
    }
}

/// Writes whole lines. A pager may stop reading for as long as it likes, so this
/// must not hold a thread of the runtime.
async fn print(lines: Vec<u8>) -> Result<()> {
    let written = tokio::task::spawn_blocking(move || {
        let mut stdout = io::stdout().lock();
        stdout.write_all(&lines).and_then(|()| stdout.flush())
    })
    .await;
    match written {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(Error::new(ErrorKind::Storage, "standard output does not take any more")
            .during("print rows")
            .hint("keep the reading end open, or write to a lake: type: object")
            .because(error)),
        Err(error) => Err(Error::new(ErrorKind::Internal, "printing was cancelled").because(error)),
    }
}
