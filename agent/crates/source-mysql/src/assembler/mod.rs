//! Events in, segments out: transactions, tables, schema versions.
//!
//! No I/O but the journal's. The one thing it cannot know by itself, what the
//! catalog says about a layout that it has not seen, it asks for
//! ([`Assembler::blocked_on`]) and takes no event until it has the answer.
//!
//! **Offsets.** Between transactions the offset is the GTID set and the place
//! behind the last event. Inside one it is the set and place *before* the
//! transaction, and how many changes of each table have been handed out; a
//! resumed reader gets the whole transaction again and counts anew, so running
//! numbers never depend on where a run began.
//!
//! **Order.** A table's rows gather in one builder until the segment is cut or
//! its structure changes; then the batch goes in front of the change.

mod cuts;
mod layout;
mod statement;
#[cfg(test)]
mod tests;

pub(crate) use layout::mend;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use tidegate_model::source::Journal;
use tidegate_model::{
    BatchBuilder, Error, ErrorKind, Held, HeldReason, Item, Lineage, LogPosition, Offset, OpenTransaction,
    Result, SchemaChange, Segment, TableName, TableParked, TableUid, Transaction, TxPosition, Witness,
};

use self::cuts::Cuts;
use crate::binlog::{Decoder, Event, GtidEvent, RawEvent, RowsEvent, TableMap};
use crate::codec::{ROW_BYTES_MAX, RowsDecoded};
use crate::config::SourceConfig;
use crate::history::History;
use crate::keys;
use crate::table::Tables;

/// A chunk whose window has touched more keys than this is read again.
const NOTED_KEYS_MAX: usize = 1_000_000;

/// Why a table with rows that were logged in part cannot go on.
const PARTIAL: &str = "has rows that a session logged in part (binlog_row_image is not FULL), so that nobody can \
                       tell their other columns";

/// Why a table with a row over the agent's bound cannot go on.
const TOO_LONG: &str = "has a row of more than 64 MiB, which is longer than the agent takes";

/// The transaction that is being read.
#[derive(Debug)]
struct Group {
    /// Number of the group in this run.
    number: u64,
    gtid: GtidEvent,
    start: LogPosition,
    commit_time_us: i64,
    /// Captured row changes so far.
    idx: i64,
    /// The same by table index.
    table_idx: BTreeMap<usize, u64>,
}

/// A map whose table needs a look into the catalog.
#[derive(Debug)]
struct Blocked {
    table: usize,
    map: TableMap,
}

/// Builds segments out of the log.
pub(crate) struct Assembler {
    config: Arc<SourceConfig>,
    journal: Arc<dyn Journal>,
    decoder: Decoder,
    tables: Tables,
    history: History,
    /// The offset behind everything taken so far, `open` left out.
    offset: Offset,
    group: Option<Group>,
    groups: u64,
    /// Table ids of the statement that is being read; `None`: not ours.
    routes: HashMap<u64, Option<usize>>,
    blocked: Option<Blocked>,
    /// Tables whose rows count from a place on that is still ahead; those in
    /// front of it are not ours.
    expected: BTreeSet<TableName>,
    /// Segments that end in front of a schema change; they come before `items`.
    sealed: VecDeque<Segment>,
    items: Vec<Item>,
    bytes: usize,
    oldest: Option<Instant>,
    commit_time_us: Option<i64>,
    seq: u64,
    cuts: Cuts,
}

impl Assembler {
    /// Starts at an offset with the tables known there.
    pub(crate) fn new(
        config: Arc<SourceConfig>,
        journal: Arc<dyn Journal>,
        history: History,
        tables: Tables,
        mut offset: Offset,
    ) -> Self {
        // The open transaction comes again, whole, and is counted anew.
        offset.scanned.open = None;
        Self {
            config,
            journal,
            decoder: Decoder::new(),
            tables,
            history,
            offset,
            group: None,
            groups: 0,
            routes: HashMap::new(),
            blocked: None,
            expected: BTreeSet::new(),
            sealed: VecDeque::new(),
            items: Vec::new(),
            bytes: 0,
            oldest: None,
            commit_time_us: None,
            seq: 0,
            cuts: Cuts::new(),
        }
    }

    /// Takes one event.
    ///
    /// # Errors
    /// What the log cannot be followed through: corrupt or lost events, a
    /// journal that cannot be written.
    pub(crate) fn event(&mut self, raw: RawEvent<'_>) -> Result<()> {
        debug_assert!(self.blocked.is_none(), "an event while the catalog is asked");
        let decoded = self.decoder.decode(raw)?;
        match decoded.event {
            Event::Gtid(gtid) => self.begin(gtid, decoded.start, decoded.timestamp),
            Event::TableMap(map) => self.table_map(&map)?,
            Event::Rows(rows) => self.rows(&rows)?,
            Event::Xid(_) => self.end(),
            Event::Query(query) => self.query(&query)?,
            Event::XaPrepare(prepare) => {
                if !prepare.one_phase {
                    self.park_touched("was changed by an XA transaction, which is not captured yet");
                }
                self.end();
            }
            Event::StatementPart { type_code } => self.statement_part(type_code),
            Event::Incident(_) => {
                return Err(Error::new(ErrorKind::PositionLost, "the server says that its log lacks events")
                    .during("read the binlog")
                    .with("position", self.decoder.position())
                    .hint("take a new snapshot of every table under a new offset behind this place"));
            }
            Event::FormatDescription(_) => self.routes.clear(),
            Event::Rotate(_)
            | Event::GtidList(_)
            | Event::AnnotateRows(_)
            | Event::Heartbeat
            | Event::Stop
            | Event::Ignored { .. } => {}
        }
        if self.group.is_none() {
            self.offset.scanned.log = self.decoder.position();
        }
        Ok(())
    }

    /// The log's place between transactions; `None` inside one.
    pub(crate) fn position(&self) -> Option<LogPosition> {
        let known = self.decoder.position().offset > 0;
        (known && self.group.is_none() && self.blocked.is_none()).then_some(self.offset.scanned.log)
    }

    /// A place in the log, in this epoch.
    pub(crate) fn at(&self, log: LogPosition) -> TxPosition {
        TxPosition { epoch: self.offset.epoch, log }
    }

    /// The tables.
    pub(crate) fn tables(&self) -> &Tables {
        &self.tables
    }

    /// The offset, whose snapshot part the snapshot keeps.
    pub(crate) fn offset_mut(&mut self) -> &mut Offset {
        &mut self.offset
    }

    /// The offset.
    pub(crate) fn offset(&self) -> &Offset {
        &self.offset
    }

    /// Puts an item behind everything taken so far of its table.
    pub(crate) fn push(&mut self, item: Item) {
        self.oldest.get_or_insert_with(Instant::now);
        self.items.push(item);
    }

    /// The next segment that a schema change has ended.
    pub(crate) fn sealed(&mut self) -> Option<Segment> {
        self.sealed.pop_front()
    }

    /// True when [`sealed`](Self::sealed) has one.
    pub(crate) fn is_sealed(&self) -> bool {
        !self.sealed.is_empty()
    }

    /// Puts a schema change behind everything taken so far. It leads its
    /// segment, so that what is in front of it can be committed before the
    /// target changes.
    fn push_change(&mut self, change: Arc<SchemaChange>) {
        for table in 0..self.tables.all().len() {
            self.flush(table);
        }
        if !self.items.is_empty() {
            let segment = self.cut();
            self.sealed.push_back(segment);
        }
        self.push(Item::SchemaChange(change));
    }

    /// Bytes of rows that wait for the cut.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// When the oldest thing arrived that waits for the cut.
    pub(crate) fn oldest(&self) -> Option<Instant> {
        self.oldest
    }

    /// Ends the segment: everything taken so far, with the offset behind it.
    pub(crate) fn cut(&mut self) -> Segment {
        for table in 0..self.tables.all().len() {
            self.flush(table);
        }
        let mut end = self.offset.clone();
        if let Some(group) = &self.group {
            end.scanned.log = group.start;
            end.scanned.open = (group.idx > 0)
                .then(|| OpenTransaction { gtid: group.gtid.gtid, delivered: self.delivered(group) });
        }
        self.seq += 1;
        self.oldest = None;
        Segment {
            seq: self.seq,
            items: std::mem::take(&mut self.items),
            end: Arc::new(end),
            commit_time_us: self.commit_time_us.take(),
            bytes: std::mem::take(&mut self.bytes),
        }
    }

    fn delivered(&self, group: &Group) -> BTreeMap<TableUid, u64> {
        group.table_idx.iter().map(|(&table, &count)| (self.tables[table].uid, count)).collect()
    }

    fn begin(&mut self, gtid: GtidEvent, start: LogPosition, timestamp: u32) {
        debug_assert!(self.group.is_none(), "a transaction inside a transaction");
        self.groups += 1;
        self.group = Some(Group {
            number: self.groups,
            gtid,
            start,
            commit_time_us: i64::from(timestamp) * 1_000_000,
            idx: 0,
            table_idx: BTreeMap::new(),
        });
    }

    /// The transaction is complete.
    fn end(&mut self) {
        self.routes.clear();
        let Some(group) = self.group.take() else { return };
        self.offset.scanned.gtid.advance(group.gtid.gtid);
        let Lineage::MariaDb { witness, .. } = &mut self.offset.lineage;
        *witness = Some(Witness { gtid: group.gtid.gtid, crc: group.gtid.crc, log: group.start });
        self.commit_time_us = self.commit_time_us.max(Some(group.commit_time_us));
    }

    /// Place of the transaction, or between transactions of the next event.
    fn here(&self) -> TxPosition {
        self.at(self.group.as_ref().map_or(self.offset.scanned.log, |group| group.start))
    }

    fn rows(&mut self, rows: &RowsEvent<'_>) -> Result<()> {
        if !rows.is_dummy() {
            let Some(&route) = self.routes.get(&rows.table_id) else {
                return Err(Error::new(ErrorKind::Corrupt, "rows of a table that no map announced")
                    .during("read the binlog")
                    .with("position", self.decoder.position())
                    .hint("run mariadb-binlog on that file; if it agrees, please report this"));
            };
            if let Some(table) = route {
                self.captured_rows(table, rows)?;
            }
        }
        if rows.statement_end {
            self.routes.clear();
        }
        Ok(())
    }

    fn captured_rows(&mut self, table: usize, rows: &RowsEvent<'_>) -> Result<()> {
        let state = &self.tables[table];
        if state.version.as_ref().is_some_and(|version| rows.is_partial(&version.key)) {
            // A session can choose so. What is missing is in no later event either.
            let message = way_out(&state.name, PARTIAL);
            self.park(table, message);
            return Ok(());
        }
        // An event of several rows is far shorter, so this is the exception.
        if rows.images.len() > ROW_BYTES_MAX
            && let Some(layout) = &state.layout
            && layout.codec.longest_image(rows)? > ROW_BYTES_MAX
        {
            let message = way_out(&state.name, TOO_LONG);
            self.park(table, message);
            return Ok(());
        }
        self.bytes += rows.images.len();
        let mut taken = 0;
        loop {
            let (decoded, cut) = self.decode_rows(table, rows, taken)?;
            taken += decoded.appended;
            if cut {
                let segment = self.cut();
                self.sealed.push_back(segment);
            }
            if taken == decoded.changes {
                return Ok(());
            }
        }
    }

    /// Decodes an event's changes behind the first `taken`, up to a cut; true
    /// when there is one behind the last of them.
    fn decode_rows(&mut self, table: usize, rows: &RowsEvent<'_>, taken: u64) -> Result<(RowsDecoded, bool)> {
        let state = &mut self.tables[table];
        let (Some(group), Some(layout), Some(version)) = (&mut self.group, &state.layout, &state.version)
        else {
            return Err(Error::new(ErrorKind::Corrupt, "rows outside a transaction")
                .during("read the binlog")
                .with("table", &state.name)
                .with("position", self.decoder.position())
                .hint("run mariadb-binlog on that file; if it agrees, please report this"));
        };
        let builder =
            state.builder.get_or_insert_with(|| BatchBuilder::new(version.clone(), state.generation));
        if builder.events() == 0 || state.builder_group != group.number {
            state.builder_group = group.number;
            builder.transaction(Transaction {
                position: TxPosition { epoch: self.offset.epoch, log: group.start },
                gtid: Some(group.gtid.gtid),
                commit_time_us: group.commit_time_us,
            });
        }
        let table_idx = group.table_idx.entry(table).or_default();
        let idx = &mut group.idx;
        let (cuts, mut seen, mut cut) = (&mut self.cuts, 0, false);
        let decoded = layout.codec.decode_rows(rows, builder, || {
            seen += 1;
            if cut || seen <= taken {
                return None;
            }
            cut = cuts.after_change();
            let numbers = (*idx, *table_idx);
            *idx += 1;
            *table_idx += 1;
            Some(numbers)
        })?;
        self.commit_time_us = self.commit_time_us.max(Some(group.commit_time_us));
        self.oldest.get_or_insert_with(Instant::now);
        Ok((decoded, cut))
    }

    /// Moves a table's rows from its builder into the segment.
    fn flush(&mut self, table: usize) {
        let state = &mut self.tables[table];
        let Some(batch) = state.builder.take().and_then(BatchBuilder::finish) else { return };
        if let Some(noted) = &mut state.noted {
            keys::note(&batch, noted);
        }
        self.items.push(Item::Batch(batch));
    }

    /// Starts noting the keys that are handed out.
    pub(crate) fn note_keys(&mut self, table: usize) {
        self.flush(table);
        self.tables[table].noted = Some(HashSet::new());
    }

    /// Ends noting keys and gives them; `None` when there were too many.
    pub(crate) fn noted_keys(&mut self, table: usize) -> Option<HashSet<Vec<u8>>> {
        self.flush(table);
        self.tables[table].noted.take().filter(|noted| noted.len() <= NOTED_KEYS_MAX)
    }

    /// Rows from here on belong to this snapshot generation.
    pub(crate) fn regenerate(&mut self, table: usize, generation: u64) {
        self.flush(table);
        self.tables[table].generation = generation;
    }

    /// Stops handing out a table's rows.
    pub(crate) fn park(&mut self, table: usize, message: String) {
        if self.tables[table].parked {
            return;
        }
        self.flush(table);
        let position = self.here();
        let state = &mut self.tables[table];
        tracing::warn!(table = %state.name, reason = %message, "table parked");
        state.parked = true;
        state.layout = None;
        state.notes.clear();
        state.noted = None;
        let (uid, name) = (state.uid, state.name.clone());
        for route in self.routes.values_mut().filter(|route| **route == Some(table)) {
            *route = None;
        }
        let held = Held { from: position.log, reason: HeldReason::Parked, message: message.clone() };
        self.offset.held.insert(uid, held);
        self.offset.tables.insert(uid, name.clone());
        self.push(Item::Parked(TableParked {
            table: uid,
            name,
            reason: HeldReason::Parked,
            message,
            position,
        }));
    }

    /// Hands a parked table's rows out again; false when it was not parked.
    pub(crate) fn unpark(&mut self, table: usize) -> bool {
        let state = &mut self.tables[table];
        let uid = state.uid;
        let parked = std::mem::take(&mut state.parked);
        if parked {
            state.notes.clear();
            self.offset.held.remove(&uid);
        }
        parked
    }

    /// Parks every table with rows in the open transaction.
    fn park_touched(&mut self, what: &str) {
        let touched: Vec<usize> =
            self.group.iter().flat_map(|group| group.table_idx.keys().copied()).collect();
        for table in touched {
            self.park(table, way_out(&self.tables[table].name, what));
        }
    }
}

/// A message that names cause and way out.
pub(crate) fn way_out(name: &TableName, what: &str) -> String {
    format!("the table {what}; run `tidegate snapshot {name}` to go on from its rows as they are now")
}
