//! QUERY: a statement as text. In row format: DDL, BEGIN, COMMIT, XA verbs, and
//! DML only when a session switched to statement format.

use std::borrow::Cow;

use super::bytes::{Bytes, Malformed};
use super::compressed;
use super::raw::RawEvent;
use crate::charset::Charset;

/// Header flag: the statement depends on its session (temporary tables).
const FLAG_THREAD_SPECIFIC: u16 = 0x04;

/// A statement (MariaDB: "QUERY_EVENT").
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query<'a> {
    /// The session's connection id.
    pub thread_id: u32,
    /// What the statement ended with at the server; 0 is success.
    pub error_code: u16,
    /// The session's default database; empty: none.
    pub schema: Cow<'a, str>,
    /// The statement in UTF-8; bytes that its client charset does not allow are
    /// replaced.
    pub sql: Cow<'a, str>,
    /// `sql_mode` of the session, if told (ANSI_QUOTES is bit 2).
    pub sql_mode: Option<u64>,
    /// The statement depends on its session, as with temporary tables.
    pub thread_specific: bool,
}

impl<'a> Query<'a> {
    pub(super) fn parse(raw: &RawEvent<'a>, compressed: bool) -> Result<Self, Malformed> {
        let mut bytes = Bytes(raw.body);
        let thread_id = bytes.u32("QUERY thread")?;
        bytes.u32("QUERY time")?;
        let schema_length = bytes.u8("QUERY schema length")?;
        let error_code = bytes.u16("QUERY error code")?;
        let status_length = bytes.u16("QUERY status length")?;
        let status = Status::parse(bytes.take(status_length.into(), "QUERY status")?)?;
        let schema = bytes.take(schema_length.into(), "QUERY schema")?;
        bytes.u8("QUERY schema end")?;
        let charset = status.client_charset.map_or(Charset::Utf8mb4, |id| Charset::of_collation(id.into()));
        let sql = if compressed {
            let sql = compressed::inflate(bytes.0)?;
            Cow::Owned(charset.decode_lossy(&sql).into_owned())
        } else {
            charset.decode_lossy(bytes.0)
        };
        Ok(Self {
            thread_id,
            error_code,
            schema: String::from_utf8_lossy(schema),
            sql,
            sql_mode: status.sql_mode,
            thread_specific: raw.flags & FLAG_THREAD_SPECIFIC != 0,
        })
    }
}

/// What we use of the status variables: numbered fields of known lengths, so
/// reading ends at the first number that is not known.
#[derive(Default)]
struct Status {
    sql_mode: Option<u64>,
    client_charset: Option<u16>,
}

impl Status {
    fn parse(block: &[u8]) -> Result<Self, Malformed> {
        const WHAT: &str = "QUERY status variables";
        let mut bytes = Bytes(block);
        let mut status = Self::default();
        while !bytes.is_empty() {
            let skip = match bytes.u8(WHAT)? {
                1 => {
                    status.sql_mode = Some(bytes.u64(WHAT)?);
                    0
                }
                4 => {
                    status.client_charset = Some(bytes.u16(WHAT)?);
                    4
                }
                0 | 3 | 10 => 4,
                2 => usize::from(bytes.u8(WHAT)?) + 1,
                5 | 6 => bytes.u8(WHAT)?.into(),
                7 | 8 => 2,
                9 | 129 => 8,
                13 | 128 => 3,
                _ => break,
            };
            bytes.take(skip, WHAT)?;
        }
        Ok(status)
    }
}
