//! SQL against the rig's server.

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, OptsBuilder, Value};
use tokio::runtime::Runtime;

/// A connection that blocks, so that scenarios read as scripts and load is made by plain threads.
#[derive(Debug)]
pub struct Session {
    runtime: Runtime,
    connection: Conn,
}

impl Session {
    pub(super) fn open(port: u16, user: &str, database: Option<&str>) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime for one thread can be made");
        let options = OptsBuilder::default()
            .ip_or_hostname("127.0.0.1")
            .tcp_port(port)
            .user(Some(user))
            .pass(Some(user))
            .db_name(database)
            // The unix socket that the client would change over to belongs to the server's user.
            .prefer_socket(false)
            .setup(vec!["set time_zone = '+00:00'"]);
        let connection = runtime.block_on(Conn::new(options)).expect("the rig's server takes connections");
        Self { runtime, connection }
    }

    /// Runs one or several statements.
    ///
    /// # Panics
    /// If one of them fails; so do the other methods.
    pub fn run(&mut self, sql: impl AsRef<str>) {
        self.try_run(sql.as_ref()).unwrap_or_else(|error| panic!("{error}\nin: {}", sql.as_ref()));
    }

    /// Runs one or several statements, or returns the server's message.
    pub fn try_run(&mut self, sql: impl AsRef<str>) -> Result<(), String> {
        let done = self.runtime.block_on(self.connection.query_drop(sql.as_ref()));
        done.map_err(|error| error.to_string())
    }

    /// The rows of one query, each cell in the server's own text.
    pub fn rows(&mut self, sql: impl AsRef<str>) -> Vec<Vec<Option<String>>> {
        let rows: Result<Vec<mysql_async::Row>, _> =
            self.runtime.block_on(self.connection.query(sql.as_ref()));
        let rows = rows.unwrap_or_else(|error| panic!("{error}\nin: {}", sql.as_ref()));
        rows.into_iter().map(|row| row.unwrap().into_iter().map(text).collect()).collect()
    }

    /// The one cell of a query that has one.
    pub fn value(&mut self, sql: impl AsRef<str>) -> String {
        let rows = self.rows(sql.as_ref());
        match rows.as_slice() {
            [row] if row.len() == 1 => row[0].clone().unwrap_or_else(|| "NULL".into()),
            _ => panic!("not one cell but {rows:?}\nin: {}", sql.as_ref()),
        }
    }
}

/// The text protocol sends every cell as text, so that no client-side type is in between.
fn text(value: Value) -> Option<String> {
    match value {
        Value::NULL => None,
        Value::Bytes(bytes) => Some(String::from_utf8(bytes).expect("text; select bytes by HEX")),
        other => panic!("a typed value in the text protocol: {other:?}"),
    }
}
