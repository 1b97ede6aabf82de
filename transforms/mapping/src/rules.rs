//! The rules for the columns of a table, and how a table's own rules lie on top
//! of those for all tables.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use tidegate_guest::DataType;

use crate::mask::Mask;
use crate::template::Template;

/// What happens to columns. Maps are by source name, `compute` by output name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rules {
    pub(crate) rename: BTreeMap<String, String>,
    pub(crate) cast: BTreeMap<String, DataType>,
    /// Literals as written; their type is known only with the table.
    pub(crate) default: BTreeMap<String, Value>,
    pub(crate) mask: BTreeMap<String, Mask>,
    pub(crate) drop: BTreeSet<String>,
    pub(crate) keep: BTreeSet<String>,
    pub(crate) compute: BTreeMap<String, Template>,
    /// Output names; `None` keeps the key of the source.
    pub(crate) key: Option<Vec<String>>,
    pub(crate) drop_unlisted: Option<bool>,
}

impl Rules {
    /// These rules with those of one table on top: an entry replaces the entry
    /// of the same column, and what keeps a column lifts its `drop`.
    pub(crate) fn overlaid(&self, table: &Rules) -> Rules {
        let mut rules = self.clone();
        rules.drop.retain(|column| !table.brings_out(column));
        rules.keep.retain(|column| !table.drop.contains(column));
        rules.rename.retain(|column, _| !table.drop.contains(column));
        rules.mask.retain(|column, _| !table.drop.contains(column));
        rules.rename.extend(table.rename.clone());
        rules.cast.extend(table.cast.clone());
        rules.default.extend(table.default.clone());
        rules.mask.extend(table.mask.clone());
        rules.drop.extend(table.drop.clone());
        rules.keep.extend(table.keep.clone());
        rules.compute.extend(table.compute.clone());
        rules.key = table.key.clone().or(rules.key);
        rules.drop_unlisted = table.drop_unlisted.or(rules.drop_unlisted);
        rules
    }

    /// Whether a rule only makes sense if the column is in the output.
    pub(crate) fn brings_out(&self, column: &str) -> bool {
        self.rename.contains_key(column) || self.mask.contains_key(column) || self.keep.contains(column)
    }

    /// Whether a column is named at all, which keeps it in the output under
    /// `unlisted_columns: drop`.
    pub(crate) fn lists(&self, column: &str) -> bool {
        self.brings_out(column)
            || self.cast.contains_key(column)
            || self.default.contains_key(column)
            || self.key.iter().flatten().any(|key| key == column)
    }

    /// Source columns that the rules name, each with the key that names it.
    pub(crate) fn named(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let rename = self.rename.keys().map(|column| ("rename", column.as_str()));
        let cast = self.cast.keys().map(|column| ("cast", column.as_str()));
        let default = self.default.keys().map(|column| ("default", column.as_str()));
        let mask = self.mask.keys().map(|column| ("mask", column.as_str()));
        let drop = self.drop.iter().map(|column| ("drop", column.as_str()));
        let keep = self.keep.iter().map(|column| ("keep", column.as_str()));
        let compute = self.compute.values().flat_map(Template::columns).map(|column| ("compute", column));
        rename.chain(cast).chain(default).chain(mask).chain(drop).chain(keep).chain(compute)
    }
}
