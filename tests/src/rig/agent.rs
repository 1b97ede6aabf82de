//! The agent as a process.

use std::fs::{self, File, OpenOptions};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::Mutex;
use std::thread;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::gtid::Gtids;
use super::paths;
use super::pipeline::{PASSWORD, Pipeline};
use super::wait::wait_for;

/// Runs one command of the agent to its end, in the pipeline's folder and with its password.
pub fn tidegate<const N: usize>(pipeline: &Pipeline, arguments: [&str; N]) -> Output {
    command(pipeline.folder())
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .expect("the agent can be started")
}

/// How a run differs from a plain one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Run<'a> {
    /// Further arguments behind the file.
    pub arguments: &'a [&'a str],
    /// Further environment variables.
    pub environment: &'a [(&'a str, &'a str)],
    /// A program that starts the agent, with its arguments: `setpriv --reuid=nobody …`.
    pub through: &'a [&'a str],
}

/// A running `tidegate run`; killed when it is dropped.
#[derive(Debug)]
pub struct Agent {
    pipeline: Pipeline,
    log: PathBuf,
    /// Where this run's lines begin in the log, which all runs of a pipeline share.
    log_start: usize,
    /// Waiting for a process needs it exclusively, looking at the agent must not.
    process: Mutex<Child>,
}

impl Agent {
    pub(super) fn spawn(pipeline: &Pipeline, run: Run<'_>) -> Self {
        let log = pipeline.file().with_extension("log");
        let append = |path: &Path| -> File {
            let file = OpenOptions::new().create(true).append(true).open(path);
            file.expect("the scenario's folder can be written")
        };
        let stderr = append(&log);
        let log_start = fs::read(&log).expect("it was just made").len();
        // A file of an earlier run would tell the address of an agent that is gone.
        let _ = fs::remove_file(pipeline.state().join("agent.json"));
        let process = command_through(run.through, pipeline.folder())
            .arg("run")
            .arg(pipeline.file())
            .args(run.arguments)
            .envs(run.environment.iter().copied())
            .stdin(Stdio::null())
            .stdout(append(&pipeline.file().with_extension("out")))
            .stderr(stderr)
            .spawn()
            .expect("the agent can be started");
        Self { pipeline: pipeline.clone(), log, log_start, process: Mutex::new(process) }
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.process().id()
    }

    /// Waits until the agent says that it is really moving.
    pub fn wait_until_ready(&self) {
        wait_for("the agent to be ready", || {
            self.check_alive();
            self.get("/readyz").map(drop)
        });
    }

    /// Waits until every lake of the pipeline has all changes up to this position.
    pub fn wait_for_position(&self, position: &Gtids) {
        for lake in self.pipeline.lakes() {
            wait_for(&format!("{} to be in {}", position, lake.root().display()), || {
                self.check_alive();
                let reached = lake.position();
                if reached.reached(position) { Ok(()) } else { Err(format!("it is at '{reached}'")) }
            });
        }
    }

    /// Waits until the snapshot of every table that is not parked has ended and is committed.
    pub fn wait_for_snapshot(&self) {
        let complete = self.wait_for_status("the snapshots to be complete", |status| {
            let tables = status["tables"].as_array()?;
            let parked = tables.iter().filter(|table| table["parked"].is_string()).count();
            let complete = tables.iter().filter(|table| table["snapshot"] == "done").count();
            (status["state"] == "running" && complete + parked >= tables.len()).then_some(complete)
        });
        for lake in self.pipeline.lakes() {
            wait_for(&format!("{complete} snapshots to be in {}", lake.root().display()), || {
                self.check_alive();
                let done = lake.complete_snapshots();
                if done >= complete { Ok(()) } else { Err(format!("{done} with offset {:?}", lake.offset())) }
            });
        }
    }

    /// Waits until the agent has logged a line with this text, and returns the line.
    pub fn wait_for_log(&self, text: &str) -> String {
        wait_for(&format!("'{text}' in the log"), || {
            // First, so that the last words of a process that ended are read too.
            let ended = self.exit_status();
            let log = self.log();
            match (log.lines().find(|line| line.contains(text)), ended) {
                (Some(line), _) => Ok(line.to_owned()),
                (None, Some(status)) => panic!("the agent ended ({status}) without '{text}'"),
                (None, None) => Err(log.lines().last().unwrap_or("nothing").to_owned()),
            }
        })
    }

    /// Waits until the agent's status has what the probe looks for.
    pub fn wait_for_status<T>(&self, event: &str, mut probe: impl FnMut(&Value) -> Option<T>) -> T {
        wait_for(event, || {
            self.check_alive();
            let status = self.status()?;
            probe(&status).ok_or_else(|| status.to_string())
        })
    }

    /// The pipeline's status, or why it cannot be had.
    pub fn status(&self) -> Result<Value, String> {
        let text = self.get("/v1/status")?;
        let mut status: Value = serde_json::from_str(&text).map_err(|error| format!("{error} in: {text}"))?;
        match &mut status["pipelines"][0] {
            Value::Null => Err(format!("no pipeline in: {text}")),
            pipeline => Ok(pipeline.take()),
        }
    }

    /// Waits until this key of a table's status, `parked` or `diverges`, tells something.
    pub fn wait_for_table(&self, table: &str, key: &str) -> String {
        self.wait_for_status(&format!("'{table}' to have '{key}'"), |status| {
            table_status(status, table)?[key].as_str().map(str::to_owned)
        })
    }

    /// The body of a page of the agent, or why it cannot be had.
    pub fn get(&self, path: &str) -> Result<String, String> {
        let address = self.pipeline.state().join("agent.json");
        let address = fs::read(&address).map_err(|error| format!("{}: {error}", address.display()))?;
        let address: Value = serde_json::from_slice(&address).map_err(|error| error.to_string())?;
        let url = address["url"].as_str().ok_or("agent.json has no url")?;
        let mut answer = ureq::get(format!("{url}{path}")).call().map_err(|error| error.to_string())?;
        answer.body_mut().read_to_string().map_err(|error| error.to_string())
    }

    /// Whether the process has ended.
    pub fn has_ended(&self) -> bool {
        self.exit_status().is_some()
    }

    /// Waits until the process ends by itself. A process that a signal ended has no exit code.
    pub fn wait_for_exit(&self) -> ExitStatus {
        wait_for("the agent to end", || self.exit_status().ok_or_else(|| self.last_lines(1)))
    }

    /// Waits until the process ends by itself with this exit code, and returns what it said.
    pub fn wait_for_exit_code(&self, code: i32) -> String {
        let status = self.wait_for_exit();
        assert_eq!(status.code(), Some(code), "the agent ended otherwise:\n{}", self.last_lines(10));
        self.log()
    }

    /// Waits until the process has ended by itself (true), or every lake of the pipeline has all
    /// changes up to this position.
    pub fn ends_or_reaches(&self, position: &Gtids) -> bool {
        wait_for(&format!("the agent to end or to reach {position}"), || {
            if self.has_ended() {
                return Ok(true);
            }
            match self.pipeline.lakes().map(|lake| lake.position()).find(|reached| !reached.reached(position))
            {
                None => Ok(false),
                Some(behind) => Err(format!("it is at '{behind}'")),
            }
        })
    }

    /// Waits until the process is ended by a fail point, which kills it.
    pub fn wait_for_crash(&self) {
        let status = self.wait_for_exit();
        assert!(status.signal().is_some(), "the agent ended by itself ({status}):\n{}", self.last_lines(10));
    }

    /// Asks the agent to drain, commit and end, and expects that it does.
    pub fn stop(self) {
        kill_process(self.rustix_pid(), Signal::TERM).expect("the agent runs");
        let status = self.wait_for_exit();
        assert_eq!(status.code(), Some(0), "the agent ended badly:\n{}", self.last_lines(10));
    }

    /// Ends the process as a crash would, and returns when it is gone.
    pub fn kill(self) {
        drop(self);
    }

    /// Stops the process where it is, as a machine that hangs would.
    pub fn freeze(&self) {
        kill_process(self.rustix_pid(), Signal::STOP).expect("the agent runs");
    }

    /// Lets a frozen process go on.
    pub fn thaw(&self) {
        kill_process(self.rustix_pid(), Signal::CONT).expect("the agent runs");
    }

    /// What this run has logged so far.
    pub fn log(&self) -> String {
        let log = fs::read(&self.log).expect("the log is there");
        String::from_utf8_lossy(&log[self.log_start..]).into_owned()
    }

    fn last_lines(&self, count: usize) -> String {
        let log = self.log();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(count)..].join("\n")
    }

    fn check_alive(&self) {
        if let Some(status) = self.exit_status() {
            panic!("the agent ended ({status}):\n{}", self.last_lines(10));
        }
    }

    fn exit_status(&self) -> Option<ExitStatus> {
        self.process().try_wait().expect("the process is our child")
    }

    fn process(&self) -> std::sync::MutexGuard<'_, Child> {
        self.process.lock().expect("no holder panics")
    }

    fn rustix_pid(&self) -> Pid {
        Pid::from_child(&self.process())
    }
}

impl Drop for Agent {
    #[expect(clippy::print_stderr, reason = "the test runner shows it with the failure")]
    fn drop(&mut self) {
        {
            let mut process = self.process();
            let _ = process.kill();
            let _ = process.wait();
        }
        if thread::panicking() {
            eprintln!("the agent's last lines:\n{}", self.last_lines(40));
        }
    }
}

/// A table's part of a pipeline's status.
pub fn table_status<'s>(status: &'s Value, table: &str) -> Option<&'s Value> {
    status["tables"].as_array()?.iter().find(|entry| entry["table"] == table)
}

fn command(folder: &Path) -> Command {
    command_through(&[], folder)
}

fn command_through(through: &[&str], folder: &Path) -> Command {
    let agent = paths::agent_binary();
    let mut command = match through {
        [] => Command::new(agent),
        [program, arguments @ ..] => {
            let mut command = Command::new(program);
            command.args(arguments).arg(agent);
            command
        }
    };
    command
        .current_dir(folder)
        .env(PASSWORD, "tidegate")
        .env_remove("TIDEGATE_FAIL")
        .env_remove("TIDEGATE_CUT");
    command
}
