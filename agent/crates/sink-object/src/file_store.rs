//! A store in a folder of this machine.
//!
//! An object appears whole or not at all: it is written and flushed under a name
//! in `_tidegate/tmp/`, then gets its own by a rename that refuses to replace
//! (`renameat2` with `RENAME_NOREPLACE`; `link(2)` where a file system lacks
//! it), then the folder is flushed. Only that last flush makes the name survive a
//! power cut. The temporary folder lies in the lake since neither call crosses
//! file systems, and apart from the data since a glob must not find its files.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use rustix::fs::{CWD, RenameFlags};
use rustix::io::Errno;
use tidegate_model::Result;
use uuid::Uuid;

use crate::blocking::blocking;
use crate::fault::io_error;
use crate::layout::{OWN_FOLDER, TEMPORARY};
use crate::store::{KeyVisitor, Put, Store};

/// Objects as files below a folder.
#[derive(Debug)]
pub struct FileStore {
    root: PathBuf,
    writer: String,
    /// Folders that this process has flushed into their parents: one that was
    /// merely found may be another process's, not flushed yet.
    durable: Mutex<HashSet<PathBuf>>,
}

impl FileStore {
    /// A store in `root`, which need not exist yet; `writer` marks its temporary
    /// files.
    pub fn new(root: PathBuf, writer: impl Into<String>) -> Self {
        Self { root, writer: writer.into(), durable: Mutex::default() }
    }

    fn path(&self, key: &str) -> PathBuf {
        self.root.join(key)
    }

    fn temporary(&self) -> PathBuf {
        self.path(TEMPORARY).join(format!("{}-{}", self.writer, Uuid::new_v4()))
    }

    /// Makes a folder and those above it up to the root's parent, each durable
    /// in the one above.
    fn make_folder(&self, folder: &Path) -> Result<()> {
        let mut durable = self.durable.lock().unwrap_or_else(PoisonError::into_inner);
        if durable.contains(folder) && folder.is_dir() {
            return Ok(());
        }
        fs::create_dir_all(folder).map_err(|error| io_error("make a folder of the lake", folder, error))?;
        for ancestor in folder.ancestors().take_while(|ancestor| ancestor.starts_with(&self.root)) {
            // Nothing is above the file system's root.
            let Some(above) = ancestor.parent() else { break };
            // A relative root of one part lies in the current folder.
            flush_folder(if above.as_os_str().is_empty() { Path::new(".") } else { above })?;
        }
        durable.insert(folder.to_owned());
        Ok(())
    }

    /// Fills a flushed temporary file and gives it its name. False: the name is taken.
    fn publish(&self, key: &str, fill: impl FnOnce(&Path) -> io::Result<()>) -> Result<bool> {
        let temporary = self.temporary();
        self.make_folder(parent(&temporary))?;
        let named = fill(&temporary)
            .map_err(|error| io_error("write a temporary file", &temporary, error))
            .and_then(|()| self.rename(&temporary, key));
        if !matches!(named, Ok(true)) {
            // Best effort: what stays is swept at the next start.
            let _ = fs::remove_file(&temporary);
        }
        named
    }

    /// Gives a flushed file its key and makes that durable. False: the key is
    /// taken; what holds it is then durable.
    fn rename(&self, from: &Path, key: &str) -> Result<bool> {
        let to = self.path(key);
        let fault = |error: io::Error| io_error("name an object", &to, error);
        self.make_folder(parent(&to))?;
        let renamed = rename_no_replace(from, &to);
        let created = match renamed {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
            Err(error) => return Err(fault(error)),
        };
        flush_folder(parent(&to))?;
        Ok(created)
    }
}

#[async_trait]
impl Store for FileStore {
    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>> {
        let path = self.path(key);
        blocking(|| match fs::read(&path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(io_error("read an object", &path, error)),
        })
    }

    async fn list(&self, prefix: &str, visit: &mut KeyVisitor<'_>) -> Result<()> {
        blocking(|| {
            let mut folders = vec![prefix.to_owned()];
            while let Some(folder) = folders.pop() {
                let path = self.path(&folder);
                let fault = |error| io_error("list objects", &path, error);
                let entries = match fs::read_dir(&path) {
                    Ok(entries) => entries,
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    Err(error) => return Err(fault(error)),
                };
                for entry in entries {
                    let entry = entry.map_err(fault)?;
                    // We write UTF-8 only: another name is nobody's object.
                    let Ok(name) = entry.file_name().into_string() else { continue };
                    let key = format!("{folder}{name}");
                    match entry.file_type() {
                        Ok(kind) if kind.is_dir() && key != OWN_FOLDER => folders.push(key + "/"),
                        Ok(kind) if kind.is_file() => visit(&key),
                        _ => {}
                    }
                }
            }
            Ok(())
        })
    }

    async fn put_if_absent(&self, key: &str, bytes: &[u8]) -> Result<Put> {
        let write = |temporary: &Path| {
            let mut file = File::create_new(temporary)?;
            file.write_all(bytes)?;
            file.sync_all()
        };
        blocking(|| {
            let created = self.publish(key, write)?;
            Ok(if created { Put::Created } else { Put::Exists })
        })
    }

    async fn put_file(&self, key: &str, file: &Path) -> Result<()> {
        blocking(|| {
            let to = self.path(key);
            self.make_folder(parent(&to))?;
            match rename_no_replace(file, &to) {
                Ok(()) => flush_folder(parent(&to)),
                // Another file system: copy, then name the copy.
                Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                    self.publish(key, |temporary| {
                        fs::copy(file, temporary)?;
                        File::open(temporary)?.sync_all()
                    })?;
                    Ok(())
                }
                // An earlier call named it and failed behind that.
                Err(_) if to.exists() => flush_folder(parent(&to)),
                Err(error) => Err(io_error("move a finished file into the lake", &to, error)),
            }
        })
    }

    async fn delete(&self, key: &str) -> Result<()> {
        let path = self.path(key);
        blocking(|| match fs::remove_file(&path) {
            Ok(()) => flush_folder(parent(&path)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(io_error("delete an object", &path, error)),
        })
    }

    async fn sweep(&self) -> Result<()> {
        let mut leftovers = Vec::new();
        let own = format!("{TEMPORARY}{}-", self.writer);
        self.list(TEMPORARY, &mut |key| {
            if key.starts_with(&own) {
                leftovers.push(key.to_owned());
            }
        })
        .await?;
        for key in leftovers {
            self.delete(&key).await?;
        }
        Ok(())
    }

    async fn probe(&self) -> Result<()> {
        blocking(|| {
            let key = format!("{TEMPORARY}{}-probe-{}", self.writer, Uuid::new_v4());
            self.publish(&key, |temporary| File::create_new(temporary)?.write_all(b"probe"))?;
            let path = self.path(&key);
            fs::remove_file(&path).map_err(|error| io_error("delete a probe", &path, error))
        })
    }
}

/// The folder that a path below a root lies in.
fn parent(path: &Path) -> &Path {
    path.parent().expect("an object's path lies below a root")
}

/// Renames unless the new name is taken, atomically.
fn rename_no_replace(from: &Path, to: &Path) -> io::Result<()> {
    match rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // File systems without the flag (NFS, some FUSE): a link never replaces either.
        Err(Errno::INVAL | Errno::NOSYS) => {
            fs::hard_link(from, to)?;
            fs::remove_file(from)
        }
        other => Ok(other?),
    }
}

fn flush_folder(folder: &Path) -> Result<()> {
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(|error| io_error("flush a folder of the lake", folder, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_systems_root_has_nothing_above_it() {
        FileStore::new("/".into(), "test").make_folder(Path::new("/")).unwrap();
    }
}
