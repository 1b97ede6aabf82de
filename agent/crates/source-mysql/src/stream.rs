//! The server's log as a stream of raw events.
//!
//! Resuming is by GTID (`@slave_connect_state`, empty file name): the server
//! finds the place itself, also when file numbers have changed. Capability 4 must
//! be announced, or the server hides GTID events behind dummies; strict mode
//! makes it refuse a position that its log does not hold, where it would
//! otherwise start somewhere near (MariaDB Knowledge Base, "Replication
//! Protocol").
//!
//! Checksums: the driver sets `@master_binlog_checksum` to a name that the server
//! takes for "as in the file"; [`crate::binlog::Decoder`] verifies them.

use std::time::Duration;

use futures_util::StreamExt;
use mysql_async::binlog::events::Event as DriverEvent;
use mysql_async::{BinlogStream, BinlogStreamRequest};
use tidegate_model::{Error, ErrorKind, GtidSet, Result, Witness};

use crate::binlog::{Decoder, Event, RawEvent};
use crate::config::SourceConfig;
use crate::connection::{Connection, server_error};

/// A silent server is given up after this many heartbeats, but not sooner than
/// after [`SILENCE_MIN`].
const SILENT_HEARTBEATS: u32 = 3;
const SILENCE_MIN: Duration = Duration::from_secs(30);

/// An open log.
pub(crate) struct LogStream {
    stream: BinlogStream,
    /// Read while opening, to be handed out first.
    first: Option<DriverEvent>,
    silence: Duration,
}

impl LogStream {
    /// Opens the log behind these transactions.
    ///
    /// # Errors
    /// `PositionLost` when the log no longer reaches back to them, `Refused` when
    /// the server never had them.
    pub(crate) async fn open(config: &SourceConfig, from: &GtidSet) -> Result<Self> {
        let mut connection = Connection::open(config).await?;
        // Half of ours: so a heartbeat of ours always has one of the server's behind it.
        let period = (config.heartbeat / 2).as_nanos().max(1_000_000);
        connection
            .execute(&format!(
                "SET @mariadb_slave_capability = 4, @master_heartbeat_period = {period}, \
                 @slave_connect_state = '{from}', @slave_gtid_strict_mode = 1, @slave_gtid_ignore_duplicates = 0"
            ))
            .await?;
        let request = BinlogStreamRequest::new(config.server_id);
        let mut stream = Self::dump(connection, request, config).await?;
        // A refusal comes instead of the first event; the first one is artificial.
        stream.first = Some(stream.next().await.map_err(|e| e.with("gtid position", from))?);
        Ok(stream)
    }

    async fn dump(
        connection: Connection,
        request: BinlogStreamRequest<'_>,
        config: &SourceConfig,
    ) -> Result<Self> {
        let stream = connection.into_raw().get_binlog_stream(request).await;
        let stream = stream.map_err(|e| server_error(e).during("open the binlog"))?;
        let silence = (config.heartbeat * SILENT_HEARTBEATS).max(SILENCE_MIN);
        Ok(Self { stream, first: None, silence })
    }

    /// The next event; waits for it. May be dropped at any point: no event is
    /// lost.
    ///
    /// # Errors
    /// `Connection` when the server goes away or stays silent.
    pub(crate) async fn next(&mut self) -> Result<DriverEvent> {
        self.event().await?.ok_or_else(|| {
            Error::transient(ErrorKind::Connection, "the server ended the log stream")
                .during("read the binlog")
                .hint("check that no other replica uses our `source.server_id`, and that the server runs")
        })
    }

    /// The next event; `None` at the end of the stream.
    async fn event(&mut self) -> Result<Option<DriverEvent>> {
        if let Some(event) = self.first.take() {
            return Ok(Some(event));
        }
        match tokio::time::timeout(self.silence, self.stream.next()).await {
            Ok(event) => event.transpose().map_err(|e| server_error(e).during("read the binlog")),
            Err(_) => {
                let seconds = self.silence.as_secs();
                Err(Error::transient(ErrorKind::Connection, format!("no event or heartbeat for {seconds} s"))
                    .during("read the binlog")
                    .hint("check the network between agent and server"))
            }
        }
    }
}

/// What became of the place that a witness names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Testimony {
    /// The same transaction lies there, byte for byte.
    Confirmed,
    /// The file is purged: only GTIDs can tell.
    Purged,
    /// Something else lies there, or nothing.
    Contradicted,
}

/// Reads the witness's event again: the server is asked for its log from just
/// that place, without waiting for new events.
///
/// # Errors
/// `Connection`, and `Corrupt` when what lies there is no event.
pub(crate) async fn question(config: &SourceConfig, witness: &Witness) -> Result<Testimony> {
    let mut connection = Connection::open(config).await?;
    let logs: Vec<mysql_async::Row> =
        connection.rows("SHOW BINARY LOGS").await.map_err(|e| e.during("list binary logs"))?;
    let named = |row: &mysql_async::Row| {
        let name: String = row.get_opt(0)?.ok()?;
        let number: u64 = name.rsplit_once('.')?.1.parse().ok()?;
        Some((number, name))
    };
    let logs: Vec<(u64, String)> = logs.iter().filter_map(named).collect();
    let Some((_, file)) = logs.iter().find(|(number, _)| *number == witness.log.file_no) else {
        let purged = logs.iter().all(|(number, _)| *number > witness.log.file_no);
        return Ok(if purged { Testimony::Purged } else { Testimony::Contradicted });
    };
    let Ok(offset) = u32::try_from(witness.log.offset) else {
        // The protocol cannot ask for a place beyond 4 GiB.
        return Ok(Testimony::Purged);
    };
    connection.execute("SET @mariadb_slave_capability = 4").await?;
    let request = BinlogStreamRequest::new(config.server_id)
        .with_filename(file.as_bytes())
        .with_pos(offset.into())
        .with_non_blocking();
    let mut stream = LogStream::dump(connection, request, config).await?;
    let mut decoder = Decoder::in_file(file, witness.log.offset)?;
    loop {
        let event = match stream.event().await {
            Ok(Some(event)) => event,
            // The end of the log, or a place that is none: the server words it in many ways.
            Ok(None) => return Ok(Testimony::Contradicted),
            Err(error) if error.kind() == ErrorKind::PositionLost => return Ok(Testimony::Contradicted),
            Err(error) => return Err(error),
        };
        let raw = RawEvent::of(&event);
        if raw.is_artificial() {
            decoder.decode(raw)?;
            continue;
        }
        let Ok(decoded) = decoder.decode(raw) else { return Ok(Testimony::Contradicted) };
        return Ok(match decoded.event {
            Event::FormatDescription(_) => continue,
            Event::Gtid(found) if found.gtid == witness.gtid && found.crc == witness.crc => {
                Testimony::Confirmed
            }
            _ => Testimony::Contradicted,
        });
    }
}
