//! Classification of one statement.

use tidegate_model::TableName;

use super::alter::{ColumnClause, clauses};
use super::cursor::Cursor;
use super::tokens::{Token, tokens};

/// What a statement does to a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Effect {
    /// CREATE TABLE in any form. With `replace` an older table of the name goes
    /// away first; without, an existing one stays as it is.
    Create {
        /// The table.
        table: TableName,
        /// CREATE OR REPLACE.
        replace: bool,
    },
    /// ALTER TABLE that keeps rows and name.
    Alter {
        /// The table.
        table: TableName,
        /// What it says about columns.
        columns: Vec<ColumnClause>,
    },
    /// The table's rows or its name go away without row events.
    Stop {
        /// The table.
        table: TableName,
        /// What happened, to be read after "the table" (`was truncated`).
        why: &'static str,
    },
    /// A name that now stands for a table which had another one.
    Appear {
        /// The table under its new name.
        table: TableName,
    },
    /// All tables of a schema go away.
    DropSchema {
        /// The schema.
        schema: String,
    },
}

/// A statement of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Statement {
    /// BEGIN.
    Begin,
    /// COMMIT: the group's rows count.
    Commit,
    /// ROLLBACK: the group's transactional rows do not count.
    Rollback,
    /// ROLLBACK TO: the rows behind the savepoint do not count.
    RollbackTo,
    /// Means nothing for rows and structure of tables.
    Quiet,
    /// Changes tables.
    Tables(Vec<Effect>),
    /// Changed rows as text: those rows are not in the log.
    Rows(Mentions),
    /// Not understood.
    Unknown(Mentions),
}

/// The names in a statement, to tell which tables it may touch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mentions(Option<Vec<String>>);

impl Mentions {
    /// True when the statement may be about this table. Cautious: any word that
    /// reads like the table's name counts.
    pub(crate) fn table(&self, name: &TableName) -> bool {
        let same = |word: &String| word.to_lowercase() == name.table.to_lowercase();
        self.0.as_ref().is_none_or(|words| words.iter().any(same))
    }
}

impl Statement {
    /// Classifies `sql`, run with the default schema `schema`; `escapes` as for
    /// [`tokens`].
    pub(crate) fn classify(sql: &str, schema: &str, escapes: bool) -> Self {
        let Some(tokens) = tokens(sql, escapes) else { return Self::Unknown(Mentions(None)) };
        let names = || {
            let words = tokens.iter().filter_map(Token::as_name).map(str::to_owned);
            Mentions(Some(words.collect()))
        };
        let mut at = Cursor::new(&tokens, schema);
        set_statement(&mut at);
        let Some(first) = at.next() else { return Self::Quiet };
        let Token::Word(verb) = first else { return Self::Unknown(names()) };
        let effects = match verb.to_ascii_uppercase().as_str() {
            "BEGIN" | "START" => return Self::Begin,
            "COMMIT" => return Self::Commit,
            "ROLLBACK" if at.contains("TO") => return Self::RollbackTo,
            "ROLLBACK" => return Self::Rollback,
            "SAVEPOINT" | "RELEASE" | "XA" | "SET" | "GRANT" | "REVOKE" | "FLUSH" | "ANALYZE"
            | "OPTIMIZE" | "REPAIR" | "CHECK" | "USE" | "INSTALL" | "UNINSTALL" | "KILL" | "LOCK"
            | "UNLOCK" | "DO" | "SHUTDOWN" => return Self::Quiet,
            "INSERT" | "REPLACE" | "UPDATE" | "DELETE" | "LOAD" | "WITH" | "CALL" | "SELECT" | "EXECUTE" => {
                return Self::Rows(names());
            }
            "CREATE" => create(at),
            "ALTER" => alter(at),
            "DROP" => drop(at),
            "TRUNCATE" => truncate(at),
            "RENAME" => rename(at),
            _ => None,
        };
        match effects {
            Some(effects) if effects.is_empty() => Self::Quiet,
            Some(effects) => Self::Tables(effects),
            None => Self::Unknown(names()),
        }
    }
}

/// Skips `SET STATEMENT a = b, … FOR` in front of a statement.
fn set_statement(at: &mut Cursor<'_>) {
    if at.take(&["SET", "STATEMENT"]) {
        while at.next().is_some_and(|token| !token.is("FOR")) {}
    }
}

fn create(mut at: Cursor<'_>) -> Option<Vec<Effect>> {
    let replace = at.take(&["OR", "REPLACE"]);
    if at.take(&["TEMPORARY"]) || !at.take(&["TABLE"]) {
        // Views, triggers, routines, indexes, users, databases, sequences.
        return Some(Vec::new());
    }
    at.take(&["IF", "NOT", "EXISTS"]);
    Some(vec![Effect::Create { table: at.table()?, replace }])
}

fn alter(mut at: Cursor<'_>) -> Option<Vec<Effect>> {
    at.take(&["ONLINE"]);
    let ignore = at.take(&["IGNORE"]);
    if !at.take(&["TABLE"]) {
        return Some(Vec::new());
    }
    at.take(&["IF", "EXISTS"]);
    let table = at.table()?;
    let mut clauses = clauses(at)?;
    if ignore {
        clauses.stops = Some("was altered with IGNORE, which may remove rows without row events");
    }
    Some(vec![match clauses.stops {
        Some(why) => Effect::Stop { table, why },
        None => Effect::Alter { table, columns: clauses.columns },
    }])
}

fn drop(mut at: Cursor<'_>) -> Option<Vec<Effect>> {
    if at.take(&["DATABASE"]) || at.take(&["SCHEMA"]) {
        at.take(&["IF", "EXISTS"]);
        return Some(vec![Effect::DropSchema { schema: at.name()? }]);
    }
    // Temporary tables are never captured.
    if at.take(&["TEMPORARY"]) || !(at.take(&["TABLE"]) || at.take(&["TABLES"])) {
        return Some(Vec::new());
    }
    at.take(&["IF", "EXISTS"]);
    let stop = |table| Effect::Stop { table, why: "was dropped" };
    Some(at.tables()?.into_iter().map(stop).collect())
}

fn truncate(mut at: Cursor<'_>) -> Option<Vec<Effect>> {
    at.take(&["TABLE"]);
    Some(vec![Effect::Stop { table: at.table()?, why: "was truncated" }])
}

fn rename(mut at: Cursor<'_>) -> Option<Vec<Effect>> {
    if !(at.take(&["TABLE"]) || at.take(&["TABLES"])) {
        return Some(Vec::new());
    }
    at.take(&["IF", "EXISTS"]);
    let mut effects = Vec::new();
    while !at.at_end() {
        let mut pair = at.clause();
        let table = pair.table()?;
        pair.take(&["NOWAIT"]);
        if pair.take(&["WAIT"]) {
            pair.next()?;
        }
        if !pair.take(&["TO"]) {
            return None;
        }
        effects.push(Effect::Stop { table, why: "was renamed" });
        effects.push(Effect::Appear { table: pair.table()? });
    }
    Some(effects)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ddl::DefaultClause;

    /// One line a statement: what it does, in a short notation.
    fn show(sql: &str) -> String {
        let effect = |effect: &Effect| match effect {
            Effect::Create { table, replace } => format!("create{} {table}", if *replace { "!" } else { "" }),
            Effect::Alter { table, columns } => {
                let columns: Vec<String> = columns.iter().map(column).collect();
                format!("alter {table} [{}]", columns.join(" "))
            }
            Effect::Stop { table, why } => format!("stop {table} ({why})"),
            Effect::Appear { table } => format!("appear {table}"),
            Effect::DropSchema { schema } => format!("drop schema {schema}"),
        };
        match Statement::classify(sql, "s", true) {
            Statement::Tables(effects) => effects.iter().map(effect).collect::<Vec<_>>().join(", "),
            Statement::Rows(_) => "rows".into(),
            Statement::Unknown(_) => "unknown".into(),
            other => format!("{other:?}").to_lowercase(),
        }
    }

    fn column(clause: &ColumnClause) -> String {
        match clause {
            ColumnClause::Add { name, default, type_word } => {
                let default = match default {
                    DefaultClause::Absent => "-".into(),
                    DefaultClause::Null => "null".into(),
                    DefaultClause::Constant(text) => format!("={text}"),
                    DefaultClause::Computed => "?".into(),
                };
                format!("+{name}:{type_word}{default}")
            }
            ColumnClause::Drop { name } => format!("-{name}"),
            ColumnClause::Rename { from, to } => format!("{from}>{to}"),
            ColumnClause::Define { name, type_word } => format!("~{name}:{type_word}"),
        }
    }

    #[test]
    fn statements_are_classified() {
        for (sql, expected) in [
            ("BEGIN", "begin"),
            ("COMMIT", "commit"),
            ("ROLLBACK", "rollback"),
            ("ROLLBACK TO `x`", "rollbackto"),
            ("SAVEPOINT `x`", "quiet"),
            ("XA END X'61',X'',1", "quiet"),
            ("insert into t values (1)", "rows"),
            ("/* hint */ update t set a = 1", "rows"),
            ("with x as (select 1) delete from t", "rows"),
            ("create database d", "quiet"),
            ("create or replace view v as select 1", "quiet"),
            ("create index i on t (a)", "quiet"),
            ("create definer=`a`@`b` trigger x before insert on t for each row set @a=1", "quiet"),
            ("create temporary table tt (a int)", "quiet"),
            ("CREATE TABLE t (a int)", "create s.t"),
            ("create table if not exists `d`.`t` like x", "create d.t"),
            ("create or replace table t(a int)", "create! s.t"),
            ("/*!50100 create table t (a int) */", "create s.t"),
            (
                "DROP TABLE IF EXISTS `t9`,`t3` /* generated by server */",
                "stop s.t9 (was dropped), stop s.t3 (was dropped)",
            ),
            ("drop temporary table tt", "quiet"),
            ("drop view v", "quiet"),
            ("drop database if exists d", "drop schema d"),
            ("truncate t", "stop s.t (was truncated)"),
            ("TRUNCATE TABLE d.t", "stop d.t (was truncated)"),
            (
                "rename table o to _o, _n to o",
                "stop s.o (was renamed), appear s._o, stop s._n (was renamed), appear s.o",
            ),
            ("rename user a to b", "quiet"),
            ("frobnicate t", "unknown"),
            ("create table t (a varchar(9) default 'x", "unknown"),
        ] {
            assert_eq!(show(sql), expected, "{sql}");
        }
    }

    #[test]
    fn clauses_of_alter_table_are_told_apart() {
        for (clauses, expected) in [
            ("add column a int not null default 5", "+a:int=5"),
            ("add a int", "+a:int-"),
            ("add a int null default null after b", "+a:intnull"),
            (
                "add column if not exists a decimal(10,2) default -1.50 comment 'DEFAULT 9', add b text",
                "+a:decimal=-1.50 +b:text-",
            ),
            ("add column (a int default 1, b enum('x,y','DEFAULT'), key k (a))", "+a:int=1 +b:enum-"),
            ("add a datetime default current_timestamp()", "+a:datetime?"),
            ("add a timestamp default now() on update now()", "+a:timestamp?"),
            ("add a varchar(9) default 'it''s' first", "+a:varchar=it's"),
            ("add a binary(2) default X'4142'", "+a:binary?"),
            ("add a bit(1) default b'1'", "+a:bit?"),
            ("add a int default (1+1)", "+a:int?"),
            ("add a int as (b+1) stored", "+a:int?"),
            ("add a bool default true", "+a:bool=1"),
            ("add index i (a), add primary key (a), add constraint c foreign key (a) references p (a)", ""),
            ("drop a, drop column if exists `b c`", "-a -b c"),
            ("drop index i, drop primary key, drop foreign key f, drop constraint c", ""),
            ("rename column a to b", "a>b"),
            ("rename column if exists a to b, algorithm=instant", "a>b"),
            ("rename index i to j", ""),
            ("change a b bigint unsigned not null", "a>b ~b:bigint"),
            ("change column a a date default null", "~a:date"),
            ("modify a varchar(99) character set latin1", "~a:varchar"),
            ("comment='add column x', engine=innodb", ""),
            ("convert to character set utf8mb4", ""),
            ("alter column a set default 5", ""),
            ("force, lock=none", ""),
        ] {
            assert_eq!(
                show(&format!("alter table t {clauses}")),
                format!("alter s.t [{expected}]"),
                "{clauses}"
            );
        }
        for (clauses, why) in [
            ("rename to u", "was renamed"),
            ("drop partition p0", "lost a partition's rows without row events"),
            ("truncate partition p0", "lost or swapped rows without row events"),
            ("exchange partition p0 with table u", "lost or swapped rows without row events"),
            ("add system versioning", "became system-versioned"),
        ] {
            assert_eq!(
                show(&format!("alter online table if exists d.t {clauses}")),
                format!("stop d.t ({why})")
            );
        }
        assert!(show("alter ignore table t add unique (a)").starts_with("stop s.t (was altered with IGNORE"));
        assert_eq!(show("alter table t add column"), "unknown");
    }

    #[test]
    fn an_unknown_statement_mentions_tables() {
        let Statement::Unknown(mentions) = Statement::classify("frobnicate `Orders` now", "shop", true)
        else {
            panic!("understood")
        };
        assert!(mentions.table(&TableName::new("shop", "orders")));
        assert!(!mentions.table(&TableName::new("shop", "items")));
        let Statement::Unknown(all) = Statement::classify("frobnicate '", "shop", true) else {
            panic!("understood")
        };
        assert!(all.table(&TableName::new("shop", "items")));
    }
}
