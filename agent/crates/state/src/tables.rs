//! The tables of the redb file, in one place.
//!
//! Keys are redb's own types, so that ranges work; values are JSON records of
//! `tidegate-format` or of the module that owns the table, each with a version
//! of its own. Table names and key types never change within a format version.

use redb::{TableDefinition, WriteTransaction};
use tidegate_model::Result;

use crate::store::failed;

/// Facts about the file: see [`FORMAT`], [`PIPELINE`], [`IDENTITY`], [`NEXT_UID`].
pub(crate) const META: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("meta");

/// Format version of the file, 4 bytes little-endian.
pub(crate) const FORMAT: &str = "format";
/// The pipeline's name, UTF-8.
pub(crate) const PIPELINE: &str = "pipeline";
/// 16 random bytes, drawn when the folder was made.
pub(crate) const IDENTITY: &str = "identity";
/// The next table uid, 8 bytes little-endian; absent: 1.
pub(crate) const NEXT_UID: &str = "next_uid";

/// The last checkpoint, under [`LAST`].
pub(crate) const CHECKPOINT: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("checkpoint");

/// The only key of [`CHECKPOINT`].
pub(crate) const LAST: &str = "last";

/// (schema, table) → uid.
pub(crate) const TABLE_UIDS: TableDefinition<'_, (&str, &str), u64> = TableDefinition::new("table_uids");

/// uid → source version that a sink's record named when the folder was rebuilt.
pub(crate) const KNOWN_VERSIONS: TableDefinition<'_, u64, u64> = TableDefinition::new("known_versions");

/// (uid, source version) → schema change.
pub(crate) const SCHEMA_CHANGES: TableDefinition<'_, (u64, u64), &[u8]> =
    TableDefinition::new("schema_changes");

/// (uid, generation, chunk) → bounds.
pub(crate) const CHUNKS: TableDefinition<'_, (u64, u64, u64), &[u8]> = TableDefinition::new("chunks");

/// (uid, position text) → DDL whose effect is not recorded yet.
pub(crate) const DDL_NOTES: TableDefinition<'_, (u64, &str), &[u8]> = TableDefinition::new("ddl_notes");

/// Running number from 1 → chain entry.
pub(crate) const MODULE_TABLE: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("module_table");

/// Makes the tables that the file does not have yet, so that readers find them.
pub(crate) fn make(transaction: &WriteTransaction) -> Result<()> {
    transaction.open_table(META).map_err(failed)?;
    transaction.open_table(CHECKPOINT).map_err(failed)?;
    transaction.open_table(TABLE_UIDS).map_err(failed)?;
    transaction.open_table(KNOWN_VERSIONS).map_err(failed)?;
    transaction.open_table(SCHEMA_CHANGES).map_err(failed)?;
    transaction.open_table(CHUNKS).map_err(failed)?;
    transaction.open_table(DDL_NOTES).map_err(failed)?;
    transaction.open_table(MODULE_TABLE).map_err(failed)?;
    Ok(())
}

/// Forgets all that a start wrote which never reached its first checkpoint.
pub(crate) fn forget_start(transaction: &WriteTransaction) -> Result<()> {
    transaction.open_table(SCHEMA_CHANGES).map_err(failed)?.retain(|_, _| false).map_err(failed)?;
    transaction.open_table(KNOWN_VERSIONS).map_err(failed)?.retain(|_, _| false).map_err(failed)?;
    transaction.open_table(TABLE_UIDS).map_err(failed)?.retain(|_, _| false).map_err(failed)?;
    transaction.open_table(META).map_err(failed)?.remove(NEXT_UID).map_err(failed)?;
    transaction.open_table(CHUNKS).map_err(failed)?.retain(|_, _| false).map_err(failed)?;
    transaction.open_table(DDL_NOTES).map_err(failed)?.retain(|_, _| false).map_err(failed)?;
    transaction.open_table(MODULE_TABLE).map_err(failed)?.retain(|_, _| false).map_err(failed)?;
    Ok(())
}
