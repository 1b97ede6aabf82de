//! The client's share without sinks: the bare event stream, and the decoder on top of it.
//!
//! *Bare* is the driver's raw event with its checksum verified: what any agent pays for the bytes. The
//! decoder verifies it too, so the ratio of both tells what decoding costs and nothing else. Both run
//! on one thread with its own CPU clock; the server's CPU is not counted.

use std::hint::black_box;

use futures_util::StreamExt as _;
use mysql_async::binlog::events::Event;
use mysql_async::prelude::Queryable as _;
use mysql_async::{BinlogStream, BinlogStreamRequest, Conn, OptsBuilder};
use tidegate_source_mysql::binlog::RawEvent;
use tokio::runtime::{Builder, Runtime};

use crate::decode::ToArrow;
use crate::process::thread_cpu;
use crate::report::{Bar, Report};
use crate::workload::{Load, LogRange};

/// The bare stream is quick, and its cost depends on who waits for whom at the socket.
const REPETITIONS: usize = 9;

/// Replica id of the reader; the rig's servers have no others.
const SERVER_ID: u32 = 4_000_000_000;

/// Measures both, in turns.
pub(crate) fn measure(load: &Load, report: &mut Report) {
    let log = Log::of(load);
    let (mut bare, mut decoded, mut ratio, mut singles) = (vec![], vec![], vec![], vec![]);
    for _ in 0..REPETITIONS {
        let bare_rate = log.bare(&load.log);
        let decoded_rate = log.decoded(&load.log);
        bare.push(bare_rate);
        decoded.push(decoded_rate);
        ratio.push(decoded_rate / bare_rate);
        singles.push(log.decoded(&load.singles));
    }
    report.figure("bare_stream", "M_changes/cpu_s", Bar::None, bare);
    report.figure("decode_to_arrow", "M_changes/cpu_s", Bar::AtLeast(1.5), decoded);
    report.figure("decode_to_bare_stream", "ratio", Bar::AtLeast(0.12), ratio);
    report.figure("decode_one_row_statements", "M_changes/cpu_s", Bar::None, singles);
}

/// The server's log, read as a replica does.
pub(crate) struct Log {
    port: u16,
    runtime: Runtime,
}

impl Log {
    /// The log of the load's server.
    pub(crate) fn of(load: &Load) -> Self {
        let runtime = Builder::new_current_thread().enable_all().build();
        Self { port: load.port, runtime: runtime.expect("a runtime for one thread can be made") }
    }

    /// Millions of changes a CPU second when the events are only received and verified.
    fn bare(&self, range: &LogRange) -> f64 {
        let mut verified = 0_u64;
        let rate = self.rate(range, |event| {
            let raw = RawEvent::of(event);
            if let Some(told) = raw.checksum {
                assert_eq!(told, raw.crc32(), "checksum of an event of type {}", raw.type_code);
                verified += 1;
            }
            black_box(raw.body);
        });
        assert!(verified > 0, "the server sends checksums");
        rate
    }

    /// Millions of changes a CPU second into Arrow batches.
    fn decoded(&self, range: &LogRange) -> f64 {
        let mut batches = ToArrow::default();
        let rate = self.rate(range, |event| batches.take(event));
        assert_eq!(batches.finish(), range.changes, "every change is decoded");
        rate
    }

    /// Millions of changes a CPU second when `each` gets the events of a range.
    pub(crate) fn rate(&self, range: &LogRange, mut each: impl FnMut(&Event)) -> f64 {
        self.runtime.block_on(async {
            let mut events = self.open(range).await;
            let start = thread_cpu();
            let mut end = range.start;
            while end < range.end {
                let event = events.next().await.expect("the log reaches to the end of the load");
                let event = event.expect("the rig's server sends its log");
                // Events that the server makes for the reader have no place.
                end = end.max(event.header().log_pos().into());
                each(&event);
            }
            range.changes as f64 / (thread_cpu() - start).as_secs_f64() / 1e6
        })
    }

    async fn open(&self, range: &LogRange) -> BinlogStream {
        let options = OptsBuilder::default()
            .ip_or_hostname("127.0.0.1")
            .tcp_port(self.port)
            .user(Some("rig"))
            .pass(Some("rig"))
            .prefer_socket(false);
        let mut connection = Conn::new(options).await.expect("the rig's server takes connections");
        // Without it the server rewrites MariaDB's own events into older ones, or leaves them out.
        let capable = connection.query_drop("set @mariadb_slave_capability = 4").await;
        capable.expect("a user variable can be set");
        let request = BinlogStreamRequest::new(SERVER_ID)
            .with_filename(range.file.as_bytes())
            .with_pos(range.start)
            .with_non_blocking();
        connection.get_binlog_stream(request).await.expect("the log is there")
    }
}
