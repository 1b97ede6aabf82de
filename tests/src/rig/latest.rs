//! The current rows of a lake, by the query that the agent prints for its users.

use serde_json::Value;

use super::agent::tidegate;
use super::lake::Lake;
use super::pipeline::Pipeline;
use super::reader::{Row, read};

impl Pipeline {
    /// The current rows of a table, `schema.table`, of the Parquet lake, ordered by an expression:
    /// what `tidegate lake latest` prints for DuckDB, run as it is.
    ///
    /// # Panics
    /// If the command or its query fails.
    pub fn latest(&self, table: &str, order_by: &str) -> Vec<Row> {
        let query = self.latest_query("lake", table, "duckdb");
        self.lake().duckdb(format!("select * from ({query}) order by {order_by}")).rows
    }

    /// The same of the lake of JSON lines.
    pub fn latest_json_lines(&self, table: &str, order_by: &str) -> Vec<Row> {
        let query = self.latest_query("json", table, "duckdb");
        Lake::at(self.folder()).duckdb(format!("select * from ({query}) order by {order_by}")).rows
    }

    /// The current rows by the pyarrow program that `tidegate lake latest` prints, in no order.
    pub fn latest_pyarrow(&self, table: &str) -> Vec<Row> {
        read("program", &Value::from(self.latest_query("lake", table, "pyarrow"))).rows
    }

    /// What `tidegate lake latest` prints for a reader.
    fn latest_query(&self, sink: &str, table: &str, reader: &str) -> String {
        let file = self.write();
        let file = file.to_str().expect("the rig's folders have UTF-8 names");
        let output = tidegate(self, ["lake", "latest", table, "-c", file, "--sink", sink, "--json"]);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "lake latest: {}", String::from_utf8_lossy(&output.stderr));
        let answer: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error} in: {text}"));
        let query = answer[reader].as_str();
        query
            .unwrap_or_else(|| panic!("no query for {reader} in {text}"))
            .trim_end_matches([';', '\n'])
            .to_owned()
    }
}
