//! Options of the source as plain values that cannot contradict each other; the
//! agent resolves its configuration file into them.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use tidegate_model::TableName;

use crate::pattern::TablePattern;

/// A password. `Debug` never shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a resolved secret.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The secret itself, for the login only.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

/// How far the server's certificate is trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tls {
    /// No encryption.
    Disable,
    /// Encrypted, whoever answers.
    Require,
    /// Encrypted, certificate signed by a known authority.
    VerifyCa {
        /// PEM file of the authority; `None`: the public ones.
        ca: Option<PathBuf>,
    },
    /// As `VerifyCa`, and the certificate names the host.
    VerifyIdentity {
        /// PEM file of the authority; `None`: the public ones.
        ca: Option<PathBuf>,
    },
}

/// What is read before the log is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SnapshotMode {
    /// Every captured table's rows, once.
    Initial,
    /// None: only changes from now on.
    Latest,
    /// Every captured table's rows, and the changes up to the last chunk's high
    /// mark; then the source is done.
    SnapshotOnly,
}

/// When the rows at hand are cut into a segment. Cuts mean nothing: only speed
/// and memory depend on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentBounds {
    /// Cut when the log runs dry and at least this much is at hand, or the age
    /// is reached.
    pub bytes: usize,
    /// Cut now, whatever is open.
    pub bytes_max: usize,
    /// Cut when the oldest row is this old.
    pub age: Duration,
}

impl Default for SegmentBounds {
    fn default() -> Self {
        Self { bytes: 1 << 20, bytes_max: 4 << 20, age: Duration::from_millis(50) }
    }
}

/// A MariaDB source.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceConfig {
    /// Host name or address.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// Account with REPLICATION SLAVE, BINLOG MONITOR and SELECT.
    pub user: String,
    /// Its password.
    pub password: Secret,
    /// Encryption of the connection.
    pub tls: Tls,
    /// Our id among the server's replicas; no other replica may have it.
    pub server_id: u32,
    /// Longest time without a segment; also asked of the server, so that a dead
    /// connection is noticed after three of them.
    pub heartbeat: Duration,
    /// Which tables are captured.
    pub tables: Vec<TablePattern>,
    /// What is read first.
    pub snapshot: SnapshotMode,
    /// Rows of a chunk, at most.
    pub chunk_rows: u32,
    /// Bytes of a chunk, about: the row count of the next chunk is fitted to it.
    pub chunk_bytes: usize,
    /// When segments are cut.
    pub segment: SegmentBounds,
    /// Epoch of a new pipeline; a resumed one keeps its offset's.
    pub epoch: u32,
}

impl SourceConfig {
    /// The defaults for a server and the tables to capture.
    pub fn new(host: impl Into<String>, port: u16, tables: Vec<TablePattern>) -> Self {
        Self {
            host: host.into(),
            port,
            user: String::new(),
            password: Secret::new(""),
            tls: Tls::Disable,
            server_id: 0,
            heartbeat: Duration::from_secs(10),
            tables,
            snapshot: SnapshotMode::Initial,
            chunk_rows: 10_000,
            chunk_bytes: 16 << 20,
            segment: SegmentBounds::default(),
            epoch: 1,
        }
    }

    /// True when a pattern names this table; never for the server's own schemas.
    pub fn captures(&self, name: &TableName) -> bool {
        self.tables.iter().any(|pattern| pattern.matches(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_no_password() {
        let mut config = SourceConfig::new("127.0.0.1", 3306, Vec::new());
        config.password = Secret::new("swordfish");
        assert!(!format!("{config:?}").contains("swordfish"));
    }
}
