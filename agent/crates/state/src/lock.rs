//! One process a state folder.
//!
//! A lock file beside the redb file holds the owner's process id under `flock`,
//! so that a second agent can say whom it met. The kernel lets go of the lock
//! when the process ends, however it ends: a stale file means nothing.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use tidegate_model::{Error, ErrorKind, Result};

/// The name of the lock file in a state folder.
const FILE: &str = "lock";

/// Held as long as the folder is in use.
#[derive(Debug)]
pub(crate) struct FolderLock {
    _file: File,
}

impl FolderLock {
    /// Takes the folder.
    ///
    /// # Errors
    /// `Refused` with the owner's process id when it is taken.
    pub(crate) fn take(folder: &Path) -> Result<Self> {
        let path = folder.join(FILE);
        let failed = |error: std::io::Error| {
            Error::new(ErrorKind::Storage, "the lock file cannot be used")
                .with("path", path.display())
                .hint("check free space and permissions of the state folder")
                .because(error)
                .during("lock state folder")
        };
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(in_use(folder, &mut file)),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let write_pid = |file: &mut File| {
            file.set_len(0)?;
            file.seek(SeekFrom::Start(0))?;
            writeln!(file, "{}", std::process::id())
        };
        write_pid(&mut file).map_err(failed)?;
        Ok(Self { _file: file })
    }
}

fn in_use(folder: &Path, file: &mut File) -> Error {
    // The owner writes its number right after it took the lock, so it may be
    // missing for a moment.
    let mut text = String::new();
    let owner = match file.take(32).read_to_string(&mut text) {
        Ok(_) if !text.trim().is_empty() => format!("pid {}", text.trim()),
        _ => "another process".into(),
    };
    Error::new(ErrorKind::Refused, format!("state folder is in use by {owner}"))
        .with("path", folder.display())
        .hint("stop that agent, or give this one another `agent.state` folder")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_owner_is_told_about_the_first() {
        let folder = tempfile::tempdir().unwrap();
        let first = FolderLock::take(folder.path()).unwrap();
        let error = FolderLock::take(folder.path()).unwrap_err();
        assert_eq!(error.exit_code(), 3);
        let told = format!("state folder is in use by pid {}", std::process::id());
        assert_eq!(error.message(), told);
        drop(first);
        FolderLock::take(folder.path()).unwrap();
    }
}
