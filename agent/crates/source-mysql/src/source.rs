//! The source: waits for whatever comes first, and hands segments out.
//!
//! One loop, one caller. Everything that it waits for may be given up half-way:
//! what has been read lies in `self`, and the next call goes on with it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tidegate_model::source::{Finding, Journal, Source, SourceRequest, Start};
use tidegate_model::{Error, ErrorKind, Offset, Result, Segment, TableName, TableVersion};
use tokio::time::Instant;

use crate::assembler::Assembler;
use crate::binlog::RawEvent;
use crate::catalog;
use crate::config::{SnapshotMode, SourceConfig};
use crate::connection::Connection;
use crate::preflight;
use crate::requests::Requests;
use crate::snapshot::{Flow, Snapshots};
use crate::start;
use crate::stream::LogStream;

/// The log counts as dry when no event came for this long: events arrive in
/// bursts, and a cut at each end of one would make segments tiny.
const DRY: Duration = Duration::from_millis(2);

/// A MariaDB server that is captured.
pub struct MariaDbSource {
    config: Arc<SourceConfig>,
    running: Option<Running>,
}

/// What is there between `open` and the end.
struct Running {
    stream: LogStream,
    assembler: Assembler,
    snapshots: Snapshots,
    requests: Requests,
    /// Asks the catalog; connects when it must.
    catalog: Option<Connection>,
    ready: VecDeque<Segment>,
    heartbeat: Instant,
    finished: bool,
}

impl MariaDbSource {
    /// A source that connects when it is asked to.
    pub fn new(config: SourceConfig) -> Self {
        Self { config: Arc::new(config), running: None }
    }

    fn running(&mut self) -> Result<(&Arc<SourceConfig>, &mut Running)> {
        let running = self.running.as_mut();
        let running = running.ok_or_else(|| Error::new(ErrorKind::Internal, "the source is not open"))?;
        Ok((&self.config, running))
    }
}

#[async_trait]
impl Source for MariaDbSource {
    async fn preflight(&mut self) -> Result<Vec<Finding>> {
        let mut connection = Connection::open(&self.config).await?;
        preflight::check(&mut connection, &self.config).await
    }

    async fn open(&mut self, start: Start, journal: Arc<dyn Journal>) -> Result<Offset> {
        self.running = None;
        let mut connection = Connection::open(&self.config).await?;
        let started = start::start(&self.config, &mut connection, start, &journal).await?;
        let stream = LogStream::open(&self.config, &started.offset.scanned.gtid).await?;
        tracing::info!(
            position = %started.offset.scanned.log,
            gtid = %started.offset.scanned.gtid,
            "binlog reader started"
        );
        self.running = Some(Running {
            stream,
            assembler: started.assembler,
            snapshots: started.snapshots,
            requests: started.requests,
            catalog: Some(connection),
            ready: VecDeque::new(),
            heartbeat: Instant::now() + self.config.heartbeat,
            finished: false,
        });
        Ok(started.offset)
    }

    fn tables(&self) -> Vec<Arc<TableVersion>> {
        let states = self.running.iter().flat_map(|running| running.assembler.tables().all());
        states.filter_map(|state| state.version.clone()).collect()
    }

    async fn rows_expected(&mut self) -> Result<BTreeMap<TableName, u64>> {
        let (config, running) = self.running()?;
        let mut connection = running.catalog(config).await?;
        let estimates = catalog::row_estimates(&mut connection).await?;
        running.catalog = Some(connection);
        Ok(estimates.into_iter().filter(|(name, _)| config.captures(name)).collect())
    }

    async fn next(&mut self) -> Result<Option<Segment>> {
        let (config, running) = self.running()?;
        running.next(config).await
    }

    async fn acknowledge(&mut self, _offset: &Offset) -> Result<()> {
        // MariaDB keeps its log by age, not by what replicas have read.
        Ok(())
    }

    async fn request(&mut self, request: SourceRequest) -> Result<()> {
        let (config, running) = self.running()?;
        let SourceRequest::Snapshot(name) = request;
        if !config.captures(&name) {
            return Err(Error::new(ErrorKind::Config, "the table is not captured")
                .with("table", &name)
                .hint("add it to `source.tables`"));
        }
        running.requests.snapshot(name);
        Ok(())
    }
}

impl Running {
    async fn next(&mut self, config: &Arc<SourceConfig>) -> Result<Option<Segment>> {
        loop {
            // What a schema change has ended came before what was cut since.
            if let Some(segment) = self.assembler.sealed().or_else(|| self.ready.pop_front()) {
                self.heartbeat = Instant::now() + config.heartbeat;
                return Ok(Some(segment));
            }
            if self.finished {
                return Ok(None);
            }
            if let Some(name) = self.assembler.blocked_on() {
                let mut connection = self.catalog(config).await?;
                let table = catalog::read(&mut connection, &name).await?;
                self.catalog = Some(connection);
                self.assembler.unblock(table.as_ref())?;
                continue;
            }
            if let Some(name) = self.requests.waiting() {
                let mut connection = self.catalog(config).await?;
                let found = Requests::look_up(&mut connection, &name).await?;
                self.catalog = Some(connection);
                self.requests.found(found);
            }
            self.requests.apply(config, &mut self.assembler, &mut self.snapshots)?;
            let flow = self.snapshots.advance(&mut self.assembler, &mut self.ready)?;
            if !self.ready.is_empty() || self.assembler.is_sealed() {
                continue;
            }
            if config.snapshot == SnapshotMode::SnapshotOnly && self.snapshots.is_done() {
                self.finished = true;
                let last = self.assembler.cut();
                self.ready.push_back(last);
                continue;
            }
            if self.is_due(config) {
                let segment = self.assembler.cut();
                self.ready.push_back(segment);
                continue;
            }
            self.wait(flow).await?;
        }
    }

    /// Waits for an event, a chunk, or the time to cut.
    async fn wait(&mut self, flow: Flow) -> Result<()> {
        if flow == Flow::Stopped {
            return self.snapshots.wait(&mut self.assembler).await;
        }
        let dry = self.assembler.oldest().map(|_| Instant::now() + DRY);
        let deadline = dry.map_or(self.heartbeat, |dry| dry.min(self.heartbeat));
        tokio::select! {
            biased;
            event = self.stream.next() => {
                self.assembler.event(RawEvent::of(&event?))?;
                Ok(())
            }
            chunk = self.snapshots.wait(&mut self.assembler) => chunk,
            () = tokio::time::sleep_until(deadline) => {
                let segment = self.assembler.cut();
                self.ready.push_back(segment);
                Ok(())
            }
        }
    }

    /// True when the rows at hand are enough, or old enough, for a segment.
    fn is_due(&self, config: &SourceConfig) -> bool {
        let bounds = &config.segment;
        let at_border = self.assembler.position().is_some();
        let old = self.assembler.oldest().is_some_and(|oldest| oldest.elapsed() >= bounds.age);
        let bytes = self.assembler.bytes();
        old || bytes >= bounds.bytes_max || (at_border && bytes >= bounds.bytes)
    }

    /// The connection for the catalog. Its user gives it back after a whole
    /// answer: dropped half-way, as `next` may be at any await point, or after an
    /// error, it would answer the next question with the rest of this one.
    async fn catalog(&mut self, config: &SourceConfig) -> Result<Connection> {
        match self.catalog.take() {
            Some(connection) => Ok(connection),
            None => Connection::open(config).await,
        }
    }
}
