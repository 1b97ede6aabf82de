//! Statements of the log: transaction borders, DDL, and DML as text.

use tidegate_model::{Result, TableName, source};

use super::{Assembler, way_out};
use crate::binlog::{Query, type_code};
use crate::ddl::{Effect, Statement};
use crate::derive::DdlNote;

/// `sql_mode` bits STRICT_TRANS_TABLES and STRICT_ALL_TABLES.
const STRICT: u64 = 1 << 21 | 1 << 22;
/// `sql_mode` bit NO_BACKSLASH_ESCAPES.
const NO_BACKSLASH_ESCAPES: u64 = 1 << 20;

impl Assembler {
    pub(super) fn query(&mut self, query: &Query<'_>) -> Result<()> {
        let ends = self.group.as_ref().is_none_or(|group| group.gtid.standalone);
        match Statement::classify(&query.sql, &query.schema, backslash_escapes(query)) {
            Statement::Begin | Statement::Quiet => {}
            Statement::Commit => {
                self.end();
                return Ok(());
            }
            Statement::Rollback => {
                self.park_touched("has rows in a transaction that was logged and then rolled back");
                self.end();
                return Ok(());
            }
            Statement::RollbackTo => {
                self.park_touched("has rows behind a savepoint that was logged and then rolled back");
            }
            Statement::Tables(effects) => {
                for effect in effects {
                    self.effect(effect, query)?;
                }
            }
            Statement::Rows(mentions) => {
                self.park_all(|name| mentions.table(name), "was changed by a statement in STATEMENT format");
            }
            Statement::Unknown(mentions) => {
                self.park_all(|name| mentions.table(name), "is named by a statement that is not understood");
            }
        }
        if ends {
            self.end();
        }
        Ok(())
    }

    /// LOAD DATA in statement format tells its table in a form of its own; it is
    /// rare enough to be cautious about every table.
    pub(super) fn statement_part(&mut self, type_code: u8) {
        if type_code == type_code::EXECUTE_LOAD_QUERY {
            self.park_all(|_| true, "may have been changed by LOAD DATA in STATEMENT format");
        }
    }

    fn park_all(&mut self, affected: impl Fn(&TableName) -> bool, what: &str) {
        for table in 0..self.tables.all().len() {
            if affected(&self.tables[table].name) {
                self.park(table, way_out(&self.tables[table].name, what));
            }
        }
    }

    fn effect(&mut self, effect: Effect, query: &Query<'_>) -> Result<()> {
        match effect {
            Effect::Create { table: name, replace } => {
                match self.tables.find(&name.schema, &name.table) {
                    Some(table) if replace && self.tables[table].version.is_some() => {
                        self.park(table, way_out(&name, "was replaced"));
                    }
                    // IF NOT EXISTS on an existing table changes nothing.
                    Some(table) if self.tables[table].version.is_some() => {}
                    Some(table) => self.note(table, query)?,
                    None if self.config.captures(&name) => {
                        let table = self.add_created(name)?;
                        self.note(table, query)?;
                    }
                    None => {}
                }
            }
            Effect::Alter { table: name, .. } => {
                if let Some(table) = self.tables.find(&name.schema, &name.table) {
                    self.note(table, query)?;
                }
            }
            Effect::Stop { table: name, why } => {
                if let Some(table) = self.tables.find(&name.schema, &name.table) {
                    self.park(table, way_out(&name, why));
                }
            }
            Effect::Appear { table: name } => {
                if let Some(table) = self.tables.find(&name.schema, &name.table) {
                    self.park(table, way_out(&name, "was replaced by another one under its name"));
                }
            }
            Effect::DropSchema { schema } => {
                self.park_all(
                    |name| name.schema.eq_ignore_ascii_case(&schema),
                    "was dropped with its schema",
                );
            }
        }
        Ok(())
    }

    /// Keeps a DDL until the table's next rows show what it did, also over a
    /// restart.
    fn note(&mut self, table: usize, query: &Query<'_>) -> Result<()> {
        let position = self.here();
        let state = &mut self.tables[table];
        if state.parked || state.notes.iter().any(|note| note.position == position) {
            return Ok(());
        }
        let kept = source::DdlNote {
            table: state.uid,
            position,
            schema: query.schema.clone().into_owned(),
            sql: query.sql.clone().into_owned(),
            backslash_escapes: backslash_escapes(query),
            strict: query.sql_mode.is_some_and(|mode| mode & STRICT != 0),
        };
        self.journal.note_ddl(&kept)?;
        state.notes.push(DdlNote::read(&kept));
        Ok(())
    }
}

/// How the session read backslashes in its strings.
fn backslash_escapes(query: &Query<'_>) -> bool {
    query.sql_mode.is_none_or(|mode| mode & NO_BACKSLASH_ESCAPES == 0)
}
