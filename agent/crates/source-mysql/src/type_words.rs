//! A column's exact type from the server's own words for it.
//!
//! `information_schema.COLUMNS.COLUMN_TYPE` is the server's canonical spelling
//! (`int(10) unsigned`, `enum('a','b')`), whatever synonym the DDL used.

use std::sync::Arc;

use tidegate_model::DataType;

use crate::charset::Charset;

/// What the catalog says about a column beside its type's words.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TypeFacts<'a> {
    /// `COLUMN_TYPE`.
    pub(crate) words: &'a str,
    /// `CHARACTER_SET_NAME`, for types with characters.
    pub(crate) charset: Option<&'a str>,
    /// `CHARACTER_MAXIMUM_LENGTH`.
    pub(crate) length: Option<u64>,
    /// The column has a `json_valid` check: that is what JSON means to MariaDB.
    pub(crate) json: bool,
}

/// The exact type; `None` when the words are not known to be exact.
pub(crate) fn exact(facts: TypeFacts<'_>) -> Option<DataType> {
    let words = facts.words.to_ascii_lowercase();
    let end = words.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(words.len());
    let (base, rest) = words.split_at(end);
    let unsigned = rest.contains("unsigned") || rest.contains("zerofill");
    let length = u32::try_from(facts.length.unwrap_or(0)).unwrap_or(u32::MAX);
    let integer = |bits| Some(DataType::Integer { bits, unsigned });
    match base {
        "tinyint" => integer(8),
        "smallint" => integer(16),
        "mediumint" => integer(24),
        "int" => integer(32),
        "bigint" => integer(64),
        "float" => Some(DataType::Float32),
        "double" => Some(DataType::Float64),
        "decimal" => {
            let mut digits = arguments(rest);
            let precision = digits.next()?;
            Some(DataType::Decimal { precision, scale: digits.next().unwrap_or(0) })
        }
        "bit" => Some(DataType::Bit { length: arguments(rest).next().unwrap_or(1) }),
        "longtext" if facts.json && facts.charset == Some("utf8mb4") => Some(DataType::Json),
        "char" | "varchar" | "tinytext" | "text" | "mediumtext" | "longtext" => {
            Some(DataType::Text { length, charset: decoded(facts.charset)?.into() })
        }
        "binary" => Some(DataType::Binary { length, fixed: true }),
        "varbinary" | "tinyblob" | "blob" | "mediumblob" | "longblob" => {
            Some(DataType::Binary { length, fixed: false })
        }
        "date" => Some(DataType::Date),
        "time" => Some(DataType::Time { fraction: arguments(rest).next().unwrap_or(0) }),
        "datetime" => Some(DataType::DateTime { fraction: arguments(rest).next().unwrap_or(0) }),
        "timestamp" => Some(DataType::Timestamp { fraction: arguments(rest).next().unwrap_or(0) }),
        "year" => Some(DataType::Year),
        "enum" => {
            decoded(facts.charset)?;
            Some(DataType::Enum { labels: labels(&facts.words[end..])? })
        }
        "set" => {
            decoded(facts.charset)?;
            Some(DataType::Set { labels: labels(&facts.words[end..])? })
        }
        "uuid" => Some(DataType::Uuid),
        _ => None,
    }
}

/// The charset's name, if its text can be decoded exactly.
fn decoded(charset: Option<&str>) -> Option<&str> {
    charset.filter(|name| Charset::of_name(name).is_some_and(|charset| charset.bytes_per_char().is_some()))
}

/// The numbers in the parentheses that follow a type's name.
fn arguments(rest: &str) -> impl Iterator<Item = u8> + '_ {
    rest.strip_prefix('(')
        .and_then(|inner| inner.split(')').next())
        .into_iter()
        .flat_map(|inner| inner.split(','))
        .filter_map(|number| number.trim().parse().ok())
}

/// The labels of `('a','b''c')`. The server doubles quotes and escapes nothing
/// else.
fn labels(rest: &str) -> Option<Arc<[String]>> {
    let mut chars = rest.strip_prefix('(')?.chars().peekable();
    let mut labels = Vec::new();
    loop {
        if chars.next()? != '\'' {
            return None;
        }
        let mut label = String::new();
        loop {
            match chars.next()? {
                '\'' if chars.peek() == Some(&'\'') => label.push(chars.next()?),
                '\'' => break,
                c => label.push(c),
            }
        }
        labels.push(label);
        match chars.next()? {
            ',' => {}
            ')' => return Some(labels.into()),
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(words: &str) -> String {
        let facts = TypeFacts { words, charset: Some("latin1"), length: Some(40), json: false };
        exact(facts).map_or("none".into(), |data_type| data_type.to_string())
    }

    #[test]
    fn the_servers_words_give_exact_types() {
        for (words, expected) in [
            ("tinyint(1)", "int8"),
            ("mediumint(8) unsigned", "uint24"),
            ("bigint(20) unsigned zerofill", "uint64"),
            ("float unsigned", "float32"),
            ("decimal(65,30)", "decimal(65,30)"),
            ("decimal(10,0) unsigned", "decimal(10,0)"),
            ("bit(9)", "bit(9)"),
            ("varchar(40)", "text(40) latin1"),
            ("binary(40)", "binary(40) fixed"),
            ("mediumblob", "binary(40)"),
            ("datetime", "datetime(0)"),
            ("timestamp(6)", "timestamp(6)"),
            ("year(4)", "year"),
            ("uuid", "uuid"),
            ("point", "none"),
            ("inet6", "none"),
        ] {
            assert_eq!(shown(words), expected, "{words}");
        }
    }

    #[test]
    fn labels_keep_case_commas_and_quotes() {
        let facts =
            TypeFacts { words: "enum('A,b','c''d','')", charset: Some("utf8mb4"), length: None, json: false };
        let Some(DataType::Enum { labels }) = exact(facts) else { panic!("no enum") };
        assert_eq!(*labels, ["A,b".to_owned(), "c'd".into(), String::new()]);
    }

    #[test]
    fn json_is_a_checked_longtext() {
        let facts = |json| TypeFacts { words: "longtext", charset: Some("utf8mb4"), length: None, json };
        assert_eq!(exact(facts(true)), Some(DataType::Json));
        assert!(matches!(exact(facts(false)), Some(DataType::Text { .. })));
    }
}
