//! Modules and their configurations, kept by digest.
//!
//! An event must be transformed by the module of its position, also after the
//! user replaced the file. So the bytes are kept here, `modules/<digest>`, as
//! long as the module table names them. A configuration is kept with its secrets
//! resolved, so the files are readable for the agent alone.

use std::fmt;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use tidegate_model::{Error, ErrorKind, Result, fail};

use crate::state::State;

/// The folder in a state folder.
const FOLDER: &str = "modules";

/// BLAKE3 of some bytes: their name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        blake3::hash(bytes).into()
    }

    /// The first 12 hexadecimal digits, as `__module` shows them.
    pub fn short(&self) -> String {
        self.to_string()[..12].to_owned()
    }

    /// The digest of this text: 64 lower-case hexadecimal digits.
    ///
    /// # Errors
    /// `Corrupt` when it is anything else.
    pub fn parse(text: &str) -> Result<Self> {
        blake3::Hash::from_hex(text)
            .map(Self::from)
            .map_err(|_| Error::new(ErrorKind::Corrupt, format!("{text:?} is not a digest")))
    }
}

impl From<blake3::Hash> for Digest {
    fn from(hash: blake3::Hash) -> Self {
        Self(*hash.as_bytes())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(blake3::Hash::from_bytes(self.0).to_hex().as_str())
    }
}

impl State {
    /// Keeps a module's or a configuration's bytes; durable on return. Bytes
    /// that are there already are not written again.
    ///
    /// # Errors
    /// `Storage`.
    pub fn keep_module(&self, bytes: &[u8]) -> Result<Digest> {
        let digest = Digest::of(bytes);
        let folder = self.folder.join(FOLDER);
        let path = folder.join(digest.to_string());
        if fs::read(&path).is_ok_and(|kept| Digest::of(&kept) == digest) {
            return Ok(digest);
        }
        write_durably(&folder, &path, bytes).map_err(|error| {
            Error::transient(ErrorKind::Storage, "the module cannot be kept")
                .with("path", path.display())
                .hint("check free space and permissions of the state folder")
                .because(error)
                .during("keep module")
        })?;
        Ok(digest)
    }

    /// The bytes that were kept under a digest.
    ///
    /// # Errors
    /// `Storage` when they cannot be read, `Corrupt` when they are others.
    pub fn module(&self, digest: &Digest) -> Result<Vec<u8>> {
        let path = self.folder.join(FOLDER).join(digest.to_string());
        let bytes = fs::read(&path).map_err(|error| {
            Error::new(ErrorKind::Storage, "a module that the module table names cannot be read")
                .with("path", path.display())
                .hint("bring the state folder's `modules` back from a backup")
                .because(error)
        })?;
        if Digest::of(&bytes) != *digest {
            return Err(Error::new(ErrorKind::Corrupt, "a kept module is damaged")
                .with("path", path.display())
                .hint("bring the state folder's `modules` back from a backup"));
        }
        Ok(bytes)
    }
}

/// Write beside, flush, rename, flush the folder: the name never shows a part.
fn write_durably(folder: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    fail::before("module-file")?;
    let partial = path.with_extension("partial");
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&partial)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&partial, path)?;
    File::open(folder)?.sync_all()?;
    fail::after("module-file");
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn bytes_come_back_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::open(folder.path(), "shop").unwrap();
        let digest = state.keep_module(b"\0asm").unwrap();
        assert_eq!(state.keep_module(b"\0asm").unwrap(), digest);
        assert_eq!(state.module(&digest).unwrap(), b"\0asm");
        assert_eq!(Digest::parse(&digest.to_string()).unwrap(), digest);

        let path = folder.path().join(FOLDER).join(digest.to_string());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        fs::write(&path, b"\0asM").unwrap();
        assert_eq!(state.module(&digest).unwrap_err().kind(), ErrorKind::Corrupt);
        state.keep_module(b"\0asm").unwrap();
        assert_eq!(state.module(&digest).unwrap(), b"\0asm", "a damaged file is written anew");
        assert_eq!(state.module(&Digest::of(b"")).unwrap_err().kind(), ErrorKind::Storage);
    }
}
