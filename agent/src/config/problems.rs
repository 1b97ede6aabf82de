//! Everything that is wrong with a file, collected so that a person mends it
//! in one go.

use std::path::Path;

use tidegate_model::{Error, ErrorKind, Result};

/// The problems of one file.
#[derive(Debug, Default)]
pub(super) struct Problems {
    list: Vec<Problem>,
}

#[derive(Debug)]
struct Problem {
    line: u64,
    message: String,
    hint: String,
    unsupported: bool,
}

impl Problems {
    /// Notes one. Neither text may quote a value that can be a secret; `hint`
    /// may be empty.
    pub(super) fn add(&mut self, line: u64, message: impl Into<String>, hint: impl Into<String>) {
        self.list.push(Problem { line, message: message.into(), hint: hint.into(), unsupported: false });
    }

    /// Notes something that is known but not built yet.
    pub(super) fn unsupported(&mut self, line: u64, message: impl Into<String>, hint: &str) {
        self.list.push(Problem { line, message: message.into(), hint: hint.into(), unsupported: true });
    }

    /// `Ok` when there are none, else one error that tells them all, a line each
    /// in the order of the file.
    ///
    /// # Errors
    /// `Unsupported` when nothing but that is wrong, else `Config`.
    pub(super) fn into_result(mut self, file: &Path) -> Result<()> {
        if self.list.is_empty() {
            return Ok(());
        }
        self.list.sort_by_key(|problem| problem.line);
        let only_unsupported = self.list.iter().all(|problem| problem.unsupported);
        let kind = if only_unsupported { ErrorKind::Unsupported } else { ErrorKind::Config };
        let lines = self.list.iter().map(|Problem { line, message, hint, .. }| {
            let hint = if hint.is_empty() { String::new() } else { format!(" (hint: {hint})") };
            format!("{}:{line}: {message}{hint}", file.display())
        });
        Err(Error::new(kind, lines.collect::<Vec<_>>().join("\n")))
    }
}
