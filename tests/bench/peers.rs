//! Others at the same work, as far as they are at hand without the network: the Rust driver's own row
//! decoder, and the server's own command-line programs writing text to nowhere.
//!
//! They do less than the agent (none commits anything, none resumes), so they are a scale and no
//! contest. `TIDEGATE_BENCH_PEER` names a further program, called with port, log file and the offsets
//! between which the load lies in it; `go-mysql/` beside this file is one.

use std::env;
use std::hint::black_box;
use std::process::{Command, Stdio};
use std::time::Duration;

use mysql_async::binlog::events::{Event, EventData, TableMapEvent};
use tidegate_tests::rig::workspace;

use crate::process::children_cpu;
use crate::report::{Bar, Report};
use crate::stream::Log;
use crate::workload::Load;

/// Measures each of them once: they are far from every bar.
pub(crate) fn measure(load: &Load, report: &mut Report) {
    let driver = driver_rows(load);
    report.figure("peer_driver_row_decoder", "M_changes/cpu_s", Bar::None, vec![driver]);

    let mut dump = client("mariadb-binlog", load);
    dump.args(["--read-from-remote-server", "--base64-output=decode-rows", "--verbose"])
        .arg(format!("--start-position={}", load.log.start))
        .arg(format!("--stop-position={}", load.log.end))
        .arg(&load.log.file);
    let rate = load.changes as f64 / cpu_of(&mut dump).as_secs_f64() / 1e6;
    report.figure("peer_mariadb_binlog_verbose", "M_changes/cpu_s", Bar::None, vec![rate]);

    let mut select = client("mariadb", load);
    select.args(["--quick", "--batch", "--execute=select * from orders", "bench"]);
    let rate = load.rows as f64 / cpu_of(&mut select).as_secs_f64() / 1e6;
    report.figure("peer_mariadb_quick_select", "M_rows/cpu_s", Bar::None, vec![rate]);

    if let Some(program) = env::var_os("TIDEGATE_BENCH_PEER") {
        let mut other = Command::new(program);
        let range = [&load.log.file, &load.log.start.to_string(), &load.log.end.to_string()];
        other.arg(load.port.to_string()).args(range).stdin(Stdio::null()).stdout(Stdio::null());
        let rate = load.changes as f64 / cpu_of(&mut other).as_secs_f64() / 1e6;
        report.figure("peer_other", "M_changes/cpu_s", Bar::None, vec![rate]);
    }
}

/// Millions of changes a CPU second by the decoder of the driver that we take raw events from.
fn driver_rows(load: &Load) -> f64 {
    let mut map = None;
    Log::of(load).rate(&load.first_round, |event| take_rows(event, &mut map))
}

#[expect(clippy::disallowed_methods, reason = "it is the peer that is measured")]
fn take_rows(event: &Event, map: &mut Option<TableMapEvent<'static>>) {
    match event.read_data().expect("the driver knows the load's events") {
        Some(EventData::TableMapEvent(event)) => *map = Some(event.into_owned()),
        Some(EventData::RowsEvent(rows)) => {
            let map = map.as_ref().expect("a map leads the rows");
            for images in rows.rows(map) {
                black_box(images.expect("the driver reads the load's rows"));
            }
        }
        _ => {}
    }
}

/// A program of the unpacked server, logged in.
fn client(program: &str, load: &Load) -> Command {
    let root = workspace().join("target/rig/mariadb/root/usr");
    let mut command = Command::new(root.join("bin").join(program));
    let libraries = root.join("lib").join(format!("{}-linux-gnu", env::consts::ARCH));
    command
        .env("LD_LIBRARY_PATH", libraries)
        .args(["--no-defaults", "--host=127.0.0.1", "--user=rig", "--password=rig"])
        .arg(format!("--port={}", load.port))
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    command
}

/// CPU time of a command that is run to its end.
fn cpu_of(command: &mut Command) -> Duration {
    let before = children_cpu();
    let status = command.status().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(status.success(), "{command:?} ended with {status}");
    children_cpu() - before
}
