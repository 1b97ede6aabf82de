//! One event after the other: checksum, position, meaning.
//!
//! **Position.** An event's header tells where it ends, in 32 bits; a file that
//! holds one huge transaction grows beyond that and the number wraps. We keep
//! 64 bits: an event ends at the first place at or behind `position + size` whose
//! lower 32 bits are the header's. So gaps are allowed (the server leaves out
//! what a resumed reader has, and ANNOTATE_ROWS unless asked for), and a number
//! that goes backwards within a file is a wrap, never a step back. A gap of
//! 4 GiB and more in one file cannot be told from a smaller one; only a GTID
//! resume into such a file has one, and there [`Decoder::resume_at`] helps.
//!
//! **Checksum.** Verified for every event. Whether events carry one is told by
//! FORMAT_DESCRIPTION, but a stream begins with an artificial ROTATE before it:
//! that one's last four bytes are a checksum exactly if they match.

use tidegate_model::{Error, ErrorKind, LogPosition, Result};

use super::bytes::Malformed;
use super::control::{Incident, Rotate, XaPrepare};
use super::format::FormatDescription;
use super::gtid::{GtidEvent, GtidList};
use super::query::Query;
use super::raw::{CHECKSUM_LEN, FLAG_IGNORABLE, RawEvent};
use super::rows::RowsEvent;
use super::table_map::TableMapEvent;
use super::type_code;

/// What an event says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event<'a> {
    /// What the events behind it look like.
    FormatDescription(FormatDescription),
    /// The log goes on in another file.
    Rotate(Rotate),
    /// A group begins.
    Gtid(GtidEvent),
    /// The state of all domains at this place.
    GtidList(GtidList),
    /// A statement as text.
    Query(Query<'a>),
    /// The transaction committed.
    Xid(u64),
    /// The layout of the rows that follow.
    TableMap(TableMapEvent<'a>),
    /// Rows.
    Rows(RowsEvent<'a>),
    /// The statement behind the rows that follow. May hold values: never log it.
    AnnotateRows(&'a [u8]),
    /// The server is there, and has nothing new.
    Heartbeat,
    /// The server says that events may be missing from its log.
    Incident(Incident),
    /// The rows before it are prepared only.
    XaPrepare(XaPrepare),
    /// The server stopped, or ended the file without a ROTATE.
    Stop,
    /// Part of a statement that is logged as text (INTVAR, RAND, USER_VAR, and
    /// the events of LOAD DATA): its rows are not in the log.
    StatementPart {
        /// One of [`type_code`].
        type_code: u8,
    },
    /// Means nothing to a reader of rows.
    Ignored {
        /// One of [`type_code`], or a number that we do not know.
        type_code: u8,
    },
}

/// An event with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decoded<'a> {
    /// Where it begins.
    pub start: LogPosition,
    /// Where the next one may begin. For an artificial event it equals `start`
    /// unless the event moves the position (ROTATE, GTID_LIST, HEARTBEAT).
    pub end: LogPosition,
    /// Seconds since the epoch, UTC; 0 in artificial events.
    pub timestamp: u32,
    /// What it says.
    pub event: Event<'a>,
}

/// Reads one log, event by event.
///
/// After an error its state is that before the event: the caller stops, or
/// opens the log again with a new decoder.
#[derive(Debug, Default)]
pub struct Decoder {
    file: String,
    position: LogPosition,
    checksummed: Option<bool>,
    resume: Option<LogPosition>,
    ignored: u64,
}

impl Decoder {
    /// A decoder for a stream: the artificial ROTATE that leads it tells where
    /// it begins.
    pub fn new() -> Self {
        Self::default()
    }

    /// A decoder that begins in this file at this offset: for files read
    /// without a server (the first event of a file is at offset 4).
    ///
    /// # Errors
    /// When the name does not end in a number.
    pub fn in_file(file: &str, offset: u64) -> Result<Self> {
        let rotate = Rotate { file: file.to_owned(), position: offset, artificial: true };
        let file_no = rotate.file_no().map_err(|malformed| {
            Error::new(ErrorKind::Corrupt, malformed.to_string()).during("read binlog").with("file", file)
        })?;
        Ok(Self { file: rotate.file, position: LogPosition { file_no, offset }, ..Self::default() })
    }

    /// Tells where a stream that was asked for by GTID goes on, from the offset.
    /// The server begins at the file's start, leaves out what we have, and then
    /// names the place in an artificial GTID_LIST, in 32 bits: it lies at or
    /// behind this position.
    pub fn resume_at(&mut self, position: LogPosition) {
        self.resume = Some(position);
    }

    /// A decoder that believes that events carry no checksum: for damaged ones.
    #[cfg(test)]
    pub(crate) fn unchecked() -> Self {
        Self { checksummed: Some(false), ..Self::default() }
    }

    /// Name of the file that the next event lies in; empty before the first
    /// ROTATE.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Where the next event may begin.
    pub fn position(&self) -> LogPosition {
        self.position
    }

    /// Whether the events carry a checksum; `None` before FORMAT_DESCRIPTION.
    pub fn checksummed(&self) -> Option<bool> {
        self.checksummed
    }

    /// Number of events of unknown type that were skipped because the server
    /// marked them as ignorable.
    pub fn ignored(&self) -> u64 {
        self.ignored
    }

    /// Says what the next event is.
    ///
    /// # Errors
    /// `Corrupt`: the checksum differs or the bytes are not what the type
    /// promises. `Unsupported`: an event that is not known and not marked as
    /// ignorable; going on could lose rows.
    pub fn decode<'a>(&mut self, mut raw: RawEvent<'a>) -> Result<Decoded<'a>> {
        let crc = self.verify(&mut raw).map_err(|malformed| self.fail(&raw, malformed))?;
        let (start, mut end) = self.place(&raw);
        let event = match self.read(&raw, crc) {
            Ok(Some(event)) => event,
            Ok(None) => return Err(self.unknown(&raw)),
            Err(malformed) => return Err(self.fail(&raw, malformed)),
        };
        match &event {
            Event::Rotate(rotate) => {
                let file_no = rotate.file_no().map_err(|malformed| self.fail(&raw, malformed))?;
                end = LogPosition { file_no, offset: rotate.position };
                self.file.clone_from(&rotate.file);
            }
            Event::FormatDescription(format) => self.checksummed = Some(format.checksummed),
            Event::Ignored { type_code } if !is_known(*type_code) => self.ignored += 1,
            _ => {}
        }
        self.position = end;
        Ok(Decoded { start, end, timestamp: raw.timestamp, event })
    }

    /// Checks the checksum and gives it; 0 when the log has none.
    fn verify(&self, raw: &mut RawEvent<'_>) -> Result<u32, Malformed> {
        const DIFFERS: Malformed = Malformed("event: its checksum differs");
        let describes = raw.type_code == type_code::FORMAT_DESCRIPTION;
        if describes || self.checksummed == Some(true) {
            let told = raw.checksum.ok_or(Malformed("event: its checksum is missing"))?;
            return if told == raw.crc32() { Ok(told) } else { Err(DIFFERS) };
        }
        if self.checksummed.is_none()
            && let Some((body, tail)) = raw.body.split_last_chunk::<CHECKSUM_LEN>()
        {
            let told = u32::from_le_bytes(*tail);
            let plain = RawEvent { body, ..*raw };
            if plain.crc32() == told {
                *raw = plain;
                return Ok(told);
            }
        }
        Ok(0)
    }

    /// Start and end of an event.
    fn place(&self, raw: &RawEvent<'_>) -> (LogPosition, LogPosition) {
        let LogPosition { file_no, offset } = self.position;
        let size = if raw.is_artificial() || raw.type_code == type_code::HEARTBEAT { 0 } else { raw.size };
        let mut earliest = offset + u64::from(size);
        if raw.type_code == type_code::GTID_LIST && size == 0 {
            let resumed = self.resume.filter(|position| position.file_no == file_no);
            earliest = resumed.map_or(earliest, |position| earliest.max(position.offset));
        }
        let tells = raw.log_pos != 0 && raw.type_code != type_code::ROTATE;
        let end = if tells { widen(raw.log_pos, earliest, size == 0) } else { earliest };
        let at = |offset| LogPosition { file_no, offset };
        (at(end - u64::from(size)), at(end))
    }

    fn read<'a>(&self, raw: &RawEvent<'a>, crc: u32) -> Result<Option<Event<'a>>, Malformed> {
        use type_code as code;
        let body = raw.body;
        Ok(Some(match raw.type_code {
            code::WRITE_ROWS_V1..=code::DELETE_ROWS_V1
            | code::WRITE_ROWS..=code::DELETE_ROWS
            | code::WRITE_ROWS_COMPRESSED_V1..=code::DELETE_ROWS_COMPRESSED => {
                Event::Rows(RowsEvent::parse(raw)?)
            }
            code::TABLE_MAP => Event::TableMap(TableMapEvent::parse(body)?),
            code::GTID => Event::Gtid(GtidEvent::parse(raw, crc)?),
            code::XID => Event::Xid(super::Bytes(body).u64("XID")?),
            code::QUERY => Event::Query(Query::parse(raw, false)?),
            code::QUERY_COMPRESSED => Event::Query(Query::parse(raw, true)?),
            code::ANNOTATE_ROWS => Event::AnnotateRows(body),
            code::ROTATE => Event::Rotate(Rotate::parse(raw)?),
            code::FORMAT_DESCRIPTION => {
                Event::FormatDescription(FormatDescription::parse(body, raw.checksum_algorithm)?)
            }
            code::GTID_LIST => Event::GtidList(GtidList::parse(raw)?),
            code::HEARTBEAT => Event::Heartbeat,
            code::STOP => Event::Stop,
            code::INCIDENT => Event::Incident(Incident::parse(body)?),
            code::XA_PREPARE => Event::XaPrepare(XaPrepare::parse(body)?),
            type_code @ (code::INTVAR
            | code::RAND
            | code::USER_VAR
            | code::APPEND_BLOCK
            | code::DELETE_FILE
            | code::BEGIN_LOAD_QUERY
            | code::EXECUTE_LOAD_QUERY) => Event::StatementPart { type_code },
            // The server sends an encrypted log's events in the clear.
            type_code @ (code::BINLOG_CHECKPOINT | code::START_ENCRYPTION) => Event::Ignored { type_code },
            type_code if raw.flags & FLAG_IGNORABLE != 0 => Event::Ignored { type_code },
            _ => return Ok(None),
        }))
    }

    fn fail(&self, raw: &RawEvent<'_>, malformed: Malformed) -> Error {
        Error::new(ErrorKind::Corrupt, malformed.to_string())
            .during("read binlog")
            .with("event type", raw.type_code)
            .with("file", &self.file)
            .with("position", self.position)
            .hint(
                "run mariadb-binlog --verify-binlog-checksum on that file; if it agrees, please report this",
            )
    }

    fn unknown(&self, raw: &RawEvent<'_>) -> Error {
        Error::new(ErrorKind::Unsupported, "an event of a type that is not known and may hold rows")
            .during("read binlog")
            .with("event type", raw.type_code)
            .with("file", &self.file)
            .with("position", self.position)
            .hint("use a newer agent, or turn off the server option that makes it write such events")
    }
}

/// The first 64-bit place at or behind `earliest` with these lower 32 bits. An
/// event that only tells the position may tell the one before, too.
fn widen(log_pos: u32, earliest: u64, may_be_behind: bool) -> u64 {
    let candidate = earliest & !u64::from(u32::MAX) | u64::from(log_pos);
    match candidate {
        at if at >= earliest => at,
        _ if may_be_behind => earliest,
        at => at + (1 << 32),
    }
}

/// Types that are ignored because we know them.
fn is_known(type_code: u8) -> bool {
    matches!(type_code, type_code::BINLOG_CHECKPOINT | type_code::START_ENCRYPTION)
}
