//! Every key that a pipeline's file may hold: the one list that unknown keys,
//! keys that are not built yet and the reference page are checked against.

use super::nearest::nearest;
use super::node::{Node, Value};
use super::problems::Problems;

/// A key of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// From the top, joined by `.`; `[]` stands for any item of a list.
    pub path: &'static str,
    /// What may be written there.
    pub values: &'static str,
    /// What holds when it is absent: a value, `required`, or a sentence's start.
    pub default: &'static str,
    /// Whether it works already.
    pub status: Status,
}

/// Whether a key works already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It does.
    Built,
    /// It does, and its content is not ours to know.
    Opaque,
    /// Its meaning is settled, but writing it is refused for now.
    NotYet,
}

const fn key(path: &'static str, values: &'static str, default: &'static str) -> Key {
    Key { path, values, default, status: Status::Built }
}

const fn opaque(path: &'static str, values: &'static str, default: &'static str) -> Key {
    Key { path, values, default, status: Status::Opaque }
}

const fn not_yet(path: &'static str) -> Key {
    Key { path, values: "", default: "", status: Status::NotYet }
}

/// Every key, sections in front of what stands in them.
pub const ALL: &[Key] = &[
    key("agent", "section", "all its defaults"),
    key("agent.state", "path", "./state"),
    key("agent.listen", "address:port, or off", "127.0.0.1:8480"),
    key("agent.token", "text", "none; required off loopback"),
    key("agent.memory", "size", "100MiB"),
    key("pipeline", "name", "required"),
    key("source", "section", "required"),
    key("source.type", "mariadb", "required"),
    key("source.id", "text", "the pipeline's name"),
    key("source.host", "text", "127.0.0.1"),
    key("source.port", "number", "3306"),
    key("source.user", "text", "required"),
    key("source.password", "text", "empty"),
    key("source.tls", "disable, require, verify_ca, verify_identity", "verify_identity; disable on loopback"),
    key("source.tls_ca", "path", "the usual authorities"),
    key("source.server_id", "number", "derived"),
    key("source.heartbeat", "duration", "10s"),
    key("source.tables", "list", "required"),
    key("source.tables[].name", "pattern", "required"),
    not_yet("source.tables[].columns"),
    not_yet("source.tables[].key"),
    not_yet("source.tables[].where"),
    not_yet("source.tables[].operations"),
    key("source.snapshot", "section", "all its defaults"),
    key("source.snapshot.mode", "initial, latest, snapshot_only", "initial"),
    key("source.snapshot.chunk_rows", "number", "10000"),
    not_yet("source.snapshot.parallel"),
    key("source.types", "section", "all its defaults"),
    key("source.types.zero_dates", "dead_letter", "dead_letter"),
    key("source.types.tinyint1", "int8", "int8"),
    not_yet("source.types.bigint_unsigned"),
    not_yet("source.slot"),
    not_yet("source.publication"),
    key("transforms", "list", "none"),
    key("transforms[].name", "name", "required"),
    key("transforms[].module", "path", "required"),
    key("transforms[].tables", "list of patterns", "all tables"),
    opaque("transforms[].config", "map", "{}"),
    key("transforms[].on_error", "dead_letter, stop, drop", "dead_letter"),
    key("transforms[].memory", "size", "64MiB"),
    not_yet("transforms[].wasi"),
    key("sinks", "list", "required"),
    key("sinks[].name", "name", "required"),
    key("sinks[].type", "object, stdout", "required"),
    key("sinks[].url", "file:PATH", "required for object"),
    key("sinks[].format", "parquet, json_lines", "required for object"),
    key("sinks[].commit", "section", "all its defaults"),
    key("sinks[].commit.interval", "duration", "60s"),
    key("sinks[].commit.bytes", "size", "256MiB"),
    not_yet("sinks[].before"),
    not_yet("sinks[].brokers"),
    not_yet("sinks[].topic"),
    not_yet("sinks[].delivery"),
    not_yet("sinks[].after"),
    not_yet("sinks[].start_at"),
    not_yet("registry"),
    key("dead_letter", "section", "all its defaults"),
    key("dead_letter.url", "file:PATH", "<state>/<pipeline>/dead-letters"),
    not_yet("dead_letter.sink"),
    not_yet("dead_letter.topic"),
    key("checkpoint", "section", "all its defaults"),
    key("checkpoint.interval", "duration", "1s"),
    key("checkpoint.min_pause", "duration", "500ms"),
    key("checkpoint.timeout", "duration", "10m"),
    key("retry", "section", "all its defaults"),
    key("retry.backoff", "duration", "5s"),
    key("retry.max", "number, or unlimited", "unlimited"),
    key("errors", "section", "all its defaults"),
    key("errors.corrupt_event", "stop", "stop"),
    not_yet("alerts"),
];

/// Notes every key below `node` that is unknown or not built yet. `path` is the
/// place of `node` in [`ALL`], empty for the whole file.
pub(super) fn check(node: &Node, path: &str, problems: &mut Problems) {
    match &node.value {
        Value::List(items) => {
            for item in items {
                check(item, &format!("{path}[]"), problems);
            }
        }
        Value::Map(entries) => {
            for entry in entries {
                let place = if path.is_empty() { entry.key.clone() } else { format!("{path}.{}", entry.key) };
                match ALL.iter().find(|key| key.path == place) {
                    None => unknown(&entry.key, path, entry.line, problems),
                    Some(Key { status: Status::NotYet, .. }) => {
                        let hint = "leave it out; the configuration reference tells what works";
                        problems.unsupported(entry.line, format!("'{place}' is not yet supported"), hint);
                    }
                    Some(Key { status: Status::Opaque, .. }) => {}
                    Some(Key { status: Status::Built, .. }) => check(&entry.node, &place, problems),
                }
            }
        }
        _ => {}
    }
}

fn unknown(key: &str, path: &str, line: u64, problems: &mut Problems) {
    let siblings: Vec<&str> = children(path).collect();
    // A scalar has no keys: whoever reads it says that it is not a map.
    if siblings.is_empty() {
        return;
    }
    let place = if path.is_empty() { String::new() } else { format!(" in '{path}'") };
    let hint = match nearest(key, &siblings) {
        Some(near) => format!("did you mean '{near}'?"),
        None => format!("known here: {}", siblings.join(", ")),
    };
    problems.add(line, format!("unknown key '{key}'{place}"), hint);
}

/// The names of the keys directly below a section.
fn children(path: &str) -> impl Iterator<Item = &'static str> {
    let prefix = if path.is_empty() { String::new() } else { format!("{path}.") };
    ALL.iter().filter_map(move |key| {
        let name = key.path.strip_prefix(&prefix)?;
        (!name.contains(['.', '['])).then_some(name)
    })
}
