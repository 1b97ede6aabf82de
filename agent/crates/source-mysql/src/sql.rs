//! Names and values as SQL text, safe under every `sql_mode`.

use tidegate_model::TableName;

/// A name in backticks.
pub(crate) fn name(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// A table's qualified name in backticks.
pub(crate) fn table(table: &TableName) -> String {
    format!("{}.{}", name(&table.schema), name(&table.table))
}

/// A string constant. Hexadecimal, since quoting depends on the session's mode.
pub(crate) fn text(text: &str) -> String {
    format!("_utf8mb4 X'{}'", hex(text.as_bytes()))
}

/// Upper-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let digit = |nibble: u8| char::from(DIGITS[usize::from(nibble)]);
    bytes.iter().flat_map(|&byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_escapes_its_quotes() {
        assert_eq!(table(&TableName::new("a`b", "c.d")), "`a``b`.`c.d`");
        assert_eq!(text("a'\\"), "_utf8mb4 X'61275C'");
    }
}
