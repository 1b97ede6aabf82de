//! Native code on disk, so that a restart does not compile again.
//!
//! The engine trusts native code completely: whoever can write it, runs in the
//! agent. So the folder is the agent's own, mode 0700, each file carries a MAC
//! under a key that never leaves the folder, and the bytes that were checked are
//! the bytes that are loaded (not a file opened a second time). A file that does
//! not check, belongs to another engine or cannot be read is compiled anew: the
//! cache can fail, loading a module cannot fail because of it.
//!
//! File: 8 bytes magic, 32 bytes MAC of the rest, native code. Name: digest of
//! the component and hash of everything that native code depends on (engine
//! version, settings, target features).

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::hash::{Hash, Hasher};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use wasmtime::Engine;

use crate::digest::Digest;

const MAGIC: &[u8; 8] = b"tgnative";
const MAC_BYTES: usize = 32;
const SUFFIX: &str = ".native";

/// Files kept; the oldest go first. A module takes two at most.
const FILES_MAX: usize = 16;

/// A folder of native code.
#[derive(Debug)]
pub(crate) struct Cache {
    folder: PathBuf,
    key: [u8; 32],
}

impl Cache {
    /// Opens the folder, made when it is missing.
    ///
    /// # Errors
    /// When it cannot be made ours alone.
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        // Fails on a folder that belongs to somebody else.
        fs::set_permissions(folder, Permissions::from_mode(0o700))?;
        Ok(Self { folder: folder.to_owned(), key: read_or_make_key(&folder.join("key"))? })
    }

    /// The native code of a component for an engine, if it is here and sound.
    pub(crate) fn read(&self, component: &Digest, engine: &Engine) -> Option<Vec<u8>> {
        let path = self.path(component, engine);
        let mut file = match fs::read(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "native code cache unreadable, compiling anew");
                return None;
            }
        };
        let sound = file.len() > MAGIC.len() + MAC_BYTES && file.starts_with(MAGIC) && {
            let (head, code) = file.split_at(MAGIC.len() + MAC_BYTES);
            // Constant-time comparison of blake3's own hash type.
            blake3::Hash::from_slice(&head[MAGIC.len()..]).is_ok_and(|mac| mac == self.mac(code))
        };
        if !sound {
            tracing::warn!(path = %path.display(), "native code cache file is damaged, compiling anew");
            let _ = fs::remove_file(&path);
            return None;
        }
        file.drain(..MAGIC.len() + MAC_BYTES);
        Some(file)
    }

    /// Keeps native code; a failure is reported and costs a compilation later.
    pub(crate) fn write(&self, component: &Digest, engine: &Engine, code: &[u8]) {
        let path = self.path(component, engine);
        if let Err(error) = self.try_write(&path, code) {
            tracing::warn!(path = %path.display(), %error, "native code cache not written");
        }
    }

    fn try_write(&self, path: &Path, code: &[u8]) -> io::Result<()> {
        // One name a file, so that a crash leaves one at most; should two processes write it at
        // once, the MAC tells.
        let temporary = path.with_extension("tmp");
        let written = (|| {
            let mut file =
                OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
            file.write_all(MAGIC)?;
            file.write_all(self.mac(code).as_bytes())?;
            file.write_all(code)?;
            file.sync_all()?;
            fs::rename(&temporary, path)
        })();
        if written.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        written?;
        self.prune()
    }

    /// Removes the oldest files beyond [`FILES_MAX`].
    fn prune(&self) -> io::Result<()> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            if entry.file_name().to_string_lossy().ends_with(SUFFIX) {
                files.push((entry.metadata()?.modified()?, entry.path()));
            }
        }
        files.sort();
        let surplus = files.len().saturating_sub(FILES_MAX);
        files[..surplus].iter().try_for_each(|(_, path)| fs::remove_file(path))
    }

    fn path(&self, component: &Digest, engine: &Engine) -> PathBuf {
        let mut hasher = EngineHasher(blake3::Hasher::new());
        engine.precompile_compatibility_hash().hash(&mut hasher);
        let engine = Digest::of(hasher.0.finalize().as_bytes());
        self.folder.join(format!("{component}-{}{SUFFIX}", engine.short()))
    }

    fn mac(&self, code: &[u8]) -> blake3::Hash {
        blake3::keyed_hash(&self.key, code)
    }
}

/// The folder's key; two agents that make it at the same time agree on one.
fn read_or_make_key(path: &Path) -> io::Result<[u8; 32]> {
    let mut key = [0; 32];
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(mut file) => {
            File::open("/dev/urandom")?.read_exact(&mut key)?;
            file.write_all(&key)?;
            file.sync_all()?;
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            // A short key (a crash between create and write) is an unlucky file, not a fault for ever.
            if File::open(path)?.read_exact(&mut key).is_err() {
                fs::remove_file(path)?;
                return read_or_make_key(path);
            }
        }
        Err(error) => return Err(error),
    }
    Ok(key)
}

/// Feeds a stable hash with what the engine says of itself.
struct EngineHasher(blake3::Hasher);

impl Hasher for EngineHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Not asked for; the caller takes the whole digest.
    fn finish(&self) -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::engines;

    #[test]
    fn code_comes_back_and_damage_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(&folder.path().join("native")).unwrap();
        let (engine, component) = (&engines().unwrap().fast, Digest::of(b"component"));
        assert_eq!(cache.read(&component, engine), None);
        cache.write(&component, engine, b"code");
        assert_eq!(cache.read(&component, engine).as_deref(), Some(&b"code"[..]));
        assert_eq!(cache.read(&component, &engines().unwrap().metered), None, "another engine");

        let again = Cache::open(&folder.path().join("native")).unwrap();
        assert_eq!(again.read(&component, engine).as_deref(), Some(&b"code"[..]), "the same key");
        let path = cache.path(&component, engine);
        let mut bytes = fs::read(&path).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        fs::write(&path, bytes).unwrap();
        assert_eq!(cache.read(&component, engine), None);
        assert!(!path.exists(), "a damaged file is not met again");
    }

    #[test]
    fn the_folder_is_ours_alone_and_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(folder.path()).unwrap();
        assert_eq!(fs::metadata(folder.path()).unwrap().permissions().mode() & 0o777, 0o700);
        for n in 0..FILES_MAX + 3 {
            cache.write(&Digest::of(&n.to_le_bytes()), &engines().unwrap().fast, b"code");
        }
        let files = fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(files, FILES_MAX + 1, "and the key");
    }
}
