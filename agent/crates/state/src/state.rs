//! The state folder of one pipeline.

use std::fs::{self, DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use redb::{ReadableTable, WriteTransaction};
use tidegate_model::{Error, ErrorKind, Result};

use crate::checkpoint;
use crate::identity::Identity;
use crate::lock::FolderLock;
use crate::migration;
use crate::store::{Store, failed};
use crate::tables::{self, CHECKPOINT, META, PIPELINE};

/// The redb file in a state folder.
const FILE: &str = "state.redb";

/// An open state folder, `<state>/<pipeline>/`: mode 0700, one process.
///
/// Calls block, writers for one flush of the disk; any thread may call. Every
/// write is durable when it returns and idempotent: after an error it may be
/// called again, whether or not it had happened.
#[derive(Debug)]
pub struct State {
    pub(crate) store: Store,
    pub(crate) folder: PathBuf,
    pipeline: String,
    identity: Identity,
    was_new: bool,
    _lock: FolderLock,
}

impl State {
    /// Opens the folder, or makes it.
    ///
    /// What a start left behind that never reached its first checkpoint is
    /// cleared: no event was read under it, and a schema version recorded at the
    /// position of that start would contradict the next one.
    ///
    /// # Errors
    /// `Refused` when another process has it (its id is in the message), when a
    /// newer version wrote it or when it belongs to another pipeline; `Storage`,
    /// `Corrupt`.
    pub fn open(folder: &Path, pipeline: &str) -> Result<Self> {
        make_folder(folder)?;
        let lock = FolderLock::take(folder)?;
        let store = Store::open(&folder.join(FILE))?;
        let (identity, was_new) = store.write("state-open", |transaction| {
            migration::lift(transaction)?;
            own(transaction, pipeline)?;
            let identity = Identity::load_or_draw(transaction)?;
            tables::make(transaction)?;
            let was_new = checkpoint::read(&transaction.open_table(CHECKPOINT).map_err(failed)?)?.is_none();
            if was_new {
                tables::forget_start(transaction)?;
            }
            Ok((identity, was_new))
        })?;
        let state = Self {
            store,
            folder: folder.to_owned(),
            pipeline: pipeline.to_owned(),
            identity,
            was_new,
            _lock: lock,
        };
        tracing::debug!(pipeline, new = was_new, "state folder opened");
        Ok(state)
    }

    /// Opens the folder if a pipeline has ever run in it; for commands that only
    /// look. `None` leaves nothing behind.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_existing(folder: &Path, pipeline: &str) -> Result<Option<Self>> {
        match folder.join(FILE).exists() {
            true => Self::open(folder, pipeline).map(Some),
            false => Ok(None),
        }
    }

    /// True when the folder had no checkpoint when it was opened: nothing was
    /// ever read with it, whether it is new or was lost.
    pub fn was_new(&self) -> bool {
        self.was_new
    }

    /// The pipeline that it belongs to.
    pub fn pipeline(&self) -> &str {
        &self.pipeline
    }

    /// The folder; mode 0700.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// A replica's number for this pipeline, 2³¹ to 2³²−1: the same as long as
    /// the folder lives, another one in another folder.
    pub fn server_id(&self) -> u32 {
        self.identity.server_id(&self.pipeline)
    }
}

/// Row values may lie on the host only in this folder, so nobody else reads it.
fn make_folder(folder: &Path) -> Result<()> {
    let make = || {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        fs::set_permissions(folder, Permissions::from_mode(0o700))
    };
    make().map_err(|error| {
        let kind = match error.kind() {
            std::io::ErrorKind::PermissionDenied => ErrorKind::Permission,
            _ => ErrorKind::Storage,
        };
        Error::new(kind, "the state folder cannot be made")
            .with("path", folder.display())
            .hint("name a folder that the agent may write in `agent.state`")
            .because(error)
            .during("open state folder")
    })
}

/// Marks the file as the pipeline's, or finds that it is another's.
fn own(transaction: &WriteTransaction, pipeline: &str) -> Result<()> {
    let mut meta = transaction.open_table(META).map_err(failed)?;
    let owner =
        meta.get(PIPELINE).map_err(failed)?.map(|name| String::from_utf8_lossy(name.value()).into_owned());
    match owner {
        Some(owner) if owner != pipeline => Err(Error::new(
            ErrorKind::Refused,
            format!("the state folder belongs to pipeline '{owner}', not to '{pipeline}'"),
        )
        .hint("a renamed pipeline is a new one: give it a state folder of its own")),
        Some(_) => Ok(()),
        None => {
            meta.insert(PIPELINE, pipeline.as_bytes()).map_err(failed)?;
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_keeps_its_identity_and_its_owner() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("state/shop");
        assert!(State::open_existing(&folder, "shop").unwrap().is_none());
        assert!(!folder.exists());

        let first = State::open(&folder, "shop").unwrap();
        assert!(first.was_new());
        let mode = fs::metadata(&folder).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        let server_id = first.server_id();
        let taken = State::open(&folder, "shop").unwrap_err();
        assert_eq!((taken.kind(), taken.exit_code()), (ErrorKind::Refused, 3));
        drop(first);

        assert_eq!(State::open(&folder, "shop").unwrap().server_id(), server_id);
        let renamed = State::open(&folder, "store").unwrap_err();
        assert_eq!(renamed.kind(), ErrorKind::Refused);
    }
}
