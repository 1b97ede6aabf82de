//! What a guest may call. Every import is always linked, since some toolchains
//! import the whole world whether they use it or not; what the pipeline does not
//! grant answers `denied`. Keyed state and lookups are granted to nobody yet.

use std::sync::{Arc, Mutex, PoisonError};

use crate::bindings::tidegate::transform as wit;
use crate::limits::Ledger;
use crate::observe::Observer;

/// What the store of an instance carries.
pub(crate) struct HostState {
    pub(crate) ledger: Ledger,
    pub(crate) observer: Arc<Mutex<Observer>>,
}

impl HostState {
    fn report(&self, line: impl FnOnce(&mut Observer)) {
        line(&mut self.observer.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl wit::types::Host for HostState {}
impl wit::planning::Host for HostState {}
impl wit::vectors::Host for HostState {}

impl wit::log::Host for HostState {
    /// Constant: a guest must not behave otherwise when the agent logs more.
    fn threshold(&mut self) -> wit::log::Level {
        wit::log::Level::Info
    }

    fn write(&mut self, level: wit::log::Level, message: String, fields: Vec<(String, String)>) {
        use wit::log::Level;
        let level = match level {
            Level::Trace | Level::Debug => return,
            Level::Info => "info",
            Level::Warn => "warn",
            Level::Error => "error",
        };
        let mut line = message;
        for (key, value) in fields {
            line.push_str(&format!(", {key} {value}"));
        }
        self.report(|observer| observer.log(level, &line));
    }
}

impl wit::metrics::Host for HostState {
    fn add(&mut self, counter: String, delta: u64) {
        self.report(|observer| observer.metric(&counter, |value| *value += delta as f64));
    }

    fn set(&mut self, gauge: String, new: f64) {
        self.report(|observer| observer.metric(&gauge, |value| *value = new));
    }

    /// Kept as the sum and the number of observations.
    fn observe(&mut self, histogram: String, observed: f64) {
        self.report(|observer| {
            observer.metric(&format!("{histogram}_sum"), |value| *value += observed);
            observer.metric(&format!("{histogram}_count"), |value| *value += 1.0);
        });
    }
}

impl wit::state::Host for HostState {
    fn get(
        &mut self,
        space: String,
        _keys: wit::state::Packed,
    ) -> Result<Vec<Option<Vec<u8>>>, wit::state::Error> {
        Err(wit::state::Error::Denied(space))
    }

    fn put(
        &mut self,
        space: String,
        _entries: Vec<wit::state::Write>,
        _ttl_seconds: u64,
    ) -> Result<(), wit::state::Error> {
        Err(wit::state::Error::Denied(space))
    }

    fn claim(
        &mut self,
        space: String,
        _keys: wit::state::Packed,
        _owners: wit::state::Packed,
        _times: Vec<i64>,
        _ttl_seconds: u64,
    ) -> Result<Vec<u8>, wit::state::Error> {
        Err(wit::state::Error::Denied(space))
    }

    fn release(
        &mut self,
        space: String,
        _keys: wit::state::Packed,
        _owners: wit::state::Packed,
    ) -> Result<(), wit::state::Error> {
        Err(wit::state::Error::Denied(space))
    }

    fn add(&mut self, space: String, _deltas: Vec<(Vec<u8>, i64)>) -> Result<Vec<i64>, wit::state::Error> {
        Err(wit::state::Error::Denied(space))
    }
}

impl wit::lookup::Host for HostState {
    fn fetch(
        &mut self,
        table: String,
        _keys: wit::lookup::Column,
        _wanted: Vec<String>,
    ) -> Result<Vec<wit::lookup::Column>, wit::lookup::Error> {
        Err(wit::lookup::Error::Denied(table))
    }

    fn revision(&mut self, table: String) -> Result<u64, wit::lookup::Error> {
        Err(wit::lookup::Error::Denied(table))
    }
}
