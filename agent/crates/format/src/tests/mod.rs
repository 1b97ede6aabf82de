//! Golden files: what this build writes, and what every earlier one wrote.
//!
//! A record's file is `testdata/<name>.v<version>.json`. The newest must be what
//! is written now (`UPDATE_GOLDEN=1` writes it anew; only right when a version
//! was raised or not yet released); all of them must be readable.

mod records;
mod rows;
mod sample;

use std::path::PathBuf;

fn testdata() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata")
}

/// Compares with a golden file, or writes it.
fn check_golden(name: &str, actual: &str) {
    let path = testdata().join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, actual).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(golden == actual, "{name} differs; UPDATE_GOLDEN=1 shows how by `git diff`\n{actual}");
}
