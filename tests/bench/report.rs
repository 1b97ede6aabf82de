//! Figures, their bars, and how both are told.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::{self, Write as _};
use std::process::{Command, ExitCode};
use std::thread;

use serde_json::{Value, json};
use tidegate_tests::rig::{MariaDb, workspace};

use crate::workload::Load;

/// What a figure has to reach.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bar {
    /// Told for comparison only.
    None,
    /// This or more.
    AtLeast(f64),
    /// This or less.
    AtMost(f64),
}

impl Bar {
    fn is_met(self, value: f64) -> bool {
        match self {
            Self::None => true,
            Self::AtLeast(bar) => value >= bar,
            Self::AtMost(bar) => value <= bar,
        }
    }
}

impl fmt::Display for Bar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("-"),
            Self::AtLeast(bar) => write!(f, ">={bar}"),
            Self::AtMost(bar) => write!(f, "<={bar}"),
        }
    }
}

/// All figures of a run.
#[derive(Debug, Default)]
pub(crate) struct Report {
    conditions: BTreeMap<&'static str, Value>,
    figures: Vec<Value>,
    missed: usize,
}

impl Report {
    /// Takes a figure up and prints its line: `name value unit bar`, then the spread when it was
    /// measured more than once. The value is the median of the samples, of which there is one at least.
    pub(crate) fn figure(&mut self, name: &str, unit: &str, bar: Bar, mut samples: Vec<f64>) {
        samples.sort_by(f64::total_cmp);
        let value = samples[samples.len() / 2];
        let met = bar.is_met(value);
        self.missed += usize::from(!met);
        let mut line = format!("{name:<28} {value:>8.3} {unit:<16} {:<6}", bar.to_string());
        if let [min, .., max] = samples.as_slice() {
            line += &format!(" {min:.3} to {max:.3} in {}", samples.len());
        }
        if !met {
            line += " MISSED";
        }
        say(line.trim_end());
        self.figures.push(json!({
            "name": name, "value": value, "unit": unit, "bar": bar.to_string(), "met": met, "samples": samples,
        }));
    }

    /// What the figures were measured on.
    pub(crate) fn conditions(&mut self, load: &Load, server: &MariaDb) {
        let cores = thread::available_parallelism().map_or(0, usize::from);
        self.conditions.extend([
            ("build", if cfg!(debug_assertions) { "with debug assertions".into() } else { "release".into() }),
            ("commit", command("git", &["rev-parse", "HEAD"]).into()),
            ("cores", cores.into()),
            ("cpu", cpu_model().into()),
            ("kernel", command("uname", &["-r"]).into()),
            ("server", server.session().value("select version()").into()),
            ("changes", load.changes.into()),
            ("images", load.images.into()),
            ("log_bytes", load.log_bytes().into()),
        ]);
    }

    /// Writes `target/bench.json`. Fails when a bar is missed.
    pub(crate) fn finish(self) -> ExitCode {
        let file = workspace().join("target/bench.json");
        let report = json!({ "conditions": self.conditions, "figures": self.figures });
        let text = format!("{report:#}\n");
        fs::write(&file, text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        if self.missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

/// A line on standard output, of which nothing is held back: a run takes minutes.
fn say(line: &str) {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).expect("standard output is open");
}

fn cpu_model() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find(|line| line.starts_with("model name"));
    model.and_then(|line| Some(line.split_once(": ")?.1.to_owned())).unwrap_or_default()
}

/// What a command says; nothing if it cannot be run.
fn command(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).current_dir(workspace()).output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default()
}
