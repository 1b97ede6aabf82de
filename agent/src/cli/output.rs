//! Standard output for data, standard error for talk.

use std::fmt::Display;
use std::io::{self, Write};

use comfy_table::{ContentArrangement, Table, presets::UTF8_FULL_CONDENSED};
use console::Term;
use serde::Serialize;
use tidegate_model::{Error, ErrorKind, Result};

/// One line of data.
///
/// # Errors
/// `Storage` when standard output cannot be written. A reader that has gone
/// away (`| head`) is no error: nobody is left to tell.
pub(crate) fn line(text: impl Display) -> Result<()> {
    match writeln!(io::stdout().lock(), "{text}") {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Error::new(ErrorKind::Storage, "standard output cannot be written").because(error))
        }
        _ => Ok(()),
    }
}

/// Data for a program.
///
/// # Errors
/// As [`line`].
pub(crate) fn json(value: &impl Serialize) -> Result<()> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| Error::new(ErrorKind::Internal, "the answer has no JSON form").because(error))?;
    line(text)
}

/// Data for a person, in columns. On a terminal cells are wrapped so that a row fits;
/// elsewhere (a file, `| grep`) a row stays one line.
///
/// # Errors
/// As [`line`].
pub(crate) fn table<const N: usize>(
    header: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> Result<()> {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED);
    if let Some((_, columns)) = Term::stdout().size_checked() {
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(columns);
    }
    table.set_header(header);
    for row in rows {
        table.add_row(row);
    }
    line(table)
}

/// A line of talk. It is lost when standard error is gone, and nobody misses it.
pub(crate) fn talk(text: impl Display) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// A number of things: `1 chunk`, `2,000 rows`.
pub(crate) fn count(number: u64, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {thing}{plural}", thousands(number))
}

/// A number with its thousands apart.
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> = {
        let first = digits.len() % 3;
        let (head, tail) = digits.split_at(first);
        let tail = (0..tail.len()).step_by(3).map(|at| &tail[at..at + 3]);
        std::iter::once(head).filter(|head| !head.is_empty()).chain(tail).collect()
    };
    groups.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(thousands(number), text);
        }
        assert_eq!([count(1, "chunk"), count(2_000, "row")], ["1 chunk", "2,000 rows"]);
    }
}
