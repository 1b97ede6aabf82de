//! A load whose every change is known, and the check that a lake has each of them once.
//!
//! The load is the only writer of its table and runs in one session, so that it knows the order of
//! the log. Every statement stamps the rows that it writes with `seq`, a number that no other row
//! image of the table ever has. A lake is right when its events, in the order of `__pos` and `__idx`,
//! are the load's list: nothing lost, nothing twice, nothing out of order, each in the folder of the
//! schema that the table had at that moment.
//!
//! ```text
//! let mut load = Load::new(&database, "t", Random::printed("crash"));
//! let agent = pipeline.start();
//! load.transactions(50);
//! load.ddl();                                  // the next of a cycle of column changes
//! agent.wait_for_position(&database.position());
//! load.check(&pipeline);
//! ```

mod check;
mod columns;

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::{Duration, Instant};

use self::columns::Columns;
use crate::rig::{Database, PATIENCE, Random, Session};

/// Above every key: `seq` is the statement's number times this, plus the key.
const KEYS_MAX: u64 = 1_000_000;

/// One in so many new rows is refused by a mapping that casts `num`.
const REFUSED_EVERY: u64 = 13;

/// A row image: key and stamp.
type Image = (u64, u64);

/// One change as it was committed.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Change {
    before: Option<Image>,
    after: Option<Image>,
    /// Schema version of the table, from 1.
    version: usize,
    /// Its row has a text in `num` that no number is made of.
    refused: bool,
}

/// A writer of one table.
#[derive(Debug)]
pub struct Load {
    session: Session,
    schema: String,
    table: String,
    random: Random,
    rows: BTreeMap<u64, u64>,
    /// Keys of rows with a text that is no number in `num`.
    refused: BTreeSet<u64>,
    /// Whether some new rows have such a text.
    refusals: bool,
    next_key: u64,
    statement: u64,
    columns: Columns,
    changes: Vec<Change>,
}

impl Load {
    /// Creates the table with 20 rows, which are there before anything is captured.
    pub fn new(database: &Database<'_>, table: &str, random: Random) -> Self {
        Self::with_rows(database, table, random, 20)
    }

    /// Creates the table with so many rows.
    pub fn with_rows(database: &Database<'_>, table: &str, random: Random, rows: u64) -> Self {
        let mut session = database.session();
        session.run(format!(
            "create table `{table}` (id int primary key, seq bigint not null, n int, note varchar(40), num varchar(20));
             insert into `{table}` select seq, seq, seq % 7, concat('row ', seq), seq from seq_1_to_{rows}"
        ));
        Self {
            session,
            schema: database.name().to_owned(),
            table: table.to_owned(),
            random,
            rows: (1..=rows).map(|key| (key, key)).collect(),
            refused: BTreeSet::new(),
            refusals: false,
            next_key: rows + 1,
            statement: 1,
            columns: Columns::new(),
            changes: Vec::new(),
        }
    }

    /// From here on some new rows have a text in `num` that a mapping with `cast: { num: int64 }`
    /// refuses.
    #[must_use]
    pub fn with_refusals(self) -> Self {
        Self { refusals: true, ..self }
    }

    /// Goes on in a new session, after the server was away.
    pub fn reconnect(&mut self, database: &Database<'_>) {
        self.session = database.session();
    }

    /// `schema.table`.
    pub fn table(&self) -> String {
        format!("{}.{}", self.schema, self.table)
    }

    /// Changes that were committed so far.
    pub fn changes(&self) -> usize {
        self.changes.len()
    }

    /// Key and stamp of every row that the table has now, by key.
    pub fn rows(&self) -> impl Iterator<Item = (u64, u64)> {
        self.rows.iter().map(|(&key, &stamp)| (key, stamp))
    }

    /// Runs so many transactions, one in eight of which is rolled back.
    pub fn transactions(&mut self, count: usize) {
        for _ in 0..count {
            self.transaction();
        }
    }

    /// Runs transactions beside `work` until that returns, at a pace that leaves others some of the
    /// machine, and at most for a minute.
    pub fn beside<T>(&mut self, work: impl FnOnce() -> T + Send) -> T
    where
        T: Send,
    {
        thread::scope(|scope| {
            let work = scope.spawn(work);
            let start = Instant::now();
            while !work.is_finished() && start.elapsed() < PATIENCE {
                self.transaction();
                pace();
            }
            work.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    fn transaction(&mut self) {
        let rolled_back = self.random.one_in(8);
        let statements = 1 + self.random.below(4);
        self.session.run("begin");
        for _ in 0..statements {
            let changes = self.statement();
            if !rolled_back {
                changes.into_iter().for_each(|change| self.apply(change));
            }
        }
        self.session.run(if rolled_back { "rollback" } else { "commit" });
    }

    fn statement(&mut self) -> Vec<Change> {
        match self.random.below(8) {
            0..3 => self.insert(),
            3..5 => self.update(),
            5 => self.change_key(),
            _ => self.delete(),
        }
    }

    /// One to five new rows in one statement.
    fn insert(&mut self) -> Vec<Change> {
        let base = self.stamp();
        let keys = self.next_key..self.next_key + 1 + self.random.below(5);
        self.next_key = keys.end;
        let values: Vec<String> = keys
            .clone()
            .map(|key| {
                let num = if self.is_refused(key) { "none".to_owned() } else { key.to_string() };
                format!("({key}, {}, {key} % 7, 'new {key}', '{num}')", base + key)
            })
            .collect();
        let values = values.join(", ");
        self.session.run(format!("insert into `{}` (id, seq, n, note, num) values {values}", self.table));
        keys.map(|key| self.change(None, Some((key, base + key)), self.is_refused(key))).collect()
    }

    /// Up to six neighbouring rows in one statement, in the order of their keys.
    fn update(&mut self) -> Vec<Change> {
        let base = self.stamp();
        let Some(first) = self.any_key() else { return Vec::new() };
        let last = first + self.random.below(6);
        self.session.run(format!(
            "update `{}` set seq = {base} + id, note = concat('changed in ', {base}) where id between {first} and {last} \
             order by id",
            self.table
        ));
        let rows: Vec<Image> = self.rows.range(first..=last).map(|(&key, &seq)| (key, seq)).collect();
        let change =
            |row: Image| self.change(Some(row), Some((row.0, base + row.0)), self.refused.contains(&row.0));
        rows.into_iter().map(change).collect()
    }

    fn change_key(&mut self) -> Vec<Change> {
        let base = self.stamp();
        let Some(old) = self.any_key() else { return Vec::new() };
        let new = self.next_key;
        self.next_key += 1;
        let stamp = base + new;
        self.session.run(format!("update `{}` set id = {new}, seq = {stamp} where id = {old}", self.table));
        let before = (old, self.rows[&old]);
        vec![self.change(Some(before), Some((new, stamp)), self.refused.contains(&old))]
    }

    fn delete(&mut self) -> Vec<Change> {
        let Some(first) = self.any_key() else { return Vec::new() };
        let last = first + self.random.below(2);
        self.session
            .run(format!("delete from `{}` where id between {first} and {last} order by id", self.table));
        let rows = self.rows.range(first..=last);
        rows.map(|(&key, &seq)| self.change(Some((key, seq)), None, self.refused.contains(&key))).collect()
    }

    /// The next column change of a cycle: ADD nullable, ADD with a constant default, RENAME, widening
    /// MODIFY, DROP. A row follows, with which the new schema shows.
    pub fn ddl(&mut self) {
        let change = self.columns.next_change();
        self.session.run(format!("alter table `{}` {change}", self.table));
        // Never a refused one: its version would have no row.
        while self.is_refused(self.next_key) {
            self.next_key += 1;
        }
        let (base, key) = (self.stamp(), self.next_key);
        self.next_key += 1;
        self.session.run(format!("insert into `{}` (id, seq) values ({key}, {})", self.table, base + key));
        self.apply(self.change(None, Some((key, base + key)), false));
    }

    fn change(&self, before: Option<Image>, after: Option<Image>, refused: bool) -> Change {
        Change { before, after, version: self.columns.version(), refused }
    }

    /// Takes a committed change over into what the table has.
    fn apply(&mut self, change: Change) {
        if let Some((key, _)) = change.before {
            self.rows.remove(&key);
            self.refused.remove(&key);
        }
        if let Some((key, seq)) = change.after {
            self.rows.insert(key, seq);
            if change.refused {
                self.refused.insert(key);
            }
        }
        self.changes.push(change);
    }

    fn stamp(&mut self) -> u64 {
        self.statement += 1;
        assert!(self.next_key < KEYS_MAX, "the load has used up its keys");
        self.statement * KEYS_MAX
    }

    fn any_key(&mut self) -> Option<u64> {
        let from = self.random.below(self.next_key);
        let mut rows = self.rows.range(from..).chain(self.rows.range(..from));
        rows.next().map(|(&key, _)| key)
    }

    fn is_refused(&self, key: u64) -> bool {
        self.refusals && key.is_multiple_of(REFUSED_EVERY)
    }
}

#[expect(clippy::disallowed_methods, reason = "not a wait for anything: a load has a pace")]
fn pace() {
    thread::sleep(Duration::from_millis(1));
}
