//! Keys of everything in a lake, and the ids that objects are named by.

use std::fmt;
use std::str::FromStr;
use std::time::{SystemTime, UNIX_EPOCH};

use tidegate_format::name::escape;
use tidegate_model::TableName;
use uuid::Uuid;

/// Everything of a lake that is not rows.
pub(crate) const OWN_FOLDER: &str = "_tidegate";
/// Files that have no name yet.
pub(crate) const TEMPORARY: &str = "_tidegate/tmp/";
/// Entries by number.
pub(crate) const LOG: &str = "_tidegate/log/";
/// Snapshots of the log by the number of the last entry they cover.
pub(crate) const SNAPSHOTS: &str = "_tidegate/snapshot/";
/// The name, and folder, of the dead-letter queue. No table can have it: a
/// table's text has a dot.
pub(crate) const DEAD_LETTERS: &str = "dead_letters";

/// Key of a log entry.
pub(crate) fn log_key(number: u64) -> String {
    format!("{LOG}{number:020}.json")
}

/// Key of a snapshot of the log.
pub(crate) fn snapshot_key(number: u64) -> String {
    format!("{SNAPSHOTS}{number:020}.json")
}

/// The number in a key that [`log_key`] or [`snapshot_key`] made.
pub(crate) fn number_in_key(key: &str) -> Option<u64> {
    key.rsplit('/').next()?.strip_suffix(".json")?.parse().ok()
}

/// Folder of a table: `schema/table`, each escaped.
pub(crate) fn table_folder(name: &TableName) -> String {
    format!("{}/{}", escape(&name.schema), escape(&name.table))
}

/// Name of a data object: which writer, which of its claims, which object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ObjectName {
    /// The writer's id.
    pub(crate) writer: String,
    /// Its claim at the time.
    pub(crate) claim: u64,
    /// Unique, and greater than every earlier one of the same claim.
    pub(crate) id: Uuid,
}

impl ObjectName {
    /// Key of the object in a version's folder.
    pub(crate) fn key(&self, folder: &str, version: u64, extension: &str) -> String {
        format!("{folder}/v{version}/{self}.{extension}")
    }

    /// The name in an object's key; `None` for what we never wrote.
    pub(crate) fn of_key(key: &str) -> Option<Self> {
        key.rsplit('/').next()?.split('.').next()?.parse().ok()
    }
}

impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{}", self.writer, self.claim, self.id)
    }
}

impl FromStr for ObjectName {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut parts = text.splitn(3, '-');
        let writer = parts.next().filter(|id| id.len() == 8).ok_or(())?;
        let claim = parts.next().and_then(|claim| claim.parse().ok()).ok_or(())?;
        let id = parts.next().and_then(|id| Uuid::try_parse(id).ok()).ok_or(())?;
        Ok(Self { writer: writer.to_owned(), claim, id })
    }
}

/// Makes object ids that grow strictly: time-ordered UUIDs (version 7, RFC 9562)
/// with a millisecond of their own each, so that a clock set back does no harm.
#[derive(Debug, Default)]
pub(crate) struct ObjectIds {
    last_ms: u64,
}

impl ObjectIds {
    /// The next id, greater than all before.
    pub(crate) fn next(&mut self) -> Uuid {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.last_ms = (self.last_ms + 1).max(now.as_millis() as u64);
        let mut random = [0; 10];
        random.copy_from_slice(&Uuid::new_v4().as_bytes()[..10]);
        uuid::Builder::from_unix_timestamp_millis(self.last_ms, &random).into_uuid()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_names_round_trip() {
        assert_eq!(number_in_key(&log_key(42)), Some(42));
        assert_eq!(log_key(42), "_tidegate/log/00000000000000000042.json");
        let name = ObjectName { writer: "0123abcd".into(), claim: 7, id: ObjectIds::default().next() };
        let key = name.key(&table_folder(&TableName::new("shop", "a/b")), 3, "parquet");
        assert!(key.starts_with("shop/a%2Fb/v3/0123abcd-7-"), "{key}");
        assert_eq!(ObjectName::of_key(&key), Some(name));
        for foreign in ["README.md", "shop/orders/v1/part-0.parquet", "x-1-2.parquet"] {
            assert_eq!(ObjectName::of_key(foreign), None);
        }
    }

    #[test]
    fn ids_grow() {
        let mut ids = ObjectIds::default();
        let made: Vec<_> = (0..1000).map(|_| ids.next()).collect();
        assert!(made.is_sorted_by(|a, b| a < b && a.to_string() < b.to_string()));
    }
}
