//! What a DDL does to a table, as data, at the source and at a target.

use std::sync::Arc;

use crate::position::TxPosition;
use crate::schema::{TableVersion, TargetVersion};

/// How a source table's new version came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaChangeKind {
    /// First version that capture knows: found in the catalog at the start, or
    /// after the state folder was lost.
    Baseline,
    /// CREATE TABLE in the log.
    Create,
    /// Columns changed.
    Alter,
}

/// One column's change. Ids are [`crate::Column::id`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColumnOp {
    /// A new column.
    Add {
        /// Its new id.
        id: u32,
        /// Its name.
        name: String,
    },
    /// A column is gone.
    Drop {
        /// The id it had.
        id: u32,
        /// The name it had.
        name: String,
    },
    /// A column has another name, the same values.
    Rename {
        /// The id it keeps.
        id: u32,
        /// Old name.
        from: String,
        /// New name.
        to: String,
    },
    /// A column has another type or nullability.
    Modify {
        /// The id it keeps.
        id: u32,
        /// Its name after the change.
        name: String,
        /// Every existing value is the same value in the new type.
        widening: bool,
    },
    /// The primary key has other columns.
    Key,
}

/// What a change does to rows that exist already and send no event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExistingRows {
    /// Nothing.
    None,
    /// They read as the added columns' constant defaults.
    InitialDefault,
    /// They were rewritten without events: the target no longer equals the
    /// source for them until the table is snapshotted again.
    Diverges,
}

/// A table's structure changes: every earlier row of the table has the old
/// version, every later one the new.
///
/// Duplicates: the same change may be sent again after a restart; it is then
/// identical, `after.version` included, since a recorded change is replayed and
/// never derived again.
#[derive(Debug, Clone, PartialEq)]
pub struct SchemaChange {
    /// How it came about.
    pub kind: SchemaChangeKind,
    /// The version before; `None` for a first one.
    pub before: Option<Arc<TableVersion>>,
    /// The version after.
    pub after: Arc<TableVersion>,
    /// What changed, in no order.
    pub ops: Vec<ColumnOp>,
    /// What becomes of existing rows.
    pub existing_rows: ExistingRows,
    /// The DDL's place in the log; for a baseline, where reading starts.
    pub position: TxPosition,
    /// The statements behind it, in order; may be empty (a baseline).
    pub ddl: Vec<String>,
}

/// A target's structure changes. Applied once, by its id.
#[derive(Debug, Clone, PartialEq)]
pub struct TargetChange {
    /// Hash over pipeline, sink, table uid, source version and target: the
    /// idempotency key.
    pub change_id: String,
    /// The target version it starts from; `None` creates the target.
    pub base: Option<u64>,
    /// The target after it; `after.version` is `base + 1`.
    pub after: TargetVersion,
    /// What becomes of existing rows.
    pub existing_rows: ExistingRows,
    /// The log position of the change.
    pub position: TxPosition,
}
