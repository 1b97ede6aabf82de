//! A table's events as the lake has them, one row each.

use std::path::{Path, PathBuf};

use super::lake::Lake;
use super::reader::{Row, Table};

/// One row of the lake and the folder that it lies in.
#[derive(Clone, Debug)]
pub struct Event {
    /// n of the folder `v<n>`.
    pub version: u64,
    /// The row, system columns and all.
    pub row: Row,
}

impl Event {
    /// The letter of the operation.
    pub fn op(&self) -> &str {
        self.text("__op")
    }

    /// A cell with text.
    ///
    /// # Panics
    /// If it has none; so does the other getter.
    pub fn text(&self, column: &str) -> &str {
        self.row[column].as_str().unwrap_or_else(|| panic!("'{column}' is no text in {:?}", self.row))
    }

    /// A cell with an integer.
    pub fn integer(&self, column: &str) -> i64 {
        self.row[column].as_i64().unwrap_or_else(|| panic!("'{column}' is no integer in {:?}", self.row))
    }

    /// The row without the system columns.
    pub fn cells(&self) -> Row {
        user_cells(&self.row)
    }
}

/// A row without the system columns.
pub fn user_cells(row: &Row) -> Row {
    row.iter()
        .filter(|(name, _)| !name.starts_with("__"))
        .map(|(name, cell)| (name.clone(), cell.clone()))
        .collect()
}

impl Lake {
    /// The events in all files that a plain glob finds for a table, in the order of the log.
    pub fn events(&self, table: &str) -> Vec<Event> {
        self.events_in(&self.globbed_files(table))
    }

    /// The events in these files of a table, in the order of the log.
    pub fn events_in(&self, files: &[PathBuf]) -> Vec<Event> {
        let mut folders: Vec<&Path> = files.iter().filter_map(|file| file.parent()).collect();
        folders.sort_unstable();
        folders.dedup();
        let mut events = Vec::new();
        for folder in folders {
            let version = folder.file_name().and_then(|name| name.to_str()?.strip_prefix('v')?.parse().ok());
            let version = version.unwrap_or_else(|| panic!("{} is no v<n>", folder.display()));
            let of_version: Vec<PathBuf> =
                files.iter().filter(|file| file.parent() == Some(folder)).cloned().collect();
            events.extend(self.rows_of(&of_version).rows.into_iter().map(|row| Event { version, row }));
        }
        // The two halves of a change of key share one index; the old key goes first. The sort is
        // stable, so that rows of one chunk, which share everything, stay in the file's order.
        events.sort_by_cached_key(|event| {
            (event.text("__pos").to_owned(), event.integer("__idx"), event.op() != "d")
        });
        events
    }

    /// The rows of files in the order given, by the reader that fits them.
    pub fn rows_of(&self, files: &[PathBuf]) -> Table {
        let parquet =
            files.iter().all(|file| file.extension().is_some_and(|extension| extension == "parquet"));
        if parquet { self.pyarrow(files) } else { self.json_lines(files) }
    }
}
