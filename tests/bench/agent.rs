//! The whole agent, as its users run it: a process, from the log or the tables to committed files.
//!
//! CPU is the process's, from its start to the commit of the load's last change; starting, opening the
//! state and loading the module are in it. Every agent that reads the log was started once before the
//! load, on an empty table, and stopped: so its offset lies before the load, its module is compiled,
//! and it meets a backlog of known size, which it reads as fast as it can. Commits come every second,
//! as in the demo; memory is measured with the defaults that users have (a commit a minute), since
//! what a writer holds until its commit is a part of it.

use std::time::{Duration, Instant};

use tidegate_tests::rig::{Agent, Database, Gtids, Pipeline, wait_for};

use crate::process::{peak_mib, process_cpu, reset_peak, resident_mib};
use crate::report::{Bar, Report};
use crate::workload::Load;

const REPETITIONS: usize = 3;

/// How long an agent idles before its memory is read: several heartbeats and checkpoints.
const IDLE: Duration = Duration::from_secs(3);

/// What a pipeline that cleans up does: one column gets another name and one another type, one loses
/// its nulls and one most of its characters.
const MAPPING: &str = "{ rename: { customer_id: customer }, cast: { quantity: int64 }, \
                       default: { note: none }, mask: { email: { keep_last: 4 } } }";

const COMMIT_EACH_SECOND: &str = ", commit: { interval: 1s }";
const COMMIT_BY_DEFAULT: &str = "";

/// Pipelines whose offsets lie before the load.
pub(crate) struct Readers {
    with_mapping: Vec<Pipeline>,
    without: Vec<Pipeline>,
    for_memory: Pipeline,
}

impl Readers {
    /// Starts and stops an agent of each. The first one idles for a while, in its first start, which
    /// compiles the module, and in its second, which finds it compiled.
    pub(crate) fn prepare(database: &Database<'_>, report: &mut Report) -> Self {
        let latest = |commit| pipeline(database, "latest", commit);
        let with_mapping = |commit| latest(commit).mapping(MAPPING);
        let for_memory = with_mapping(COMMIT_BY_DEFAULT);
        prepare(&for_memory, |agent| {
            idle();
            report.figure("idle_memory", "MiB", Bar::AtMost(40.0), vec![resident_mib(agent.pid())]);
            report.figure("first_start_peak_memory", "MiB", Bar::None, vec![peak_mib(agent.pid())]);
        });
        prepare(&for_memory, |agent| {
            idle();
            report.figure("idle_memory_restarted", "MiB", Bar::None, vec![resident_mib(agent.pid())]);
        });
        let prepared = |pipeline: Pipeline| {
            prepare(&pipeline, |_| {});
            pipeline
        };
        let repeated = || 0..REPETITIONS;
        Self {
            with_mapping: repeated().map(|_| prepared(with_mapping(COMMIT_EACH_SECOND))).collect(),
            without: repeated().map(|_| prepared(latest(COMMIT_EACH_SECOND))).collect(),
            for_memory,
        }
    }

    /// Lets each read the load, those with and without a transform in turns.
    pub(crate) fn measure(self, load: &Load, report: &mut Report) {
        let (mut mapping, mut plain, mut ratio) = (vec![], vec![], vec![]);
        for (with, without) in self.with_mapping.iter().zip(&self.without) {
            let with = rate_to_lake(with, load);
            let without = rate_to_lake(without, load);
            mapping.push(with);
            plain.push(without);
            ratio.push(with / without);
        }
        report.figure("binlog_mapping_parquet", "M_changes/cpu_s", Bar::AtLeast(0.4), mapping);
        report.figure("binlog_parquet", "M_changes/cpu_s", Bar::None, plain);
        report.figure("with_to_without_mapping", "ratio", Bar::AtLeast(0.75), ratio);
        measure_memory(&self.for_memory, load, report);
    }
}

/// Snapshots of the table that the load left, into Parquet.
pub(crate) fn measure_snapshot(database: &Database<'_>, load: &Load, report: &mut Report) {
    let rates = (0..REPETITIONS).map(|_| {
        let pipeline = pipeline(database, "initial", COMMIT_EACH_SECOND);
        let agent = pipeline.spawn(&[]);
        agent.wait_for_log("snapshot completed");
        wait_for("the snapshot to be committed", || {
            if pipeline.lake().snapshots_done() { Ok(()) } else { Err("it is not".into()) }
        });
        let cpu = process_cpu(agent.pid());
        agent.stop();
        load.rows as f64 / cpu.as_secs_f64() / 1e6
    });
    report.figure("snapshot_parquet", "M_rows/cpu_s", Bar::AtLeast(0.3), rates.collect());
}

fn pipeline(database: &Database<'_>, snapshot: &str, commit: &str) -> Pipeline {
    Pipeline::new(database)
        .tables(["bench.orders"])
        .source(&format!("snapshot: {{ mode: {snapshot} }}"))
        .sink(format!("{{ name: lake, type: object, url: \"file:lake\", format: parquet{commit} }}"))
}

/// Makes the present end of the log the pipeline's offset.
fn prepare(pipeline: &Pipeline, meanwhile: impl FnOnce(&Agent)) {
    let agent = pipeline.start();
    meanwhile(&agent);
    agent.stop();
}

/// Millions of changes a CPU second.
fn rate_to_lake(pipeline: &Pipeline, load: &Load) -> f64 {
    let agent = pipeline.spawn(&[]);
    // By quarters, so that the patience of the wait is for a part of the load.
    for position in &load.quarters {
        wait_for_commit(pipeline, position);
    }
    let cpu = process_cpu(agent.pid());
    agent.stop();
    load.changes as f64 / cpu.as_secs_f64() / 1e6
}

fn wait_for_commit(pipeline: &Pipeline, position: &Gtids) {
    wait_for(&format!("{position} to be in the lake"), || {
        let reached = pipeline.lake().position();
        if reached.reached(position) { Ok(()) } else { Err(format!("it is at {reached}")) }
    });
}

/// Peaks of each quarter of the load, as far as the source has read it.
fn measure_memory(pipeline: &Pipeline, load: &Load, report: &mut Report) {
    let agent = pipeline.start();
    let pid = agent.pid();
    let peaks: Vec<f64> = (1..=4)
        .map(|quarter| {
            let changes = load.changes * quarter / 4;
            wait_for(&format!("{changes} changes to be read"), || {
                let read = changes_read(&agent)?;
                if read >= changes { Ok(()) } else { Err(format!("{read} are")) }
            });
            let peak = peak_mib(pid);
            reset_peak(pid);
            peak
        })
        .collect();
    let (first, last) = (peaks[0], peaks[3]);
    idle();
    let after = resident_mib(pid);
    agent.stop();
    let highest = peaks.into_iter().fold(0.0, f64::max);
    report.figure("peak_memory", "MiB", Bar::AtMost(150.0), vec![highest]);
    report.figure("first_quarter_peak_memory", "MiB", Bar::None, vec![first]);
    report.figure("last_to_first_quarter_memory", "ratio", Bar::AtMost(1.1), vec![last / first]);
    report.figure("memory_after_load", "MiB", Bar::None, vec![after]);
}

/// Row changes that the source of a running agent has read, by its metrics.
fn changes_read(agent: &Agent) -> Result<u64, String> {
    let page = agent.get("/metrics")?;
    let counts = page.lines().filter(|line| line.starts_with("cdc_source_events_total{"));
    let counts = counts.map(|line| line.rsplit_once(' ').and_then(|(_, count)| count.parse::<u64>().ok()));
    counts.sum::<Option<u64>>().ok_or_else(|| format!("a count that is no number in: {page}"))
}

fn idle() {
    let start = Instant::now();
    wait_for("the idle time to pass", || {
        let passed = start.elapsed();
        if passed >= IDLE { Ok(()) } else { Err(format!("{} ms", passed.as_millis())) }
    });
}
