//! What a statement in the log does, as far as capture must know.
//!
//! The structure of a table never comes from DDL text: TABLE_MAP and the catalog
//! tell it. The text only *classifies*: which tables does it touch, does it
//! remove or rewrite rows without row events, which columns does it rename
//! (a rename and a drop with an add look alike in a TABLE_MAP), and which
//! constant do existing rows show in a new column.
//!
//! A statement that is not understood parks at most the tables that it mentions.

mod alter;
mod cursor;
mod statement;
mod tokens;

pub(crate) use alter::{ColumnClause, DefaultClause};
pub(crate) use statement::{Effect, Statement};

/// True when the server takes both for the name of one column: it compares them
/// without case, so that a statement may spell one as it likes.
pub(crate) fn same_column(a: &str, b: &str) -> bool {
    a == b || a.to_lowercase() == b.to_lowercase()
}
