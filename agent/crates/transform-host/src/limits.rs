//! What a guest may use: memory, tables, time, and bytes handed to the host.

use crate::engine::TICK;
use wasmtime::ResourceLimiter;

/// Memory of an instance unless the configuration says otherwise: enough for
/// components in C, Rust, Go and Python. JavaScript needs 256 MiB.
pub const MEMORY_DEFAULT: usize = 64 << 20;

/// Elements of all tables; interpreters need up to 8,000.
const TABLE_ELEMENTS: usize = 100_000;

/// A batch of 1,000 rows may take a second, a smaller one at least 100 ms.
const MILLISECONDS_PER_ROW: u64 = 1;
const MILLISECONDS_MIN: u64 = 100;

/// Instantiating, configuring, describing, planning: no rows, so one bound.
pub(crate) const SETUP_TICKS: u64 = 10_000 / TICK.as_millis() as u64;

/// Real time that the verdict by fuel may take before it is put off.
pub(crate) const VERDICT_TICKS: u64 = 60_000 / TICK.as_millis() as u64;

/// What one event may cost: a fixed part and a part by its size. About a second
/// of native code, and some thousand times what a usual event needs. A budget
/// that follows from the costs of earlier events (a multiple of their median)
/// would depend on which events came first, thus on where the log was cut.
const FUEL_PER_EVENT: u64 = 1_000_000_000;
const FUEL_PER_BYTE: u64 = 10_000;

/// Deadline of a call on this many rows, in ticks of the clock.
pub(crate) fn deadline_ticks(rows: usize) -> u64 {
    let milliseconds = (rows as u64 * MILLISECONDS_PER_ROW).max(MILLISECONDS_MIN);
    // One more: the first tick may come at once.
    milliseconds / TICK.as_millis() as u64 + 1
}

/// Fuel for one event of this many bytes.
pub(crate) fn event_fuel(bytes: usize) -> u64 {
    FUEL_PER_EVENT.saturating_add((bytes as u64).saturating_mul(FUEL_PER_BYTE))
}

/// Bytes that a guest may make the host allocate for the answer to a call that
/// handed it `bytes`.
pub(crate) fn answer_bytes(bytes: usize) -> usize {
    (4 << 20) + bytes.saturating_mul(4)
}

/// Counts what an instance holds, and refuses growth beyond the limit by a trap:
/// a guest that is merely told "no" aborts for a reason that nobody can read.
#[derive(Debug)]
pub(crate) struct Ledger {
    memory_limit: usize,
    memory: usize,
    denied: Option<usize>,
}

impl Ledger {
    pub(crate) fn new(memory_limit: usize) -> Self {
        Self { memory_limit, memory: 0, denied: None }
    }

    /// Bytes of linear memory; it never shrinks.
    pub(crate) fn memory(&self) -> usize {
        self.memory
    }

    /// Bytes that the guest asked for in all when it was refused.
    pub(crate) fn denied(&self) -> Option<usize> {
        self.denied
    }
}

impl ResourceLimiter for Ledger {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let total = self.memory.saturating_add(desired.saturating_sub(current));
        if total > self.memory_limit || maximum.is_some_and(|maximum| desired > maximum) {
            self.denied = Some(total);
            wasmtime::bail!("memory limit of {} bytes reached", self.memory_limit);
        }
        self.memory = total;
        Ok(true)
    }

    fn memory_grow_failed(&mut self, error: wasmtime::Error) -> wasmtime::Result<()> {
        Err(error.context("the machine has no memory left for the guest"))
    }

    fn table_growing(
        &mut self,
        _current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        if desired > TABLE_ELEMENTS {
            wasmtime::bail!("table limit of {TABLE_ELEMENTS} elements reached");
        }
        Ok(true)
    }

    fn instances(&self) -> usize {
        64
    }

    fn tables(&self) -> usize {
        16
    }

    fn memories(&self) -> usize {
        4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadlines_scale_with_rows() {
        assert_eq!(deadline_ticks(1), 11);
        assert_eq!(deadline_ticks(100), 11);
        assert_eq!(deadline_ticks(2_000), 201);
    }

    #[test]
    fn memory_counts_over_all_memories() {
        let mut ledger = Ledger::new(100);
        assert!(ledger.memory_growing(0, 60, None).unwrap());
        assert!(ledger.memory_growing(60, 80, None).unwrap());
        assert!(ledger.memory_growing(0, 30, None).is_err(), "a second memory of 30");
        assert_eq!((ledger.memory(), ledger.denied()), (80, Some(110)));
    }
}
