//! Every metric's name, labels and help text, and the typed calls that move it.
//!
//! Names follow what operators of change data capture already chart, with the
//! prefix `cdc_`. Every metric has `pipeline_id`; `*_total` are counters,
//! `*_latency_ms` and `cdc_checkpoint_duration_ms` histograms, the rest gauges.
//! No label takes a value from a row, so the number of series is bounded by
//! tables × operations. `docs/reference/metrics.md` is checked against [`ALL`].

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;
use tidegate_model::{Operation, Stage, TableName};

/// A metric as dashboards see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Description {
    /// Full name in the text format.
    pub name: &'static str,
    /// `counter`, `gauge` or `histogram`.
    pub kind: &'static str,
    /// Labels beside `pipeline_id`.
    pub labels: &'static [&'static str],
    /// One line of help.
    pub help: &'static str,
}

const fn describe(
    name: &'static str,
    kind: &'static str,
    labels: &'static [&'static str],
    help: &'static str,
) -> Description {
    Description { name, kind, labels, help }
}

const PIPELINE: &str = "pipeline_id";
const TABLE: &str = "table";
const OPERATION: &str = "operation";
const STAGE: &str = "stage";
const SINK_TYPE: &str = "sink_type";
const STATUS: &str = "status";

const SOURCE_EVENTS: Description = describe(
    "cdc_source_events_total",
    "counter",
    &[TABLE, OPERATION],
    "Row changes and snapshot rows read from the source",
);
const SOURCE_LAG: Description = describe(
    "cdc_source_lag_ms",
    "gauge",
    &[],
    "Now minus the commit time of the newest delivered event; 0 while the source is idle",
);
const PROCESSING_LATENCY: Description =
    describe("cdc_processing_latency_ms", "histogram", &[STAGE], "Time that a segment spends in a stage");
const DEDUP_HITS: Description =
    describe("cdc_dedup_hit_total", "counter", &[], "Events read again that a sink already had, and dropped");
const SINK_WRITES: Description =
    describe("cdc_sink_write_total", "counter", &[SINK_TYPE, STATUS], "Events written to a sink");
const SINK_LATENCY: Description =
    describe("cdc_sink_latency_ms", "histogram", &[SINK_TYPE], "Time that a sink's commit takes");
const CHECKPOINT_DURATION: Description =
    describe("cdc_checkpoint_duration_ms", "histogram", &[], "Time that a checkpoint takes to be durable");
const CHECKPOINT_SIZE: Description =
    describe("cdc_checkpoint_size_bytes", "gauge", &[], "Size of the newest checkpoint's record");
const DEAD_LETTERS: Description =
    describe("cdc_dead_letters_total", "counter", &[STAGE], "Events refused for good, by who refused them");
const PARKED_TABLES: Description =
    describe("cdc_parked_tables", "gauge", &[], "Tables that cannot go on until a person acts");
const DIVERGING_TABLES: Description = describe(
    "cdc_diverging_tables",
    "gauge",
    &[],
    "Tables whose rows in a target differ from the source since a schema change",
);
const SNAPSHOT_ROWS: Description = describe(
    "cdc_snapshot_rows_total",
    "counter",
    &[TABLE],
    "Snapshot rows delivered, over all generations of this run",
);
const SNAPSHOT_CHUNKS: Description =
    describe("cdc_snapshot_chunks", "gauge", &[TABLE], "Finished chunks of the table's newest snapshot");
const SNAPSHOT_DONE: Description = describe(
    "cdc_snapshot_done",
    "gauge",
    &[TABLE],
    "1 when the table's newest snapshot is complete, else 0",
);
const RESTARTS: Description = describe(
    "cdc_pipeline_restarts_total",
    "counter",
    &[],
    "Times that the pipeline started again after an error",
);
const UP: Description =
    describe("cdc_pipeline_up", "gauge", &[], "1 while the pipeline snapshots or streams, else 0");

/// Every metric, in the order of the reference page.
pub const ALL: [Description; 16] = [
    SOURCE_EVENTS,
    SOURCE_LAG,
    PROCESSING_LATENCY,
    DEDUP_HITS,
    SINK_WRITES,
    SINK_LATENCY,
    CHECKPOINT_DURATION,
    CHECKPOINT_SIZE,
    DEAD_LETTERS,
    PARKED_TABLES,
    DIVERGING_TABLES,
    SNAPSHOT_ROWS,
    SNAPSHOT_CHUNKS,
    SNAPSHOT_DONE,
    RESTARTS,
    UP,
];

/// How a write to a sink ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteStatus {
    /// Durable and visible.
    Committed,
    /// Failed, to be tried again.
    Retried,
    /// Failed for good.
    Failed,
}

impl WriteStatus {
    fn as_str(self) -> &'static str {
        match self {
            Self::Committed => "committed",
            Self::Retried => "retried",
            Self::Failed => "failed",
        }
    }
}

/// The label values of one series, in the order of the description.
type Labels = Vec<(&'static str, Arc<str>)>;
type Counters = Family<Labels, Counter>;
type Gauges = Family<Labels, Gauge>;
type Histograms = Family<Labels, Histogram, fn() -> Histogram>;

/// All metrics of the process.
pub struct Metrics {
    registry: Registry,
    families: Arc<Families>,
}

struct Families {
    source_events: Counters,
    source_lag: Gauges,
    processing_latency: Histograms,
    dedup_hits: Counters,
    sink_writes: Counters,
    sink_latency: Histograms,
    checkpoint_duration: Histograms,
    checkpoint_size: Gauges,
    dead_letters: Counters,
    parked_tables: Gauges,
    diverging_tables: Gauges,
    snapshot_rows: Counters,
    snapshot_chunks: Gauges,
    snapshot_done: Gauges,
    restarts: Counters,
    up: Gauges,
}

impl Metrics {
    /// Registers every metric; nothing is counted yet.
    pub fn new() -> Self {
        let mut registry = Registry::default();
        let families = Families {
            source_events: counters(&mut registry, SOURCE_EVENTS),
            source_lag: gauges(&mut registry, SOURCE_LAG),
            processing_latency: histograms(&mut registry, PROCESSING_LATENCY),
            dedup_hits: counters(&mut registry, DEDUP_HITS),
            sink_writes: counters(&mut registry, SINK_WRITES),
            sink_latency: histograms(&mut registry, SINK_LATENCY),
            checkpoint_duration: histograms(&mut registry, CHECKPOINT_DURATION),
            checkpoint_size: gauges(&mut registry, CHECKPOINT_SIZE),
            dead_letters: counters(&mut registry, DEAD_LETTERS),
            parked_tables: gauges(&mut registry, PARKED_TABLES),
            diverging_tables: gauges(&mut registry, DIVERGING_TABLES),
            snapshot_rows: counters(&mut registry, SNAPSHOT_ROWS),
            snapshot_chunks: gauges(&mut registry, SNAPSHOT_CHUNKS),
            snapshot_done: gauges(&mut registry, SNAPSHOT_DONE),
            restarts: counters(&mut registry, RESTARTS),
            up: gauges(&mut registry, UP),
        };
        Self { registry, families: Arc::new(families) }
    }

    /// The metrics of one pipeline: cheap to clone, every call may come from any
    /// thread. What counts faults is there from the start with 0, so that a
    /// dashboard can tell "none yet" from "not measured".
    pub fn pipeline(&self, name: &str) -> PipelineMetrics {
        let metrics = PipelineMetrics { pipeline: name.into(), families: Arc::clone(&self.families) };
        metrics.source_lag(Duration::ZERO);
        metrics.dedup_hits(0);
        metrics.dead_letters(&Stage::Source, 0);
        metrics.parked_tables(0);
        metrics.diverging_tables(0);
        metrics.families.restarts.get_or_create(&metrics.labels(&[])).inc_by(0);
        metrics.up(false);
        metrics
    }

    /// Everything in the OpenMetrics text format.
    pub fn render(&self) -> String {
        let mut text = String::new();
        // Writing into a string has no way to fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

/// The metrics of one pipeline.
#[derive(Clone)]
pub struct PipelineMetrics {
    pipeline: Arc<str>,
    families: Arc<Families>,
}

impl PipelineMetrics {
    /// `count` row changes of this operation were read; once a batch.
    pub fn source_events(&self, table: &TableName, operation: Operation, count: u64) {
        let operation = match operation {
            Operation::Insert => "insert",
            Operation::Update => "update",
            Operation::Delete => "delete",
            Operation::Snapshot => "snapshot",
        };
        let labels = self.labels(&[(TABLE, &table.to_string()), (OPERATION, operation)]);
        self.families.source_events.get_or_create(&labels).inc_by(count);
    }

    /// Now minus the commit time of the newest delivered event; zero when a
    /// heartbeat tells that the source is idle.
    pub fn source_lag(&self, lag: Duration) {
        self.families.source_lag.get_or_create(&self.labels(&[])).set(whole_ms(lag));
    }

    /// A segment spent this long in a stage: `source`, `transform`, `gate`, `sink`.
    pub fn processing_latency(&self, stage: &'static str, time: Duration) {
        self.families.processing_latency.get_or_create(&self.labels(&[(STAGE, stage)])).observe(ms(time));
    }

    /// `count` events came again that a sink already had.
    pub fn dedup_hits(&self, count: u64) {
        self.families.dedup_hits.get_or_create(&self.labels(&[])).inc_by(count);
    }

    /// `count` events were written, or failed to be.
    pub fn sink_writes(&self, sink_type: &str, status: WriteStatus, count: u64) {
        let labels = self.labels(&[(SINK_TYPE, sink_type), (STATUS, status.as_str())]);
        self.families.sink_writes.get_or_create(&labels).inc_by(count);
    }

    /// A sink's commit took this long.
    pub fn sink_latency(&self, sink_type: &str, time: Duration) {
        self.families.sink_latency.get_or_create(&self.labels(&[(SINK_TYPE, sink_type)])).observe(ms(time));
    }

    /// A checkpoint became durable.
    pub fn checkpoint(&self, time: Duration, size_bytes: u64) {
        let labels = self.labels(&[]);
        self.families.checkpoint_duration.get_or_create(&labels).observe(ms(time));
        self.families.checkpoint_size.get_or_create(&labels).set(gauge(size_bytes));
    }

    /// `count` events went to the dead letters.
    pub fn dead_letters(&self, stage: &Stage, count: u64) {
        let labels = self.labels(&[(STAGE, &stage.to_string())]);
        self.families.dead_letters.get_or_create(&labels).inc_by(count);
    }

    /// So many tables are parked now.
    pub fn parked_tables(&self, count: u64) {
        self.families.parked_tables.get_or_create(&self.labels(&[])).set(gauge(count));
    }

    /// So many tables diverge now.
    pub fn diverging_tables(&self, count: u64) {
        self.families.diverging_tables.get_or_create(&self.labels(&[])).set(gauge(count));
    }

    /// A snapshot of the table went on: `rows` more are delivered, `chunks` are
    /// finished in all.
    pub fn snapshot_progress(&self, table: &TableName, rows: u64, chunks: u64, done: bool) {
        let labels = self.labels(&[(TABLE, &table.to_string())]);
        self.families.snapshot_rows.get_or_create(&labels).inc_by(rows);
        self.families.snapshot_chunks.get_or_create(&labels).set(gauge(chunks));
        self.families.snapshot_done.get_or_create(&labels).set(i64::from(done));
    }

    /// The pipeline starts again after an error.
    pub fn restart(&self) {
        self.families.restarts.get_or_create(&self.labels(&[])).inc();
    }

    /// The pipeline moves, or does not.
    pub fn up(&self, up: bool) {
        self.families.up.get_or_create(&self.labels(&[])).set(i64::from(up));
    }

    fn labels(&self, values: &[(&'static str, &str)]) -> Labels {
        let own = std::iter::once((PIPELINE, Arc::clone(&self.pipeline)));
        own.chain(values.iter().map(|(name, value)| (*name, Arc::from(*value)))).collect()
    }
}

impl fmt::Debug for PipelineMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PipelineMetrics").field("pipeline", &self.pipeline).finish_non_exhaustive()
    }
}

fn counters(registry: &mut Registry, description: Description) -> Counters {
    let family = Counters::default();
    // The text format puts `_total` behind a counter's name itself.
    let name = description.name.strip_suffix("_total").unwrap_or(description.name);
    registry.register(name, description.help, family.clone());
    family
}

fn gauges(registry: &mut Registry, description: Description) -> Gauges {
    let family = Gauges::default();
    registry.register(description.name, description.help, family.clone());
    family
}

fn histograms(registry: &mut Registry, description: Description) -> Histograms {
    // 0.25 ms to 131 s in steps of two: from a cached write to a commit that hangs.
    let family = Histograms::new_with_constructor(|| Histogram::new(exponential_buckets(0.25, 2.0, 20)));
    registry.register(description.name, description.help, family.clone());
    family
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

fn whole_ms(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

fn gauge(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_has_its_name_kind_and_labels() {
        let metrics = Metrics::new();
        let shop = metrics.pipeline("shop");
        let orders = TableName::new("shop", "orders");
        shop.source_events(&orders, Operation::Insert, 3);
        shop.source_lag(Duration::from_millis(1500));
        shop.processing_latency("transform", Duration::from_millis(2));
        shop.dedup_hits(1);
        shop.sink_writes("object", WriteStatus::Committed, 3);
        shop.sink_latency("object", Duration::from_millis(9));
        shop.checkpoint(Duration::from_millis(4), 512);
        shop.dead_letters(&Stage::Transform("clean".into()), 1);
        shop.parked_tables(0);
        shop.diverging_tables(0);
        shop.snapshot_progress(&orders, 100, 1, false);
        shop.restart();
        shop.up(true);

        let text = metrics.render();
        for metric in ALL {
            let family = metric.name.strip_suffix("_total").unwrap_or(metric.name);
            assert!(text.contains(&format!("# TYPE {family} {}\n", metric.kind)), "{family}\n{text}");
            let suffix = if metric.kind == "histogram" { "_count" } else { "" };
            let start = format!("{}{suffix}{{pipeline_id=\"shop\"", metric.name);
            let series = text.lines().find(|line| line.starts_with(&start));
            let series = series.unwrap_or_else(|| panic!("{start}\n{text}"));
            for label in metric.labels {
                assert!(series.contains(&format!(",{label}=\"")), "{series}");
            }
        }
        assert!(text.contains(
            "cdc_source_events_total{pipeline_id=\"shop\",table=\"shop.orders\",operation=\"insert\"} 3\n"
        ));
    }

    #[test]
    fn the_reference_page_names_every_metric() {
        let page =
            std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference/metrics.md"))
                .expect("the page is there");
        let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| `")).collect();
        let expected = ALL.map(|metric| {
            let labels = metric.labels.join(", ");
            format!("| `{}` | {} | {labels} | {} |", metric.name, metric.kind, metric.help)
        });
        assert_eq!(rows, expected);
    }
}
