//! Texts of DDL statements whose effect no row has shown yet.
//!
//! A column change is derived at the first row behind it, from the statement's
//! text and the row's layout. The statement may lie before the place where the
//! next run begins, so its text is durable until the change that it belongs to
//! is recorded.

use redb::WriteTransaction;
use serde::{Deserialize, Serialize};
use tidegate_format::TxPositionRecord;
use tidegate_format::record::{self, Record};
use tidegate_model::source::DdlNote;
use tidegate_model::{Result, SchemaChange, TableUid};

use crate::state::State;
use crate::store::failed;
use crate::tables::DDL_NOTES;

/// Twin of [`DdlNote`]: `docs/specs/state-file.md`. The text may hold default
/// values: never printed.
#[derive(Debug, Serialize, Deserialize)]
struct DdlNoteRecord {
    version: u32,
    position: TxPositionRecord,
    schema: String,
    sql: String,
    #[serde(default = "yes")]
    backslash_escapes: bool,
    strict: bool,
}

fn yes() -> bool {
    true
}

impl Record for DdlNoteRecord {
    const NAME: &'static str = "DDL note";
    const VERSION: u32 = 1;
}

impl State {
    pub(crate) fn write_ddl_note(&self, note: &DdlNote) -> Result<()> {
        let record = DdlNoteRecord {
            version: DdlNoteRecord::VERSION,
            position: note.position.into(),
            schema: note.schema.clone(),
            sql: note.sql.clone(),
            backslash_escapes: note.backslash_escapes,
            strict: note.strict,
        };
        self.store.write("ddl-note", |transaction| {
            let mut notes = transaction.open_table(DDL_NOTES).map_err(failed)?;
            let position = note.position.to_string();
            notes.insert((note.table.0, position.as_str()), &record::encode(&record)?[..]).map_err(failed)?;
            Ok(())
        })
    }

    pub(crate) fn read_ddl_notes(&self, table: TableUid) -> Result<Vec<DdlNote>> {
        self.store.read(|transaction| {
            let notes = transaction.open_table(DDL_NOTES).map_err(failed)?;
            let mut read = Vec::new();
            for entry in notes.range((table.0, "")..(table.0 + 1, "")).map_err(failed)? {
                let (_, bytes) = entry.map_err(failed)?;
                let note: DdlNoteRecord = record::decode(bytes.value())?;
                read.push(DdlNote {
                    table,
                    position: note.position.into(),
                    schema: note.schema,
                    sql: note.sql,
                    backslash_escapes: note.backslash_escapes,
                    strict: note.strict,
                });
            }
            Ok(read)
        })
    }
}

/// Forgets the notes that this recorded change has used up. The text of a
/// position sorts like the position.
pub(crate) fn forget_used(transaction: &WriteTransaction, change: &SchemaChange) -> Result<()> {
    let mut notes = transaction.open_table(DDL_NOTES).map_err(failed)?;
    let (uid, last) = (change.after.uid.0, change.position.to_string());
    notes.retain_in((uid, "")..=(uid, last.as_str()), |_, _| false).map_err(failed)?;
    Ok(())
}
