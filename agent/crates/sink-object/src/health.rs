//! Start-up check: whether the sink can do here what a commit needs.

use std::fs;
use std::path::Path;

use tidegate_model::Result;
use uuid::Uuid;

use crate::blocking::blocking;
use crate::config::ObjectSinkConfig;
use crate::fault::io_error;
use crate::file_store::FileStore;
use crate::store::Store;

/// Creates, names and deletes a probe in the lake, and a file in the staging
/// folder. Makes both folders; leaves nothing else.
///
/// # Errors
/// What cannot be done, where, and how to mend it.
pub async fn check(config: &ObjectSinkConfig) -> Result<()> {
    FileStore::new(config.root.clone(), config.writer()).probe().await?;
    blocking(|| probe_staging(&config.staging))
}

fn probe_staging(folder: &Path) -> Result<()> {
    let fault = |error| io_error("prepare the staging folder", folder, error);
    fs::create_dir_all(folder).map_err(fault)?;
    let probe = folder.join(format!("probe-{}", Uuid::new_v4()));
    fs::write(&probe, b"probe").and_then(|()| fs::remove_file(&probe)).map_err(fault)
}
