//! Format versions of the state file.
//!
//! Version 1 is the first. A newer file is refused: an older agent would read
//! around what it does not know and could resume at a wrong place. An older file
//! is lifted step by step inside the commit that opens it, so that a crash
//! leaves it at the old version or at the new one. `testdata/` holds a file of
//! each version.

use redb::{ReadableTable, WriteTransaction};
use tidegate_model::{Error, ErrorKind, Result};

use crate::store::failed;
use crate::tables::{FORMAT, META};

/// The version that this build writes.
pub(crate) const CURRENT: u32 = 1;

/// A step lifts a file by one version; the first of them from 1 to 2.
type Step = fn(&WriteTransaction) -> Result<()>;

const STEPS: [Step; CURRENT as usize - 1] = [];

/// Brings the file to [`CURRENT`]; stamps a new one.
pub(crate) fn lift(transaction: &WriteTransaction) -> Result<()> {
    let found = stored(transaction)?.unwrap_or(CURRENT);
    if found == 0 || found > CURRENT {
        return Err(Error::new(
            ErrorKind::Refused,
            format!("state file has format version {found}, this build reads 1 to {CURRENT}"),
        )
        .hint("run the newer tidegate that wrote it"));
    }
    for step in &STEPS[found as usize - 1..] {
        step(transaction)?;
    }
    let mut meta = transaction.open_table(META).map_err(failed)?;
    meta.insert(FORMAT, &CURRENT.to_le_bytes()[..]).map_err(failed)?;
    Ok(())
}

fn stored(transaction: &WriteTransaction) -> Result<Option<u32>> {
    let meta = transaction.open_table(META).map_err(failed)?;
    let Some(bytes) = meta.get(FORMAT).map_err(failed)? else { return Ok(None) };
    let bytes = <[u8; 4]>::try_from(bytes.value())
        .map_err(|_| Error::new(ErrorKind::Corrupt, "state file has no readable format version"))?;
    Ok(Some(u32::from_le_bytes(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Store;

    #[test]
    fn a_newer_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("t.redb")).unwrap();
        store.write("test", lift).unwrap();
        let newer = store.write("test", |t| {
            let mut meta = t.open_table(META).map_err(failed)?;
            meta.insert(FORMAT, &(CURRENT + 1).to_le_bytes()[..]).map_err(failed)?;
            drop(meta);
            lift(t)
        });
        let error = newer.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Refused);
        assert!(error.to_string().contains("version 2, this build reads 1 to 1"), "{error}");
    }
}
