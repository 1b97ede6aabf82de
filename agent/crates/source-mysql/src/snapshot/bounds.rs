//! Chunk bounds as SQL.
//!
//! The server compares keys, never the agent: only it knows its collations. A
//! bound is a typed literal per key column, made by the server itself, so that
//! it compares exactly as the column does. Composite bounds are written out as
//! AND and OR, since MariaDB does not use an index for row comparisons; the
//! first column's own condition in front gives the optimizer its range.

use tidegate_model::DataType;

use crate::catalog::CatalogTable;
use crate::sql;

/// How a key column's value becomes a literal.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Form {
    /// Plain digits: integers and decimals.
    Number,
    /// Compared by number: ENUM, SET, BIT, YEAR.
    AsNumber,
    /// FLOAT, DOUBLE.
    Float,
    /// Characters, under the column's own collation.
    Text { charset: String, collation: String },
    /// Bytes.
    Binary,
    /// Dates, times, UUIDs: the server's text in quotes.
    Quoted,
}

/// The key columns of a table, in key order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Key(Vec<(String, Form)>);

impl Key {
    /// The primary key; `None` when the table has none, or one that no literal
    /// can bound.
    pub(crate) fn of(table: &CatalogTable) -> Option<Self> {
        let columns = table.key.iter().map(|&index| {
            let column = &table.columns[index];
            let form = match column.data_type.as_ref()? {
                DataType::Integer { .. } | DataType::Decimal { .. } => Form::Number,
                DataType::Enum { .. } | DataType::Set { .. } | DataType::Bit { .. } | DataType::Year => {
                    Form::AsNumber
                }
                DataType::Float32 | DataType::Float64 => Form::Float,
                DataType::Text { .. } => {
                    let (charset, collation) = column.collation.clone()?;
                    Form::Text { charset, collation }
                }
                DataType::Binary { .. } => Form::Binary,
                DataType::Date
                | DataType::Time { .. }
                | DataType::DateTime { .. }
                | DataType::Timestamp { .. }
                | DataType::Uuid => Form::Quoted,
                DataType::Boolean | DataType::Json | DataType::Other(_) => return None,
            };
            Some((sql::name(&column.name), form))
        });
        columns.collect::<Option<Vec<_>>>().filter(|columns| !columns.is_empty()).map(Self)
    }

    /// What to select for a bound: one text a key column, for [`Self::literals`].
    pub(crate) fn select(&self) -> String {
        let text = |(name, form): &(String, Form)| match form {
            Form::Number | Form::Quoted => format!("CAST({name} AS CHAR)"),
            Form::AsNumber => format!("CAST({name}+0 AS CHAR)"),
            Form::Float => format!("CAST(CAST({name} AS DOUBLE) AS CHAR)"),
            Form::Text { .. } | Form::Binary => format!("HEX({name})"),
        };
        self.0.iter().map(text).collect::<Vec<_>>().join(", ")
    }

    /// The selected texts as literals; `None` when one is not what was asked for.
    pub(crate) fn literals(&self, texts: &[String]) -> Option<Vec<String>> {
        let plain = |text: &str, also: &str| {
            !text.is_empty() && text.chars().all(|c| c.is_ascii_hexdigit() || also.contains(c))
        };
        let literal = |((_, form), text): (&(String, Form), &String)| match form {
            Form::Number | Form::AsNumber => plain(text, "-.").then(|| text.clone()),
            Form::Float if !plain(text, "-+.e") => None,
            Form::Float if text.contains('e') => Some(text.clone()),
            Form::Float => Some(format!("{text}E0")),
            Form::Text { charset, collation } => (text.is_empty() || plain(text, ""))
                .then(|| format!("_{charset} X'{text}' COLLATE {collation}")),
            Form::Binary => (text.is_empty() || plain(text, "")).then(|| format!("X'{text}'")),
            Form::Quoted => plain(text, "-:. ").then(|| format!("'{text}'")),
        };
        (texts.len() == self.0.len()).then(|| self.0.iter().zip(texts).map(literal).collect())?
    }

    /// The key's columns, for ORDER BY.
    pub(crate) fn order(&self, direction: &str) -> String {
        self.0.iter().map(|(name, _)| format!("{name}{direction}")).collect::<Vec<_>>().join(", ")
    }

    /// WHERE: behind `lower` (excluded) and up to `upper` (included); an empty
    /// bound bounds nothing.
    pub(crate) fn range(&self, lower: &[String], upper: &[String]) -> String {
        let conditions: Vec<String> =
            [self.beyond(lower, ">", ">"), self.beyond(upper, "<", "<=")].into_iter().flatten().collect();
        if conditions.is_empty() { "TRUE".into() } else { conditions.join(" AND ") }
    }

    /// `(a, b) > (x, y)` as `a >= x AND (a > x OR (a = x AND b > y))`; `last` is
    /// the comparison of the last column.
    fn beyond(&self, bound: &[String], strict: &str, last: &str) -> Option<String> {
        let pairs: Vec<(&str, &str)> =
            self.0.iter().zip(bound).map(|((name, _), literal)| (name.as_str(), literal.as_str())).collect();
        let ((name, literal), rest) = pairs.split_last()?;
        let mut condition = format!("{name} {last} {literal}");
        for (name, literal) in rest.iter().rev() {
            condition = format!("({name} {strict} {literal} OR ({name} = {literal} AND {condition}))");
        }
        match rest.first() {
            Some((name, literal)) => Some(format!("{name} {strict}= {literal} AND {condition}")),
            None => Some(condition),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(forms: &[Form]) -> Key {
        Key(["`a`", "`b`", "`c`"]
            .iter()
            .zip(forms)
            .map(|(name, form)| ((*name).to_owned(), form.clone()))
            .collect())
    }

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn literals_compare_as_their_columns_do() {
        let text = Form::Text { charset: "latin1".into(), collation: "latin1_swedish_ci".into() };
        for (form, text, expected) in [
            (Form::Number, "-5", Some("-5")),
            (Form::Number, "1.50", Some("1.50")),
            (Form::AsNumber, "3", Some("3")),
            (Form::Float, "1.5", Some("1.5E0")),
            (Form::Float, "1e300", Some("1e300")),
            (text.clone(), "4142", Some("_latin1 X'4142' COLLATE latin1_swedish_ci")),
            (text, "", Some("_latin1 X'' COLLATE latin1_swedish_ci")),
            (Form::Binary, "00FF", Some("X'00FF'")),
            (Form::Quoted, "2024-02-29 01:02:03.5", Some("'2024-02-29 01:02:03.5'")),
            (Form::Quoted, "x' OR 1", None),
            (Form::Number, "", None),
        ] {
            let literals = key(&[form]).literals(&texts(&[text]));
            assert_eq!(literals.map(|l| l[0].clone()).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn ranges_are_written_out() {
        let one = key(&[Form::Number]);
        assert_eq!(one.range(&[], &[]), "TRUE");
        assert_eq!(one.range(&texts(&["1"]), &texts(&["9"])), "`a` > 1 AND `a` <= 9");
        let two = key(&[Form::Number, Form::Number]);
        assert_eq!(
            two.range(&texts(&["1", "2"]), &texts(&["8", "9"])),
            "`a` >= 1 AND (`a` > 1 OR (`a` = 1 AND `b` > 2)) AND \
             `a` <= 8 AND (`a` < 8 OR (`a` = 8 AND `b` <= 9))"
        );
        let three = key(&[Form::Number, Form::Number, Form::Number]);
        assert_eq!(
            three.range(&texts(&["1", "2", "3"]), &[]),
            "`a` >= 1 AND (`a` > 1 OR (`a` = 1 AND (`b` > 2 OR (`b` = 2 AND `c` > 3))))"
        );
    }
}
