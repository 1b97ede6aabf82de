//! Builds source and sinks from the configuration.

use std::sync::Arc;
use std::time::Duration;

use tidegate_model::Result;
use tidegate_model::sink::Sink;
use tidegate_model::source::Source;
use tidegate_sink_object::{Format, ObjectSink, ObjectSinkConfig};
use tidegate_source_mysql::{MariaDbSource, Secret, SnapshotMode as Mode, SourceConfig, Tls};

use super::lane::CommitPolicy;
use super::report::DEAD_LETTER_TYPE;
use super::run::Context;
use crate::config::resolve::{ObjectFormat, PipelineConfig, SinkKind, SnapshotMode, TlsMode};
use crate::stdout::StdoutSink;

/// Name of the dead-letter queue among the sinks.
pub(super) const DEAD_LETTERS: &str = "dead_letters";

/// Bytes of dead letters after which their queue commits by itself.
const DEAD_LETTER_BYTES: u64 = 16 << 20;

/// Interval after which the dead-letter queue commits when nobody asks.
const DEAD_LETTER_INTERVAL: Duration = Duration::from_secs(60);

/// A sink that has not been asked anything yet.
pub(super) struct Assembled {
    pub(super) name: Arc<str>,
    pub(super) sink_type: &'static str,
    pub(super) sink: Box<dyn Sink>,
    pub(super) policy: CommitPolicy,
    /// Its record is lost with the state folder.
    pub(super) in_state_folder: bool,
}

/// The sinks in the order in which they commit: the dead-letter queue first.
///
/// # Errors
/// What a sink says about its configuration.
pub(super) fn sinks(context: &Context) -> Result<Vec<Assembled>> {
    let config = &context.config;
    let mut sinks = vec![dead_letters(context)?];
    for sink in &config.sinks {
        let name: Arc<str> = sink.name.as_str().into();
        let (built, interval, bytes): (Box<dyn Sink>, _, _) = match &sink.kind {
            SinkKind::Object { path, format, commit_interval, commit_bytes } => {
                let format = match format {
                    ObjectFormat::Parquet => Format::Parquet,
                    ObjectFormat::JsonLines => Format::JsonLines,
                };
                let staging = context.state.folder().join("staging").join(&sink.name);
                let options = ObjectSinkConfig::new(path.clone(), format, staging, &config.name, &sink.name);
                (Box::new(ObjectSink::new(options)), *commit_interval, *commit_bytes)
            }
            SinkKind::Stdout => {
                (Box::new(StdoutSink::new(&*config.name)), config.checkpoint.interval, u64::MAX)
            }
        };
        sinks.push(Assembled {
            name,
            sink_type: sink.kind.type_name(),
            sink: built,
            policy: policy(config, interval, bytes),
            in_state_folder: matches!(sink.kind, SinkKind::Stdout),
        });
    }
    Ok(sinks)
}

fn dead_letters(context: &Context) -> Result<Assembled> {
    let config = &context.config;
    let path = config.dead_letter.path.clone();
    let staging = context.state.folder().join("staging").join(DEAD_LETTERS);
    let in_state_folder = path.starts_with(context.state.folder());
    let options = ObjectSinkConfig::new(path, Format::JsonLines, staging, &config.name, DEAD_LETTERS);
    Ok(Assembled {
        name: DEAD_LETTERS.into(),
        sink_type: DEAD_LETTER_TYPE,
        sink: Box::new(ObjectSink::new(options)),
        policy: policy(config, DEAD_LETTER_INTERVAL, DEAD_LETTER_BYTES),
        in_state_folder,
    })
}

fn policy(config: &PipelineConfig, interval: Duration, bytes: u64) -> CommitPolicy {
    CommitPolicy { interval, bytes, timeout: config.checkpoint.timeout }
}

/// The source; it does nothing before it is asked. `server_id` is for a file
/// that names none.
///
/// # Errors
/// When a table pattern does not parse.
pub(crate) fn source(pipeline: &PipelineConfig, server_id: u32) -> Result<Box<dyn Source>> {
    let source = &pipeline.source;
    let tables = source.tables.iter().map(|pattern| pattern.parse()).collect::<Result<Vec<_>>>()?;
    let mut config = SourceConfig::new(&source.host, source.port, tables);
    config.user.clone_from(&source.user);
    config.password = Secret::new(source.password.expose());
    config.tls = match source.tls {
        TlsMode::Disable => Tls::Disable,
        TlsMode::Require => Tls::Require,
        TlsMode::VerifyCa => Tls::VerifyCa { ca: source.tls_ca.clone() },
        TlsMode::VerifyIdentity => Tls::VerifyIdentity { ca: source.tls_ca.clone() },
    };
    config.server_id = source.server_id.unwrap_or(server_id);
    config.heartbeat = source.heartbeat;
    config.snapshot = match source.snapshot.mode {
        SnapshotMode::Initial => Mode::Initial,
        SnapshotMode::Latest => Mode::Latest,
        SnapshotMode::SnapshotOnly => Mode::SnapshotOnly,
    };
    config.chunk_rows = source.snapshot.chunk_rows;
    Ok(Box::new(MariaDbSource::new(config)))
}
