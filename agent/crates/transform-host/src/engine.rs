//! The two engines of the process and the clock that interrupts guests.
//!
//! **Fast** runs every batch. Its code checks an epoch counter at loop heads and
//! function entries (10 to 13 % of a guest's time); a thread advances the
//! counter every [`TICK`] while a call is running, so a guest that loops is
//! stopped. That only interrupts: how far a guest comes in a time depends on the
//! machine, so a clock may never decide what is delivered.
//!
//! **Metered** counts instructions as fuel, exact and the same on every run. It
//! gives the verdict on a single event that the clock stopped. A component is
//! compiled for it only then.
//!
//! Both are deterministic: NaN bits are canonical, relaxed SIMD is off, and
//! nothing but the host's own interfaces is linked.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;

use tidegate_model::{Error, ErrorKind, Result};
use wasmtime::{Config, Engine};

/// Resolution of deadlines.
pub(crate) const TICK: Duration = Duration::from_millis(10);

/// Calls into guests that are running now, in the whole process.
static RUNNING: AtomicUsize = AtomicUsize::new(0);

/// The engines, shared by all transforms of the process.
pub(crate) struct Engines {
    pub(crate) fast: Engine,
    pub(crate) metered: Engine,
    clock: Thread,
}

impl Engines {
    /// The clock ticks until the guard is dropped.
    pub(crate) fn start_clock(&self) -> ClockGuard {
        if RUNNING.fetch_add(1, Ordering::SeqCst) == 0 {
            self.clock.unpark();
        }
        ClockGuard
    }
}

/// Keeps the clock ticking.
pub(crate) struct ClockGuard;

impl Drop for ClockGuard {
    fn drop(&mut self) {
        RUNNING.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The engines; made at the first call.
///
/// # Errors
/// When this CPU or operating system cannot run the engine at all.
pub(crate) fn engines() -> Result<&'static Engines> {
    static ENGINES: OnceLock<Result<Engines, String>> = OnceLock::new();
    ENGINES.get_or_init(|| make().map_err(|error| format!("{error:#}"))).as_ref().map_err(|cause| {
        Error::new(ErrorKind::Transform, "the WebAssembly engine cannot start on this machine")
            .during("start transform engine")
            .hint("it needs Linux, macOS or Windows on x86-64 or aarch64")
            .because(cause.clone())
    })
}

fn make() -> wasmtime::Result<Engines> {
    let fast = Engine::new(&config(false))?;
    let metered = Engine::new(&config(true))?;
    let ticked = [fast.clone(), metered.clone()];
    let clock = thread::Builder::new().name("guest-clock".into()).spawn(move || tick(&ticked))?;
    Ok(Engines { fast, metered, clock: clock.thread().clone() })
}

fn config(fuel: bool) -> Config {
    let mut config = Config::new();
    config
        .wasm_component_model(true)
        .epoch_interruption(true)
        .consume_fuel(fuel)
        .cranelift_nan_canonicalization(true)
        .wasm_relaxed_simd(false)
        // One compiler thread: the rows that are flowing meanwhile keep the other cores.
        .parallel_compilation(false);
    config
}

/// Advances the epoch while a guest runs; an idle agent is not woken.
fn tick(engines: &[Engine]) {
    loop {
        if RUNNING.load(Ordering::SeqCst) == 0 {
            thread::park();
            continue;
        }
        #[expect(clippy::disallowed_methods, reason = "a thread of its own, and this is its whole work")]
        thread::sleep(TICK);
        engines.iter().for_each(Engine::increment_epoch);
    }
}
