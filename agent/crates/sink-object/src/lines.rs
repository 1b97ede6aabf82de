//! A file of JSON lines that is being written.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use tidegate_format::{DeadLetterRecord, json, record};
use tidegate_model::{ChangeBatch, DeadLetter, Result, TargetVersion};

use crate::fault::io_error;

/// Lines are handed to the system in pieces of about this size.
const BUFFER_BYTES: usize = 256 << 10;

/// Writes rows or dead letters, one a line.
#[derive(Debug)]
pub(crate) struct LinesFile {
    path: PathBuf,
    file: File,
    buffer: Vec<u8>,
    written: u64,
}

impl LinesFile {
    /// Begins a file.
    pub(crate) fn create(path: PathBuf) -> Result<Self> {
        let file = File::create_new(&path).map_err(|error| io_error("stage rows", &path, error))?;
        Ok(Self { path, file, buffer: Vec::new(), written: 0 })
    }

    /// Adds a batch; returns its rows.
    pub(crate) fn write(&mut self, batch: &ChangeBatch, target: &Arc<TargetVersion>) -> Result<u64> {
        let rows = json::write_lines(batch, target, &mut self.buffer)?;
        self.drain(BUFFER_BYTES)?;
        Ok(rows)
    }

    /// Adds a dead letter of this pipeline.
    pub(crate) fn write_dead_letter(&mut self, pipeline: &str, letter: &DeadLetter) -> Result<u64> {
        self.buffer.extend(record::encode(&DeadLetterRecord::new(pipeline, letter))?);
        self.buffer.push(b'\n');
        self.drain(BUFFER_BYTES)?;
        Ok(1)
    }

    /// Bytes so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    /// Ends the file, not flushed to disk yet; returns its size.
    pub(crate) fn finish(mut self) -> Result<u64> {
        self.drain(0)?;
        Ok(self.written)
    }

    /// Writes the buffer out when it holds more than `over` bytes. One large
    /// batch must not keep its memory for ever.
    fn drain(&mut self, over: usize) -> Result<()> {
        if self.buffer.len() > over {
            self.file.write_all(&self.buffer).map_err(|error| io_error("stage rows", &self.path, error))?;
            self.written += self.buffer.len() as u64;
            self.buffer.clear();
            self.buffer.shrink_to(2 * BUFFER_BYTES);
        }
        Ok(())
    }
}
