//! Dead letters as lines of JSON: `docs/specs/dead-letter.md`.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tidegate_model::{ChangeBatch, DeadLetter, Image, Operation};

use crate::json::Cells;
use crate::layout;
use crate::name::table_text;
use crate::offset::TableNameRecord;
use crate::record::Record;
use crate::text;

/// Beside the cells of an image: names of those that hold the server's text
/// because the value has no form of its own (a zero date).
pub const TEXT_CELLS: &str = "__text";

/// A refused event: where it was, why it was refused, and its original images.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeadLetterRecord {
    /// Format version.
    pub version: u32,
    /// 16 hexadecimal digits that name it: a hash of pipeline, epoch, position,
    /// index and stage, and for a snapshot row of its generation and key.
    pub id: String,
    /// The pipeline.
    pub pipeline: String,
    /// Epoch of the position.
    pub epoch: u32,
    /// `__pos` of the event.
    pub pos: String,
    /// `__idx` of the event.
    pub idx: i64,
    /// Who refused: `source`, `transform:NAME`, `sink:NAME`.
    pub stage: String,
    /// Source table.
    pub table: TableNameRecord,
    /// Its identity.
    pub table_uid: u64,
    /// Its version at that position.
    pub source_version: u64,
    /// Its snapshot generation.
    pub generation: u64,
    /// `c`, `u`, `d` or `r`.
    pub operation: String,
    /// The transaction; null for a snapshot row.
    pub tx: Option<String>,
    /// Commit time, ISO UTC.
    pub commit_ts: String,
    /// The module that refused; empty for other stages.
    pub module: String,
    /// Reason for programs.
    pub code: String,
    /// Column to blame.
    pub column: Option<String>,
    /// Reason for the person who mends it.
    pub message: String,
    /// The row as it was; cells as in JSON lines, with `__absent` and `__text`
    /// beside them where they apply.
    pub before: Option<Map<String, Value>>,
    /// The row as it is.
    pub after: Option<Map<String, Value>>,
}

impl Record for DeadLetterRecord {
    const NAME: &'static str = "dead letter";
    const VERSION: u32 = 1;
}

impl DeadLetterRecord {
    /// The record of a refused event of this pipeline.
    pub fn new(pipeline: &str, letter: &DeadLetter) -> Self {
        let event = &letter.event;
        let (position, transaction) = (letter.position(), event.transaction(0));
        let mut commit_ts = Vec::new();
        text::datetime(&mut commit_ts, transaction.commit_time_us, "Z");
        let before = image(letter, Image::Before);
        let after = image(letter, Image::After);
        Self {
            version: Self::VERSION,
            id: id(pipeline, letter, after.as_ref()),
            pipeline: pipeline.to_owned(),
            epoch: position.tx.epoch,
            pos: position.tx.to_string(),
            idx: position.idx,
            stage: letter.stage.to_string(),
            table: (&event.table.name).into(),
            table_uid: event.table.uid.0,
            source_version: event.table.version,
            generation: event.generation,
            operation: event.events.operation[0].letter().to_owned(),
            tx: transaction.gtid.map(|gtid| gtid.to_string()),
            commit_ts: String::from_utf8(commit_ts).expect("a date is ASCII"),
            module: letter.module.to_string(),
            code: letter.refusal.code.as_str().to_owned(),
            column: letter.refusal.column.clone(),
            message: letter.refusal.message.clone(),
            before,
            after,
        }
    }
}

/// The event's row of this side, if it has one.
fn image(letter: &DeadLetter, side: Image) -> Option<Map<String, Value>> {
    let batch = &letter.event;
    let row = batch.rows_of(0).find(|&row| batch.rows.image[row] == side)?;
    let mut members = cells(batch, row);
    let mut texts = Vec::new();
    for (_, column, text) in letter.refusal.texts.iter().filter(|(of_row, ..)| *of_row as usize == row) {
        let name = &batch.table.columns[*column as usize].name;
        members.insert(name.clone(), Value::from(text.as_str()));
        texts.push(Value::from(name.as_str()));
    }
    if !texts.is_empty() {
        members.insert(TEXT_CELLS.to_owned(), Value::Array(texts));
    }
    Some(members)
}

/// A row by the rules of JSON lines, so that there is one set of rules.
fn cells(batch: &ChangeBatch, row: usize) -> Map<String, Value> {
    let cells = Cells::new(batch, batch.table.columns.iter().map(|column| column.name.as_str()));
    let mut line = vec![b'{'];
    cells.write(row, &mut line);
    line.push(b'}');
    let mut members: Map<String, Value> = serde_json::from_slice(&line).expect("an object was just written");
    let mut names = Vec::new();
    cells.write_absent(row, &mut names);
    let names: Value = serde_json::from_slice(&names).expect("a list was just written");
    if !names.is_null() {
        members.insert(layout::ABSENT.to_owned(), names);
    }
    members
}

fn id(pipeline: &str, letter: &DeadLetter, after: Option<&Map<String, Value>>) -> String {
    let (position, event) = (letter.position(), &letter.event);
    let stage = letter.stage.to_string();
    let (pos, idx) = (position.tx.to_string(), position.idx.to_string());
    let mut parts = vec![pipeline.to_owned(), pos, idx, stage];
    if event.events.operation[0] == Operation::Snapshot {
        // Rows of a chunk share their position: generation and key tell them apart,
        // and without a key the whole row does.
        parts.extend([table_text(&event.table.name), event.generation.to_string()]);
        let columns = &event.table.columns;
        let names: Vec<_> = match event.table.key.as_slice() {
            [] => columns.iter().map(|column| &column.name).collect(),
            key => key.iter().map(|&index| &columns[index].name).collect(),
        };
        parts.extend(names.iter().map(|name| {
            let value = after.and_then(|after| after.get(name.as_str()));
            value.map(Value::to_string).unwrap_or_default()
        }));
    }
    let mut hasher = blake3::Hasher::new();
    for part in &parts {
        // With its length in front, no two lists of parts give the same bytes.
        hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
    }
    hasher.finalize().to_hex()[..16].to_owned()
}
