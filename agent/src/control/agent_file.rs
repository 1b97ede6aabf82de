//! `<state>/agent.json`: how commands find the running agent.
//!
//! The file is a signpost, not a lock: it may be stale after a crash, and its
//! process id may belong to another program by then. What keeps two agents
//! apart for certain is the lock in each pipeline's folder; this file lets the
//! second one say whom it met, and commands whom to ask.

use std::fs::{self, DirBuilder};
use std::io::ErrorKind::NotFound;
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Pid, test_kill_process};
use serde::{Deserialize, Serialize};
use tidegate_model::{Error, ErrorKind, Result};

/// A running agent, as its file tells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunningAgent {
    /// Its process id.
    pub pid: u32,
    /// Root of its HTTP interface, without a slash at the end; `None`: it has none.
    pub url: Option<String>,
}

/// The agent's own file; removed when this is dropped.
#[derive(Debug)]
pub struct AgentFile {
    path: PathBuf,
}

impl AgentFile {
    /// Writes the file of this process. `address` is where it listens.
    ///
    /// # Errors
    /// `Storage` when the state folder cannot be written.
    pub fn write(state: &Path, address: Option<SocketAddr>) -> Result<Self> {
        let path = path_in(state);
        let agent = RunningAgent {
            pid: std::process::id(),
            url: address.map(|address| format!("http://{}", reachable(address))),
        };
        let write = || {
            DirBuilder::new().recursive(true).mode(0o700).create(state)?;
            let draft = path.with_extension(format!("json.{}", agent.pid));
            // One rename, so that no command reads a half.
            fs::write(&draft, serde_json::to_vec(&agent)?)?;
            fs::rename(&draft, &path)
        };
        write().map_err(|error: std::io::Error| {
            Error::new(ErrorKind::Storage, "the agent's file cannot be written")
                .with("path", path.display())
                .because(error)
                .hint("name a folder that the agent may write in `agent.state`")
        })?;
        Ok(Self { path })
    }
}

impl Drop for AgentFile {
    fn drop(&mut self) {
        // Another agent's file stays: this one was only the older.
        if read(&self.path).is_ok_and(|agent| agent.is_some_and(|agent| agent.pid == std::process::id())) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// The agent that runs on this state folder; `None` when there is none or the
/// file is stale: its process is gone, or nothing answers at its address.
///
/// # Errors
/// `Storage` when the file is there and cannot be read.
pub fn running_agent(state: &Path) -> Result<Option<RunningAgent>> {
    let path = path_in(state);
    let agent = read(&path).map_err(|error| {
        Error::new(ErrorKind::Storage, "the agent's file cannot be read")
            .with("path", path.display())
            .because(error)
    })?;
    Ok(agent.filter(|agent| is_alive(agent.pid) && agent.url.as_deref().is_none_or(answers)))
}

fn path_in(state: &Path) -> PathBuf {
    state.join("agent.json")
}

fn read(path: &Path) -> std::io::Result<Option<RunningAgent>> {
    match fs::read(path) {
        Ok(text) => Ok(serde_json::from_slice(&text).ok()),
        Err(error) if error.kind() == NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn is_alive(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    // A process of another user refuses the signal, and lives.
    pid.is_some_and(|pid| !matches!(test_kill_process(pid), Err(rustix::io::Errno::SRCH)))
}

fn answers(url: &str) -> bool {
    let address = url.strip_prefix("http://").and_then(|address| address.parse::<SocketAddr>().ok());
    address.is_some_and(|address| TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_ok())
}

/// Where a process on this machine reaches a listener on every address.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(match address {
            SocketAddr::V4(_) => std::net::Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => std::net::Ipv6Addr::LOCALHOST.into(),
        });
    }
    address
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn an_agent_is_found_while_it_lives_and_answers() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        assert_eq!(running_agent(&state).unwrap(), None);

        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let file = AgentFile::write(&state, Some(address)).unwrap();
        let found = running_agent(&state).unwrap().expect("it runs");
        assert_eq!((found.pid, found.url), (std::process::id(), Some(format!("http://{address}"))));
        drop(listener);
        assert_eq!(running_agent(&state).unwrap(), None, "nothing answers any more");
        drop(file);
        assert!(!path_in(&state).exists());

        // The highest id that a process can have is 2^22.
        let gone = RunningAgent { pid: 1 << 23, url: None };
        fs::write(path_in(&state), serde_json::to_vec(&gone).unwrap()).unwrap();
        assert_eq!(running_agent(&state).unwrap(), None);
        fs::write(path_in(&state), "{").unwrap();
        assert_eq!(running_agent(&state).unwrap(), None);
    }

    #[test]
    fn a_listener_on_every_address_is_reached_on_loopback() {
        for (address, expected) in
            [("0.0.0.0:80", "127.0.0.1:80"), ("[::]:80", "[::1]:80"), ("10.0.0.1:80", "10.0.0.1:80")]
        {
            assert_eq!(reachable(address.parse().unwrap()).to_string(), expected);
        }
    }
}
