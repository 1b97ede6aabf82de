//! Ready queries for the current rows of a table.

use std::path::Path;

use tidegate_format::FileRecord;
use tidegate_model::{Result, TableName};

use crate::log_state::LogState;

/// Queries for a table's current rows.
#[derive(Debug, Clone)]
pub struct Latest {}

impl Latest {
    pub(crate) fn new(
        _root: &Path,
        _state: &LogState,
        _table: &TableName,
        _files: Vec<FileRecord>,
    ) -> Result<Self> {
        Ok(Self {})
    }
}
