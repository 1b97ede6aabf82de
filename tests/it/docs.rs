//! What the documents say about the code is so.

use std::fs;
use std::path::{Path, PathBuf};

use tidegate_tests::rig::workspace;

#[test]
fn every_promise_names_tests_that_exist() {
    let mut sources = Vec::new();
    for folder in ["tests/it", "agent"] {
        collect_sources(&workspace().join(folder), &mut sources);
    }
    let page = "docs/delivery-guarantees.md";
    let promises = fs::read_to_string(workspace().join(page)).expect("the page is there");
    let mut found = 0;
    // Every row of a table but the heads names its tests in its last cell.
    for row in promises.lines().filter(|line| line.starts_with("| ") && !line.contains("| held by |")) {
        let cell = row.trim_end_matches([' ', '|']).rsplit('|').next().unwrap_or_default();
        let tests: Vec<(&str, &str)> = cell.split('`').filter_map(|name| name.rsplit_once("::")).collect();
        assert!(!tests.is_empty(), "{page} names no test in: {row}");
        for (area, test) in tests {
            found += 1;
            assert!(exists(&sources, area, test), "{page} names {area}::{test}, which is not there");
        }
    }
    assert!(found > 40, "only {found} tests in {page}: has the form of its tables changed?");
}

/// Whether a file of the area has the name, as a function or in a list of scenarios.
fn exists(sources: &[PathBuf], area: &str, test: &str) -> bool {
    let of_area = |path: &&PathBuf| {
        path.iter().any(|part| part == area) || path.file_stem().is_some_and(|stem| stem == area)
    };
    let is_word = |c: char| !c.is_alphanumeric() && c != '_';
    sources.iter().filter(of_area).any(|path| text(path).split(is_word).any(|word| word == test))
}

fn collect_sources(folder: &Path, sources: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("it can be listed").path();
        if path.is_dir() {
            collect_sources(&path, sources);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            sources.push(path);
        }
    }
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
