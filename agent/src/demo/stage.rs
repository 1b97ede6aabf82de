//! The stage: a temporary folder with a private server, a pipeline's file and
//! an agent. Dropping it strikes everything.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tidegate_model::{Error, ErrorKind, Result};

use super::shop;
use crate::cli::client::Client;
use crate::cli::output::line;
use crate::control::running_agent;

/// The script that starts servers.
const SCRIPT: &str = "TIDEGATE_RIG_SCRIPT";
/// The folder that the server is unpacked in.
const SERVER: &str = "TIDEGATE_RIG_MARIADB";
/// The mapping transform; without it the demo runs without a transform.
const TRANSFORM: &str = "TIDEGATE_DEMO_TRANSFORM";
/// Where the pipeline's file finds the password.
const PASSWORD: &str = "TIDEGATE_DEMO_PASSWORD";

/// A drained agent ends within this time.
const DRAIN: Duration = Duration::from_secs(60);

/// True when everything is to stay after the demo: `KEEP=1`.
pub(super) fn keep_it_running() -> bool {
    std::env::var("KEEP").is_ok_and(|keep| !keep.is_empty() && keep != "0")
}

/// Folder, server and file; the agent is started by hand.
pub(super) struct Stage {
    // In this order they are struck: the server before the folder that it is in.
    server: Server,
    folder: Folder,
}

/// The running agent.
pub(super) struct Agent {
    process: Mutex<Child>,
    state: PathBuf,
    kept: bool,
}

impl Stage {
    /// Sets up folder, server and pipeline file.
    pub(super) fn build() -> Result<Self> {
        let (script, unpacked) = (required(SCRIPT)?, required(SERVER)?);
        let folder = Folder::create()?;
        let server = Server::start(script, unpacked, folder.0.join("server"))?;
        let stage = Self { server, folder };
        fs::write(stage.pipeline_file(), stage.pipeline()).map_err(|error| stage.unwritable(error))?;
        Ok(stage)
    }

    /// Runs SQL on the server and returns its output, a line a row, columns
    /// apart by tabs.
    pub(super) fn sql(&self, sql: &str) -> Result<String> {
        self.server.sql(sql)
    }

    /// Starts the agent on the pipeline's file.
    pub(super) fn start_agent(&self) -> Result<Agent> {
        let failed = |error: std::io::Error| {
            Error::new(ErrorKind::Internal, "the agent cannot be started").because(error)
        };
        let log = fs::File::create(self.log_file()).map_err(failed)?;
        let mut command = Command::new(std::env::current_exe().map_err(failed)?);
        command.arg("run").arg(self.pipeline_file()).env(PASSWORD, "tidegate").env_remove("TIDEGATE_CONFIG");
        if keep_it_running() {
            // Ctrl-C at this terminal is not meant for it.
            command.process_group(0);
        }
        let process =
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().map_err(failed)?;
        Ok(Agent { process: Mutex::new(process), state: self.folder.0.join("state"), kept: false })
    }

    /// The pipeline as a person would write it.
    pub(super) fn pipeline(&self) -> String {
        let port = self.server.port;
        let transforms = match std::env::var(TRANSFORM) {
            Ok(module) if Path::new(&module).exists() => format!(
                "transforms:\n  - name: mapping\n    module: {module}\n    config:\n{}",
                shop::MAPPING.map(|line| format!("      {line}\n")).concat()
            ),
            _ => String::new(),
        };
        format!(
            "agent: {{ state: state, listen: \"127.0.0.1:0\" }}
pipeline: shop
source:
  type: mariadb
  host: 127.0.0.1
  port: {port}
  user: tidegate
  password: ${{env:{PASSWORD}}}
  heartbeat: 1s
  tables: [\"shop.*\"]
{transforms}sinks:
  - {{ name: lake, type: object, url: \"file:lake\", format: parquet, commit: {{ interval: 1s }} }}
  - {{ name: lines, type: object, url: \"file:lines\", format: json_lines, commit: {{ interval: 1s }} }}
"
        )
    }

    /// The lakes: what they are and where.
    pub(super) fn lakes(&self) -> [(&'static str, PathBuf); 2] {
        [("Parquet", self.folder.0.join("lake")), ("JSON lines", self.folder.0.join("lines"))]
    }

    /// The agent's last words.
    pub(super) fn last_log_lines(&self) -> String {
        let log = fs::read_to_string(self.log_file()).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        format!("the agent's log ends with\n{}", lines[lines.len().saturating_sub(15)..].join("\n"))
    }

    /// Leaves everything running and tells how to go on.
    pub(super) fn keep(self, mut agent: Agent) -> Result<()> {
        let Server { script, unpacked, data, .. } = &self.server;
        let binary =
            std::env::current_exe().map_or_else(|_| "tidegate".to_owned(), |path| path.display().to_string());
        let file = self.pipeline_file();
        let (script, unpacked, data) = (script.display(), unpacked.display(), data.display());
        let (file, folder, pid) = (file.display(), self.folder.0.display(), agent.pid());
        line(format_args!(
            "
It goes on running. Talk to it:
  export {PASSWORD}=tidegate TIDEGATE_CONFIG={file}
  {binary} status
  {binary} schema history
  {binary} lake latest shop.orders --sink lake
  {binary} snapshot shop.orders
Change the shop:
  {script} client {unpacked} {data} shop
Files and log:
  {folder}
Stop it, and remove everything:
  kill {pid}; {script} stop {data}; rm -rf {folder}"
        ))?;
        agent.kept = true;
        self.leave();
        Ok(())
    }

    fn leave(mut self) {
        self.server.kept = true;
        self.folder.1 = true;
    }

    fn pipeline_file(&self) -> PathBuf {
        self.folder.0.join("shop.yaml")
    }

    fn log_file(&self) -> PathBuf {
        self.folder.0.join("agent.log")
    }

    fn unwritable(&self, error: std::io::Error) -> Error {
        Error::new(ErrorKind::Storage, "the demo's folder cannot be written")
            .with("path", self.folder.0.display())
            .because(error)
    }
}

impl Agent {
    /// Its HTTP interface; an error until it listens.
    pub(super) fn client(&self) -> Result<Client> {
        let url = running_agent(&self.state)?.and_then(|agent| agent.url);
        url.map(|url| Client::new(&url, None))
            .ok_or_else(|| Error::transient(ErrorKind::Connection, "the agent does not listen yet"))
    }

    /// How it ended, if it did.
    pub(super) fn ended(&self) -> Result<Option<ExitStatus>> {
        self.process
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .try_wait()
            .map_err(|error| Error::new(ErrorKind::Internal, "the agent is lost").because(error))
    }

    /// Asks it to drain, and waits for its end.
    pub(super) async fn stop(self) -> Result<()> {
        // It may have ended by itself: then the wait below tells how.
        let _ = kill_process(self.raw_pid(), Signal::TERM);
        let deadline = Instant::now() + DRAIN;
        loop {
            match self.ended()? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => {
                    return Err(Error::new(ErrorKind::Internal, format!("the agent ended badly ({status})")));
                }
                None if Instant::now() > deadline => {
                    return Err(Error::new(ErrorKind::Internal, "the agent does not end"));
                }
                None => tokio::time::sleep(super::POLL).await,
            }
        }
    }

    fn pid(&self) -> u32 {
        self.process.lock().unwrap_or_else(std::sync::PoisonError::into_inner).id()
    }

    fn raw_pid(&self) -> Pid {
        Pid::from_child(&self.process.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        if !self.kept {
            let process = self.process.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
            // Nothing of it is wanted any more, so there is nothing to drain.
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// A private MariaDB server.
struct Server {
    script: PathBuf,
    unpacked: PathBuf,
    data: PathBuf,
    port: u16,
    /// The script that stops the server when its standard input closes, however
    /// this process ends; `None` when the server is to outlive it.
    guard: Option<Child>,
    kept: bool,
}

impl Server {
    fn start(script: PathBuf, unpacked: PathBuf, data: PathBuf) -> Result<Self> {
        let port = free_port()?;
        let kept = keep_it_running();
        let action = if kept { "start" } else { "serve" };
        let mut command = Command::new(&script);
        command.arg(action).arg(&unpacked).arg(&data).arg(port.to_string());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(|error| {
            Error::new(ErrorKind::Config, format!("'{}' cannot be run", script.display())).because(error)
        })?;
        let failed =
            |_| Error::new(ErrorKind::Connection, "MariaDB did not start").hint("its own words stand above");
        if kept {
            let status = child.wait().map_err(failed)?;
            status.success().then_some(()).ok_or_else(|| failed(std::io::ErrorKind::Other.into()))?;
        } else {
            let mut ready = String::new();
            let output = child.stdout.take().ok_or_else(|| failed(std::io::ErrorKind::Other.into()))?;
            BufReader::new(output).read_line(&mut ready).map_err(failed)?;
            if ready.trim() != "ready" {
                return Err(failed(std::io::ErrorKind::Other.into()));
            }
        }
        Ok(Self { script, unpacked, data, port, guard: (!kept).then_some(child), kept: false })
    }

    fn sql(&self, sql: &str) -> Result<String> {
        let failed =
            |reason: String| Error::new(ErrorKind::Internal, "the shop's SQL failed").because(reason);
        let mut client = Command::new(&self.script)
            .arg("client")
            .args([&self.unpacked, &self.data])
            .args(["--batch", "--skip-column-names", "--default-character-set=utf8mb4"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| failed(error.to_string()))?;
        if let Some(mut input) = client.stdin.take() {
            input.write_all(sql.as_bytes()).map_err(|error| failed(error.to_string()))?;
        }
        let output = client.wait_with_output().map_err(|error| failed(error.to_string()))?;
        if !output.status.success() {
            return Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.kept {
            return;
        }
        match &mut self.guard {
            Some(guard) => {
                drop(guard.stdin.take());
                let _ = guard.wait();
            }
            None => {
                let _ = Command::new(&self.script).arg("stop").arg(&self.data).status();
            }
        }
    }
}

/// A temporary folder and whether it stays.
struct Folder(PathBuf, bool);

impl Folder {
    fn create() -> Result<Self> {
        let path = std::env::temp_dir().join(format!("tidegate-demo-{}", std::process::id()));
        let make = || {
            fs::create_dir(&path)?;
            // A server that runs as another user has to come through.
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755))
        };
        make().map_err(|error| {
            Error::new(ErrorKind::Storage, "no temporary folder can be made")
                .with("path", path.display())
                .because(error)
        })?;
        Ok(Self(path, false))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.1 {
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}

fn free_port() -> Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    listener
        .map(|address| address.port())
        .map_err(|error| Error::new(ErrorKind::Connection, "no port is free on 127.0.0.1").because(error))
}

fn required(variable: &'static str) -> Result<PathBuf> {
    match std::env::var_os(variable).filter(|value| !value.is_empty()) {
        Some(value) => Ok(value.into()),
        None => Err(Error::new(ErrorKind::Config, format!("{variable} is not set"))
            .hint("`make demo` in the source tree installs what the demo needs and sets it")),
    }
}
