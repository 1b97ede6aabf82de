//! A private MariaDB.
//!
//! The server is started by `tests/rig/mariadb.sh serve`, which ends it when our end of a pipe
//! closes. A test process that is killed therefore leaves no server behind, which neither a
//! destructor nor an exit handler could promise.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use super::gtid::Gtids;
use super::paths;
use super::session::Session;
use super::wait::wait_for;

/// A running server, configured as change data capture needs it.
#[derive(Debug)]
pub struct MariaDb {
    port: u16,
    data: PathBuf,
    options: Vec<String>,
    supervisor: Child,
}

impl MariaDb {
    /// The server that all scenarios of a test process share; each has its own [`Database`].
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<MariaDb> = OnceLock::new();
        SHARED.get_or_init(|| Self::start(&[]))
    }

    /// A server of one's own, with further options of mariadbd: for scenarios that stop it,
    /// purge its logs or need other settings.
    pub fn start(options: &[&str]) -> Self {
        let data = tempfile::Builder::new().prefix("tidegate-mariadb-").tempdir();
        // From here on the supervisor's, which removes it with the server.
        let data = data.expect("a temporary folder can be made").keep();
        let port = free_port();
        let options: Vec<String> = options.iter().map(ToString::to_string).collect();
        let mut supervisor = script("serve")
            .args([paths::mariadb(), data.clone()])
            .arg(port.to_string())
            .args(&options)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the rig's script runs");
        let mut ready = String::new();
        let output = supervisor.stdout.take().expect("it is piped");
        BufReader::new(output).read_line(&mut ready).expect("the script's output can be read");
        assert_eq!(ready, "ready\n", "MariaDB did not start; the script says why");
        Self { port, data, options, supervisor }
    }

    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// A connection that may do everything.
    pub fn session(&self) -> Session {
        Session::open(self.port, "rig", None)
    }

    /// A new, empty database. Names are the scenarios' own: one that exists is a mistake.
    pub fn database(&self, name: &str) -> Database<'_> {
        self.session().run(format!("create database `{name}` character set utf8mb4"));
        Database { server: self, name: name.to_owned() }
    }

    /// The position behind the last transaction in the log.
    pub fn position(&self) -> Gtids {
        Gtids::parse(&self.session().value("select @@gtid_binlog_pos"))
    }

    /// The log's files, oldest first.
    pub fn binlog_files(&self) -> Vec<PathBuf> {
        let rows = self.session().rows("show binary logs");
        let names = rows.into_iter().map(|row| row[0].clone().expect("a log has a name"));
        names.map(|name| self.data.join("data").join(name)).collect()
    }

    /// Begins a new log file and deletes all earlier ones: what an old position points to is lost.
    pub fn purge_binlog(&self) {
        let mut session = self.session();
        // The server keeps what it still has to send, and notices a reader that is gone only by that.
        for reader in
            session.rows("select id from information_schema.processlist where command = 'Binlog Dump'")
        {
            let id = reader[0].clone().expect("a process has an id");
            let _ = session.try_run(format!("kill {id}"));
        }
        wait_for("the log's readers to be gone", || {
            let readers = "select count(*) from information_schema.processlist where command = 'Binlog Dump'";
            let readers = session.value(readers);
            if readers == "0" { Ok(()) } else { Err(format!("{readers} are left")) }
        });
        session.run("flush binary logs");
        let newest = self.binlog_files().pop().expect("a log is being written");
        let name = newest.file_name().and_then(|name| name.to_str()).expect("log names are ASCII");
        // Without a warning the server also keeps what a recovery would need, until its background
        // thread has noted that the storage engines need it no more.
        wait_for("the earlier logs to be gone", || {
            session.run(format!("purge binary logs to '{name}'"));
            let files = self.binlog_files();
            if files.first() == Some(&newest) { Ok(()) } else { Err(format!("{files:?}")) }
        });
    }

    /// Stops the server; [`restart`](Self::restart) brings it back with its data.
    pub fn stop(&self) {
        let status = script("stop").arg(&self.data).status().expect("the rig's script runs");
        assert!(status.success(), "MariaDB did not stop");
    }

    /// Starts the server again, at the same port, after a [`stop`](Self::stop).
    pub fn restart(&self) {
        self.restart_with(&[]);
    }

    /// The same with further options, which overrule those of the first start.
    pub fn restart_with(&self, options: &[&str]) {
        let status = script("start")
            .args([paths::mariadb(), self.data.clone()])
            .arg(self.port.to_string())
            .args(&self.options)
            .args(options)
            .status()
            .expect("the rig's script runs");
        assert!(status.success(), "MariaDB did not start again");
    }
}

impl Drop for MariaDb {
    fn drop(&mut self) {
        drop(self.supervisor.stdin.take());
        let _ = self.supervisor.wait();
    }
}

/// One scenario's database on a server.
#[derive(Debug)]
pub struct Database<'a> {
    server: &'a MariaDb,
    name: String,
}

impl Database<'_> {
    /// The server that it is on.
    pub fn server(&self) -> &MariaDb {
        self.server
    }

    /// The database's name, which is also the schema of its tables in the lake.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A connection with this database as the current one.
    pub fn session(&self) -> Session {
        Session::open(self.server.port, "rig", Some(&self.name))
    }

    /// The position behind the server's last transaction.
    pub fn position(&self) -> Gtids {
        self.server.position()
    }
}

fn script(command: &str) -> Command {
    let mut script = Command::new(paths::workspace().join("tests/rig/mariadb.sh"));
    script.arg(command).stdin(Stdio::null());
    script
}

/// A port that nobody listens on at the moment.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    listener.local_addr().expect("it is bound").port()
}
