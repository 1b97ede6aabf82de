//! The host's functions for native tests: everything is kept per thread, that
//! is per test, and can be looked into. State lives in memory, has no quota and
//! never expires; a call that fails keeps its writes.

use std::cell::RefCell;
use std::collections::BTreeMap;

type Key = (String, Vec<u8>);

/// What the transform under test did, and what it may read.
#[derive(Debug, Default)]
pub struct Recorded {
    /// Log lines, by level and message.
    pub log: Vec<(log::Level, String)>,
    /// Counters; gauges and histograms keep their last value.
    pub counters: BTreeMap<String, u64>,
    /// Gauges and histograms, by their last value.
    pub values: BTreeMap<String, f64>,
    /// State by space and key; a claimed key holds its owner.
    pub state: BTreeMap<Key, Vec<u8>>,
    /// Lookup tables: key to cells by column name. Keys are texts.
    pub lookups: BTreeMap<String, BTreeMap<String, BTreeMap<String, String>>>,
}

thread_local! {
    static RECORDED: RefCell<Recorded> = RefCell::default();
}

/// Looks into, or prepares, what the host holds for this test.
pub fn with<R>(f: impl FnOnce(&mut Recorded) -> R) -> R {
    RECORDED.with_borrow_mut(f)
}

fn cells(packed: &crate::Packed) -> impl Iterator<Item = &[u8]> {
    packed.offsets.windows(2).map(|cell| &packed.bytes[cell[0] as usize..cell[1] as usize])
}

/// Structured logging.
pub mod log {
    pub use crate::bindings::tidegate::transform::log::Level;

    /// Everything is recorded.
    pub fn threshold() -> Level {
        Level::Trace
    }

    /// Records a line; fields are appended as ` name=value`.
    pub fn write(level: Level, message: &str, fields: &[(String, String)]) {
        let fields: String = fields.iter().map(|(name, value)| format!(" {name}={value}")).collect();
        super::with(|host| host.log.push((level, format!("{message}{fields}"))));
    }
}

/// Metrics.
pub mod metrics {
    /// Adds to a counter.
    pub fn add(counter: &str, delta: u64) {
        super::with(|host| *host.counters.entry(counter.into()).or_default() += delta);
    }

    /// Sets a gauge.
    pub fn set(gauge: &str, value: f64) {
        super::with(|host| host.values.insert(gauge.into(), value));
    }

    /// Observes a value of a histogram.
    pub fn observe(histogram: &str, value: f64) {
        set(histogram, value);
    }
}

/// Keyed state.
pub mod state {
    use super::{cells, with};
    use crate::Packed;
    pub use crate::bindings::tidegate::transform::state::{Error, Write};

    /// Values of keys.
    ///
    /// # Errors
    /// None here.
    pub fn get(space: &str, keys: &Packed) -> Result<Vec<Option<Vec<u8>>>, Error> {
        Ok(with(|host| cells(keys).map(|key| host.state.get(&(space.into(), key.into())).cloned()).collect()))
    }

    /// Sets or deletes entries.
    ///
    /// # Errors
    /// None here.
    pub fn put(space: &str, entries: &[Write], _ttl_seconds: u64) -> Result<(), Error> {
        with(|host| {
            for Write { key, value, .. } in entries {
                let key = (space.into(), key.clone());
                match value {
                    Some(value) => host.state.insert(key, value.clone()),
                    None => host.state.remove(&key),
                };
            }
        });
        Ok(())
    }

    /// Claims keys for owners, 1 for each that is held afterwards.
    ///
    /// # Errors
    /// None here.
    pub fn claim(
        space: &str,
        keys: &Packed,
        owners: &Packed,
        _times: &[i64],
        _ttl_seconds: u64,
    ) -> Result<Vec<u8>, Error> {
        let claim = |(key, owner): (&[u8], &[u8])| {
            with(|host| {
                let holder = host.state.entry((space.into(), key.into())).or_insert_with(|| owner.into());
                u8::from(holder == owner)
            })
        };
        Ok(cells(keys).zip(cells(owners)).map(claim).collect())
    }

    /// Gives back the keys that these owners hold.
    ///
    /// # Errors
    /// None here.
    pub fn release(space: &str, keys: &Packed, owners: &Packed) -> Result<(), Error> {
        with(|host| {
            for (key, owner) in cells(keys).zip(cells(owners)) {
                let key = (space.into(), key.into());
                if host.state.get(&key).is_some_and(|holder| holder == owner) {
                    host.state.remove(&key);
                }
            }
        });
        Ok(())
    }

    /// Adds to counters, kept as 8 bytes little-endian.
    ///
    /// # Errors
    /// None here.
    pub fn add(space: &str, deltas: &[(Vec<u8>, i64)]) -> Result<Vec<i64>, Error> {
        let add = |(key, delta): &(Vec<u8>, i64)| {
            with(|host| {
                let value = host.state.entry((space.into(), key.clone())).or_insert_with(|| vec![0; 8]);
                let old = i64::from_le_bytes(value.as_slice().try_into().expect("a counter has 8 bytes"));
                *value = (old + delta).to_le_bytes().to_vec();
                old + delta
            })
        };
        Ok(deltas.iter().map(add).collect())
    }
}

/// Lookup tables.
pub mod lookup {
    pub use crate::bindings::tidegate::transform::lookup::Error;
    use crate::{Cell, Column, TextBuilder};

    /// Text cells of the wanted columns; null where the key is unknown.
    ///
    /// # Errors
    /// `NoSuchTable` for a table that the test did not prepare.
    pub fn fetch(table: &str, keys: &Column, wanted: &[String]) -> Result<Vec<Column>, Error> {
        super::with(|host| {
            let rows = host.lookups.get(table).ok_or_else(|| Error::NoSuchTable(table.into()))?;
            let texts = keys.texts().map_err(|_| Error::Unavailable("test lookups have text keys".into()))?;
            let column = |name: &String| {
                let mut cells = TextBuilder::with_capacity(0, 0);
                for row in 0..keys.rows() {
                    let found = texts.get(row).value().and_then(|key| rows.get(key)?.get(name));
                    cells.push(found.map_or(Cell::Null, |text| Cell::Value(text.as_str())));
                }
                cells.finish()
            };
            Ok(wanted.iter().map(column).collect())
        })
    }

    /// Test tables never change.
    ///
    /// # Errors
    /// None here.
    pub fn revision(_table: &str) -> Result<u64, Error> {
        Ok(1)
    }
}
