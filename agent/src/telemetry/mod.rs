//! What the agent tells about itself: logs and metrics.

pub mod exporter;
pub mod logging;
pub mod metrics;

pub use metrics::{Metrics, PipelineMetrics, WriteStatus};
