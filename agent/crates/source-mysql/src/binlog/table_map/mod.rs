//! TABLE_MAP: what the rows that follow look like.
//!
//! Every statement that changes rows is led by one map per table. The same map
//! comes again and again, so reading one costs nothing ([`TableMapEvent`]) until
//! its bytes differ from the last one of the table ([`TableMap::matches`]).
//!
//! The fixed part tells how bytes are cut, and no more: neither names nor signs
//! nor charsets. `binlog_row_metadata=FULL` adds those. Not even that tells
//! every type apart on MariaDB (10.11): UUID and INET6 look like BINARY(16),
//! INET4 like BINARY(4), JSON like LONGTEXT; the catalog knows and says so by a
//! [`TypeHint`].

mod fingerprint;
mod metadata;
mod shape;
mod wire;

use tidegate_model::{Error, ErrorKind, Result, TableName};

pub use fingerprint::Fingerprint;
pub use shape::{ColumnShape, TypeHint};
pub use wire::ColumnType;

use super::bytes::{Bytes, Malformed};
use crate::charset::Charset;

/// A TABLE_MAP, not read yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableMapEvent<'a> {
    /// What the row events behind it refer to; another number for the same
    /// table after every restart, ALTER or eviction from the table cache.
    pub table_id: u64,
    /// Everything but the id.
    pub definition: &'a [u8],
}

impl<'a> TableMapEvent<'a> {
    pub(super) fn parse(body: &'a [u8]) -> Result<Self, Malformed> {
        let mut bytes = Bytes(body);
        let table_id = bytes.u48("TABLE_MAP table id")?;
        bytes.u16("TABLE_MAP flags")?;
        Ok(Self { table_id, definition: bytes.0 })
    }

    /// The table's schema and name: enough to tell whether it is captured.
    ///
    /// # Errors
    /// `Corrupt` when the names are cut or not UTF-8.
    pub fn names(&self) -> Result<(&'a str, &'a str)> {
        names(&mut Bytes(self.definition)).map_err(corrupt)
    }
}

/// One column of a map: the fixed part and what FULL metadata adds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MapColumn {
    /// How its bytes are cut.
    pub wire: ColumnType,
    /// Whether null is a value.
    pub nullable: bool,
    /// Its name.
    pub name: Option<String>,
    /// UNSIGNED (or ZEROFILL); numbers only.
    pub unsigned: Option<bool>,
    /// Text, ENUM and SET only. The collation is not kept: it orders values and
    /// changes none.
    pub charset: Option<Charset>,
    /// ENUM and SET: the labels in the column's charset.
    pub labels: Option<Vec<Vec<u8>>>,
    /// GEOMETRY: 0 geometry, 1 point, ….
    pub geometry: Option<u32>,
}

/// One column of the primary key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyPart {
    /// Index of the column.
    pub column: usize,
    /// Length of the prefix in characters that the key takes; 0: all of it.
    pub prefix: usize,
}

/// A TABLE_MAP, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableMap {
    /// See [`TableMapEvent::table_id`].
    pub table_id: u64,
    /// Schema and name.
    pub name: TableName,
    /// In the server's order.
    pub columns: Vec<MapColumn>,
    /// The primary key in key order; empty when there is none or the metadata is
    /// MINIMAL ([`Self::is_full`]).
    pub primary_key: Vec<KeyPart>,
    /// Over everything that decides bytes and names, the table's own name and id
    /// left out: equal fingerprints mean that the same codec and the same model
    /// columns serve.
    pub fingerprint: Fingerprint,
    definition: Box<[u8]>,
}

impl TableMap {
    /// Reads a map.
    ///
    /// # Errors
    /// `Corrupt` when the bytes are not a map; a type that we do not know is
    /// none ([`ColumnType::Unknown`]).
    pub fn parse(event: &TableMapEvent<'_>) -> Result<Self> {
        let table_id = event.table_id;
        Self::read(event).map_err(|malformed| match event.names() {
            Ok((schema, table)) => corrupt(malformed).with("table", TableName::new(schema, table)),
            Err(_) => corrupt(malformed).with("table id", table_id),
        })
    }

    /// True when this event says nothing new: neither definition nor id.
    pub fn matches(&self, event: &TableMapEvent<'_>) -> bool {
        self.table_id == event.table_id && *self.definition == *event.definition
    }

    /// The server added names, signs, charsets, labels and keys
    /// (`binlog_row_metadata=FULL`).
    pub fn is_full(&self) -> bool {
        self.columns.iter().all(|column| column.name.is_some())
    }

    fn read(event: &TableMapEvent<'_>) -> Result<Self, Malformed> {
        let mut bytes = Bytes(event.definition);
        let (schema, table) = names(&mut bytes)?;
        let name = TableName::new(schema, table);
        let width = bytes.length("TABLE_MAP width")?;
        let types = bytes.take(width, "TABLE_MAP types")?;
        let mut sizes = Bytes(bytes.counted("TABLE_MAP type metadata")?);
        let nulls = bytes.take(width.div_ceil(8), "TABLE_MAP nullability")?;
        let mut columns = Vec::with_capacity(width);
        for (index, &code) in types.iter().enumerate() {
            columns.push(MapColumn {
                wire: ColumnType::parse(code, &mut sizes)?,
                nullable: nulls[index / 8] >> (index % 8) & 1 != 0,
                name: None,
                unsigned: None,
                charset: None,
                labels: None,
                geometry: None,
            });
        }
        if !sizes.is_empty() {
            return Err(Malformed("TABLE_MAP type metadata"));
        }
        let primary_key = metadata::read(bytes, &mut columns)?;
        let fingerprint = Fingerprint::of(&columns, &primary_key);
        Ok(Self {
            table_id: event.table_id,
            name,
            columns,
            primary_key,
            fingerprint,
            definition: event.definition.into(),
        })
    }
}

/// Two strings, each behind a length byte and in front of a zero byte.
fn names<'a>(bytes: &mut Bytes<'a>) -> Result<(&'a str, &'a str), Malformed> {
    let mut name = || {
        let length = bytes.u8("TABLE_MAP names")?;
        let name = bytes.take(length.into(), "TABLE_MAP names")?;
        bytes.u8("TABLE_MAP names")?;
        std::str::from_utf8(name).map_err(|_| Malformed("TABLE_MAP names"))
    };
    Ok((name()?, name()?))
}

fn corrupt(malformed: Malformed) -> Error {
    Error::new(ErrorKind::Corrupt, malformed.to_string()).during("read table map")
}
