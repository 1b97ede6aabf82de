//! `tidegate check`: everything that `run` will need, looked at beforehand and
//! told together. Nothing is changed: not the server, not the state folder.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use tidegate_model::source::{Finding, Severity};
use tidegate_model::{Error, ErrorKind, Result};
use tidegate_sink_object::{Format as FileFormat, ObjectSinkConfig};
use tidegate_transform_host::WasmTransform;

use super::output::{json, line};
use super::{Format, runtime};
use crate::bounded::{MODULE_BYTES_MAX, read_bounded};
use crate::config;
use crate::config::resolve::{PipelineConfig, SinkKind, TransformConfig};
use crate::pipeline;

/// Our id at the server while we only look; no replica registers under it.
const SERVER_ID: u32 = u32::MAX;

#[derive(Debug, Args)]
pub(super) struct CheckArguments {
    /// Pipeline files, as `run` would get them
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    format: Format,
}

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Verdict {
    pipeline: String,
    /// `module`, `sink`, `server` or `table`, with its name.
    subject: String,
    severity: &'static str,
    message: String,
    /// SQL or setting that mends it; empty when nothing needs mending.
    fix: String,
}

impl Verdict {
    fn stops(&self) -> bool {
        self.severity == "error"
    }
}

pub(super) fn check(arguments: &CheckArguments) -> Result<()> {
    let configuration = config::load(&arguments.files)?;
    let runtime = runtime()?;
    let mut verdicts = Vec::new();
    for pipeline in &configuration.pipelines {
        verdicts.extend(pipeline.transforms.iter().map(|transform| module(pipeline, transform)));
        for sink in &pipeline.sinks {
            verdicts.extend(runtime.block_on(object_sink(pipeline, &sink.name, &sink.kind)));
        }
        verdicts.extend(runtime.block_on(server(pipeline)));
    }
    if arguments.format.json {
        json(&verdicts)?;
    } else {
        verdicts.iter().try_for_each(show)?;
    }
    match verdicts.iter().filter(|verdict| verdict.stops()).count() {
        0 => Ok(()),
        count => Err(Error::new(ErrorKind::Connection, format!("{count} of the checks above failed"))
            .hint("mend them and check again; the pipeline would not start as it is")),
    }
}

fn show(verdict: &Verdict) -> Result<()> {
    let Verdict { pipeline, subject, severity, message, fix } = verdict;
    line(format_args!("{severity:<8} {pipeline}: {subject}: {message}"))?;
    if fix.is_empty() { Ok(()) } else { line(format_args!("         fix: {fix}")) }
}

fn verdict(pipeline: &PipelineConfig, subject: String, result: Result<String>) -> Verdict {
    let pipeline = pipeline.name.clone();
    match result {
        Ok(message) => Verdict { pipeline, subject, severity: "ok", message, fix: String::new() },
        Err(error) => {
            let fix = error.hint_text().unwrap_or_default().to_owned();
            let message = error.to_string();
            // The fix has a line of its own.
            let message = message.strip_suffix(&format!(" (hint: {fix})")).unwrap_or(&message).to_owned();
            Verdict { pipeline, subject, severity: "error", message, fix }
        }
    }
}

/// Whether the module compiles, fits the contract and takes its configuration.
fn module(pipeline: &PipelineConfig, transform: &TransformConfig) -> Verdict {
    let load = || {
        let module = read_bounded(&transform.module, MODULE_BYTES_MAX).map_err(|error| {
            Error::new(ErrorKind::Config, "the module cannot be read")
                .with("path", transform.module.display())
                .because(error)
                .hint("the key 'module' names a file, relative to the pipeline's file")
        })?;
        let mut options = tidegate_transform_host::TransformConfig::new(transform.name.as_str(), module);
        options.config = serde_json::from_str(transform.config_json.expose())
            .map_err(|_| Error::new(ErrorKind::Config, "the module's configuration has no JSON form"))?;
        options.memory_limit = usize::try_from(transform.memory_bytes).unwrap_or(usize::MAX);
        let loaded =
            WasmTransform::load(options).map_err(|error| error.with("path", transform.module.display()))?;
        Ok(format!("loads, digest {}", loaded.digest().short()))
    };
    verdict(pipeline, format!("transform '{}'", transform.name), load())
}

/// Whether a lake that is there can be written. One that is not there is made
/// by `run`, not by looking.
async fn object_sink(pipeline: &PipelineConfig, name: &str, kind: &SinkKind) -> Option<Verdict> {
    let SinkKind::Object { path, .. } = kind else { return None };
    let result = if path.exists() {
        let staging = path.join("_tidegate").join("tmp");
        let options =
            ObjectSinkConfig::new(path.clone(), FileFormat::JsonLines, staging, &pipeline.name, name);
        tidegate_sink_object::check(&options).await.map(|()| format!("'{}' can be written", path.display()))
    } else {
        Ok(format!("'{}' is made at the first start", path.display()))
    };
    Some(verdict(pipeline, format!("sink '{name}'"), result))
}

/// Login, settings, privileges and tables.
async fn server(pipeline: &PipelineConfig) -> Vec<Verdict> {
    let source = &pipeline.source;
    let subject = format!("server {}:{}", source.host, source.port);
    let findings = match pipeline::source(pipeline, SERVER_ID) {
        Ok(mut source) => source.preflight().await,
        Err(error) => Err(error),
    };
    match findings {
        Err(error) => vec![verdict(pipeline, subject, Err(error))],
        Ok(findings) => {
            let fit = verdict(pipeline, subject.clone(), Ok("answers".into()));
            let found = findings.into_iter().map(|finding| found(pipeline, &subject, finding));
            std::iter::once(fit).chain(found).collect()
        }
    }
}

fn found(pipeline: &PipelineConfig, server: &str, finding: Finding) -> Verdict {
    let severity = match finding.severity {
        Severity::Info => "info",
        Severity::Warning | Severity::Table => "warning",
        Severity::Fatal => "error",
    };
    let subject = finding.table.map_or_else(|| server.to_owned(), |table| format!("table {table}"));
    Verdict { pipeline: pipeline.name.clone(), subject, severity, message: finding.message, fix: finding.fix }
}
