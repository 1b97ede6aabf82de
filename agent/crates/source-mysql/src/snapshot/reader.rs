//! Reading one chunk under a consistent view, on a connection of its own.
//!
//! The view (REPEATABLE READ, `WITH CONSISTENT SNAPSHOT`) comes with its place in
//! the log, `Binlog_snapshot_file/position`, but a view may be opened a moment
//! before the commits that the log shows already become visible. So it is
//! opened again until its place covers the stream's (`design`: step 2). A view
//! lives for one chunk: nobody waits for a sink inside it, since an open view
//! blocks ALTER, and every query then queues behind that ALTER.

use std::sync::Arc;
use std::time::Duration;

use mysql_async::Row;
use mysql_async::prelude::Queryable;
use tidegate_model::source::ChunkPlan;
use tidegate_model::{
    BatchBuilder, ChangeBatch, Error, ErrorKind, LogPosition, Operation, Result, TableName, TableVersion,
    Transaction, TxPosition,
};
use tokio::sync::oneshot;

use super::bounds::Key;
use crate::catalog::{self, CatalogTable};
use crate::codec::{SnapshotCodec, select_expression};
use crate::config::SourceConfig;
use crate::connection::{Connection, code, error_code, limited};
use crate::sql;
use crate::structure;

/// Longest wait for the first row of a chunk, and between two.
const ROW_TIMEOUT: Duration = Duration::from_secs(120);
/// Longest wait for a view that covers the stream's place.
const VIEW_TIMEOUT: Duration = Duration::from_secs(60);
/// A chunk of more than this many times its byte bound is cut smaller.
const OVERSIZE: usize = 2;

/// What planning a chunk needs.
#[derive(Debug, Clone)]
pub(super) struct PlanJob {
    /// The table.
    pub(super) name: Arc<TableName>,
    /// The chunk, its upper bound still open; or a plan kept from before.
    pub(super) plan: ChunkPlan,
    /// Rows of the chunk, at most; `None`: fit it to the table's average row.
    pub(super) rows: Option<u64>,
    /// Key of the last row that this snapshot must read, if known.
    pub(super) ceiling: Option<Vec<String>>,
}

/// A chunk that can be read.
#[derive(Debug)]
pub(super) struct Planned {
    /// With both bounds.
    pub(super) plan: ChunkPlan,
    /// Rows of a chunk, at most.
    pub(super) rows: u64,
    /// Where the snapshot ends.
    pub(super) ceiling: Vec<String>,
    /// The table as it was in front of the view.
    pub(super) catalog: CatalogTable,
    key: Key,
}

/// What planning finds.
#[derive(Debug)]
pub(super) enum PlanOutcome {
    /// A chunk.
    Chunk(Box<Planned>),
    /// No row is left.
    Done,
    /// The table cannot be read in chunks: why.
    Obstacle(String),
}

/// What reading a chunk needs.
#[derive(Debug)]
pub(super) struct ReadJob {
    /// The chunk.
    pub(super) planned: Box<Planned>,
    /// The stream's place, which the view must cover.
    pub(super) low: LogPosition,
    /// The columns that the stream's rows have there.
    pub(super) version: Option<Arc<TableVersion>>,
    /// Epoch of the rows' positions.
    pub(super) epoch: u32,
    /// The bounds may be made tighter: no earlier run has read this chunk.
    pub(super) fresh: bool,
}

/// What a chunk holds.
#[derive(Debug)]
pub(super) struct ChunkRows {
    /// The rows; `None`: none in the range.
    pub(super) rows: Option<ChangeBatch>,
    /// The version that they are read by.
    pub(super) version: u64,
    /// The table as it was at the high mark.
    pub(super) catalog: CatalogTable,
}

/// What reading gives.
#[derive(Debug)]
pub(super) enum ReadOutcome {
    /// The rows of the range, if any, under this structure.
    Rows(Box<ChunkRows>),
    /// The table has other columns at the high mark: these.
    Differs(Box<CatalogTable>),
    /// The table changed under the chunk: read it again.
    Changed,
    /// More bytes than a chunk may have; this many rows were read.
    TooLarge(u64),
}

/// Reads chunks; keeps its connection while that works.
#[derive(Debug)]
pub(super) struct ChunkReader {
    config: Arc<SourceConfig>,
    connection: Option<Connection>,
}

impl ChunkReader {
    /// A reader that connects when it must.
    pub(super) fn new(config: Arc<SourceConfig>) -> Self {
        Self { config, connection: None }
    }

    /// Fixes a chunk's bounds.
    ///
    /// # Errors
    /// `Connection`, `Permission`.
    pub(super) async fn plan(&mut self, job: PlanJob) -> Result<PlanOutcome> {
        let name = job.name.clone();
        let outcome = self.try_plan(job).await;
        self.keep(outcome.map_err(|e| e.during("plan a chunk").with("table", name)))
    }

    async fn try_plan(&mut self, job: PlanJob) -> Result<PlanOutcome> {
        let limits = (u64::from(self.config.chunk_rows), self.config.chunk_bytes as u64);
        let connection = self.session().await?;
        let Some(table) = catalog::read(connection, &job.name).await? else {
            return Ok(PlanOutcome::Obstacle("the table is gone".into()));
        };
        if let Some(obstacle) = table.obstacle().or(table.snapshot_obstacle().map(Into::into)) {
            return Ok(PlanOutcome::Obstacle(obstacle));
        }
        let Some(key) = Key::of(&table) else {
            return Ok(PlanOutcome::Obstacle("the primary key's type cannot bound a chunk".into()));
        };
        let rows = match job.rows {
            Some(rows) => rows,
            None => fitting_rows(connection, &job.name, limits).await?,
        };
        let ceiling = match job.ceiling {
            Some(ceiling) => ceiling,
            None => match bound(connection, &job.name, &key, "TRUE", " DESC", 0).await? {
                Some(last) => last,
                None => return Ok(PlanOutcome::Done),
            },
        };
        let mut plan = job.plan;
        if plan.upper.is_empty() {
            if plan.lower == ceiling {
                return Ok(PlanOutcome::Done);
            }
            let range = key.range(&plan.lower, &ceiling);
            let upper = bound(connection, &job.name, &key, &range, "", rows.max(1) - 1).await?;
            plan.upper = upper.unwrap_or_else(|| ceiling.clone());
        }
        Ok(PlanOutcome::Chunk(Box::new(Planned { plan, rows, ceiling, catalog: table, key })))
    }

    /// Reads a chunk. Tells the view's place through `high` as soon as it is
    /// open.
    ///
    /// # Errors
    /// `Connection`, `Permission`; `high` may then never be told.
    pub(super) async fn read(
        &mut self,
        job: ReadJob,
        high: oneshot::Sender<LogPosition>,
    ) -> Result<ReadOutcome> {
        let name = job.planned.catalog.name.clone();
        let outcome = match self.try_read(job, high).await {
            Err(error) => match error_code(&error) {
                Some(code::TABLE_DEFINITION_CHANGED | code::UNKNOWN_COLUMN | code::NO_SUCH_TABLE) => {
                    self.connection = None;
                    Ok(ReadOutcome::Changed)
                }
                _ => Err(error.during("read a chunk").with("table", name)),
            },
            outcome => outcome,
        };
        self.keep(outcome)
    }

    async fn try_read(&mut self, job: ReadJob, high: oneshot::Sender<LogPosition>) -> Result<ReadOutcome> {
        let bytes_max = self.config.chunk_bytes.saturating_mul(OVERSIZE);
        let connection = self.session().await?;
        let mark = open_view(connection, job.low).await?;
        // Nobody listens any more only when the source is gone.
        let _ = high.send(mark);
        let table = &job.planned.catalog;
        let version = match (job.version, structure::listed(table)) {
            (Some(version), Ok(observed)) if structure::same(&version, &observed, &table.key) => version,
            _ => {
                connection.execute("COMMIT").await?;
                return Ok(ReadOutcome::Differs(job.planned.catalog.into()));
            }
        };
        let select = select(&version, &job.planned.key, &job.planned.plan);
        let codec = SnapshotCodec::new(&version)?;
        let mut builder = BatchBuilder::new(version, job.planned.plan.generation);
        builder.transaction(Transaction {
            position: TxPosition { epoch: job.epoch, log: mark },
            gtid: None,
            commit_time_us: now_us(),
        });
        let mut bytes = 0;
        let mut rows = limited(ROW_TIMEOUT, connection.raw().exec_iter(select, ())).await?;
        while let Some(row) = limited(ROW_TIMEOUT, rows.next()).await? {
            builder.event(Operation::Snapshot, -1, 0);
            codec.append_row(|column| row.as_ref(column), &mut builder)?;
            bytes += weight(&row);
            if job.fresh && bytes > bytes_max && builder.rows() > 1 {
                let read = builder.rows() as u64;
                // The rest of the answer would have to be read: a new connection is cheaper.
                drop(rows);
                self.connection = None;
                return Ok(ReadOutcome::TooLarge(read));
            }
        }
        drop(rows);
        connection.execute("COMMIT").await?;
        let after = catalog::read(connection, &job.planned.catalog.name).await?;
        if after.as_ref() != Some(&job.planned.catalog) {
            return Ok(ReadOutcome::Changed);
        }
        Ok(ReadOutcome::Rows(Box::new(ChunkRows {
            version: builder.table().version,
            rows: builder.finish(),
            catalog: job.planned.catalog,
        })))
    }

    async fn session(&mut self) -> Result<&mut Connection> {
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => {
                let mut connection = Connection::open(&self.config).await?;
                // REPEATABLE READ first: under READ COMMITTED a consistent snapshot is none, without a warning.
                connection.execute("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ").await?;
                connection
                    .execute(
                        "SET SESSION time_zone = '+00:00', sql_mode = '', character_set_results = NULL, \
                         max_statement_time = 0, net_write_timeout = 600",
                    )
                    .await?;
                connection
            }
        };
        Ok(self.connection.insert(connection))
    }

    /// After an error the session's state is unknown: the next chunk gets a new
    /// one.
    fn keep<T>(&mut self, outcome: Result<T>) -> Result<T> {
        if outcome.is_err() {
            self.connection = None;
        }
        outcome
    }
}

/// Opens views until one covers `low`, and tells its place.
async fn open_view(connection: &mut Connection, low: LogPosition) -> Result<LogPosition> {
    let deadline = tokio::time::Instant::now() + VIEW_TIMEOUT;
    loop {
        connection.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT").await?;
        let status: Vec<(String, String)> = connection.rows("SHOW STATUS LIKE 'binlog_snapshot_%'").await?;
        let value =
            |name: &str| status.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v.as_str());
        let file_no = value("binlog_snapshot_file").and_then(|file| file.rsplit_once('.')?.1.parse().ok());
        let offset = value("binlog_snapshot_position").and_then(|offset| offset.parse().ok());
        let (Some(file_no), Some(offset)) = (file_no, offset) else {
            return Err(Error::new(ErrorKind::Config, "the server does not tell a view's place in its log")
                .hint("turn the binary log on (log_bin) and restart the server"));
        };
        let mark = LogPosition { file_no, offset };
        if mark >= low {
            return Ok(mark);
        }
        connection.execute("COMMIT").await?;
        if tokio::time::Instant::now() > deadline {
            return Err(Error::transient(ErrorKind::Connection, "no view covers what the log shows already")
                .hint("a semi-synchronous replica may be holding the commits back"));
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// The key of one row as literals.
async fn bound(
    connection: &mut Connection,
    name: &TableName,
    key: &Key,
    range: &str,
    direction: &str,
    skip: u64,
) -> Result<Option<Vec<String>>> {
    let (columns, table, order) = (key.select(), sql::table(name), key.order(direction));
    let query = format!(
        "SELECT SQL_NO_CACHE {columns} FROM {table} WHERE {range} ORDER BY {order} LIMIT 1 OFFSET {skip}"
    );
    let row: Option<Row> = limited(ROW_TIMEOUT, connection.raw().query_first(query)).await?;
    let Some(row) = row else { return Ok(None) };
    let texts: Option<Vec<String>> = (0..row.len()).map(|column| row.get_opt(column)?.ok()).collect();
    let literals = texts.and_then(|texts| key.literals(&texts));
    literals.map(Some).ok_or_else(|| {
        Error::new(ErrorKind::Unsupported, "a key's value cannot be written as a bound")
            .with("table", name)
            .hint("use `source.snapshot.mode: latest` for this table, and report its key's type")
    })
}

fn select(version: &TableVersion, key: &Key, plan: &ChunkPlan) -> String {
    let columns: Vec<String> = (version.columns.iter())
        .map(|column| select_expression(&column.data_type, &sql::name(&column.name)))
        .collect();
    format!(
        "SELECT SQL_NO_CACHE {} FROM {} WHERE {} ORDER BY {}",
        columns.join(", "),
        sql::table(&version.name),
        key.range(&plan.lower, &plan.upper),
        key.order("")
    )
}

/// Rows of the table's average length that fit a chunk.
async fn fitting_rows(connection: &mut Connection, name: &TableName, limits: (u64, u64)) -> Result<u64> {
    let (rows, bytes) = limits;
    let average: Option<Option<u64>> = connection
        .first(&format!(
            "SELECT AVG_ROW_LENGTH FROM information_schema.TABLES WHERE TABLE_SCHEMA = {} AND TABLE_NAME = {}",
            sql::text(&name.schema),
            sql::text(&name.table)
        ))
        .await?;
    let average = average.flatten().unwrap_or(0).max(1);
    Ok((bytes / average).clamp(1, rows.max(1)))
}

/// Bytes that a row takes, about.
fn weight(row: &Row) -> usize {
    let cell = |column| match row.as_ref(column) {
        Some(mysql_async::Value::Bytes(bytes)) => bytes.len() + 4,
        _ => 8,
    };
    (0..row.len()).map(cell).sum()
}

fn now_us() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}
