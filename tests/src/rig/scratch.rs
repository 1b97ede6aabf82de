//! Folders that a failed test leaves behind.

use std::path::{Path, PathBuf};
use std::thread;

use tempfile::TempDir;

/// A temporary folder: removed with a passing test, kept and named by a failing one.
#[derive(Debug)]
pub struct Scratch {
    folder: Option<TempDir>,
}

impl Scratch {
    /// A new folder whose name begins with the label.
    pub fn new(label: &str) -> Self {
        let folder = tempfile::Builder::new()
            .prefix(&format!("tidegate-{label}-"))
            .tempdir()
            .expect("a temporary folder can be made");
        Self { folder: Some(folder) }
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.folder.as_ref().expect("it is there until it is dropped").path()
    }

    /// A path in the folder.
    pub fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.path().join(name)
    }
}

impl Drop for Scratch {
    #[expect(clippy::print_stderr, reason = "the test runner shows it with the failure")]
    fn drop(&mut self) {
        let folder = self.folder.take();
        if thread::panicking()
            && let Some(folder) = folder
        {
            eprintln!("kept: {}", folder.keep().display());
        }
    }
}
