//! Typed reading of one section: every call either returns the value or notes
//! what is wrong and returns a stand-in, so that reading goes on to the next
//! problem. A stand-in is never used: a file with problems yields no settings.
//!
//! Messages quote a value only as it was written, never what a reference led
//! to, and never the value of a key that holds a secret.

use std::cell::RefCell;
use std::path::PathBuf;
use std::time::Duration;

use tidegate_sink_object::path_of_url;

use super::node::{Entry, Node, Value};
use super::problems::Problems;
use super::quantity;
use super::reference::References;
use super::secret::Secret;

/// What reading a file needs at every place.
pub(super) struct Reader<'a> {
    pub(super) problems: RefCell<Problems>,
    pub(super) references: References<'a>,
}

/// A map of the file.
pub(super) struct Section<'a> {
    pub(super) reader: &'a Reader<'a>,
    /// As people would name it: `source.snapshot`, `sinks[]`; empty at the top.
    path: String,
    /// Where it starts, or the place that it is missing from.
    pub(super) line: u64,
    entries: &'a [Entry],
}

impl<'a> Section<'a> {
    /// The map at this node; empty, with a problem noted, when it is none.
    pub(super) fn new(reader: &'a Reader<'a>, path: impl Into<String>, node: &'a Node) -> Self {
        let path = path.into();
        let entries = match &node.value {
            Value::Map(entries) => entries.as_slice(),
            _ => {
                let name = if path.is_empty() { "the file" } else { path.as_str() };
                let message = format!("{} must be a map of keys, not {}", quote(name), node.kind());
                reader.problems.borrow_mut().add(node.line, message, "write `key: value`");
                &[]
            }
        };
        Self { reader, path, line: node.line, entries }
    }

    /// The section below; an absent one is empty.
    pub(super) fn section(&self, key: &str) -> Section<'a> {
        let path = self.path_of(key);
        match self.node(key) {
            Some(node) => Section::new(self.reader, path, node),
            None => Section { reader: self.reader, path, line: self.line, entries: &[] },
        }
    }

    /// The node of a key, when something stands there.
    pub(super) fn node(&self, key: &str) -> Option<&'a Node> {
        let entry = self.entries.iter().find(|entry| entry.key == key)?;
        (!matches!(entry.node.value, Value::Null)).then_some(&entry.node)
    }

    /// The node of a key that must be there.
    pub(super) fn required(&self, key: &str) -> Option<&'a Node> {
        let node = self.node(key);
        if node.is_none() {
            let place = if self.path.is_empty() { String::new() } else { format!(" in '{}'", self.path) };
            self.problem(self.line, format!("'{key}' is missing{place}"), "");
        }
        node
    }

    /// The items of a list; none when it is absent.
    pub(super) fn list(&self, key: &str) -> &'a [Node] {
        match self.node(key) {
            None => &[],
            Some(Node { value: Value::List(items), .. }) => items,
            Some(node) => {
                self.wrong_kind(key, node, "a list", "write each item on a line of its own, behind `- `");
                &[]
            }
        }
    }

    /// Text, its references replaced.
    pub(super) fn text(&self, key: &str) -> Option<String> {
        self.text_of(key, self.node(key)?)
    }

    /// Text that must be there.
    pub(super) fn required_text(&self, key: &str) -> String {
        self.required(key).and_then(|node| self.text_of(key, node)).unwrap_or_default()
    }

    /// Text that nothing shows.
    pub(super) fn secret(&self, key: &str) -> Option<Secret> {
        self.text(key).map(Secret::new)
    }

    /// A word that can be a folder's name and a label: letters, digits, `-` and `_`.
    pub(super) fn name(&self, key: &str) -> String {
        let name = self.required_text(key);
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if let Some(node) = self.node(key)
            && matches!(node.value, Value::Text(_))
            && (name.is_empty() || name.len() > 64 || !name.chars().all(fits) || name.starts_with('-'))
        {
            let message = format!("{} must be a plain name", quote(&self.path_of(key)));
            self.problem(node.line, message, "use up to 64 letters, digits, `-` and `_`, no `-` in front");
        }
        name
    }

    /// A path; a relative one starts at the file's folder.
    pub(super) fn path(&self, key: &str) -> Option<PathBuf> {
        self.text(key).map(|path| self.reader.references.path(path))
    }

    /// A folder as `file:PATH`.
    pub(super) fn file_url(&self, key: &str) -> Option<PathBuf> {
        let url = self.text(key)?;
        let line = self.node(key).map_or(self.line, |node| node.line);
        let place = self.path_of(key);
        match url.split_once(':') {
            Some(("file", _)) => match path_of_url(&url, &self.reader.references.folder) {
                Ok(path) => Some(self.reader.references.path(path)),
                Err(error) => {
                    self.problem(
                        line,
                        format!("'{place}': {}", error.message()),
                        error.hint_text().unwrap_or_default(),
                    );
                    None
                }
            },
            Some(("s3" | "gs" | "gcs" | "az" | "azblob" | "abfs" | "abfss" | "hdfs", _)) => {
                let message = format!("'{place}': a store other than `file:` is not yet supported");
                self.unsupported(line, message, "write file:PATH");
                None
            }
            _ => {
                let message = format!("'{place}' must be a URL");
                self.problem(line, message, "write file:PATH; a relative path starts at this file");
                None
            }
        }
    }

    /// A whole number within bounds.
    pub(super) fn integer(&self, key: &str, least: u64, most: u64) -> Option<u64> {
        let node = self.node(key)?;
        let value = match &node.value {
            Value::Integer(value) => u64::try_from(*value).ok(),
            // A reference yields text.
            Value::Text(text) if text.contains("${") => self.text_of(key, node)?.parse().ok(),
            _ => None,
        };
        let value = value.filter(|value| (least..=most).contains(value));
        if value.is_none() {
            let message = format!("'{}' must be a whole number from {least} to {most}", self.path_of(key));
            self.problem(node.line, message, "");
        }
        value
    }

    /// A duration of at least one millisecond.
    pub(super) fn duration(&self, key: &str) -> Option<Duration> {
        self.quantity(key, "a duration", quantity::DURATION_FORM, |text| {
            quantity::duration(text).filter(|duration| !duration.is_zero())
        })
    }

    /// A number of bytes within bounds.
    pub(super) fn size(&self, key: &str, least: u64, most: u64) -> Option<u64> {
        let bytes = self.quantity(key, "a size", quantity::SIZE_FORM, quantity::size)?;
        if !(least..=most).contains(&bytes) {
            let line = self.node(key).map_or(self.line, |node| node.line);
            let (least, most) = (quantity::shown(least), quantity::shown(most));
            let message = format!("'{}' must be from {least} to {most}", self.path_of(key));
            self.problem(line, message, "");
        }
        Some(bytes)
    }

    /// One of a few words; `later` are those that are not built yet.
    pub(super) fn choice<T: Copy>(&self, key: &str, words: &[(&str, T)], later: &[&str]) -> Option<T> {
        let node = self.node(key)?;
        let word = self.text_of(key, node)?;
        if let Some((_, value)) = words.iter().find(|(name, _)| *name == word) {
            return Some(*value);
        }
        let place = self.path_of(key);
        let names: Vec<&str> = words.iter().map(|(name, _)| *name).collect();
        let known = format!("write {}", names.join(", or "));
        if later.contains(&word.as_str()) {
            self.unsupported(node.line, format!("'{place}: {word}' is not yet supported"), &known);
            return None;
        }
        let hint = match super::nearest::nearest(&word, &names) {
            Some(near) => format!("did you mean '{near}'?"),
            None => known,
        };
        // As it was written: what a reference led to may be a secret in the wrong place.
        let written = match &node.value {
            Value::Text(text) => text.as_str(),
            _ => "",
        };
        self.problem(node.line, format!("'{place}' cannot be '{written}'"), hint);
        None
    }

    /// Notes a problem.
    pub(super) fn problem(&self, line: u64, message: impl Into<String>, hint: impl Into<String>) {
        self.reader.problems.borrow_mut().add(line, message, hint);
    }

    /// Notes something that is not built yet.
    pub(super) fn unsupported(&self, line: u64, message: impl Into<String>, hint: &str) {
        self.reader.problems.borrow_mut().unsupported(line, message, hint);
    }

    /// The text of a node that stands at or below `key`.
    pub(super) fn text_of(&self, key: &str, node: &Node) -> Option<String> {
        let Value::Text(text) = &node.value else {
            self.wrong_kind(key, node, "text", "put quotes around it");
            return None;
        };
        match self.reader.references.resolve(text) {
            Ok(text) => Some(text),
            Err((message, hint)) => {
                self.problem(node.line, format!("'{}': {message}", self.path_of(key)), hint);
                None
            }
        }
    }

    fn quantity<T>(&self, key: &str, what: &str, form: &str, parse: impl Fn(&str) -> Option<T>) -> Option<T> {
        let node = self.node(key)?;
        let value = match &node.value {
            Value::Text(_) => parse(&self.text_of(key, node)?),
            _ => None,
        };
        if value.is_none() {
            self.problem(node.line, format!("'{}' must be {what}", self.path_of(key)), form);
        }
        value
    }

    fn wrong_kind(&self, key: &str, node: &Node, expected: &str, hint: &str) {
        let message = format!("'{}' must be {expected}, not {}", self.path_of(key), node.kind());
        self.problem(node.line, message, hint);
    }

    pub(super) fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }
}

fn quote(name: &str) -> String {
    if name == "the file" { name.to_owned() } else { format!("'{name}'") }
}
