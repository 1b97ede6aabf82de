//! The readers that are not ours, in a Python process beside the tests.
//!
//! One process serves all tests: starting Python with both readers costs a third of a second.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

use serde_json::{Map, Number, Value, json};

use super::paths;

/// One row: a column's name and its cell in the exact form of `tests/rig/lake_reader.py`.
pub type Row = Map<String, Value>;

/// What a reader answered.
#[derive(Clone, Debug)]
pub struct Table {
    /// Names and the reader's own types, in order.
    pub columns: Vec<(String, String)>,
    /// The rows, in order.
    pub rows: Vec<Row>,
}

impl Table {
    /// The cells of one column.
    pub fn column(&self, name: &str) -> Vec<&Value> {
        self.rows.iter().map(|row| row.get(name).unwrap_or_else(|| panic!("no column '{name}'"))).collect()
    }

    /// The one cell of an answer that has one.
    pub fn value(&self) -> &Value {
        match self.rows.as_slice() {
            [row] if row.len() == 1 => row.values().next().expect("there is one"),
            _ => panic!("not one cell but {:?}", self.rows),
        }
    }
}

/// The readers.
#[derive(Debug)]
struct Reader {
    _process: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

/// Asks a reader, `duckdb`, `pyarrow` or `json_lines`; the request forms are its script's.
///
/// # Panics
/// With the reader's message if it cannot answer.
pub fn read(reader: &str, argument: &Value) -> Table {
    static READER: OnceLock<Mutex<Reader>> = OnceLock::new();
    let shared = READER.get_or_init(|| Mutex::new(Reader::start()));
    // A test that failed while it held the lock had sent a whole request and got a whole answer.
    let answer = shared.lock().unwrap_or_else(PoisonError::into_inner).ask(&json!({ reader: argument }));
    if let Some(error) = answer.get("error").and_then(Value::as_str) {
        panic!("{reader}: {error}\nin: {argument}");
    }
    table(answer).expect("the reader answers in its own form")
}

/// Files as a request names them.
pub(super) fn paths_argument(files: &[PathBuf]) -> Value {
    files.iter().map(|file| Value::from(utf8(file))).collect()
}

pub(super) fn utf8(path: &Path) -> &str {
    path.to_str().expect("the rig's folders have UTF-8 names")
}

impl Reader {
    fn start() -> Self {
        let mut process = Command::new(paths::python())
            .arg(paths::workspace().join("tests/rig/lake_reader.py"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the rig's Python runs");
        let requests = process.stdin.take().expect("it is piped");
        let answers = BufReader::new(process.stdout.take().expect("it is piped"));
        Self { _process: process, requests, answers }
    }

    fn ask(&mut self, request: &Value) -> Value {
        writeln!(self.requests, "{request}").expect("the reader lives");
        let mut answer = String::new();
        self.answers.read_line(&mut answer).expect("the reader answers");
        serde_json::from_str(&answer).expect("the reader answers in JSON")
    }
}

fn table(answer: Value) -> Option<Table> {
    let Value::Object(mut answer) = answer else { return None };
    let columns = answer.get("columns")?.as_array()?.iter();
    let columns = columns.map(|column| {
        Some((column.get("name")?.as_str()?.to_owned(), column.get("type")?.as_str()?.to_owned()))
    });
    let columns = columns.collect::<Option<_>>()?;
    let Value::Array(rows) = answer.remove("rows")? else { return None };
    let rows = rows.into_iter().map(|row| match row {
        Value::Object(row) => Some(row.into_iter().map(|(name, cell)| (name, one_text(cell))).collect()),
        _ => None,
    });
    Some(Table { columns, rows: rows.collect::<Option<_>>()? })
}

/// Numbers are compared by their text, which for floats Python and Rust write differently (`1e+16`).
/// Integers, however large, have one text only.
fn one_text(cell: Value) -> Value {
    let Value::Number(number) = cell else { return cell };
    let text = number.to_string();
    let float = if text.contains(['.', 'e']) { number.as_f64().and_then(Number::from_f64) } else { None };
    Value::Number(float.unwrap_or(number))
}
