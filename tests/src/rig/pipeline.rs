//! A pipeline's file in a folder of its own.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::agent::{Agent, Run};
use super::lake::Lake;
use super::mariadb::Database;
use super::paths;
use super::scratch::Scratch;

/// One pipeline from a scenario's database into a lake, with everything that it leaves behind.
///
/// The defaults are those of a test, not of a user: commits, checkpoints and heartbeats several times
/// a second. What a scenario sets is added as the YAML that a user would write, so that a reader
/// learns no second language.
#[derive(Clone, Debug)]
pub struct Pipeline {
    folder: Arc<Scratch>,
    name: String,
    port: u16,
    tables: Vec<String>,
    source: Vec<String>,
    transforms: Vec<String>,
    sinks: Vec<String>,
    /// Folders of the object sinks among them.
    lakes: Vec<String>,
    sections: Vec<String>,
    state: String,
}

impl Pipeline {
    /// A pipeline of all tables of the database, named like it, with no sink yet.
    pub fn new(database: &Database<'_>) -> Self {
        Self {
            folder: Arc::new(Scratch::new(database.name())),
            name: database.name().to_owned(),
            port: database.server().port(),
            tables: vec![format!("{}.*", database.name())],
            source: Vec::new(),
            transforms: Vec::new(),
            sinks: Vec::new(),
            lakes: Vec::new(),
            sections: Vec::new(),
            state: "state".to_owned(),
        }
    }

    /// Captures these tables instead, each an item of the list in YAML.
    #[must_use]
    pub fn tables<const N: usize>(self, items: [&str; N]) -> Self {
        Self { tables: items.map(str::to_owned).to_vec(), ..self }
    }

    /// A further key of the source, such as `snapshot: { mode: latest }`.
    #[must_use]
    pub fn source(mut self, line: &str) -> Self {
        self.source.push(line.to_owned());
        self
    }

    /// A further transform, an item of the list in YAML.
    #[must_use]
    pub fn transform(mut self, item: impl Into<String>) -> Self {
        self.transforms.push(item.into());
        self
    }

    /// A further transform: the standard mapping on all tables, with this configuration.
    #[must_use]
    pub fn mapping(self, config: &str) -> Self {
        let module = paths::mapping_component();
        let module = module.display();
        let tables = format!("{}.*", self.name);
        self.transform(format!(
            "{{ name: mapping, module: \"{module}\", tables: [\"{tables}\"], config: {config} }}"
        ))
    }

    /// A further sink, an item of the list in YAML.
    #[must_use]
    pub fn sink(mut self, item: impl Into<String>) -> Self {
        self.sinks.push(item.into());
        self
    }

    /// A further sink: a lake of Parquet files, in the folder `lake`.
    #[must_use]
    pub fn parquet(self) -> Self {
        self.object_sink("lake", "parquet", "256MiB")
    }

    /// The same with a commit as soon as so many bytes, `16KiB`, are uncommitted.
    #[must_use]
    pub fn parquet_in_commits_of(self, bytes: &str) -> Self {
        self.object_sink("lake", "parquet", bytes)
    }

    /// A further sink: a lake of JSON lines, in the folder `json`.
    #[must_use]
    pub fn json_lines(self) -> Self {
        self.object_sink("json", "json_lines", "256MiB")
    }

    fn object_sink(mut self, name: &str, format: &str, bytes: &str) -> Self {
        self.lakes.push(name.to_owned());
        let url = format!("file:{name}");
        self.sink(format!(
            "{{ name: {name}, type: object, url: \"{url}\", format: {format}, \
             commit: {{ interval: 200ms, bytes: {bytes} }} }}"
        ))
    }

    /// A further section of the file, such as `errors: { corrupt_event: stop }`.
    #[must_use]
    pub fn section(mut self, line: &str) -> Self {
        self.sections.push(line.to_owned());
        self
    }

    /// The same pipeline and lake with another state folder: what a second agent would be given.
    #[must_use]
    pub fn with_state(&self, state: &str) -> Self {
        Self { state: state.to_owned(), ..self.clone() }
    }

    /// Writes the file, starts an agent on it and waits until it is ready.
    pub fn start(&self) -> Agent {
        let agent = self.spawn(&[]);
        agent.wait_until_ready();
        agent
    }

    /// Writes the file and starts an agent on it with further environment variables. It may well end
    /// at once: that is what the caller looks for.
    pub fn spawn(&self, environment: &[(&str, &str)]) -> Agent {
        self.run(Run { environment, ..Run::default() })
    }

    /// The same with more that differs from a plain run.
    pub fn run(&self, run: Run<'_>) -> Agent {
        self.write();
        Agent::spawn(self, run)
    }

    /// Writes the file and runs the agent on it, which ends by itself with this exit code; returns
    /// what it said.
    pub fn refuses(&self, code: i32) -> String {
        self.spawn(&[]).wait_for_exit_code(code)
    }

    /// Writes the pipeline's file and returns its path, for the commands that take one.
    pub fn write(&self) -> PathBuf {
        let file = self.file();
        fs::write(&file, self.yaml()).expect("the scenario's folder can be written");
        file
    }

    /// The pipeline's file.
    pub fn file(&self) -> PathBuf {
        self.folder.join(format!("pipeline-{}.yaml", self.state))
    }

    /// The pipeline's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The scenario's folder, which the paths in the file are relative to.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The agent's state folder.
    pub fn state(&self) -> PathBuf {
        self.folder.join(&self.state)
    }

    /// The lake of [`parquet`](Self::parquet).
    pub fn lake(&self) -> Lake {
        Lake::at(self.folder.join("lake"))
    }

    /// The lake of [`json_lines`](Self::json_lines).
    pub fn json_lake(&self) -> Lake {
        Lake::at(self.folder.join("json"))
    }

    /// All lakes that the pipeline writes, the dead letters not among them.
    pub(super) fn lakes(&self) -> impl Iterator<Item = Lake> {
        self.lakes.iter().map(|name| Lake::at(self.folder.join(name)))
    }

    /// The dead letters, which are a lake of JSON lines in the state folder.
    pub fn dead_letters(&self) -> Lake {
        Lake::at(self.state().join(&self.name).join("dead-letters"))
    }

    fn yaml(&self) -> String {
        let Self { name, port, state, .. } = self;
        let mut yaml = format!(
            "agent: {{ state: {state}, listen: \"127.0.0.1:0\" }}\n\
             pipeline: {name}\n\
             source:\n\
             \x20 type: mariadb\n\
             \x20 host: 127.0.0.1\n\
             \x20 port: {port}\n\
             \x20 user: tidegate\n\
             \x20 password: ${{env:{PASSWORD}}}\n\
             \x20 heartbeat: 200ms\n"
        );
        for line in &self.source {
            let _ = writeln!(yaml, "  {line}");
        }
        list(&mut yaml, "  tables", &self.tables);
        list(&mut yaml, "transforms", &self.transforms);
        list(&mut yaml, "sinks", &self.sinks);
        yaml.push_str("checkpoint: { interval: 200ms, min_pause: 50ms }\n");
        for line in &self.sections {
            let _ = writeln!(yaml, "{line}");
        }
        yaml
    }
}

/// The variable that the pipeline's file takes the password from.
pub(super) const PASSWORD: &str = "TIDEGATE_TEST_PASSWORD";

fn list(yaml: &mut String, key: &str, items: &[String]) {
    if items.is_empty() {
        return;
    }
    let _ = writeln!(yaml, "{key}:");
    for item in items {
        // A pattern begins with no `*` here, but ends with one: quoted, it is a string in any case.
        let quoted = if item.starts_with('{') { item.clone() } else { format!("\"{item}\"") };
        let _ = writeln!(yaml, "    - {quoted}");
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{Pipeline, Scratch};

    #[test]
    fn writes_what_a_user_would_write() {
        let pipeline = Pipeline {
            folder: Arc::new(Scratch::new("yaml")),
            name: "shop".into(),
            port: 3307,
            tables: vec!["shop.orders".into(), "{ name: shop.items, key: [sku] }".into()],
            source: Vec::new(),
            transforms: Vec::new(),
            sinks: Vec::new(),
            lakes: Vec::new(),
            sections: Vec::new(),
            state: "state".into(),
        };
        let yaml = pipeline
            .source("snapshot: { mode: latest }")
            .parquet()
            .section("errors: { corrupt_event: stop }")
            .yaml();
        assert_eq!(
            yaml,
            "agent: { state: state, listen: \"127.0.0.1:0\" }
pipeline: shop
source:
  type: mariadb
  host: 127.0.0.1
  port: 3307
  user: tidegate
  password: ${env:TIDEGATE_TEST_PASSWORD}
  heartbeat: 200ms
  snapshot: { mode: latest }
  tables:
    - \"shop.orders\"
    - { name: shop.items, key: [sku] }
sinks:
    - { name: lake, type: object, url: \"file:lake\", format: parquet, commit: { interval: 200ms, bytes: 256MiB } }
checkpoint: { interval: 200ms, min_pause: 50ms }
errors: { corrupt_event: stop }
"
        );
    }
}
