//! The one error type that crosses crate borders.
//!
//! An error says what failed (`operation`), where (`context`: table, position,
//! module), why (`message`) and what to do next (`hint`). Programs look at
//! [`ErrorKind`] and [`Retry`], never at the text. Neither a row value nor a
//! secret may stand in any part of it: errors go to logs and to `status`.

use std::fmt;

/// What went wrong, for programs: exit codes, `status`, metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The user's configuration or command is wrong.
    Config,
    /// A server or store cannot be reached, or the connection broke.
    Connection,
    /// The server or file system refused the credentials or the access.
    Permission,
    /// The server no longer has the log from our offset on.
    PositionLost,
    /// Bytes that do not decode, or a checksum that does not match.
    Corrupt,
    /// A table's structure cannot be followed.
    Schema,
    /// Known, but not built yet, or not exact enough to be trusted.
    Unsupported,
    /// A transform module cannot be loaded, or broke its contract.
    Transform,
    /// A disk or object store failed (full, read-only, I/O error).
    Storage,
    /// Another writer took over.
    Fenced,
    /// Going on could lose or double rows: a person must decide.
    Refused,
    /// Our own invariant does not hold.
    Internal,
}

/// What a retry can do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// May heal by itself: try again with backoff.
    Transient,
    /// The same input fails again: do not retry.
    Definite,
}

/// An error with its operation, context, hint and cause.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    retry: Retry,
    message: String,
    operation: Option<&'static str>,
    context: Vec<(&'static str, String)>,
    hint: Option<String>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// `Result` with [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// A definite error: lower case, no full stop, names quoted.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            retry: Retry::Definite,
            message: message.into(),
            operation: None,
            context: Vec::new(),
            hint: None,
            source: None,
        }
    }

    /// An error that may heal by itself.
    pub fn transient(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { retry: Retry::Transient, ..Self::new(kind, message) }
    }

    /// What was being done: `open state file`, `read binlog`.
    #[must_use]
    pub fn during(mut self, operation: &'static str) -> Self {
        self.operation.get_or_insert(operation);
        self
    }

    /// Where: `table`, `position`, `module`, `path`. Never a row value.
    #[must_use]
    pub fn with(mut self, key: &'static str, value: impl fmt::Display) -> Self {
        self.context.push((key, value.to_string()));
        self
    }

    /// What the person can do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The cause below.
    #[must_use]
    pub fn because(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// The kind, for programs.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Whether trying again can help.
    pub fn retry(&self) -> Retry {
        self.retry
    }

    /// True when trying again can help.
    pub fn is_transient(&self) -> bool {
        self.retry == Retry::Transient
    }

    /// The message alone.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What to do next, if known.
    pub fn hint_text(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// The process exit code for this kind: 1 failed, 2 bad usage or
    /// configuration, 3 refused for safety.
    pub fn exit_code(&self) -> u8 {
        match self.kind {
            ErrorKind::Config | ErrorKind::Unsupported => 2,
            ErrorKind::Fenced | ErrorKind::Refused => 3,
            _ => 1,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(operation) = self.operation {
            write!(f, "{operation}: ")?;
        }
        f.write_str(&self.message)?;
        for (key, value) in &self.context {
            write!(f, ", {key} {value}")?;
        }
        if let Some(source) = &self.source {
            write!(f, ": {source}")?;
        }
        if let Some(hint) = &self.hint {
            write!(f, " (hint: {hint})")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|e| e.as_ref() as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_where_why_and_what_next() {
        let error = Error::transient(ErrorKind::Storage, "no space left")
            .during("stage rows")
            .with("table", "shop.orders")
            .hint("free space in the state folder");
        assert_eq!(
            error.to_string(),
            "stage rows: no space left, table shop.orders (hint: free space in the state folder)"
        );
        assert!(error.is_transient());
        assert_eq!(error.exit_code(), 1);
    }
}
