//! Login, TLS and errors of the server, in one place.
//!
//! Every wait on the server has a limit: a half-open connection must become an
//! error, never a silent stall.

use std::future::Future;
use std::time::Duration;

use mysql_async::prelude::{FromRow, Queryable};
use mysql_async::{Conn, DriverError, IoError, Opts, OptsBuilder};
use tidegate_model::{Error, ErrorKind, Result};

use crate::config::{SourceConfig, Tls};
use crate::tls;

/// Longest wait for a connection and its login.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
/// Longest wait for the answer to a statement that reads no table.
const QUERY_TIMEOUT: Duration = Duration::from_secs(60);

/// The server's error numbers that we tell apart (MariaDB Knowledge Base,
/// "MariaDB Error Codes").
pub(crate) mod code {
    pub(crate) const UNKNOWN_COLUMN: u16 = 1054;
    pub(crate) const NO_SUCH_TABLE: u16 = 1146;
    pub(crate) const TABLE_DEFINITION_CHANGED: u16 = 1412;
    pub(crate) const MASTER_FATAL_ERROR_READING_BINLOG: u16 = 1236;
}

/// A connection whose statements have limits and whose errors are ours.
#[derive(Debug)]
pub(crate) struct Connection(Conn);

impl Connection {
    /// Logs in.
    ///
    /// # Errors
    /// `Permission` (login refused), `Connection` (server away, TLS refused).
    pub(crate) async fn open(config: &SourceConfig) -> Result<Self> {
        let conn = log_in(config).await.map_err(|e| {
            e.during("connect to the server")
                .with("host", &config.host)
                .with("port", config.port)
                .with("user", &config.user)
        })?;
        Ok(Self(conn))
    }

    /// Runs a statement and drops what it returns.
    pub(crate) async fn execute(&mut self, sql: &str) -> Result<()> {
        limited(QUERY_TIMEOUT, self.0.query_drop(sql)).await
    }

    /// All rows of a statement that returns few.
    pub(crate) async fn rows<T: FromRow + Send + 'static>(&mut self, sql: &str) -> Result<Vec<T>> {
        limited(QUERY_TIMEOUT, self.0.query(sql)).await
    }

    /// The first row of a statement.
    pub(crate) async fn first<T: FromRow + Send + 'static>(&mut self, sql: &str) -> Result<Option<T>> {
        limited(QUERY_TIMEOUT, self.0.query_first(sql)).await
    }

    /// The connection itself, for what has limits of its own.
    pub(crate) fn raw(&mut self) -> &mut Conn {
        &mut self.0
    }

    /// The connection itself, given away to the log stream.
    pub(crate) fn into_raw(self) -> Conn {
        self.0
    }
}

/// Logs in. The driver checks the host's name even when it is told not to, so
/// under `verify_ca` a certificate that is good but for its name is asked for
/// again by a name that it has: its chain is verified both times.
async fn log_in(config: &SourceConfig) -> Result<Conn> {
    match limited(CONNECT_TIMEOUT, Conn::new(opts(config, None)?)).await {
        Err(error) if matches!(config.tls, Tls::VerifyCa { .. }) => match tls::presented_name(&error) {
            Some(name) => limited(CONNECT_TIMEOUT, Conn::new(opts(config, Some(name))?)).await,
            None => Err(error),
        },
        login => login,
    }
}

/// Waits for the server, but not for ever.
pub(crate) async fn limited<T>(
    limit: Duration,
    answer: impl Future<Output = mysql_async::Result<T>>,
) -> Result<T> {
    match tokio::time::timeout(limit, answer).await {
        Ok(answer) => answer.map_err(server_error),
        Err(_) => Err(timed_out(limit)),
    }
}

/// The number of a server's refusal, if the error is one.
pub(crate) fn error_code(error: &Error) -> Option<u16> {
    let source = std::error::Error::source(error)?;
    match source.downcast_ref::<mysql_async::Error>()? {
        mysql_async::Error::Server(server) => Some(server.code),
        _ => None,
    }
}

/// An error of the driver or the server in our terms.
pub(crate) fn server_error(error: mysql_async::Error) -> Error {
    let mapped = match &error {
        mysql_async::Error::Server(server) => match server.code {
            1045 | 1698 => Error::new(ErrorKind::Permission, "the server refused user or password").hint(
                "check `source.user` and `source.password`, and from which hosts the account may log in",
            ),
            1044 | 1142 | 1143 | 1227 => Error::new(ErrorKind::Permission, "the account lacks a privilege")
                .hint(
                    "GRANT SELECT, REPLICATION SLAVE, BINLOG MONITOR ON *.* TO the account of `source.user`",
                ),
            1049 => Error::new(ErrorKind::Config, "the server has no such database")
                .hint("check the schema names in `source.tables`"),
            code::MASTER_FATAL_ERROR_READING_BINLOG => position_lost(&server.message),
            1040 | 1053 | 1205 | 1213 | 1317 | 1927 => {
                Error::transient(ErrorKind::Connection, "the server is busy or stopping")
            }
            _ => Error::new(ErrorKind::Connection, "the server refused a statement"),
        },
        mysql_async::Error::Io(_) if tls::fault(&error).is_some() => {
            Error::new(ErrorKind::Permission, "the server's certificate is not accepted").hint(
                "check `source.tls_ca`, and that the certificate names `source.host` (or set `source.tls: verify_ca`)",
            )
        }
        mysql_async::Error::Driver(DriverError::NoClientSslFlagFromServer) => {
            Error::new(ErrorKind::Connection, "the server offers no TLS")
                .hint("give the server a certificate (ssl_cert, ssl_key), or set `source.tls: disable`")
        }
        mysql_async::Error::Io(IoError::Io(io)) if io.kind() == std::io::ErrorKind::ConnectionRefused => {
            Error::transient(ErrorKind::Connection, "nothing answers there")
                .hint("check `source.host` and `source.port`, and that the server runs")
        }
        mysql_async::Error::Io(_) | mysql_async::Error::Driver(DriverError::ConnectionClosed) => {
            Error::transient(ErrorKind::Connection, "the connection broke")
                .hint("check `source.host` and `source.port`, and that the server runs")
        }
        _ => Error::transient(ErrorKind::Connection, "the connection failed"),
    };
    mapped.because(error)
}

/// Error 1236 covers everything that a dump can fail with; its text is the only
/// way to tell a purged log from a broken packet.
fn position_lost(message: &str) -> Error {
    if message.contains("max_allowed_packet") {
        return Error::new(ErrorKind::Connection, "an event is larger than the server's max_allowed_packet")
            .hint("SET GLOBAL max_allowed_packet = 1073741824");
    }
    if message.contains("not in the master's binlog") {
        return Error::new(
            ErrorKind::Refused,
            "the server's log does not hold the transaction that we have delivered last",
        )
        .hint(
            "this is another server, or it lost transactions; a snapshot under a new epoch is the way out",
        );
    }
    Error::new(ErrorKind::PositionLost, "the server's log no longer reaches back to our position").hint(
        "keep logs longer (binlog_expire_logs_seconds); then start anew: `tidegate offsets set`, and `tidegate snapshot` for each table",
    )
}

fn timed_out(limit: Duration) -> Error {
    Error::transient(ErrorKind::Connection, format!("no answer within {} s", limit.as_secs()))
        .hint("check the network between agent and server, and the server's load")
}

/// `name`: what the certificate must name instead of the host.
fn opts(config: &SourceConfig, name: Option<String>) -> Result<Opts> {
    let builder = OptsBuilder::default()
        .ip_or_hostname(&config.host)
        .tcp_port(config.port)
        .user(Some(&config.user))
        .pass(Some(config.password.reveal()))
        // What is configured is what is used: on loopback the driver would look for a socket.
        .prefer_socket(false)
        .tcp_keepalive(Some(Duration::from_secs(30)))
        // Both given, so that the driver does not ask for them.
        .max_allowed_packet(Some(1 << 30))
        .wait_timeout(Some(28_800))
        .stmt_cache_size(0)
        .ssl_opts(tls::options(&config.tls, name)?);
    Ok(builder.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use mysql_async::ServerError;

    #[test]
    fn refusals_say_what_to_do() {
        let refusal = |code, message: &str| {
            server_error(mysql_async::Error::Server(ServerError {
                code,
                message: message.into(),
                state: "HY000".into(),
            }))
        };
        for (code, message, kind, hinted) in [
            (1045, "Access denied", ErrorKind::Permission, "source.password"),
            (1227, "Access denied; you need REPLICATION SLAVE", ErrorKind::Permission, "GRANT"),
            (
                1236,
                "Could not find first log file name",
                ErrorKind::PositionLost,
                "binlog_expire_logs_seconds",
            ),
            (
                1236,
                "requested to start from GTID 0-1-9, which is not in the master's binlog",
                ErrorKind::Refused,
                "snapshot",
            ),
            (
                1236,
                "log event entry exceeded max_allowed_packet",
                ErrorKind::Connection,
                "max_allowed_packet",
            ),
        ] {
            let error = refusal(code, message);
            assert_eq!(error.kind(), kind, "{message}");
            assert!(error.hint_text().is_some_and(|hint| hint.contains(hinted)), "{error}");
            assert_eq!(error_code(&error), Some(code));
            assert!(!error.is_transient());
        }
    }
}
