//! `make bench`: what a change costs, measured against one private MariaDB.
//!
//! Everything is told per CPU second of the measured process and as ratios within one run. Wall time
//! on a shared machine measures its other tenants; the CPU time of a process much less so, and what is
//! left of the noise cancels in a ratio of neighbours. So the repetitions of compared things alternate.
//!
//! The bars are those of `docs/benchmarks.md`. One line a figure on standard output, the same in
//! `target/bench.json`, exit code 1 when a bar is missed.
//!
//! `TIDEGATE_BENCH_SCALE=0.1` makes the load smaller, and arguments choose parts: `cargo bench
//! --package tidegate-tests -- stream peers`. Both are for trying; figures come from a whole run.

mod agent;
mod decode;
mod peers;
mod process;
mod report;
mod stream;
mod workload;

use std::env;
use std::process::ExitCode;

use tidegate_tests::rig::MariaDb;

use self::report::Report;
use self::workload::{Scale, Workload};

const PARTS: [&str; 4] = ["stream", "agent", "snapshot", "peers"];

fn main() -> ExitCode {
    let scale = Scale::from_environment();
    let parts = Parts::from_arguments();
    let server = MariaDb::start(&[]);
    let database = server.database("bench");
    let mut report = Report::default();
    let workload = Workload::new(&database, scale);

    // Before the load: an agent resumes where it was stopped, so it finds the whole load in the log.
    let readers = parts.has("agent").then(|| agent::Readers::prepare(&database, &mut report));
    let load = workload.write();
    report.conditions(&load, &server);
    if parts.has("stream") {
        stream::measure(&load, &mut report);
    }
    if let Some(readers) = readers {
        readers.measure(&load, &mut report);
    }
    if parts.has("snapshot") {
        agent::measure_snapshot(&database, &load, &mut report);
    }
    if parts.has("peers") {
        peers::measure(&load, &mut report);
    }
    report.finish()
}

/// Which parts run.
struct Parts(Vec<String>);

impl Parts {
    /// The arguments that are no options; cargo adds `--bench`.
    ///
    /// # Panics
    /// On a part that there is not.
    fn from_arguments() -> Self {
        let parts: Vec<String> = env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
        let unknown = parts.iter().find(|part| !PARTS.contains(&part.as_str()));
        assert!(unknown.is_none(), "no part {unknown:?}; there are {PARTS:?}");
        Self(parts)
    }

    fn has(&self, part: &str) -> bool {
        self.0.is_empty() || self.0.iter().any(|chosen| chosen == part)
    }
}
