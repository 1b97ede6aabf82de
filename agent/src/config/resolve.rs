//! From what was written to what is meant.
//!
//! One function a section. Each reads every key of its section whatever is
//! wrong with the others; [`super::file`] refuses the whole when a problem was
//! noted. Defaults stand here and, as text for people, in [`super::keys`].

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Number, Value as Json};

use super::node::{Node, Value};
use super::secret::Secret;
use super::section::Section;
pub use super::settings::*;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// The agent's section; `state` is where it lies when the section does not say.
pub(super) fn agent(file: &Section<'_>) -> AgentConfig {
    let section = file.section("agent");
    let token = section.secret("token").filter(|token| !token.expose().is_empty());
    let listen = match section.text("listen") {
        None => Some(SocketAddr::from((Ipv4Addr::LOCALHOST, 8480))),
        Some(text) if text == "off" => None,
        Some(text) => match text.parse::<SocketAddr>() {
            Ok(address) => Some(address),
            Err(_) => {
                let line = section.node("listen").map_or(section.line, |node| node.line);
                let hint = "write 127.0.0.1:8480, or off";
                section.problem(line, "'agent.listen' must be an address and a port", hint);
                None
            }
        },
    };
    if let (Some(address), None) = (listen, &token)
        && !address.ip().is_loopback()
    {
        let line = section.node("listen").map_or(section.line, |node| node.line);
        section.problem(
            line,
            "'agent.listen' is open to other machines, so 'agent.token' must be set",
            "add `token: \"${file:PATH}\"`, or listen on 127.0.0.1",
        );
    }
    AgentConfig {
        state: section.path("state").unwrap_or_else(|| file.reader.references.path("state")),
        listen,
        token,
        memory_bytes: section.size("memory", 16 * MIB, 1024 * GIB).unwrap_or(100 * MIB),
    }
}

/// The pipeline of a file, in this agent.
pub(super) fn pipeline(file: &Section<'_>, agent: &AgentConfig) -> PipelineConfig {
    let name = file.name("pipeline");
    PipelineConfig {
        source: source(file, &name),
        transforms: transforms(file),
        sinks: sinks(file),
        dead_letter: DeadLetterConfig {
            path: file
                .section("dead_letter")
                .file_url("url")
                .unwrap_or_else(|| agent.pipeline_folder(&name).join("dead-letters")),
        },
        checkpoint: checkpoint(&file.section("checkpoint")),
        retry: retry(&file.section("retry")),
        accept_state_loss: false,
        name,
    }
}

fn source(file: &Section<'_>, pipeline: &str) -> SourceConfig {
    if file.required("source").is_none() {
        // Its own required keys would only repeat what was just said.
        return source_of(&file.section("source"), pipeline, false);
    }
    source_of(&file.section("source"), pipeline, true)
}

fn source_of(section: &Section<'_>, pipeline: &str, present: bool) -> SourceConfig {
    let required = |key: &str| if present { section.required_text(key) } else { String::new() };
    if present && section.required("type").is_some() {
        section.choice("type", &[("mariadb", ())], &["mysql", "postgres"]);
    }
    let host = section.text("host").unwrap_or_else(|| Ipv4Addr::LOCALHOST.to_string());
    // Beside the database there is nobody on the wire; anywhere else nothing
    // less than a checked certificate is the default.
    let local = host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    let tls_modes = [
        ("disable", TlsMode::Disable),
        ("require", TlsMode::Require),
        ("verify_ca", TlsMode::VerifyCa),
        ("verify_identity", TlsMode::VerifyIdentity),
    ];
    let tls_default = if local { TlsMode::Disable } else { TlsMode::VerifyIdentity };
    if section.section("types").node("tinyint1").is_some() {
        section.section("types").choice("tinyint1", &[("int8", ())], &["bool"]);
    }
    SourceConfig {
        id: section.text("id").unwrap_or_else(|| pipeline.to_owned()),
        port: narrow(section.integer("port", 1, u16::MAX.into()), 3306),
        user: required("user"),
        password: section.secret("password").unwrap_or_else(|| Secret::new("")),
        tls: section.choice("tls", &tls_modes, &[]).unwrap_or(tls_default),
        tls_ca: section.path("tls_ca"),
        server_id: section.integer("server_id", 1, u32::MAX.into()).map(|id| narrow(Some(id), 1)),
        heartbeat: section.duration("heartbeat").unwrap_or(Duration::from_secs(10)),
        tables: if present { source_tables(section) } else { Vec::new() },
        snapshot: snapshot(&section.section("snapshot")),
        zero_dates: section
            .section("types")
            .choice("zero_dates", &[("dead_letter", ZeroDates::DeadLetter)], &["text", "null_with_flag"])
            .unwrap_or(ZeroDates::DeadLetter),
        host,
    }
}

fn source_tables(section: &Section<'_>) -> Vec<String> {
    if let Some(node) = section.required("tables")
        && matches!(&node.value, Value::List(items) if items.is_empty())
    {
        section.problem(
            node.line,
            "'source.tables' names no table",
            "write `- schema.table`, or `- \"schema.*\"`",
        );
    }
    let items = section.list("tables").iter();
    items
        .filter_map(|node| match &node.value {
            Value::Map(_) => {
                let item = Section::new(section.reader, "source.tables[]", node);
                item.required("name").and_then(|node| pattern(&item, "name", node))
            }
            _ => pattern(section, "tables[]", node),
        })
        .collect()
}

/// A pattern of table names: schema and table, each with `*` for any run of
/// characters.
fn pattern(section: &Section<'_>, key: &str, node: &Node) -> Option<String> {
    let pattern = section.text_of(key, node)?;
    let parts = pattern.split_once('.');
    if parts.is_some_and(|(schema, table)| !schema.is_empty() && !table.is_empty()) {
        return Some(pattern);
    }
    let message = format!("'{}' must be a schema and a table", section.path_of(key));
    section.problem(node.line, message, "write schema.table, with * for any run of characters");
    None
}

fn snapshot(section: &Section<'_>) -> SnapshotConfig {
    let modes = [
        ("initial", SnapshotMode::Initial),
        ("latest", SnapshotMode::Latest),
        ("snapshot_only", SnapshotMode::SnapshotOnly),
    ];
    SnapshotConfig {
        mode: section
            .choice("mode", &modes, &["earliest", "timestamp", "position"])
            .unwrap_or(SnapshotMode::Initial),
        // A chunk is held in memory and committed whole.
        chunk_rows: narrow(section.integer("chunk_rows", 1, 10_000), 10_000),
    }
}

fn transforms(file: &Section<'_>) -> Vec<TransformConfig> {
    let mut names = BTreeSet::new();
    let items = file.list("transforms").iter();
    items
        .map(|node| {
            let section = Section::new(file.reader, "transforms[]", node);
            let on_error =
                [("dead_letter", OnError::DeadLetter), ("stop", OnError::Stop), ("drop", OnError::Drop)];
            section.required("module");
            let patterns = section.list("tables").iter();
            let tables: Vec<_> = patterns.filter_map(|node| pattern(&section, "tables[]", node)).collect();
            TransformConfig {
                name: unique_name(&section, &mut names),
                module: section.path("module").unwrap_or_default(),
                tables: if section.node("tables").is_some() { tables } else { vec!["*.*".to_owned()] },
                config_json: Secret::new(module_config(&section).to_string()),
                on_error: section.choice("on_error", &on_error, &[]).unwrap_or(OnError::DeadLetter),
                memory_bytes: section.size("memory", MIB, 4 * GIB).unwrap_or(64 * MIB),
            }
        })
        .collect()
}

/// The module's own configuration; `{}` when there is none.
fn module_config(section: &Section<'_>) -> Json {
    match section.node("config") {
        None => Json::Object(Map::new()),
        Some(node @ Node { value: Value::Map(_), .. }) => json(section, node),
        Some(node) => {
            let message = format!("'transforms[].config' must be a map, not {}", node.kind());
            section.problem(node.line, message, "write `config: { key: value }`");
            Json::Null
        }
    }
}

fn json(section: &Section<'_>, node: &Node) -> Json {
    match &node.value {
        Value::Null => Json::Null,
        Value::Bool(value) => Json::Bool(*value),
        Value::Integer(value) => Number::from_i128(*value).map_or(Json::Null, Json::Number),
        Value::Float(value) => match Number::from_f64(*value) {
            Some(number) => Json::Number(number),
            None => {
                section.problem(node.line, "'transforms[].config' holds a number that JSON lacks", "");
                Json::Null
            }
        },
        Value::Text(_) => section.text_of("config", node).map_or(Json::Null, Json::String),
        Value::List(items) => Json::Array(items.iter().map(|item| json(section, item)).collect()),
        Value::Map(entries) => Json::Object(
            entries.iter().map(|entry| (entry.key.clone(), json(section, &entry.node))).collect(),
        ),
    }
}

fn sinks(file: &Section<'_>) -> Vec<SinkConfig> {
    if let Some(node) = file.required("sinks")
        && matches!(&node.value, Value::List(items) if items.is_empty())
    {
        file.problem(node.line, "'sinks' names no sink", "add one: `- { name: lake, type: object, … }`");
    }
    let mut names = BTreeSet::new();
    let items = file.list("sinks").iter();
    items
        .map(|node| {
            let section = Section::new(file.reader, "sinks[]", node);
            SinkConfig { name: unique_name(&section, &mut names), kind: sink_kind(&section) }
        })
        .collect()
}

fn sink_kind(section: &Section<'_>) -> SinkKind {
    #[derive(Clone, Copy)]
    enum Kind {
        Object,
        Stdout,
    }
    section.required("type");
    let kinds = [("object", Kind::Object), ("stdout", Kind::Stdout)];
    match section.choice("type", &kinds, &["kafka", "iceberg"]) {
        Some(Kind::Object) => object_sink(section),
        Some(Kind::Stdout) => {
            for key in ["url", "format", "commit"] {
                if let Some(node) = section.node(key) {
                    let message = format!("'sinks[].{key}' means nothing to a stdout sink");
                    section.problem(node.line, message, "leave it out");
                }
            }
            SinkKind::Stdout
        }
        None => SinkKind::Stdout,
    }
}

fn object_sink(section: &Section<'_>) -> SinkKind {
    let formats = [("parquet", ObjectFormat::Parquet), ("json_lines", ObjectFormat::JsonLines)];
    let commit = section.section("commit");
    section.required("url");
    section.required("format");
    SinkKind::Object {
        path: section.file_url("url").unwrap_or_default(),
        format: section.choice("format", &formats, &["avro", "iceberg"]).unwrap_or(ObjectFormat::Parquet),
        commit_interval: commit.duration("interval").unwrap_or(Duration::from_secs(60)),
        commit_bytes: commit.size("bytes", 64 * KIB, 64 * GIB).unwrap_or(256 * MIB),
    }
}

/// A name that no earlier item of the list has.
fn unique_name(section: &Section<'_>, names: &mut BTreeSet<String>) -> String {
    let name = section.name("name");
    if !name.is_empty() && !names.insert(name.clone()) {
        let line = section.node("name").map_or(section.line, |node| node.line);
        section.problem(line, format!("the name '{name}' stands twice"), "rename one of them");
    }
    name
}

fn checkpoint(section: &Section<'_>) -> CheckpointConfig {
    CheckpointConfig {
        interval: section.duration("interval").unwrap_or(Duration::from_secs(1)),
        min_pause: section.duration("min_pause").unwrap_or(Duration::from_millis(500)),
        timeout: section.duration("timeout").unwrap_or(Duration::from_secs(600)),
    }
}

fn retry(section: &Section<'_>) -> RetryConfig {
    let unlimited = matches!(
        section.node("max"),
        None | Some(Node { value: Value::Text(_), .. }) if section.text("max").is_none_or(|word| word == "unlimited")
    );
    RetryConfig {
        backoff: section.duration("backoff").unwrap_or(Duration::from_secs(5)),
        attempts_max: (!unlimited).then(|| narrow(section.integer("max", 0, u32::MAX.into()), 0)),
    }
}

/// A number whose bounds were checked, or its default.
fn narrow<T: TryFrom<u64>>(value: Option<u64>, default: T) -> T {
    value.and_then(|value| T::try_from(value).ok()).unwrap_or(default)
}

/// Notes what a section that only confirms defaults may say.
pub(super) fn errors(section: &Section<'_>) {
    section.choice("corrupt_event", &[("stop", ())], &["dead_letter"]);
}

/// The file's folder, absolute: paths in the file are relative to it, and those
/// that people read back, such as a lake's, work from everywhere.
pub(super) fn folder_of(file: &std::path::Path) -> PathBuf {
    // It fails only where there is no current folder; the path then stays as it was written.
    let absolute = std::path::absolute(file).unwrap_or_else(|_| file.to_path_buf());
    absolute.parent().map_or_else(|| PathBuf::from("."), std::path::Path::to_path_buf)
}
