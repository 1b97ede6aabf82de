//! A column change, derived once from what the log shows.
//!
//! The TABLE_MAP (or the chunk's catalog read) says what the columns *are*; the
//! version before says what they *were*; DDL text says which column became which,
//! and what existing rows show in a new one. What the text does not tell is
//! decided the careful way: two columns are the same only if they have the same
//! name, and rows that might have been rewritten count as diverging.

use std::collections::BTreeSet;
use std::sync::Arc;

use tidegate_model::{
    Column, ColumnOp, DataType, ExistingRows, SchemaChange, SchemaChangeKind, TableName, TableUid,
    TableVersion, TxPosition, source,
};

use crate::catalog::CatalogTable;
use crate::ddl::{ColumnClause, DefaultClause, Effect, Statement, same_column};

/// A column as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Observed {
    /// Name.
    pub(crate) name: String,
    /// Exact type.
    pub(crate) data_type: DataType,
    /// Whether null is a value.
    pub(crate) nullable: bool,
    /// The type's words.
    pub(crate) source_type: String,
}

/// A DDL of the table that was seen in the log and not yet in its rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DdlNote {
    /// Its GTID event.
    pub(crate) position: TxPosition,
    /// Its text.
    pub(crate) sql: String,
    /// It creates the table.
    pub(crate) creates: bool,
    /// What it says about columns.
    pub(crate) columns: Vec<ColumnClause>,
    /// The session refused values that do not fit instead of bending them.
    pub(crate) strict: bool,
}

impl DdlNote {
    /// What a kept DDL says.
    pub(crate) fn read(kept: &source::DdlNote) -> Self {
        let effects = match Statement::classify(&kept.sql, &kept.schema, kept.backslash_escapes) {
            Statement::Tables(effects) => effects,
            _ => Vec::new(),
        };
        let columns = effects.iter().find_map(|effect| match effect {
            Effect::Alter { columns, .. } => Some(columns.clone()),
            _ => None,
        });
        Self {
            position: kept.position,
            sql: kept.sql.clone(),
            creates: effects.iter().any(|effect| matches!(effect, Effect::Create { .. })),
            columns: columns.unwrap_or_default(),
            strict: kept.strict,
        }
    }
}

/// The change from `before` to `observed`.
#[derive(Debug)]
pub(crate) struct Derivation<'a> {
    /// The table.
    pub(crate) uid: TableUid,
    /// Its name.
    pub(crate) name: &'a TableName,
    /// The version before; `None` makes a baseline or a created table.
    pub(crate) before: Option<&'a Arc<TableVersion>>,
    /// The version after.
    pub(crate) version: u64,
    /// Highest column id ever used.
    pub(crate) last_id: u32,
    /// The columns as they are.
    pub(crate) observed: Vec<Observed>,
    /// Indices into `observed` of the primary key.
    pub(crate) key: Vec<usize>,
    /// What the log said since `before`.
    pub(crate) notes: &'a [DdlNote],
    /// The catalog now: defaults of columns that no note adds.
    pub(crate) catalog: Option<&'a CatalogTable>,
    /// Where the change is placed when no note tells.
    pub(crate) position: TxPosition,
}

impl Derivation<'_> {
    /// The change, ready to be recorded.
    pub(crate) fn change(self) -> SchemaChange {
        let Some(before) = self.before else { return self.first() };
        let names = track(before, self.notes);
        let mut next_id = self.last_id;
        let mut used = BTreeSet::new();
        let mut ops = Vec::new();
        let mut existing = ExistingRows::None;
        let mut columns = Vec::with_capacity(self.observed.len());
        for observed in &self.observed {
            let id = (names.iter())
                .find(|(_, name)| same_column(name, &observed.name))
                .map(|(id, _)| *id)
                .or_else(|| self.kept_name(before, &names, observed));
            let old = id
                .filter(|id| used.insert(*id))
                .and_then(|id| before.columns.iter().find(|column| column.id == id));
            let (id, initial_default) = match old {
                Some(old) => {
                    existing = worse(existing, self.kept(old, observed, &mut ops));
                    (old.id, old.initial_default.clone())
                }
                None => {
                    next_id += 1;
                    ops.push(ColumnOp::Add { id: next_id, name: observed.name.clone() });
                    let (effect, default) = self.added(observed);
                    existing = worse(existing, effect);
                    (next_id, default)
                }
            };
            columns.push(column(id, observed, initial_default));
        }
        for old in before.columns.iter().filter(|old| columns.iter().all(|new| new.id != old.id)) {
            ops.push(ColumnOp::Drop { id: old.id, name: old.name.clone() });
        }
        let ids = |columns: &[Column], key: &[usize]| key.iter().map(|&k| columns[k].id).collect::<Vec<_>>();
        if ids(&columns, &self.key) != ids(&before.columns, &before.key) {
            ops.push(ColumnOp::Key);
        }
        let moved = self.notes.is_empty()
            && ops.iter().any(|op| matches!(op, ColumnOp::Add { .. }))
            && ops.iter().any(|op| matches!(op, ColumnOp::Drop { .. }));
        if moved {
            // Without the text, a rename and a drop with an add look alike.
            existing = ExistingRows::Diverges;
        }
        self.finish(SchemaChangeKind::Alter, columns, ops, existing)
    }

    /// The column of the observed name, if a rename that the text tells did not
    /// happen: its new name is nowhere.
    fn kept_name(&self, before: &TableVersion, names: &[(u32, String)], observed: &Observed) -> Option<u32> {
        let old = before.columns.iter().find(|column| same_column(&column.name, &observed.name))?;
        let (id, renamed) = names.iter().find(|(id, _)| *id == old.id)?;
        self.observed.iter().all(|column| !same_column(&column.name, renamed)).then_some(*id)
    }

    fn first(self) -> SchemaChange {
        let columns = (self.observed.iter().zip(self.last_id + 1..))
            .map(|(observed, id)| column(id, observed, None))
            .collect();
        let created = self.notes.iter().any(|note| note.creates);
        let kind = if created { SchemaChangeKind::Create } else { SchemaChangeKind::Baseline };
        self.finish(kind, columns, Vec::new(), ExistingRows::None)
    }

    fn finish(
        self,
        kind: SchemaChangeKind,
        columns: Vec<Column>,
        ops: Vec<ColumnOp>,
        existing_rows: ExistingRows,
    ) -> SchemaChange {
        let after = TableVersion::new(self.uid, self.name.clone(), self.version, columns, self.key);
        SchemaChange {
            kind,
            before: self.before.cloned(),
            after: Arc::new(after),
            ops,
            existing_rows,
            // The last one: every row in front of it has the old columns.
            position: self.notes.last().map_or(self.position, |note| note.position),
            ddl: self.notes.iter().map(|note| note.sql.clone()).collect(),
        }
    }

    /// A column that stays: renamed, redefined, both or neither.
    fn kept(&self, old: &Column, new: &Observed, ops: &mut Vec<ColumnOp>) -> ExistingRows {
        if old.name != new.name {
            ops.push(ColumnOp::Rename { id: old.id, from: old.name.clone(), to: new.name.clone() });
        }
        if old.data_type == new.data_type && old.nullable == new.nullable {
            return ExistingRows::None;
        }
        let strict = !self.notes.is_empty() && self.notes.iter().all(|note| note.strict);
        let nulls_kept = new.nullable || !old.nullable;
        let widening = old.data_type.widens_to(&new.data_type) && nulls_kept;
        ops.push(ColumnOp::Modify { id: old.id, name: new.name.clone(), widening });
        // In strict mode a table with nulls refuses NOT NULL, so there were none.
        if old.data_type.widens_to(&new.data_type) && (nulls_kept || strict) {
            ExistingRows::None
        } else {
            ExistingRows::Diverges
        }
    }

    /// What existing rows show in a new column.
    fn added(&self, new: &Observed) -> (ExistingRows, Option<String>) {
        let clause = self.notes.iter().rev().flat_map(|note| &note.columns).find_map(|clause| match clause {
            ColumnClause::Add { name, default, .. } if same_column(name, &new.name) => Some(default.clone()),
            _ => None,
        });
        let default = match clause.or_else(|| self.catalog_default(&new.name)) {
            None | Some(DefaultClause::Computed) => return (ExistingRows::Diverges, None),
            Some(DefaultClause::Null) => None,
            Some(DefaultClause::Absent) if new.nullable => None,
            Some(DefaultClause::Absent) => match implicit_default(&new.data_type) {
                Some(text) => Some(text),
                None => return (ExistingRows::Diverges, None),
            },
            Some(DefaultClause::Constant(text)) => match normalised_as(new, &text) {
                Some(text) => Some(text),
                None => return (ExistingRows::Diverges, None),
            },
        };
        let effect = if default.is_some() { ExistingRows::InitialDefault } else { ExistingRows::None };
        (effect, default)
    }

    fn catalog_default(&self, name: &str) -> Option<DefaultClause> {
        let column = self.catalog?.columns.iter().find(|column| same_column(&column.name, name))?;
        Some(match &column.default {
            _ if column.computed => DefaultClause::Computed,
            None => DefaultClause::Absent,
            Some(text) if text.eq_ignore_ascii_case("null") => DefaultClause::Null,
            Some(text) => match text.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')) {
                Some(quoted) => DefaultClause::Constant(quoted.replace("''", "'")),
                None if text.parse::<f64>().is_ok() => DefaultClause::Constant(text.clone()),
                None => DefaultClause::Computed,
            },
        })
    }
}

/// True when the DDL made other columns of the same names: dropped and added
/// again, or names swapped. The log's maps look the same before and after.
pub(crate) fn reshuffles(before: &TableVersion, notes: &[DdlNote]) -> bool {
    !notes.is_empty()
        && track(before, notes).into_iter().ne(before.columns.iter().map(|c| (c.id, c.name.clone())))
}

/// Follows names through the DDL: (id, name now) of the columns that are left.
fn track(before: &TableVersion, notes: &[DdlNote]) -> Vec<(u32, String)> {
    let mut names: Vec<(u32, String)> = before.columns.iter().map(|c| (c.id, c.name.clone())).collect();
    for note in notes {
        // All clauses of one statement speak of the names in front of it.
        let dropped = |name: &str| {
            let clause = |c: &ColumnClause| matches!(c, ColumnClause::Drop { name: dropped } if same_column(dropped, name));
            note.columns.iter().any(clause)
        };
        let renamed = |name: &str| {
            note.columns.iter().find_map(|clause| match clause {
                ColumnClause::Rename { from, to } if same_column(from, name) => Some(to.clone()),
                _ => None,
            })
        };
        names.retain(|(_, name)| !dropped(name));
        for (_, name) in &mut names {
            if let Some(to) = renamed(name) {
                *name = to;
            }
        }
    }
    names
}

fn worse(a: ExistingRows, b: ExistingRows) -> ExistingRows {
    let rank = |rows| match rows {
        ExistingRows::None => 0,
        ExistingRows::InitialDefault => 1,
        ExistingRows::Diverges => 2,
    };
    if rank(b) > rank(a) { b } else { a }
}

fn column(id: u32, observed: &Observed, initial_default: Option<String>) -> Column {
    Column {
        id,
        name: observed.name.clone(),
        data_type: observed.data_type.clone(),
        nullable: observed.nullable,
        source_type: observed.source_type.clone(),
        initial_default,
    }
}

/// What a NOT NULL column without DEFAULT shows in existing rows; `None`: a value
/// that the model has not (a zero date) or that has no plain text.
fn implicit_default(data_type: &DataType) -> Option<String> {
    match data_type {
        DataType::Integer { .. } | DataType::Float32 | DataType::Float64 => Some("0".into()),
        DataType::Decimal { .. } => normalised(data_type, "0"),
        DataType::Text { .. } | DataType::Set { .. } | DataType::Binary { fixed: false, .. } => {
            Some(String::new())
        }
        DataType::Enum { labels } => labels.first().cloned(),
        DataType::Time { .. } => Some("00:00:00".into()),
        _ => None,
    }
}

/// A constant as the server would print it from this column; `None` when that is
/// not certain.
fn normalised_as(column: &Observed, text: &str) -> Option<String> {
    // CHAR gives its trailing spaces up.
    let padded = column.source_type.get(..4).is_some_and(|word| word.eq_ignore_ascii_case("char"));
    normalised(&column.data_type, if padded { text.trim_end_matches(' ') } else { text })
}

/// The same for any column but CHAR.
fn normalised(data_type: &DataType, text: &str) -> Option<String> {
    match data_type {
        DataType::Integer { .. } => text.parse::<i128>().ok().map(|value| value.to_string()),
        DataType::Float32 | DataType::Float64 => text.parse::<f64>().ok().map(|_| text.into()),
        DataType::Decimal { scale, .. } => decimal(text, usize::from(*scale)),
        DataType::Enum { labels } => labels.iter().find(|label| *label == text).cloned(),
        DataType::Set { labels } => set(labels, text),
        DataType::Text { .. } | DataType::Json => Some(text.into()),
        DataType::Binary { fixed: false, .. } if text.is_ascii() => Some(text.into()),
        DataType::Uuid => Some(text.to_ascii_lowercase()),
        DataType::Date => has_shape(text, "0000-00-00").then(|| text.into()),
        // A TIMESTAMP's constant is in the session's zone, which the log does not tell.
        DataType::DateTime { fraction } => moment(text, "0000-00-00 00:00:00", *fraction),
        DataType::Time { fraction } => {
            let shape =
                if has_shape(text.split('.').next()?, "000:00:00") { "000:00:00" } else { "00:00:00" };
            moment(text, shape, *fraction)
        }
        _ => None,
    }
}

/// Labels in the order of their declaration.
fn set(labels: &[String], text: &str) -> Option<String> {
    let chosen: Vec<&str> = text.split(',').filter(|label| !label.is_empty()).collect();
    if chosen.iter().any(|label| labels.iter().all(|known| known != label)) {
        return None;
    }
    let ordered = labels.iter().map(String::as_str).filter(|label| chosen.contains(label));
    Some(ordered.collect::<Vec<_>>().join(","))
}

/// A date or time in the server's own form, with no more digits of a second than
/// the column keeps.
fn moment(text: &str, shape: &str, fraction: u8) -> Option<String> {
    let (whole, digits) = text.split_once('.').unwrap_or((text, ""));
    let fits = digits.len() <= usize::from(fraction) && digits.bytes().all(|b| b.is_ascii_digit());
    (fits && has_shape(whole, shape)).then(|| text.into())
}

/// True when the text has digits where the shape has zeros, and the shape's other
/// characters elsewhere.
fn has_shape(text: &str, shape: &str) -> bool {
    let same = |(c, s): (u8, u8)| if s == b'0' { c.is_ascii_digit() } else { c == s };
    text.len() == shape.len() && text.bytes().zip(shape.bytes()).all(same)
}

/// A decimal with exactly `scale` digits behind the point.
fn decimal(text: &str, scale: usize) -> Option<String> {
    let (sign, digits) = text.strip_prefix('-').map_or(("", text), |digits| ("-", digits));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let numeric = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || !numeric(whole) || !numeric(fraction) || fraction.len() > scale {
        return None;
    }
    let point = if scale == 0 { "" } else { "." };
    Some(format!("{sign}{whole}{point}{fraction:0<scale$}"))
}

#[cfg(test)]
#[path = "derive_tests.rs"]
mod tests;
