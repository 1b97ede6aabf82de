//! Reading of the pipelines' files: each checked against the known keys and
//! resolved, the problems of one file told together.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use tidegate_model::{Error, ErrorKind, Result};

use super::keys;
use super::node::Node;
use super::reference::References;
use super::resolve::{self, AgentConfig, PipelineConfig};
use super::section::{Reader, Section};

/// A file with a longer text is no configuration.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// What the files given to one agent say.
#[derive(Debug, Clone, PartialEq)]
pub struct Configuration {
    /// The agent, from the one file that has the section `agent`.
    pub agent: AgentConfig,
    /// One pipeline a file, in the order of the files.
    pub pipelines: Vec<PipelineConfig>,
}

/// Reads and resolves the files, with the process's environment.
///
/// # Errors
/// `Config` or `Unsupported` (exit code 2) with every problem of every file, a
/// line each: `FILE:LINE: message (hint: …)`.
pub fn load(files: &[PathBuf]) -> Result<Configuration> {
    load_with(files, &|name| std::env::var(name).ok())
}

/// [`load`] for commands that only need names and folders: a variable that is
/// not set is empty, since it mostly holds a password that they do not use.
///
/// # Errors
/// As [`load`].
pub fn load_without_environment(files: &[PathBuf]) -> Result<Configuration> {
    load_with(files, &|name| Some(std::env::var(name).unwrap_or_default()))
}

/// [`load`] with another environment.
///
/// # Errors
/// As [`load`].
pub fn load_with(files: &[PathBuf], variable: &dyn Fn(&str) -> Option<String>) -> Result<Configuration> {
    let trees = collect(files.iter().map(|file| read(file).map(|node| (file, node))))?;
    let with_agent = trees.iter().filter(|(_, node)| has_agent(node));
    let owners: Vec<&PathBuf> = with_agent.map(|(file, _)| *file).collect();
    if let [first, second, ..] = owners[..] {
        return Err(Error::new(
            ErrorKind::Config,
            format!("both '{}' and '{}' have a section 'agent'", first.display(), second.display()),
        )
        .hint("one agent runs all the pipelines: keep the section in one of the files"));
    }
    let Some(owner) = owners.first().copied().or(files.first()) else {
        return Err(Error::new(ErrorKind::Config, "no pipeline file is given")
            .hint("name one, such as `tidegate run pipeline.yaml`"));
    };
    let (_, tree) = trees.iter().find(|(file, _)| *file == owner).unwrap_or(&trees[0]);
    // Problems of the section are told with the others of its file, below.
    let agent = resolve::agent(&Section::new(&reader(owner, variable), "", tree));

    let pipelines = collect(trees.iter().map(|(file, node)| pipeline(file, node, &agent, variable)))?;
    let mut names = BTreeMap::new();
    for (pipeline, file) in pipelines.iter().zip(files) {
        if let Some(other) = names.insert(&pipeline.name, file) {
            return Err(Error::new(
                ErrorKind::Config,
                format!(
                    "pipeline '{}' stands in '{}' and in '{}'",
                    pipeline.name,
                    other.display(),
                    file.display()
                ),
            )
            .hint("give each pipeline a name of its own"));
        }
    }
    Ok(Configuration { agent, pipelines })
}

fn pipeline(
    file: &Path,
    tree: &Node,
    agent: &AgentConfig,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<PipelineConfig> {
    let reader = reader(file, variable);
    keys::check(tree, "", &mut reader.problems.borrow_mut());
    let section = Section::new(&reader, "", tree);
    if has_agent(tree) {
        resolve::agent(&section);
    }
    resolve::errors(&section.section("errors"));
    let pipeline = resolve::pipeline(&section, agent);
    reader.problems.into_inner().into_result(file)?;
    Ok(pipeline)
}

fn reader<'a>(file: &Path, variable: &'a dyn Fn(&str) -> Option<String>) -> Reader<'a> {
    let references = References { folder: resolve::folder_of(file), variable };
    Reader { problems: Default::default(), references }
}

fn has_agent(tree: &Node) -> bool {
    matches!(&tree.value, super::node::Value::Map(entries) if entries.iter().any(|entry| entry.key == "agent"))
}

fn read(file: &Path) -> Result<Node> {
    let failed = |error: std::io::Error| {
        Error::new(ErrorKind::Config, format!("'{}' cannot be read", file.display()))
            .because(error)
            .hint("give the path of a pipeline's YAML file")
    };
    let mut text = String::new();
    let opened = fs::File::open(file).map_err(failed)?;
    opened.take(FILE_BYTES_MAX + 1).read_to_string(&mut text).map_err(failed)?;
    if text.len() as u64 > FILE_BYTES_MAX {
        let message = format!("'{}' is longer than {FILE_BYTES_MAX} bytes", file.display());
        return Err(Error::new(ErrorKind::Config, message).hint("give the path of a pipeline's YAML file"));
    }
    Node::parse(&text)
        .map_err(|error| Error::new(error.kind(), format!("{}:{}", file.display(), error.message())))
}

/// All values, or one error with the messages of all that failed.
fn collect<T>(results: impl Iterator<Item = Result<T>>) -> Result<Vec<T>> {
    let (mut values, mut errors) = (Vec::new(), Vec::new());
    for result in results {
        match result {
            Ok(value) => values.push(value),
            Err(error) => errors.push(error),
        }
    }
    match errors.len() {
        0 => Ok(values),
        1 => Err(errors.remove(0)),
        _ => {
            let supported = errors.iter().any(|error| error.kind() != ErrorKind::Unsupported);
            let kind = if supported { ErrorKind::Config } else { ErrorKind::Unsupported };
            Err(Error::new(kind, errors.iter().map(Error::to_string).collect::<Vec<_>>().join("\n")))
        }
    }
}
