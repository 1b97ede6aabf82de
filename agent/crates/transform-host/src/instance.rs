//! One instance of a component: the only path on which guest code runs.
//!
//! An instance that trapped is dead by specification. It is dropped and a new
//! one made (some 50 µs), so an instance holds nothing of value: what it keeps
//! between calls is a cache, and no verdict rests on it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tidegate_model::{Error, ErrorKind, Result, TableUid, TableVersion};
use wasmtime::{Store, Trap, WasmBacktrace};

use crate::bindings::exports::tidegate::transform::columns::{BatchError, Output};
use crate::bindings::tidegate::transform::planning::{Plan, PlanError};
use crate::bindings::tidegate::transform::types::{BatchContext, TableSchema};
use crate::bindings::{ColumnTransform, ColumnTransformPre};
use crate::convert::Input;
use crate::engine::engines;
use crate::imports::HostState;
use crate::limits::{self, Ledger, SETUP_TICKS};
use crate::observe::{Observer, printable};
use crate::plan;

/// Batches after which an instance is replaced: guests leak and fragment.
const BATCHES_MAX: u32 = 10_000;

/// Who the module says it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Descriptor {
    /// The module's own name.
    pub name: String,
    /// Its version, in its own numbering.
    pub version: String,
    /// Layout version of what it keeps in `state`.
    pub state_version: u32,
    /// Oldest layout that its `migrate` can read.
    pub migrates_since: u32,
}

/// Why a call gave no output.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The guest asks for another try.
    Transient(String),
    /// The guest will not take this batch.
    Permanent(String),
    /// The guest cannot run at all.
    Fatal(String),
    /// The clock interrupted it.
    Interrupted,
    /// It used up its fuel.
    OutOfFuel,
    /// It trapped, ran out of memory, or broke the contract.
    Trap(String),
}

/// What bounds a call.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Bound {
    /// The clock, by the number of rows.
    Clock,
    /// Fuel, by the number of bytes; the clock only far behind.
    Fuel,
}

/// A configured instance.
pub(crate) struct Instance {
    store: Store<HostState>,
    guest: ColumnTransform,
    /// Bytes of memory from which on it is replaced.
    worn_at: usize,
    batches: u32,
    /// Plan ids that this instance gave, by table version.
    plans: HashMap<(TableUid, u64), u32>,
}

impl Instance {
    /// Instantiates and configures.
    ///
    /// # Errors
    /// `Transform` when the module traps or needs more than it may, `Config` when
    /// it refuses its configuration.
    pub(crate) fn new(
        module: &ColumnTransformPre<HostState>,
        config: &str,
        memory_limit: usize,
        observer: Arc<Mutex<Observer>>,
    ) -> Result<Self> {
        let state = HostState { ledger: Ledger::new(memory_limit), observer };
        let mut store = Store::new(module.engine(), state);
        store.limiter(|state| &mut state.ledger);
        let _clock = set_up(&mut store)?;
        let guest = match module.instantiate(&mut store) {
            Ok(guest) => guest,
            Err(error) => return Err(setup_error("instantiate", &store, &error)),
        };
        match guest.tidegate_transform_lifecycle().call_configure(&mut store, config) {
            Ok(Ok(())) => {
                // Half of the limit, or of what an interpreter left of it when it started.
                let worn_at = memory_limit.midpoint(store.data().ledger.memory());
                Ok(Self { store, guest, worn_at, batches: 0, plans: HashMap::new() })
            }
            Ok(Err(message)) => Err(Error::new(ErrorKind::Config, "the module refuses its configuration")
                .hint(format!("the module says: {}", printable(&message)))),
            Err(error) => Err(setup_error("configure", &store, &error)),
        }
    }

    /// Asks the module who it is.
    ///
    /// # Errors
    /// When it traps.
    pub(crate) fn describe(&mut self) -> Result<Descriptor> {
        let _clock = set_up(&mut self.store)?;
        let described = self.guest.tidegate_transform_lifecycle().call_describe(&mut self.store);
        let described = described.map_err(|error| setup_error("describe", &self.store, &error))?;
        Ok(Descriptor {
            name: printable(&described.name),
            version: printable(&described.version),
            state_version: described.state_version,
            migrates_since: described.migrates_since,
        })
    }

    /// Asks for the plan of a table version; the instance can then run its batches.
    ///
    /// # Errors
    /// When the module traps; its own refusal is the inner result.
    pub(crate) fn plan_table(&mut self, table: &TableVersion) -> Result<Result<Plan, PlanError>> {
        let _clock = set_up(&mut self.store)?;
        let columns = plan::columns(table);
        let name = [table.name.schema.as_str(), table.name.table.as_str()];
        let schema = TableSchema { name: &name, version: table.version, columns: &columns };
        let answer = self.guest.tidegate_transform_lifecycle().call_plan_table(&mut self.store, schema);
        let answer = answer.map_err(|error| setup_error("plan-table", &self.store, &error))?;
        if let Ok(plan) = &answer {
            self.plans.retain(|(uid, _), _| *uid != table.uid);
            self.plans.insert((table.uid, table.version), plan.plan_id);
        }
        Ok(answer)
    }

    /// True when [`plan_table`](Self::plan_table) was asked for this version.
    pub(crate) fn has_planned(&self, table: &TableVersion) -> bool {
        self.plans.contains_key(&(table.uid, table.version))
    }

    /// Runs a batch of a planned table version.
    ///
    /// # Errors
    /// See [`Failure`]; after all but the guest's own three the instance is dead.
    pub(crate) fn transform(
        &mut self,
        table: &TableVersion,
        input: &Input<'_>,
        bound: Bound,
    ) -> Result<Output, Failure> {
        self.batches += 1;
        let plan_id = *self.plans.get(&(table.uid, table.version)).expect("the version was planned");
        let engines = engines().map_err(|error| Failure::Fatal(error.to_string()))?;
        match bound {
            Bound::Clock => self.store.set_epoch_deadline(limits::deadline_ticks(input.rows())),
            Bound::Fuel => {
                self.store.set_epoch_deadline(limits::VERDICT_TICKS);
                let fuel = limits::event_fuel(input.bytes());
                self.store.set_fuel(fuel).expect("the metered engine counts fuel");
            }
        }
        self.store.set_hostcall_fuel(limits::answer_bytes(input.bytes()));
        let clock = engines.start_clock();
        let answer = input.with(|batch| {
            let columns = self.guest.tidegate_transform_columns();
            columns.call_transform(&mut self.store, BatchContext { plan_id }, batch)
        });
        drop(clock);
        match answer {
            Ok(Ok(output)) => Ok(output),
            Ok(Err(BatchError::Transient(message))) => Err(Failure::Transient(message)),
            Ok(Err(BatchError::Permanent(message))) => Err(Failure::Permanent(message)),
            Ok(Err(BatchError::Fatal(message))) => Err(Failure::Fatal(message)),
            Err(error) => Err(self.failure(&error)),
        }
    }

    fn failure(&self, error: &wasmtime::Error) -> Failure {
        match error.downcast_ref::<Trap>() {
            Some(Trap::Interrupt) => Failure::Interrupted,
            Some(Trap::OutOfFuel) => Failure::OutOfFuel,
            _ => Failure::Trap(reason(&self.store, error)),
        }
    }

    /// True when no batch has run on it.
    pub(crate) fn is_fresh(&self) -> bool {
        self.batches == 0
    }

    /// True when it should be replaced before the next batch.
    pub(crate) fn is_worn(&self) -> bool {
        self.batches >= BATCHES_MAX || self.store.data().ledger.memory() > self.worn_at
    }
}

/// Bounds a call that handles no rows.
fn set_up(store: &mut Store<HostState>) -> Result<crate::engine::ClockGuard> {
    let engines = engines()?;
    store.set_epoch_deadline(SETUP_TICKS);
    // Only the metered engine takes fuel; there the clock is the bound here too.
    let _ = store.set_fuel(u64::MAX);
    Ok(engines.start_clock())
}

fn setup_error(call: &'static str, store: &Store<HostState>, error: &wasmtime::Error) -> Error {
    let reason = match error.downcast_ref::<Trap>() {
        Some(Trap::Interrupt) => format!("it took longer than {} s", SETUP_TICKS / 100),
        _ => reason(store, error),
    };
    let hint = if store.data().ledger.denied().is_some() {
        "raise the transform's memory limit (JavaScript needs 256 MiB)"
    } else {
        "this is a fault of the module: run it with `tidegate transform test`"
    };
    Error::new(ErrorKind::Transform, format!("the module fails in `{call}`: {reason}")).hint(hint)
}

/// Cause and place of a trap. Neither holds a row value: the cause is the
/// engine's own text, the place a function's name.
fn reason(store: &Store<HostState>, error: &wasmtime::Error) -> String {
    let cause = match store.data().ledger.denied() {
        Some(bytes) => format!("out of memory: it asked for {bytes} bytes in all"),
        None => error.root_cause().to_string(),
    };
    let frames = error.downcast_ref::<WasmBacktrace>().map(WasmBacktrace::frames);
    match frames.and_then(|frames| frames.first()).and_then(|frame| frame.func_name()) {
        Some(function) => format!("{cause}, in function `{}`", printable(function)),
        None => cause,
    }
}
