//! The folder that the object sink writes.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::gtid::Gtids;
use super::reader::{self, Table, read};

/// A lake on this machine, read from outside.
#[derive(Clone, Debug)]
pub struct Lake {
    root: PathBuf,
}

impl Lake {
    /// The lake in this folder, which need not be there yet.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Its folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Runs a query in DuckDB.
    pub fn duckdb(&self, sql: impl AsRef<str>) -> Table {
        read("duckdb", &Value::from(sql.as_ref()))
    }

    /// The rows of Parquet files, by pyarrow.
    pub fn pyarrow(&self, files: &[PathBuf]) -> Table {
        read("pyarrow", &reader::paths_argument(files))
    }

    /// The rows of JSON-lines files, by Python's own parser.
    pub fn json_lines(&self, files: &[PathBuf]) -> Table {
        read("json_lines", &reader::paths_argument(files))
    }

    /// The tables of a schema that have a folder, by name.
    pub fn tables(&self, schema: &str) -> Vec<String> {
        entries(&self.root.join(schema)).iter().map(|table| name(table)).collect()
    }

    /// What a plain glob finds for a table, `schema.table`: its schema versions `v<n>` in order, each
    /// with its files. While an agent runs there may be files among them that are not committed.
    pub fn versions(&self, table: &str) -> Vec<(String, Vec<PathBuf>)> {
        let folders = entries(&self.root.join(table.replacen('.', "/", 1)));
        let mut versions: Vec<_> = folders.iter().map(|folder| (name(folder), entries(folder))).collect();
        // v9 stands before v10.
        versions.sort_by_key(|(version, _)| version.trim_start_matches('v').parse::<u64>().ok());
        versions
    }

    /// What a plain glob finds for a table, `schema.table`, in all its versions.
    pub fn globbed_files(&self, table: &str) -> Vec<PathBuf> {
        self.versions(table).into_iter().flat_map(|(_, files)| files).collect()
    }

    /// The files of a table that the commit log names, in its order.
    pub fn committed_files(&self, table: &str) -> Vec<PathBuf> {
        let entries = self.log();
        let files = entries.iter().filter_map(|entry| entry["files"].as_array()).flatten();
        let of_table = files.filter(|file| file["table"] == table);
        of_table.map(|file| self.root.join(file["key"].as_str().expect("a file has a key"))).collect()
    }

    /// The entries of the commit log, oldest first.
    pub fn log(&self) -> Vec<Value> {
        entries(&self.root.join("_tidegate/log")).iter().map(|file| read_json(file)).collect()
    }

    /// The offset of the newest commit.
    pub fn offset(&self) -> Option<Value> {
        let files = entries(&self.root.join("_tidegate/log"));
        files.iter().rev().map(|file| read_json(file)).find_map(|mut entry| match entry["offset"].take() {
            Value::Null => None,
            offset => Some(offset),
        })
    }

    /// Up to where in the server's log the lake has everything.
    pub fn position(&self) -> Gtids {
        let offset = self.offset().unwrap_or_default();
        Gtids::parse(offset["scanned"]["gtid"].as_str().unwrap_or_default())
    }

    /// Whether snapshots were begun, and all are complete as of the newest commit.
    pub fn snapshots_done(&self) -> bool {
        let offset = self.offset().unwrap_or_default();
        let tables = offset["snapshot"].as_object();
        tables.is_some_and(|tables| !tables.is_empty() && tables.len() == self.complete_snapshots())
    }

    /// Generation of a table's newest snapshot, `schema.table`, if it is complete as of the newest
    /// commit.
    pub fn complete_generation(&self, table: &str) -> Option<u64> {
        let offset = self.offset()?;
        let named = |(_, name): &(&String, &Value)| {
            name["schema"].as_str().zip(name["table"].as_str()).is_some_and(|(schema, name)| {
                table.strip_prefix(schema).and_then(|rest| rest.strip_prefix('.')) == Some(name)
            })
        };
        let (uid, _) = offset["tables"].as_object()?.iter().find(named)?;
        let snapshot = &offset["snapshot"][uid];
        (snapshot["done"] == true).then(|| snapshot["generation"].as_u64())?
    }

    /// Tables whose snapshot is complete as of the newest commit.
    pub fn complete_snapshots(&self) -> usize {
        let offset = self.offset().unwrap_or_default();
        let tables = offset["snapshot"].as_object();
        tables.map_or(0, |tables| tables.values().filter(|table| table["done"] == true).count())
    }
}

/// A folder's entries in order of their names; none if it is not there.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(listing) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> =
        listing.map(|entry| entry.expect("the folder can be listed").path()).collect();
    paths.sort();
    paths
}

fn name(path: &Path) -> String {
    let name = path.file_name().expect("an entry of a folder has a name");
    name.to_str().expect("the lake's names are UTF-8").to_owned()
}

fn read_json(file: &Path) -> Value {
    let text = fs::read(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}
