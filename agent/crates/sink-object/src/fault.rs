//! What a failed file-system call means, and what the person can do.

use std::io;
use std::path::Path;

use tidegate_model::{Error, ErrorKind};

/// The error of a call on `path`.
pub(crate) fn io_error(operation: &'static str, path: &Path, error: io::Error) -> Error {
    use io::ErrorKind as Io;
    let shown = path.display();
    // Where a person mends the file system, the agent goes on by itself.
    let described = match error.kind() {
        Io::StorageFull | Io::QuotaExceeded => Error::transient(ErrorKind::Storage, "no space left")
            .hint(format!("free space on the file system of {shown}, or raise its quota")),
        Io::PermissionDenied => Error::transient(ErrorKind::Permission, "the agent may not write here")
            .hint(format!("give the user that runs the agent write access to {shown}")),
        Io::ReadOnlyFilesystem => Error::transient(ErrorKind::Permission, "the file system is read-only")
            .hint("mount it writable, or point the sink's url elsewhere"),
        Io::NotADirectory => Error::new(ErrorKind::Config, "a part of the path is a file, not a folder")
            .hint("point the sink's url at a folder, or remove that file"),
        _ => Error::transient(ErrorKind::Storage, "the file system failed"),
    };
    described.during(operation).with("path", shown).because(error)
}
