//! What the person sees: the story on standard error, what arrived on standard
//! output.

use std::time::Duration;

use tidegate_format::SchemaChangeRecord;
use tidegate_format::layout::{OP, POS};
use tidegate_model::{Result, TableName};

use super::lake::{self, Row};
use super::shop::{Size, TABLES};
use super::stage::{Agent, Stage, keep_it_running};
use crate::cli::output::{line, table, talk, thousands};
use crate::cli::schema;
use crate::pipeline::PipelineStatus;

/// Rows of a table in the terminal.
const SAMPLE: usize = 6;

pub(super) fn introduction(size: Size) -> Result<()> {
    let after =
        if keep_it_running() { "It then goes on running (KEEP=1)." } else { "It then removes everything." };
    talk(format_args!(
        "This starts a private MariaDB server in a temporary folder, fills a shop with {} customers and {} orders,
and runs `tidegate` from it into two lakes of files, Parquet and JSON lines. While the agent watches,
orders come in, change and go, and a column is added. At the end you see what arrived.
It takes less than a minute and touches nothing outside its folder. {after}",
        thousands(size.customers.into()),
        thousands(size.orders.into())
    ));
    Ok(())
}

/// The heading of the next part.
pub(super) fn step(title: &str) -> Result<()> {
    talk(format_args!("\n── {title}"));
    Ok(())
}

pub(super) fn source(stage: &Stage) -> Result<()> {
    for (name, count) in counts(stage)? {
        talk(format_args!("   shop.{name}: {} rows", thousands(count)));
    }
    Ok(())
}

pub(super) fn pipeline(stage: &Stage) -> Result<()> {
    for row in stage.pipeline().lines() {
        talk(format_args!("   {row}"));
    }
    Ok(())
}

pub(super) fn snapshot(status: &PipelineStatus) -> Result<()> {
    let rows: u64 = status.tables.iter().map(|table| table.snapshot_rows).sum();
    talk(format_args!("   snapshot completed: {} rows of {} tables", thousands(rows), status.tables.len()));
    Ok(())
}

pub(super) fn change(what: &str, sql: &str) -> Result<()> {
    let sql = sql.split_whitespace().collect::<Vec<_>>().join(" ");
    let short: String = sql.chars().take(100).collect();
    let dots = if short.len() < sql.len() { "…" } else { "" };
    talk(format_args!("   {what}\n      {short}{dots}"));
    Ok(())
}

pub(super) fn arrival(time: Duration) -> Result<()> {
    talk(format_args!(
        "   everything is committed in both lakes, {} ms after the last change",
        time.as_millis()
    ));
    Ok(())
}

/// The newest events of each table, as they lie in the Parquet lake.
pub(super) async fn arrived(stage: &Stage) -> Result<()> {
    let [(_, root), _] = stage.lakes();
    for (name, _) in TABLES {
        let table_name = TableName::new("shop", name);
        let events = lake::events(&root, &table_name).await?;
        line(format_args!(
            "\n{table_name}: the newest of {} events in the lake",
            thousands(events.len() as u64)
        ))?;
        let newest = &events[events.len().saturating_sub(SAMPLE)..];
        match name {
            "customers" => {
                // Renamed on the way, unless the demo runs without the transform.
                let renamed = newest.iter().any(|row| !row.cell("customer_name").is_empty());
                let customer = if renamed { "customer_name" } else { "cust_nm" };
                rows(newest, ["id", customer, "email", "city", "since"])
            }
            "orders" => rows(newest, ["id", "status", "channel", "total", "placed_at"]),
            _ => rows(newest, ["order_id", "line_no", "sku", "quantity", "price"]),
        }?;
    }
    Ok(())
}

fn rows(rows: &[Row], columns: [&str; 5]) -> Result<()> {
    let [a, b, c, d, e] = columns;
    table(
        [OP, a, b, c, d, e, POS],
        rows.iter().map(|row| [OP, a, b, c, d, e, POS].map(|column| row.cell(column).to_owned())),
    )
}

/// The versions of the tables, as the agent tells them.
pub(super) fn schema_history(agent: &Agent) -> Result<()> {
    let history: Vec<SchemaChangeRecord> = agent.client()?.get("/v1/pipelines/shop/schemas")?;
    line("\nschema history")?;
    schema::show(&history)
}

/// Rows at the source beside current rows in each lake; true when all agree.
pub(super) async fn comparison(stage: &Stage) -> Result<bool> {
    let mut equal = true;
    let mut compared = Vec::new();
    for ((name, key), (_, at_source)) in TABLES.into_iter().zip(counts(stage)?) {
        let mut counts = Vec::new();
        for (_, root) in stage.lakes() {
            let events = lake::events(&root, &TableName::new("shop", name)).await?;
            counts.push(lake::current(&events, key).len() as u64);
        }
        let agree = counts.iter().all(|count| *count == at_source);
        equal &= agree;
        let [parquet, lines] = [counts[0], counts[1]].map(thousands);
        let verdict = if agree { "equal" } else { "DIFFERENT" };
        compared.push([format!("shop.{name}"), thousands(at_source), parquet, lines, verdict.to_owned()]);
    }
    let [(parquet, _), (lines, _)] = stage.lakes();
    line("\ncurrent rows")?;
    table(["table", "MariaDB", parquet, lines, ""], compared)?;
    Ok(equal)
}

pub(super) fn end(time: Duration) -> Result<()> {
    talk(format_args!(
        "\nDone in {} s; everything is removed. `KEEP=1 make demo` leaves it running for you.",
        time.as_secs()
    ));
    Ok(())
}

/// Rows of each table at the source, in the order of [`TABLES`].
fn counts(stage: &Stage) -> Result<Vec<(&'static str, u64)>> {
    TABLES
        .iter()
        .map(|(name, _)| {
            let count = stage.sql(&format!("SELECT COUNT(*) FROM shop.{name}"))?;
            Ok((*name, count.trim().parse().unwrap_or(0)))
        })
        .collect()
}
