//! One source, a chain of transforms, one or more sinks.

mod status;

use std::sync::Arc;

use tidegate_model::Result;

use crate::config::resolve::{AgentConfig, PipelineConfig};
use crate::telemetry::metrics::Metrics;

pub use status::{PipelineStatus, SinkStatus, State, TableStatus};

/// A running pipeline.
#[derive(Debug, Clone)]
pub struct Handle {}

impl Handle {
    /// How it does.
    pub fn status(&self) -> PipelineStatus {
        PipelineStatus::default()
    }

    /// Snapshots `schema.table` anew; returns when the request is taken.
    ///
    /// # Errors
    /// `Config` when the table is not captured.
    pub async fn snapshot(&self, _table: &str) -> Result<()> {
        Ok(())
    }

    /// Asks it to drain, commit, checkpoint and end.
    pub fn stop(&self) {}

    /// Waits for the end: `Ok` after a stop or a finished `snapshot_only`.
    ///
    /// # Errors
    /// What ended the pipeline.
    pub async fn finished(&self) -> Result<()> {
        Ok(())
    }
}

/// Starts a pipeline; recovery and retries run behind the handle.
///
/// # Errors
/// Only what can be told at once: a state folder in use or damaged.
pub async fn start(_agent: &AgentConfig, _config: PipelineConfig, _metrics: Arc<Metrics>) -> Result<Handle> {
    Ok(Handle {})
}
