//! The JSON of the `config` key, parsed with all problems reported at once.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::keys::suggestion;
use crate::mask::Mask;
use crate::rules::Rules;
use crate::template::Template;
use crate::types;

const RULE_KEYS: [&str; 9] =
    ["rename", "cast", "default", "mask", "drop", "keep", "compute", "key", "unlisted_columns"];
const TOP_KEYS: [&str; 2] = ["unlisted_tables", "per_table"];
const SYSTEM_COLUMNS: [&str; 4] = ["$operation", "$commit-time", "$position", "$transaction"];

/// The whole configuration.
#[derive(Debug, Default)]
pub(crate) struct Config {
    /// Rules for all tables.
    pub(crate) flat: Rules,
    /// Rules for one table, by its dotted name.
    pub(crate) per_table: BTreeMap<String, Rules>,
    pub(crate) drop_unlisted_tables: bool,
}

impl Config {
    /// Parses a JSON object; an empty text or `null` is an empty one.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let text = if text.trim().is_empty() { "{}" } else { text };
        let value: Value =
            serde_json::from_str(text).map_err(|error| format!("config is not JSON: {error}"))?;
        let object = match value {
            Value::Object(object) => object,
            Value::Null => Map::new(),
            _ => return Err("config must be a map of keys".into()),
        };
        let mut problems = Problems::default();
        let config = Self::from_object(&object, &mut problems);
        if problems.0.is_empty() { Ok(config) } else { Err(problems.0.join("; ")) }
    }

    fn from_object(object: &Map<String, Value>, problems: &mut Problems) -> Self {
        let mut config = Self { flat: rules(object.iter(), "", &TOP_KEYS, problems), ..Self::default() };
        if let Some(value) = object.get("per_table") {
            for (table, value) in problems.map(value, "per_table") {
                let path = format!("per_table.{table}");
                let entries = problems.map(value, &path);
                config.per_table.insert(table.clone(), rules(entries, &format!("{path}."), &[], problems));
            }
        }
        if let Some(value) = object.get("unlisted_tables") {
            config.drop_unlisted_tables = problems.pass_or_drop(value, "unlisted_tables");
            if config.drop_unlisted_tables && config.per_table.is_empty() {
                problems.add("`unlisted_tables: drop` without `per_table` would drop every table");
            }
        }
        config
    }
}

fn rules<'v>(
    entries: impl Iterator<Item = (&'v String, &'v Value)>,
    path: &str,
    also: &[&str],
    problems: &mut Problems,
) -> Rules {
    let mut rules = Rules::default();
    for (key, value) in entries {
        let at = format!("{path}{key}");
        match key.as_str() {
            "rename" => rules.rename = problems.entries(value, &at, output_name),
            "cast" => rules.cast = problems.entries(value, &at, |_, value| types::parse(text(value)?)),
            "default" => rules.default = problems.entries(value, &at, default_literal),
            "mask" => rules.mask = problems.entries(value, &at, |_, value| Mask::parse(value)),
            "compute" => {
                rules.compute = problems.entries(value, &at, |name, value| {
                    check_output_name(name)?;
                    Template::parse(text(value)?)
                });
            }
            "drop" => rules.drop = problems.names(value, &at).into_iter().collect(),
            "keep" => rules.keep = problems.names(value, &at).into_iter().collect(),
            "key" => rules.key = Some(problems.names(value, &at)),
            "unlisted_columns" => rules.drop_unlisted = Some(problems.pass_or_drop(value, &at)),
            key if also.contains(&key) => {}
            key => {
                let known = RULE_KEYS.iter().chain(also).copied();
                problems.add(format!("unknown key `{at}`{}", suggestion(key, known)));
            }
        }
    }
    check(&rules, path, problems);
    rules
}

/// What a single set of rules can contradict by itself.
fn check(rules: &Rules, path: &str, problems: &mut Problems) {
    for column in rules.drop.iter().filter(|column| rules.brings_out(column)) {
        problems.add(format!("`{path}drop` names `{column}`, which is renamed, masked or kept as well"));
    }
    for (key, column) in rules.named() {
        if column.starts_with('$') && !SYSTEM_COLUMNS.contains(&column) {
            let hint = suggestion(column, SYSTEM_COLUMNS);
            problems.add(format!("`{path}{key}` names the unknown system column `{column}`{hint}"));
        }
    }
    let key = rules.key.as_deref().unwrap_or_default();
    if key.iter().collect::<BTreeSet<_>>().len() < key.len() {
        problems.add(format!("`{path}key` names a column twice"));
    }
    if key.len() > usize::from(u8::MAX) {
        problems.add(format!("`{path}key` has more than 255 columns"));
    }
}

fn output_name(_column: &str, value: &Value) -> Result<String, String> {
    let name = text(value)?;
    check_output_name(name)?;
    Ok(name.into())
}

fn check_output_name(name: &str) -> Result<(), String> {
    match name {
        "" => Err("an output column needs a name".into()),
        name if name.starts_with('$') => Err(format!("`{name}`: names with `$` belong to system columns")),
        _ => Ok(()),
    }
}

fn default_literal(_column: &str, value: &Value) -> Result<Value, String> {
    if value.is_null() { Err("null is no default".into()) } else { Ok(value.clone()) }
}

fn text(value: &Value) -> Result<&str, String> {
    value.as_str().ok_or_else(|| format!("must be a text, not {value}"))
}

/// The problems found so far, and readers that add to them instead of stopping.
#[derive(Default)]
struct Problems(Vec<String>);

impl Problems {
    fn add(&mut self, problem: impl Into<String>) {
        self.0.push(problem.into());
    }

    /// The entries of a map; none of an empty value, as YAML has it for a key
    /// without content.
    fn map<'v>(
        &mut self,
        value: &'v Value,
        at: &str,
    ) -> impl Iterator<Item = (&'v String, &'v Value)> + use<'v> {
        if !matches!(value, Value::Object(_) | Value::Null) {
            self.add(format!("`{at}` must be a map"));
        }
        value.as_object().into_iter().flatten()
    }

    fn entries<T>(
        &mut self,
        value: &Value,
        at: &str,
        parse: impl Fn(&str, &Value) -> Result<T, String>,
    ) -> BTreeMap<String, T> {
        let mut entries = BTreeMap::new();
        for (name, value) in self.map(value, at) {
            match parse(name, value) {
                Ok(entry) => drop(entries.insert(name.clone(), entry)),
                Err(problem) => self.add(format!("`{at}.{name}`: {problem}")),
            }
        }
        entries
    }

    fn names(&mut self, value: &Value, at: &str) -> Vec<String> {
        let names = value.as_array().and_then(|list| {
            list.iter().map(|name| name.as_str().map(String::from)).collect::<Option<Vec<String>>>()
        });
        names.unwrap_or_else(|| {
            self.add(format!("`{at}` must be a list of column names"));
            Vec::new()
        })
    }

    fn pass_or_drop(&mut self, value: &Value, at: &str) -> bool {
        match value.as_str() {
            Some("pass") => false,
            Some("drop") => true,
            _ => {
                self.add(format!("`{at}` must be `pass` or `drop`"));
                false
            }
        }
    }
}
