//! The load: a table of ten columns with rows of about 130 bytes, changed in transactions of 1,000.
//!
//! Of 27 transactions 20 insert, 5 update and 2 delete, again and again, so that any quarter of the
//! load is like any other: memory is compared between quarters. A transaction is one statement of
//! 1,000 rows, which the server packs into row events of up to 8 KiB; one-row statements are measured
//! apart (`stream.rs`), since there the events, not the rows, are what costs.

use std::env;

use tidegate_tests::rig::{Database, Gtids, Session};

/// Changes of a transaction.
const TRANSACTION: u64 = 1_000;
const INSERTS: u64 = 20;
const UPDATES: u64 = 5;
const DELETES: u64 = 2;
/// 1 M inserts, 250 k updates and 100 k deletes.
const ROUNDS: f64 = 50.0;
/// Fewer could not be cut into quarters.
const ROUNDS_MIN: f64 = 4.0;
/// One-row statements, at full scale.
const SINGLES: f64 = 100_000.0;

/// How large the load is, 1 by default.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale(f64);

impl Scale {
    /// `TIDEGATE_BENCH_SCALE`.
    ///
    /// # Panics
    /// When it is no number above 0.
    pub(crate) fn from_environment() -> Self {
        let text = env::var("TIDEGATE_BENCH_SCALE").unwrap_or_else(|_| "1".into());
        let scale = text.parse().ok().filter(|scale: &f64| scale.is_finite() && *scale > 0.0);
        Self(scale.unwrap_or_else(|| panic!("TIDEGATE_BENCH_SCALE is '{text}'; a number above 0 is needed")))
    }

    fn rounds(self) -> u64 {
        (self.0 * ROUNDS).round().max(ROUNDS_MIN) as u64
    }

    fn singles(self) -> u64 {
        (self.0 * SINGLES).round().max(1.0) as u64
    }
}

/// The tables, before the load.
pub(crate) struct Workload<'a> {
    database: &'a Database<'a>,
    scale: Scale,
}

/// A part of the server's log.
#[derive(Clone, Debug)]
pub(crate) struct LogRange {
    /// Name of the file that holds it whole.
    pub(crate) file: String,
    /// Offset of its first byte.
    pub(crate) start: u64,
    /// Offset behind its last.
    pub(crate) end: u64,
    /// Row changes in it.
    pub(crate) changes: u64,
}

/// The load, written.
pub(crate) struct Load {
    /// Port of the server.
    pub(crate) port: u16,
    /// Row changes of the load.
    pub(crate) changes: u64,
    /// Row images: an update has two.
    pub(crate) images: u64,
    /// Rows that the table has now.
    pub(crate) rows: u64,
    /// Where it lies in the log.
    pub(crate) log: LogRange,
    /// Its first round, for readers that are too slow for all of it.
    pub(crate) first_round: LogRange,
    /// Where the one-row statements lie, behind it.
    pub(crate) singles: LogRange,
    /// Position behind each quarter; the last one lies behind the load.
    pub(crate) quarters: Vec<Gtids>,
}

impl Load {
    /// Size of the load in the log.
    pub(crate) fn log_bytes(&self) -> u64 {
        self.log.end - self.log.start
    }
}

impl<'a> Workload<'a> {
    /// The tables `orders`, and `singles` for statements of one row; the latter is not captured.
    pub(crate) fn new(database: &'a Database<'a>, scale: Scale) -> Self {
        database.session().run(
            "create table orders (
                 id bigint primary key,
                 customer_id int unsigned not null,
                 status enum('new', 'paid', 'sent', 'done') not null,
                 quantity smallint not null,
                 price decimal(10, 2) not null,
                 email varchar(60) not null,
                 title varchar(60) not null,
                 note varchar(200),
                 created_at datetime(6) not null,
                 updated_at timestamp(6) not null);
             create table singles like orders",
        );
        Self { database, scale }
    }

    /// Writes the load into the log.
    pub(crate) fn write(self) -> Load {
        let rounds = self.scale.rounds();
        let mut session = self.database.session();
        let start = log_place(&mut session);
        let mut quarters = Vec::new();
        let mut first_round = None;
        for round in 0..rounds {
            write_round(&mut session, round);
            first_round.get_or_insert_with(|| log_place(&mut session));
            if quarters.len() as u64 != 4 * (round + 1) / rounds {
                quarters.push(self.database.position());
            }
        }
        let end = log_place(&mut session);
        let singles = self.scale.singles();
        write_singles(&mut session, singles);
        let last = log_place(&mut session);
        let round_changes = (INSERTS + UPDATES + DELETES) * TRANSACTION;
        let changes = rounds * round_changes;
        Load {
            port: self.database.server().port(),
            changes,
            images: changes + rounds * UPDATES * TRANSACTION,
            rows: rounds * (INSERTS - DELETES) * TRANSACTION,
            first_round: range(start.clone(), &first_round.expect("there is a round"), round_changes),
            log: range(start, &end, changes),
            singles: range(end, &last, singles),
            quarters,
        }
    }
}

/// Inserts rows, changes the oldest of them and deletes the newest.
fn write_round(session: &mut Session, round: u64) {
    let first = round * INSERTS * TRANSACTION + 1;
    let transaction = |number: u64| (first + number * TRANSACTION, first + (number + 1) * TRANSACTION - 1);
    for (from, to) in (0..INSERTS).map(transaction) {
        session.run(format!("insert into orders select {} from seq_{from}_to_{to}", columns("seq")));
    }
    for (from, to) in (0..UPDATES).map(transaction) {
        session.run(format!(
            "update orders set quantity = quantity + 1, status = 'paid', updated_at = updated_at + interval 1 hour
             where id between {from} and {to}"
        ));
    }
    for (from, to) in (INSERTS - DELETES..INSERTS).map(transaction) {
        session.run(format!("delete from orders where id between {from} and {to}"));
    }
}

/// One row a statement, still in transactions of 1,000.
fn write_singles(session: &mut Session, count: u64) {
    session.run(format!(
        "begin not atomic
             declare n int default 0;
             set autocommit = 0;
             while n < {count} do
                 set n = n + 1;
                 insert into singles select {};
                 if n % {TRANSACTION} = 0 then commit; end if;
             end while;
             commit;
             set autocommit = 1;
         end",
        columns("n")
    ));
}

/// The ten cells of a row, all derived from its key: every run writes the same load.
fn columns(key: &str) -> String {
    format!(
        "{key}, crc32({key}) % 50000, elt(1 + {key} % 3, 'new', 'sent', 'done'), {key} % 20, \
         crc32({key} * 7) % 1000000 / 100, concat('user', crc32({key} * 3), '@example.com'), md5({key}), \
         if({key} % 10 = 0, null, concat('ordered as number ', crc32({key}), ', paid')), \
         '2026-01-01' + interval {key} * 1000003 microsecond, '2026-01-02' + interval {key} * 1000007 microsecond"
    )
}

/// File and offset where the next transaction begins.
fn log_place(session: &mut Session) -> (String, u64) {
    let rows = session.rows("show master status");
    let [row] = rows.as_slice() else { panic!("the rig's server writes a log") };
    let file = row[0].clone().expect("a log has a name");
    let offset = row[1].as_deref().and_then(|offset| offset.parse().ok());
    (file, offset.expect("an offset is a number"))
}

fn range((file, start): (String, u64), (last_file, end): &(String, u64), changes: u64) -> LogRange {
    assert_eq!(file, *last_file, "the load fits into one file of the log");
    LogRange { file, start, end: *end, changes }
}
