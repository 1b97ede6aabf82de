//! Table names where dots, slashes and globs mean something.
//!
//! A name may hold any character, yet it stands in object keys, in globs that
//! people type, and in `schema.table` text. So every character that a file
//! system, a glob, a query engine's path rules (`key=value` folders, hidden
//! names) or the dot between the two parts would take for its own is written as
//! `%` and two hexadecimal digits, byte by byte. Other characters stay, so that
//! ordinary names read as they are and letters of any script too. The form is
//! unique and reversible.

use tidegate_model::{Error, ErrorKind, Result, TableName};

/// One part of a name, escaped.
pub fn escape(part: &str) -> String {
    let mut out = String::with_capacity(part.len());
    for (n, c) in part.char_indices() {
        let plain = match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '-' => true,
            // A leading underscore hides a folder from many readers, and `_tidegate` is ours.
            '_' => n > 0,
            c => !c.is_ascii() && c.is_alphanumeric(),
        };
        if plain {
            out.push(c);
        } else {
            for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                out.push_str(&format!("%{byte:02X}"));
            }
        }
    }
    out
}

/// The part that [`escape`] made this of.
///
/// # Errors
/// `Corrupt` when it is not such a form.
pub fn unescape(text: &str) -> Result<String> {
    let fault = || Error::new(ErrorKind::Corrupt, "an escaped name has a stray '%' or is not UTF-8");
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        if byte != b'%' {
            out.push(byte);
            rest = tail;
            continue;
        }
        let digits = tail.get(..2).and_then(|d| std::str::from_utf8(d).ok()).ok_or_else(fault)?;
        out.push(u8::from_str_radix(digits, 16).map_err(|_| fault())?);
        rest = &tail[2..];
    }
    String::from_utf8(out).map_err(|_| fault())
}

/// `schema.table`, each part escaped: unique, whatever the names hold.
pub fn table_text(name: &TableName) -> String {
    format!("{}.{}", escape(&name.schema), escape(&name.table))
}

/// The name that [`table_text`] made this of.
///
/// # Errors
/// `Corrupt` when it is not such a text.
pub fn parse_table_text(text: &str) -> Result<TableName> {
    let (schema, table) = text
        .split_once('.')
        .ok_or_else(|| Error::new(ErrorKind::Corrupt, format!("{text:?} is not schema.table")))?;
    Ok(TableName::new(unescape(schema)?, unescape(table)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_readable_and_apart() {
        let cases = [
            ("shop", "orders", "shop.orders"),
            ("shop", "order_items-2", "shop.order_items-2"),
            ("a.b", "c", "a%2Eb.c"),
            ("a", "b.c", "a.b%2Ec"),
            ("_tidegate", "x", "%5Ftidegate.x"),
            ("größe", "表", "größe.表"),
            ("..", "a/b", "%2E%2E.a%2Fb"),
            ("day=1", "*?[x]{y} %41", "day%3D1.%2A%3F%5Bx%5D%7By%7D%20%2541"),
            ("", "", "."),
        ];
        for (schema, table, text) in cases {
            let name = TableName::new(schema, table);
            assert_eq!(table_text(&name), text);
            assert_eq!(parse_table_text(text).unwrap(), name);
        }
        for damaged in ["orders", "a.b%", "a.b%2", "a.b%zz", "a.%FF"] {
            assert_eq!(parse_table_text(damaged).unwrap_err().kind(), ErrorKind::Corrupt, "{damaged}");
        }
    }
}
