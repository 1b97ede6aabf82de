//! Where things lie in the work tree.

use std::env;
use std::path::{Path, PathBuf};

/// The root of the work tree.
pub fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ lies in the workspace")
}

/// The agent's binary: `TIDEGATE_BIN`, or the one of the same profile as the running test.
///
/// # Panics
/// If it has not been built: cargo builds another package's binary for no test, so that a run of
/// the tests alone could meet an old one or none.
pub fn agent_binary() -> PathBuf {
    let binary = env::var_os("TIDEGATE_BIN").map_or_else(
        || {
            let test = env::current_exe().expect("a running test has a path");
            let profile = test.ancestors().nth(2).expect("tests run from target/<profile>/deps");
            profile.join("tidegate")
        },
        PathBuf::from,
    );
    assert!(binary.is_file(), "no agent at {}; run `make build` first", binary.display());
    binary
}

/// The standard transform, as `make build` leaves it.
pub fn mapping_component() -> PathBuf {
    made("target/transforms/mapping.wasm", "make build")
}

/// The unpacked MariaDB server.
pub(super) fn mariadb() -> PathBuf {
    made("target/rig/mariadb", "make setup")
}

/// The Python that has the readers.
pub(super) fn python() -> PathBuf {
    made("target/rig/venv/bin/python", "make setup")
}

fn made(path: &str, by: &str) -> PathBuf {
    let path = workspace().join(path);
    assert!(path.exists(), "no {}; run `{by}` first", path.display());
    path
}
