//! How far snapshots are: a bar a table on a terminal, plain log lines elsewhere.

use std::collections::HashMap;
use std::io::{IsTerminal, stderr};
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use tokio_util::sync::CancellationToken;

use super::output::count;
use crate::pipeline::{Handle, TableStatus};

const TERMINAL_PERIOD: Duration = Duration::from_millis(250);
const LOG_PERIOD: Duration = Duration::from_secs(5);

/// Shows the snapshots of these pipelines until `stop`.
pub(super) async fn show(pipelines: Vec<Handle>, progress: MultiProgress, stop: CancellationToken) {
    let terminal = stderr().is_terminal();
    let mut bars = Bars { progress, by_table: HashMap::new() };
    let mut tick = tokio::time::interval(if terminal { TERMINAL_PERIOD } else { LOG_PERIOD });
    loop {
        tokio::select! {
            () = stop.cancelled() => return bars.clear(),
            _ = tick.tick() => {}
        }
        for pipeline in &pipelines {
            let status = pipeline.status();
            for table in &status.tables {
                if terminal {
                    bars.update(&status.pipeline, table);
                } else if table.snapshot == "running" {
                    tracing::info!(
                        pipeline = %status.pipeline,
                        table = %table.table,
                        rows = table.snapshot_rows,
                        chunks = table.snapshot_chunks,
                        "snapshot running"
                    );
                }
            }
        }
    }
}

struct Bars {
    progress: MultiProgress,
    by_table: HashMap<(String, String), ProgressBar>,
}

impl Bars {
    fn update(&mut self, pipeline: &str, table: &TableStatus) {
        let key = (pipeline.to_owned(), table.table.clone());
        if table.snapshot != "running" {
            if let Some(bar) = self.by_table.remove(&key) {
                bar.finish_and_clear();
            }
            return;
        }
        let bar = self.by_table.entry(key).or_insert_with(|| {
            let bar = ProgressBar::new_spinner().with_prefix(table.table.clone());
            let template = match table.snapshot_rows_expected {
                Some(_) => "snapshot of {prefix} [{bar:30}] {msg}, {elapsed}",
                None => "{spinner} snapshot of {prefix}: {msg}, {elapsed}",
            };
            let style = ProgressStyle::with_template(template).map(|style| style.progress_chars("=> "));
            self.progress.add(style.map(|style| bar.clone().with_style(style)).unwrap_or(bar))
        });
        let (rows, chunks) = (count(table.snapshot_rows, "row"), count(table.snapshot_chunks, "chunk"));
        match table.snapshot_rows_expected {
            // The server's statistics are an estimate: a bar that is full may go on for a while.
            Some(expected) => {
                bar.set_length(expected.max(table.snapshot_rows).max(1));
                bar.set_position(table.snapshot_rows);
                bar.set_message(format!("{rows} of about {}", count(expected, "row")));
            }
            None => bar.set_message(format!("{rows} in {chunks}")),
        }
        bar.tick();
    }

    fn clear(self) {
        for bar in self.by_table.into_values() {
            bar.finish_and_clear();
        }
    }
}
