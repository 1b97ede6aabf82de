//! Which tables are captured: `schema.table`, either part with `*` and `?`.

use std::fmt;
use std::str::FromStr;

use tidegate_model::{Error, ErrorKind, TableName};

/// Schemas that belong to the server; no pattern matches them.
pub(crate) const INTERNAL_SCHEMAS: [&str; 4] = ["mysql", "information_schema", "performance_schema", "sys"];

/// One entry of `tables`: a name, or a glob over names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TablePattern {
    schema: String,
    table: String,
}

impl TablePattern {
    /// True when the table's name fits. Names are compared as they are spelled.
    pub fn matches(&self, name: &TableName) -> bool {
        !INTERNAL_SCHEMAS.iter().any(|internal| name.schema.eq_ignore_ascii_case(internal))
            && glob(self.schema.as_bytes(), name.schema.as_bytes())
            && glob(self.table.as_bytes(), name.table.as_bytes())
    }

    /// The one table that it names, unless it is a glob.
    pub fn literal(&self) -> Option<TableName> {
        let plain = |part: &str| !part.contains(['*', '?']);
        (plain(&self.schema) && plain(&self.table)).then(|| TableName::new(&self.schema, &self.table))
    }
}

impl fmt::Display for TablePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.schema, self.table)
    }
}

impl FromStr for TablePattern {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text.split_once('.') {
            Some((schema, table)) if !schema.is_empty() && !table.is_empty() => {
                Ok(Self { schema: schema.into(), table: table.into() })
            }
            _ => Err(Error::new(ErrorKind::Config, format!("{text:?} names no table"))
                .hint("write schema.table, such as shop.orders or shop.item_*")),
        }
    }
}

/// Shell glob with `*` and `?`, by the classic two-pointer walk: linear in
/// practice, and without recursion.
fn glob(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut star = None;
    while t < text.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(&c) if c == b'?' || c == text[t] => {
                p += 1;
                t += 1;
            }
            _ => match star {
                Some((star_p, star_t)) => {
                    star = Some((star_p, star_t + 1));
                    p = star_p + 1;
                    t = star_t + 1;
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|&c| c == b'*')
}

/// The name of `known` that is nearest to `name` by edit distance, if any is near.
pub(crate) fn nearest<'a>(
    name: &TableName,
    known: impl IntoIterator<Item = &'a TableName>,
) -> Option<&'a TableName> {
    let wanted = name.to_string();
    known
        .into_iter()
        .map(|candidate| (distance(&wanted, &candidate.to_string()), candidate))
        .filter(|(distance, _)| *distance <= wanted.len() / 3 + 1)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Levenshtein distance over characters.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_names() {
        for (pattern, schema, table, expected) in [
            ("shop.orders", "shop", "orders", true),
            ("shop.orders", "shop", "orders2", false),
            ("shop.item_*", "shop", "item_", true),
            ("shop.item_*", "shop", "items", false),
            ("shop.*", "shop", "a.b", true),
            ("s?op.*x*", "shop", "axb", true),
            ("*.user", "mysql", "user", false),
            ("*.*", "sys", "x", false),
            ("*.*", "a", "b", true),
        ] {
            let parsed: TablePattern = pattern.parse().unwrap();
            assert_eq!(
                parsed.matches(&TableName::new(schema, table)),
                expected,
                "{pattern} {schema}.{table}"
            );
        }
        for wrong in ["orders", ".orders", "shop.", ""] {
            assert!(wrong.parse::<TablePattern>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_nearest_name_is_told_only_if_it_is_near() {
        let known = [TableName::new("shop", "orders"), TableName::new("shop", "customers")];
        assert_eq!(nearest(&TableName::new("shop", "order"), &known), Some(&known[0]));
        assert_eq!(nearest(&TableName::new("x", "y"), &known), None);
    }
}
