//! Rules of the code's layout that no compiler keeps.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tidegate_tests::rig::workspace;

/// What each package of ours may depend on, of ours. Arrows point one way: never sideways between
/// sources, sinks and host, never back; host and guests meet only in `wit/`.
const DIRECTION: [(&str, &[&str]); 11] = [
    ("tidegate-model", &[]),
    ("tidegate-format", &["tidegate-model"]),
    ("tidegate-source-mysql", &["tidegate-model"]),
    ("tidegate-transform-host", &["tidegate-model"]),
    ("tidegate-sink-object", &["tidegate-format", "tidegate-model"]),
    ("tidegate-state", &["tidegate-format", "tidegate-model"]),
    ("tidegate-registry", &["tidegate-format", "tidegate-model"]),
    (
        "tidegate",
        &[
            "tidegate-format",
            "tidegate-model",
            "tidegate-registry",
            "tidegate-sink-object",
            "tidegate-source-mysql",
            "tidegate-state",
            "tidegate-transform-host",
        ],
    ),
    ("tidegate-guest", &[]),
    ("tidegate-mapping", &["tidegate-guest"]),
    ("tidegate-tests", &["tidegate", "tidegate-format", "tidegate-model", "tidegate-source-mysql"]),
];

/// Heavy dependencies stay behind the crates that are there to isolate them.
const ISOLATED: [(&str, &[&str]); 3] = [
    ("wasmtime", &["tidegate-transform-host"]),
    ("redb", &["tidegate-registry", "tidegate-state"]),
    ("mysql_async", &["tidegate-source-mysql", "tidegate-tests"]),
];

/// The model has no I/O, no async runtime and no serialisation of its types.
const NOT_IN_MODEL: [&str; 5] = ["mysql_async", "serde", "serde_json", "tokio", "redb"];

const LINES_MAX: usize = 600;

#[test]
fn dependencies_point_one_way() {
    let allowed: BTreeMap<_, _> = DIRECTION.into_iter().collect();
    let packages = dependencies();
    let ours: BTreeSet<&String> = packages.keys().collect();
    for (package, dependencies) in &packages {
        let allowed = allowed.get(package.as_str());
        let allowed = allowed.unwrap_or_else(|| panic!("'{package}' has no place in DIRECTION yet"));
        for dependency in dependencies.iter().filter(|name| ours.contains(name)) {
            assert!(allowed.contains(&dependency.as_str()), "'{package}' may not depend on '{dependency}'");
        }
    }
}

#[test]
fn heavy_dependencies_are_isolated() {
    for (package, dependencies) in dependencies() {
        for (heavy, owners) in ISOLATED {
            assert!(
                !dependencies.contains(heavy) || owners.contains(&package.as_str()),
                "'{package}' may not depend on '{heavy}'; only {owners:?} may"
            );
        }
        if package == "tidegate-model" {
            let found: Vec<_> = NOT_IN_MODEL.iter().filter(|name| dependencies.contains(**name)).collect();
            assert!(found.is_empty(), "the model may not depend on {found:?}");
        }
    }
}

#[test]
fn modules_are_named_after_what_they_hold() {
    for file in files("rs") {
        let buckets = ["util", "utils", "common", "helper", "helpers", "misc"];
        let names = file.iter().filter_map(|part| Path::new(part).file_stem()?.to_str());
        for name in names {
            assert!(!buckets.contains(&name), "{}: '{name}' names no concept", file.display());
        }
    }
}

#[test]
fn files_are_short_and_finished() {
    // In two halves, so that this file does not find itself.
    let unfinished =
        [concat!("to", "do!("), concat!("unimple", "mented!("), concat!("FIX", "ME"), concat!("TO", "DO")];
    for file in files("rs") {
        let text = text(&file);
        let lines = text.lines().count();
        assert!(lines <= LINES_MAX, "{}: {lines} lines; which concept wants its own file?", file.display());
        for word in unfinished {
            assert!(!text.contains(word), "{}: '{word}'", file.display());
        }
    }
}

#[test]
fn readme_names_the_two_commands_first() {
    let readme = text(Path::new("README.md"));
    let commands: Vec<&str> = readme.lines().filter_map(|line| line.trim().strip_prefix("make ")).collect();
    let first: Vec<&str> =
        commands.iter().filter_map(|line| line.split_whitespace().next()).take(2).collect();
    assert_eq!(first, ["demo", "test"], "the first two lines of commands are `make demo` and `make test`");
}

#[test]
fn guests_import_nothing_but_our_interfaces() {
    let wit = files("wit");
    assert!(!wit.is_empty(), "the guest contract is in wit/");
    for file in wit {
        let text = text(&file);
        for line in text.lines().map(str::trim) {
            if let Some(package) = line.strip_prefix("package ") {
                assert!(package.starts_with("tidegate:transform@"), "{}: '{line}'", file.display());
            }
            if let Some(interface) = line.strip_prefix("import ").or_else(|| line.strip_prefix("use ")) {
                let foreign = interface.contains(':') && !interface.starts_with("tidegate:transform/");
                assert!(!foreign, "{}: '{line}'", file.display());
            }
        }
    }
}

/// Our packages with the names of everything that they depend on, for whatever purpose.
fn dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version=1"])
        .current_dir(workspace())
        .output()
        .expect("cargo, which runs this test, can be run");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo answers in JSON");
    let name = |value: &Value| value["name"].as_str().expect("everything has a name").to_owned();
    let list = |value: &Value| value.as_array().expect("a list").clone();
    list(&metadata["packages"])
        .iter()
        .map(|package| (name(package), list(&package["dependencies"]).iter().map(name).collect()))
        .collect()
}

/// The files of the work tree that git knows or would add, with this extension.
fn files(extension: &str) -> Vec<PathBuf> {
    let output = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard", "--", &format!("*.{extension}")])
        .current_dir(workspace())
        .output()
        .expect("git can be run");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let names = String::from_utf8(output.stdout).expect("our files have UTF-8 names");
    names.lines().map(PathBuf::from).filter(|file| workspace().join(file).exists()).collect()
}

fn text(file: &Path) -> String {
    fs::read_to_string(workspace().join(file)).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}
