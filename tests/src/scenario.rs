//! Scenario files: SQL in, changes out.
//!
//! `NAME.sql` is run on a database of its own, called NAME, and beside it `NAME.changes` holds what the
//! lake has to show: one line an event, under its table and schema version, in the order of the log.
//! A list of the folder is a list of the behaviours that are held.
//!
//! ```sql
//! -- What this scenario holds, in a sentence.
//! -- source: operations: [insert, delete]
//! create table t (id int primary key);
//! insert into t values (1);
//! -- the agent starts
//! insert into t values (2);
//! ```
//!
//! A line `-- source: …` is a key of the pipeline's source. What stands above `-- the agent starts` is there
//! for the snapshot; what stands below is run when the snapshot has been committed.
//!
//! `TIDEGATE_REWRITE=1` writes the `.changes` files instead of comparing: read the difference before
//! it is committed.

use std::env;
use std::fs;
use std::path::Path;

use crate::rig::{Lake, MariaDb, Pipeline, Row};

const AGENT_STARTS: &str = "-- the agent starts\n";

/// Runs one scenario file and compares what came of it.
///
/// # Panics
/// If the changes differ from the expected ones.
pub fn check(file: &Path) {
    let name = file.file_stem().and_then(|name| name.to_str()).expect("a scenario has a name");
    let text = read(file);
    let (before, during) = text.split_once(AGENT_STARTS).expect("a scenario says when the agent starts");

    let database = MariaDb::shared().database(name);
    let mut session = database.session();
    session.run(statements(before));
    let keys = before.lines().filter_map(|line| line.strip_prefix("-- source: "));
    let pipeline = keys.fold(Pipeline::new(&database).parquet(), Pipeline::source);
    let agent = pipeline.start();
    agent.wait_for_snapshot();
    session.run(statements(during));
    agent.wait_for_position(&database.position());
    agent.stop();

    let found = changes(&pipeline.lake(), name);
    let expected = file.with_extension("changes");
    if env::var_os("TIDEGATE_REWRITE").is_some() {
        fs::write(&expected, found).expect("the work tree can be written");
    } else {
        assert_eq!(found, read(&expected), "'{name}' gives other changes than {}", expected.display());
    }
}

/// Everything that the lake holds of one database.
fn changes(lake: &Lake, schema: &str) -> String {
    let mut text = String::new();
    for table in lake.tables(schema) {
        for (version, files) in lake.versions(&format!("{schema}.{table}")) {
            text += &format!("{table} {version}\n");
            let mut rows = lake.pyarrow(&files).rows;
            // Rows of a snapshot share a position; their text gives them an order of their own.
            // The two rows of a change of key share one, too: the old key goes first.
            rows.sort_by_cached_key(|row| {
                (row["__pos"].to_string(), row["__idx"].as_i64(), row["__op"] != "d", line(row))
            });
            for row in rows {
                text += &format!("  {}\n", line(&row));
            }
        }
    }
    text
}

/// An event without what differs from run to run: position, time, digests.
fn line(row: &Row) -> String {
    let told = |(name, _): &(&String, _)| !name.starts_with("__") || *name == "__op";
    let cells = row.iter().filter(told).map(|(name, cell)| (name.clone(), cell.clone()));
    serde_json::Value::Object(cells.collect()).to_string()
}

/// The SQL without its comment lines: a statement of nothing but a comment is an error to the server.
fn statements(sql: &str) -> String {
    sql.lines().filter(|line| !line.starts_with("--")).collect::<Vec<_>>().join("\n").trim().to_owned()
}

fn read(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}
