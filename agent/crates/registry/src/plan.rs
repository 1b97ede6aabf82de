//! What a change of a source table, or of its transforms, means to a target.
//!
//! **Column ids** are the identity by which readers join the versions of a
//! target, so a wrong match shows one column's old values under another. A
//! column keeps its id when it comes from the same source column, whatever its
//! name. Only where one of the two is computed does the name decide: a source
//! column that was dropped and added again under its old name has other values.
//! Where source ids mean nothing (a baseline after the state folder was lost
//! counts them anew), names decide alone.
//!
//! New ids are dense and never reused; the next one is in the registry's record.
//! When that record is lost, the ids of dropped columns are unknown, so counting
//! goes on above every id that can have been given: at most [`COLUMNS_MAX`] are
//! new in a version, so after version v it is v × [`COLUMNS_MAX`].
//!
//! **Existing rows.** What a DDL did to rows that send no event the source has
//! found out. A transform adds to it: rows of earlier versions read a new column
//! as its initial default, or as null. That is right for a source column that
//! this very DDL added; for a computed column, or one that a new module lets
//! through, earlier rows had values which the target never got: `diverges`.

use std::collections::BTreeSet;

use tidegate_model::{
    Column, ColumnOp, Error, ErrorKind, ExistingRows, Result, SchemaChange, SchemaChangeKind, TableName,
    TableVersion, TargetChange, TargetColumn, TargetVersion, TxPosition,
};

/// Columns of a target at most: MariaDB's own limit for a table.
pub const COLUMNS_MAX: u32 = 4096;

/// Why a target changes.
#[derive(Debug, Clone, Copy)]
pub enum Cause<'a> {
    /// The source table changed.
    Ddl(&'a SchemaChange),
    /// The transforms changed while the table stayed.
    Swap {
        /// The change that made the table's present version.
        source: &'a SchemaChange,
        /// The new chain: its `__module` or digest.
        module: &'a str,
        /// The first position under it.
        from: TxPosition,
    },
}

impl Cause<'_> {
    /// The change that made the table's version.
    pub fn source(&self) -> &SchemaChange {
        match self {
            Self::Ddl(source) | Self::Swap { source, .. } => source,
        }
    }

    /// Where in the log.
    pub fn position(&self) -> TxPosition {
        match self {
            Self::Ddl(source) => source.position,
            Self::Swap { from, .. } => *from,
        }
    }

    /// True when a target that stands at `version`, made at `position`, has this
    /// cause behind it: its log was read before.
    pub(crate) fn lies_behind(&self, version: &TargetVersion, position: Option<TxPosition>) -> bool {
        let after = &self.source().after;
        if position.is_some_and(|position| self.position() < position) {
            return true;
        }
        if version.uid != after.uid {
            return false;
        }
        match self {
            Self::Ddl(_) => after.version <= version.source_version,
            Self::Swap { .. } => after.version < version.source_version,
        }
    }
}

/// A target as it stands, and the next column id.
#[derive(Debug, Clone, Copy)]
pub struct Previous<'a> {
    /// The version.
    pub version: &'a TargetVersion,
    /// Never given before.
    pub next_id: u32,
}

/// The idempotency key of a change: the same cause for the same target.
pub fn change_id(pipeline: &str, sink: &str, target: &TableName, cause: &Cause<'_>) -> String {
    let after = &cause.source().after;
    let mut hasher = blake3::Hasher::new();
    let mut part = |bytes: &[u8]| {
        hasher.update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
    };
    part(pipeline.as_bytes());
    part(sink.as_bytes());
    part(&after.uid.0.to_le_bytes());
    part(&after.version.to_le_bytes());
    part(target.schema.as_bytes());
    part(target.table.as_bytes());
    if let Cause::Swap { module, .. } = cause {
        part(module.as_bytes());
    }
    hasher.finalize().to_hex().to_string()
}

/// The change that makes the target fit `output`; `None` when it fits.
///
/// # Errors
/// `Unsupported` when the target would have more than [`COLUMNS_MAX`] columns or
/// no column id is left.
pub fn plan_target(
    change_id: String,
    previous: Option<Previous<'_>>,
    output: &TableVersion,
    cause: &Cause<'_>,
) -> Result<Option<TargetChange>> {
    if previous.is_some_and(|previous| previous.version.fits(output)) {
        return Ok(None);
    }
    let limit = |what: &str| {
        Error::new(ErrorKind::Unsupported, format!("target {} has {what}", output.name))
            .hint("leave columns out with `columns: exclude` in the pipeline file")
    };
    if output.columns.len() > COLUMNS_MAX as usize {
        return Err(limit(&format!("{} columns, at most {COLUMNS_MAX} are possible", output.columns.len())));
    }
    let kept = match previous {
        Some(previous) => match_columns(previous.version, output, cause),
        None => vec![None; output.columns.len()],
    };
    let mut next_id = previous.map_or(1, |previous| previous.next_id);
    let mut columns = Vec::with_capacity(output.columns.len());
    for (column, kept) in output.columns.iter().zip(&kept) {
        let id = match kept {
            Some(kept) => kept.id,
            None => {
                let id = next_id;
                next_id = id.checked_add(1).ok_or_else(|| limit("used up its column ids"))?;
                id
            }
        };
        columns.push(TargetColumn {
            id,
            name: column.name.clone(),
            data_type: column.data_type.clone(),
            nullable: column.nullable,
            origin: column.id,
            initial_default: match kept {
                Some(kept) => kept.initial_default.clone(),
                None => column.initial_default.clone(),
            },
        });
    }
    let base = previous.map(|previous| previous.version.version);
    Ok(Some(TargetChange {
        change_id,
        base,
        after: TargetVersion {
            uid: output.uid,
            name: output.name.clone(),
            version: base.unwrap_or(0) + 1,
            source_version: cause.source().after.version,
            columns,
            key: output.key.clone(),
        },
        existing_rows: match base {
            Some(_) => existing_rows(output, &kept, cause),
            None => ExistingRows::None,
        },
        position: cause.position(),
    }))
}

/// For each output column the target column that it continues.
fn match_columns<'a>(
    previous: &'a TargetVersion,
    output: &TableVersion,
    cause: &Cause<'_>,
) -> Vec<Option<&'a TargetColumn>> {
    let origins_count = previous.uid == output.uid && cause.source().kind != SchemaChangeKind::Baseline;
    let mut kept: Vec<Option<&TargetColumn>> = vec![None; output.columns.len()];
    let mut taken = BTreeSet::new();
    for likeness in [Likeness::OriginAndName, Likeness::Origin, Likeness::Name] {
        for (column, kept) in output.columns.iter().zip(&mut kept).filter(|(_, kept)| kept.is_none()) {
            let found = (previous.columns.iter())
                .find(|target| !taken.contains(&target.id) && likeness.holds(target, column, origins_count));
            if let Some(found) = found {
                taken.insert(found.id);
                *kept = Some(found);
            }
        }
    }
    kept
}

/// How a target column may be found again, the surest first. A source column
/// may stand in an output twice; then the name tells which is which.
#[derive(Debug, Clone, Copy)]
enum Likeness {
    OriginAndName,
    Origin,
    /// Only where a source id says nothing.
    Name,
}

impl Likeness {
    fn holds(self, target: &TargetColumn, column: &Column, origins_count: bool) -> bool {
        let name = target.name == column.name;
        let origin = origins_count && column.id != 0 && target.origin == column.id;
        match self {
            Self::OriginAndName => origin && name,
            Self::Origin => origin,
            Self::Name => name && (!origins_count || column.id == 0 || target.origin == 0),
        }
    }
}

fn existing_rows(output: &TableVersion, kept: &[Option<&TargetColumn>], cause: &Cause<'_>) -> ExistingRows {
    let ddl = match cause {
        // After a lost state folder nobody knows what happened to the rows.
        Cause::Ddl(source) if source.kind != SchemaChangeKind::Baseline => Some(*source),
        _ => None,
    };
    let mut worst = ExistingRows::None;
    if ddl.is_some_and(|source| source.existing_rows == ExistingRows::Diverges) {
        return ExistingRows::Diverges;
    }
    for (column, kept) in output.columns.iter().zip(kept) {
        let right = match (kept, ddl) {
            (Some(kept), ddl) => {
                kept.data_type.widens_to(&column.data_type)
                    || ddl.is_some_and(|source| modifies(source, column))
            }
            (None, Some(source)) if added_alike(source, column) => {
                if column.initial_default.is_some() {
                    worst = ExistingRows::InitialDefault;
                }
                true
            }
            (None, _) => false,
        };
        if !right {
            return ExistingRows::Diverges;
        }
    }
    worst
}

/// The source's own verdict covers a type that this very change modified.
fn modifies(source: &SchemaChange, column: &Column) -> bool {
    source.ops.iter().any(|op| matches!(op, ColumnOp::Modify { id, .. } if *id == column.id))
}

/// True for a column that this very change added and that passes unchanged: its
/// default at the source is what earlier rows hold.
fn added_alike(source: &SchemaChange, column: &Column) -> bool {
    let added = source.ops.iter().any(|op| matches!(op, ColumnOp::Add { id, .. } if *id == column.id));
    let default = source.after.columns.iter().find(|c| c.id == column.id).map(|c| &c.initial_default);
    column.id != 0 && added && default == Some(&column.initial_default)
}
