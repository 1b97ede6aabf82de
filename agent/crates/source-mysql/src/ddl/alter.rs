//! The clauses of an ALTER TABLE.

use super::cursor::Cursor;
use super::tokens::Token;

/// What a clause says about a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ColumnClause {
    /// ADD COLUMN.
    Add {
        /// Its name.
        name: String,
        /// What existing rows show in it.
        default: DefaultClause,
        /// First word of its type, in lower case: `uuid`, `json`, `binary`.
        type_word: String,
    },
    /// DROP COLUMN.
    Drop {
        /// Its name.
        name: String,
    },
    /// RENAME COLUMN, or CHANGE with two names.
    Rename {
        /// Old name.
        from: String,
        /// New name.
        to: String,
    },
    /// MODIFY, or CHANGE: a new definition.
    Define {
        /// Its name after the statement.
        name: String,
        /// First word of its type, in lower case.
        type_word: String,
    },
}

/// The DEFAULT of an added column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DefaultClause {
    /// None is written: null, or the type's own value when NOT NULL.
    Absent,
    /// DEFAULT NULL.
    Null,
    /// A constant, as text.
    Constant(String),
    /// An expression, a sequence, AUTO_INCREMENT, a generated column: every row
    /// may show something else.
    Computed,
}

/// What an ALTER TABLE does, clause by clause.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Clauses {
    pub(super) columns: Vec<ColumnClause>,
    /// A clause that takes rows away, renames the table, or that we cannot
    /// follow: why the table must stop, to be read after "the table".
    pub(super) stops: Option<&'static str>,
}

/// Reads the clauses behind `ALTER TABLE name`. `None`: not understood.
pub(super) fn clauses(mut at: Cursor<'_>) -> Option<Clauses> {
    let mut all = Clauses::default();
    at.take(&["NOWAIT"]);
    if at.take(&["WAIT"]) {
        at.next()?;
    }
    while !at.at_end() {
        clause(at.clause(), &mut all)?;
    }
    Some(all)
}

fn clause(mut at: Cursor<'_>, all: &mut Clauses) -> Option<()> {
    let first = at.next()?;
    let Token::Word(verb) = first else { return None };
    match verb.to_ascii_uppercase().as_str() {
        "ADD" => add(at, all)?,
        "DROP" => drop(at, all)?,
        "MODIFY" => {
            at.take(&["COLUMN"]);
            at.take(&["IF", "EXISTS"]);
            let name = at.name()?;
            all.columns.push(ColumnClause::Define { name, type_word: type_word(&mut at)? });
        }
        "CHANGE" => {
            at.take(&["COLUMN"]);
            at.take(&["IF", "EXISTS"]);
            let (from, to) = (at.name()?, at.name()?);
            if from != to {
                all.columns.push(ColumnClause::Rename { from, to: to.clone() });
            }
            all.columns.push(ColumnClause::Define { name: to, type_word: type_word(&mut at)? });
        }
        "RENAME" => rename(at, all)?,
        "TRUNCATE" | "EXCHANGE" | "DISCARD" | "IMPORT" => {
            all.stops = Some("lost or swapped rows without row events");
        }
        "CONVERT" if at.contains("PARTITION") || at.contains("TABLE") => {
            all.stops = Some("had a partition moved without row events");
        }
        // Indexes, options, partitions, comments: the next TABLE_MAP tells if a column changed.
        _ => {}
    }
    Some(())
}

fn add(mut at: Cursor<'_>, all: &mut Clauses) -> Option<()> {
    const NO_COLUMN: [&str; 9] =
        ["INDEX", "KEY", "CONSTRAINT", "PRIMARY", "UNIQUE", "FULLTEXT", "SPATIAL", "FOREIGN", "CHECK"];
    let explicit = at.take(&["COLUMN"]);
    if !explicit {
        if at.take(&["SYSTEM", "VERSIONING"]) || at.take(&["PERIOD", "FOR"]) {
            all.stops = Some("became system-versioned");
            return Some(());
        }
        if at.take(&["PARTITION"]) || NO_COLUMN.iter().any(|keyword| at.take(&[keyword])) {
            return Some(());
        }
    }
    at.take(&["IF", "NOT", "EXISTS"]);
    if let Some(mut list) = at.parenthesised() {
        while !list.at_end() {
            let mut column = list.clause();
            if !NO_COLUMN.iter().any(|keyword| column.take(&[keyword])) {
                all.columns.push(added(column)?);
            }
        }
        return Some(());
    }
    all.columns.push(added(at)?);
    Some(())
}

fn added(mut at: Cursor<'_>) -> Option<ColumnClause> {
    let name = at.name()?;
    let type_word = type_word(&mut at)?;
    Some(ColumnClause::Add { name, default: default(at), type_word })
}

fn drop(mut at: Cursor<'_>, all: &mut Clauses) -> Option<()> {
    const NO_COLUMN: [&str; 6] = ["INDEX", "KEY", "CONSTRAINT", "PRIMARY", "FOREIGN", "CHECK"];
    if at.take(&["PARTITION"]) {
        all.stops = Some("lost a partition's rows without row events");
        return Some(());
    }
    if at.take(&["SYSTEM", "VERSIONING"]) || at.take(&["PERIOD", "FOR"]) {
        all.stops = Some("changed its system versioning");
        return Some(());
    }
    if !at.take(&["COLUMN"]) && NO_COLUMN.iter().any(|keyword| at.take(&[keyword])) {
        return Some(());
    }
    at.take(&["IF", "EXISTS"]);
    all.columns.push(ColumnClause::Drop { name: at.name()? });
    Some(())
}

fn rename(mut at: Cursor<'_>, all: &mut Clauses) -> Option<()> {
    if at.take(&["COLUMN"]) {
        at.take(&["IF", "EXISTS"]);
        let from = at.name()?;
        if !at.take(&["TO"]) {
            return None;
        }
        all.columns.push(ColumnClause::Rename { from, to: at.name()? });
    } else if !at.take(&["INDEX"]) && !at.take(&["KEY"]) {
        all.stops = Some("was renamed");
    }
    Some(())
}

/// The first word of a column's type.
fn type_word(at: &mut Cursor<'_>) -> Option<String> {
    Some(at.name()?.to_ascii_lowercase())
}

/// Looks for DEFAULT and what makes a value differ from row to row.
fn default(mut at: Cursor<'_>) -> DefaultClause {
    if ["AUTO_INCREMENT", "GENERATED", "AS", "SERIAL"].iter().any(|keyword| at.contains(keyword)) {
        return DefaultClause::Computed;
    }
    while let Some(token) = at.next() {
        if token.is("DEFAULT") {
            return constant(at);
        }
        // A comment or an enum label may read DEFAULT; those are strings, never words.
        if *token == Token::Symbol('(') {
            skip_parentheses(&mut at);
        }
    }
    DefaultClause::Absent
}

fn skip_parentheses(at: &mut Cursor<'_>) {
    let mut depth = 1_u32;
    while let Some(token) = at.next() {
        match token {
            Token::Symbol('(') => depth += 1,
            Token::Symbol(')') if depth == 1 => return,
            Token::Symbol(')') => depth -= 1,
            _ => {}
        }
    }
}

fn constant(mut at: Cursor<'_>) -> DefaultClause {
    let negative = at.symbol('-');
    let Some(token) = at.next() else { return DefaultClause::Computed };
    // `X'41'`, `b'1'`, `DATE '…'`, `_latin1'…'`, `f(…)`: more than one word.
    let alone = !matches!(at.peek(), Some(Token::Text(_) | Token::Symbol(_)));
    match token {
        Token::Text(text) | Token::Double(text) if !negative && alone => {
            DefaultClause::Constant(text.clone())
        }
        Token::Word(word) if alone => match word.to_ascii_uppercase().as_str() {
            "NULL" if !negative => DefaultClause::Null,
            "TRUE" if !negative => DefaultClause::Constant("1".into()),
            "FALSE" if !negative => DefaultClause::Constant("0".into()),
            _ if word.parse::<f64>().is_ok_and(f64::is_finite)
                && word.starts_with(|c: char| c.is_ascii_digit()) =>
            {
                DefaultClause::Constant(if negative { format!("-{word}") } else { word.clone() })
            }
            _ => DefaultClause::Computed,
        },
        _ => DefaultClause::Computed,
    }
}
