//! Everything that capture needs, checked before the first row; each finding
//! says what mends it.

use std::collections::{BTreeMap, BTreeSet};

use tidegate_model::source::{Finding, Severity};
use tidegate_model::{Result, TableName};

use crate::catalog::{self, CatalogTable};
use crate::config::{SnapshotMode, SourceConfig};
use crate::connection::Connection;
use crate::pattern::nearest;
use crate::server;
use crate::sql;

/// Names that a lake's rows carry beside the columns.
const RESERVED: [&str; 10] = [
    "__op",
    "__pos",
    "__idx",
    "__tx",
    "__commit_ts",
    "__schema",
    "__module",
    "__generation",
    "__absent",
    "__before",
];
/// A log kept for less than this may be gone before the agent is back.
const RETENTION_MIN_S: u64 = 24 * 3600;

/// Checks server, account and tables. Changes nothing.
///
/// # Errors
/// `Connection`, and `Unsupported` when the server is no MariaDB.
pub(crate) async fn check(connection: &mut Connection, config: &SourceConfig) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    server::require_mariadb(connection).await?;
    let variables = variables(connection).await?;
    check_variables(&variables, config, &mut findings);
    check_privileges(connection, &mut findings).await?;
    check_tables(connection, config, &mut findings).await?;
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    Ok(findings)
}

fn finding(severity: Severity, message: impl Into<String>, fix: impl Into<String>) -> Finding {
    Finding { severity, table: None, message: message.into(), fix: fix.into() }
}

fn about(
    table: &TableName,
    severity: Severity,
    message: impl Into<String>,
    fix: impl Into<String>,
) -> Finding {
    Finding { table: Some(table.clone()), ..finding(severity, message, fix) }
}

async fn variables(connection: &mut Connection) -> Result<BTreeMap<String, String>> {
    let rows: Vec<(String, String)> = connection
        .rows("SHOW GLOBAL VARIABLES")
        .await
        .map_err(|e| e.during("read the server's variables"))?;
    Ok(rows.into_iter().collect())
}

fn check_variables(variables: &BTreeMap<String, String>, config: &SourceConfig, findings: &mut Vec<Finding>) {
    let value = |name: &str| variables.get(name).map_or("", String::as_str);
    let is = |name: &str, wanted: &str| value(name).eq_ignore_ascii_case(wanted);
    if !is("log_bin", "ON") {
        findings.push(finding(
            Severity::Fatal,
            "the server writes no binary log",
            "log_bin = binlog in the server's configuration, and a restart",
        ));
    }
    if !is("binlog_format", "ROW") {
        findings.push(finding(
            Severity::Fatal,
            format!(
                "binlog_format is {}: changes would be logged as statements, without rows",
                value("binlog_format")
            ),
            "SET GLOBAL binlog_format = 'ROW'",
        ));
    }
    if !is("binlog_row_image", "FULL") {
        findings.push(finding(
            Severity::Warning,
            format!(
                "binlog_row_image is {}: a table parks at its first row that is logged in part",
                value("binlog_row_image")
            ),
            "SET GLOBAL binlog_row_image = 'FULL'",
        ));
    }
    if !is("binlog_row_metadata", "FULL") {
        findings.push(finding(
            Severity::Fatal,
            "binlog_row_metadata is not FULL: the log tells no column names",
            "SET GLOBAL binlog_row_metadata = 'FULL'",
        ));
    }
    if is("binlog_checksum", "NONE") {
        findings.push(finding(
            Severity::Warning,
            "the log has no checksums: damage on disk or wire would not be noticed",
            "SET GLOBAL binlog_checksum = 'CRC32'",
        ));
    }
    if !is("gtid_strict_mode", "ON") {
        findings.push(finding(
            Severity::Warning,
            "gtid_strict_mode is off: transaction ids may run backwards, and resuming may skip some",
            "SET GLOBAL gtid_strict_mode = ON",
        ));
    }
    check_retention(value("expire_logs_days"), value("binlog_expire_logs_seconds"), findings);
    if config.server_id == 0 {
        findings.push(finding(
            Severity::Fatal,
            "our own server id is 0, which the server refuses",
            "set `source.server_id` to a number that no replica has",
        ));
    }
    if value("server_id") == config.server_id.to_string() {
        findings.push(finding(
            Severity::Fatal,
            format!("our server id {} is the server's own", config.server_id),
            "set `source.server_id` to a number that neither the server nor a replica has",
        ));
    }
}

fn check_retention(days: &str, seconds: &str, findings: &mut Vec<Finding>) {
    let seconds: u64 = seconds.parse().unwrap_or(0);
    let days: f64 = days.parse().unwrap_or(0.0);
    let kept = if seconds > 0 { seconds } else { (days * 86_400.0) as u64 };
    if kept > 0 && kept < RETENTION_MIN_S {
        findings.push(finding(
            Severity::Warning,
            format!("the server keeps its log for {kept} s only: an agent that is away longer needs a new snapshot"),
            "SET GLOBAL binlog_expire_logs_seconds = 604800",
        ));
    }
}

async fn check_privileges(connection: &mut Connection, findings: &mut Vec<Finding>) -> Result<()> {
    let grants: Vec<String> =
        connection.rows("SHOW GRANTS").await.map_err(|e| e.during("read our privileges"))?;
    let global: Vec<String> = grants
        .iter()
        .filter(|grant| grant.contains(" ON *.*"))
        .map(|grant| grant.to_ascii_uppercase())
        .collect();
    let has = |privilege: &str| {
        global.iter().any(|grant| grant.contains(privilege) || grant.contains("GRANT ALL PRIVILEGES"))
    };
    for (privilege, needed_for) in [
        ("REPLICATION SLAVE", "to read the binary log"),
        ("BINLOG MONITOR", "to find the log's end and files"),
    ] {
        if !has(privilege) {
            findings.push(finding(
                Severity::Fatal,
                format!("the account lacks {privilege}, needed {needed_for}"),
                format!("GRANT {privilege} ON *.* TO {}", account(connection).await?),
            ));
        }
    }
    Ok(())
}

/// The account that we are logged in as, quoted.
async fn account(connection: &mut Connection) -> Result<String> {
    let account: Option<String> = connection.first("SELECT CURRENT_USER()").await?;
    let account = account.unwrap_or_default();
    let (user, host) = account.rsplit_once('@').unwrap_or((&account, "%"));
    Ok(format!("{}@{}", sql::name(user), sql::name(host)))
}

async fn check_tables(
    connection: &mut Connection,
    config: &SourceConfig,
    findings: &mut Vec<Finding>,
) -> Result<()> {
    let names = catalog::table_names(connection).await?;
    for pattern in &config.tables {
        if names.keys().any(|name| pattern.matches(name)) {
            continue;
        }
        findings.push(match pattern.literal() {
            Some(wanted) => {
                let near = nearest(&wanted, names.keys());
                let message = match near {
                    Some(near) => {
                        format!("unknown table {wanted}; the nearest that the account can see is {near}")
                    }
                    None => format!("unknown table {wanted}, or the account may not see it"),
                };
                let account = account(connection).await?;
                about(
                    &wanted,
                    Severity::Fatal,
                    message,
                    format!(
                        "correct `source.tables`, or GRANT SELECT ON {} TO {account}",
                        sql::table(&wanted)
                    ),
                )
            }
            None => finding(
                Severity::Warning,
                format!("no table matches `{pattern}` yet"),
                "check the pattern in `source.tables`, and the account's SELECT privilege",
            ),
        });
    }
    let captured = catalog::captured(connection, config).await?;
    for table in captured.values() {
        check_table(connection, config, table, findings).await?;
    }
    check_cascades(connection, &captured, findings).await
}

async fn check_table(
    connection: &mut Connection,
    config: &SourceConfig,
    table: &CatalogTable,
    findings: &mut Vec<Finding>,
) -> Result<()> {
    let name = &table.name;
    let quoted = sql::table(name);
    if let Some(obstacle) = table.obstacle() {
        findings.push(about(
            name,
            Severity::Table,
            obstacle,
            "take the table out of `source.tables`, or change it",
        ));
    }
    for column in &table.columns {
        if RESERVED.contains(&column.name.as_str()) {
            let (old, new) = (sql::name(&column.name), sql::name(column.name.trim_start_matches('_')));
            findings.push(about(
                name,
                Severity::Fatal,
                format!("column {:?} has a name that the lake's rows reserve", column.name),
                format!("ALTER TABLE {quoted} RENAME COLUMN {old} TO {new}"),
            ));
        }
    }
    if let Some(obstacle) = table.snapshot_obstacle() {
        let severity =
            if config.snapshot == SnapshotMode::Latest { Severity::Warning } else { Severity::Table };
        let fix = if table.key.is_empty() {
            format!("ALTER TABLE {quoted} ADD PRIMARY KEY (…), or `source.snapshot.mode: latest`")
        } else if table.prefix_key {
            format!("ALTER TABLE {quoted} with a key over whole columns, or `source.snapshot.mode: latest`")
        } else {
            format!("ALTER TABLE {quoted} ENGINE = InnoDB, or `source.snapshot.mode: latest`")
        };
        findings.push(about(name, severity, obstacle, fix));
    }
    if connection.execute(&format!("SELECT 1 FROM {quoted} LIMIT 0")).await.is_err() {
        let account = account(connection).await?;
        findings.push(about(
            name,
            Severity::Fatal,
            "the account may not read the table",
            format!("GRANT SELECT ON {quoted} TO {account}"),
        ));
    }
    Ok(())
}

/// Rows that a foreign key changes are not in the log.
async fn check_cascades(
    connection: &mut Connection,
    captured: &BTreeMap<TableName, CatalogTable>,
    findings: &mut Vec<Finding>,
) -> Result<()> {
    let rules: Vec<(String, String, String)> = connection
        .rows(
            "SELECT CONSTRAINT_SCHEMA, TABLE_NAME, CONSTRAINT_NAME FROM information_schema.REFERENTIAL_CONSTRAINTS \
             WHERE DELETE_RULE IN ('CASCADE', 'SET NULL', 'SET DEFAULT') \
             OR UPDATE_RULE IN ('CASCADE', 'SET NULL', 'SET DEFAULT')",
        )
        .await
        .map_err(|e| e.during("read foreign keys"))?;
    let mut seen = BTreeSet::new();
    for (schema, table, constraint) in rules {
        let name = TableName::new(schema, table);
        if captured.contains_key(&name) && seen.insert((name.clone(), constraint.clone())) {
            findings.push(about(
                &name,
                Severity::Warning,
                format!("foreign key {constraint:?} changes or deletes rows of this table without a trace in the log"),
                format!(
                    "ALTER TABLE {} DROP FOREIGN KEY {}, and let the application delete the rows",
                    sql::table(&name),
                    sql::name(&constraint)
                ),
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_mended_by_what_the_finding_says() {
        let good = [
            ("log_bin", "ON"),
            ("binlog_format", "ROW"),
            ("binlog_row_image", "FULL"),
            ("binlog_row_metadata", "FULL"),
            ("binlog_checksum", "CRC32"),
            ("gtid_strict_mode", "ON"),
            ("expire_logs_days", "10.000000"),
            ("binlog_expire_logs_seconds", "0"),
            ("server_id", "1"),
        ];
        let mut config = SourceConfig::new("127.0.0.1", 3306, Vec::new());
        config.server_id = 7;
        let found = |change: Option<(&str, &str)>| {
            let mut variables: BTreeMap<String, String> =
                good.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
            variables.extend(change.map(|(name, value)| (name.to_owned(), value.to_owned())));
            let mut findings = Vec::new();
            check_variables(&variables, &config, &mut findings);
            findings
        };
        assert!(found(None).is_empty());
        for (name, value, severity) in [
            ("log_bin", "OFF", Severity::Fatal),
            ("binlog_format", "MIXED", Severity::Fatal),
            ("binlog_row_image", "MINIMAL", Severity::Warning),
            ("binlog_row_metadata", "NO_LOG", Severity::Fatal),
            ("binlog_checksum", "NONE", Severity::Warning),
            ("gtid_strict_mode", "OFF", Severity::Warning),
            ("binlog_expire_logs_seconds", "3600", Severity::Warning),
            ("server_id", "7", Severity::Fatal),
        ] {
            let findings = found(Some((name, value)));
            assert_eq!(findings.len(), 1, "{name}");
            assert_eq!(findings[0].severity, severity, "{name}");
            assert!(!findings[0].fix.is_empty(), "{name}");
        }
    }
}
