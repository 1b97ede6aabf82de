//! What the server says about itself: its place, its lineage, its names.

use tidegate_model::{Error, ErrorKind, GtidSet, Lineage, LogPosition, Result};

use crate::connection::Connection;

/// The end of the log at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LogEnd {
    /// Where the next transaction will begin.
    pub(crate) log: LogPosition,
    /// Everything in front of it.
    pub(crate) gtid: GtidSet,
}

/// Reads the end of the log: place and GTID set of the same moment.
///
/// # Errors
/// `Config` when the server writes no binary log.
pub(crate) async fn log_end(connection: &mut Connection) -> Result<LogEnd> {
    let status: Option<mysql_async::Row> =
        connection.first("SHOW MASTER STATUS").await.map_err(|e| e.during("read the log's end"))?;
    let place =
        status.and_then(|row| Some((row.get_opt::<String, _>(0)?.ok()?, row.get_opt::<u64, _>(1)?.ok()?)));
    let Some((file, offset)) = place else {
        return Err(Error::new(ErrorKind::Config, "the server writes no binary log")
            .hint("set log_bin in the server's configuration and restart it"));
    };
    let number = file.rsplit_once('.').and_then(|(_, number)| number.parse().ok());
    let file_no =
        number.ok_or_else(|| Error::new(ErrorKind::Unsupported, "the log file's name has no number"))?;
    // The set at just that place; `@@gtid_binlog_pos` may be ahead of it already.
    let text: Option<Option<String>> = connection
        .first(&format!("SELECT BINLOG_GTID_POS({}, {offset})", crate::sql::text(&file)))
        .await
        .map_err(|e| e.during("read the log's end"))?;
    let gtid = text.flatten().unwrap_or_default().parse()?;
    Ok(LogEnd { log: LogPosition { file_no, offset }, gtid })
}

/// Which server's log this is, without a witness.
///
/// # Errors
/// `Unsupported` when it is not MariaDB.
pub(crate) async fn lineage(connection: &mut Connection) -> Result<Lineage> {
    require_mariadb(connection).await?;
    let row: Option<(u32, u32, Option<String>)> = connection
        .first("SELECT @@gtid_domain_id, @@server_id, @@log_bin_basename")
        .await
        .map_err(|e| e.during("read the server's identity"))?;
    let (domain, server_id, base) = row.unwrap_or_default();
    let base = base.unwrap_or_default();
    let log_base = base.rsplit(['/', '\\']).next().unwrap_or_default().to_owned();
    Ok(Lineage::MariaDb { domain, server_id, log_base, witness: None })
}

/// True when the server compares table names without case.
///
/// # Errors
/// `Connection`.
pub(crate) async fn folds_names(connection: &mut Connection) -> Result<bool> {
    let mode: Option<u8> = connection.first("SELECT @@lower_case_table_names").await?;
    Ok(mode.unwrap_or(0) != 0)
}

/// Refuses a server that is not MariaDB.
///
/// # Errors
/// `Unsupported`.
pub(crate) async fn require_mariadb(connection: &mut Connection) -> Result<String> {
    let version: Option<String> =
        connection.first("SELECT VERSION()").await.map_err(|e| e.during("read the server's version"))?;
    let version = version.unwrap_or_default();
    if version.to_ascii_lowercase().contains("mariadb") {
        return Ok(version);
    }
    Err(Error::new(ErrorKind::Unsupported, format!("the server is no MariaDB but {version:?}"))
        .hint("`source.type: mariadb` needs a MariaDB server; MySQL is not yet supported"))
}
