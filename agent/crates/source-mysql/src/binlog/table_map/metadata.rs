//! The optional part of a TABLE_MAP: what `binlog_row_metadata=FULL` adds.
//!
//! A sequence of (kind, length, value). Most kinds list values for the columns
//! of one class only, in column order, so a class that is taken too narrow
//! shifts everything behind it: MariaDB counts GEOMETRY among the character
//! columns, where MySQL does not.

use super::{KeyPart, MapColumn};
use crate::binlog::bytes::{Bytes, Malformed};
use crate::binlog::table_map::wire::ColumnType;
use crate::charset::Charset;

/// Kinds (sql/log_event.h, `Optional_metadata_field_type`).
mod kind {
    pub(super) const SIGNEDNESS: u8 = 1;
    pub(super) const DEFAULT_CHARSET: u8 = 2;
    pub(super) const COLUMN_CHARSET: u8 = 3;
    pub(super) const COLUMN_NAME: u8 = 4;
    pub(super) const SET_LABELS: u8 = 5;
    pub(super) const ENUM_LABELS: u8 = 6;
    pub(super) const GEOMETRY_TYPE: u8 = 7;
    pub(super) const SIMPLE_PRIMARY_KEY: u8 = 8;
    pub(super) const PRIMARY_KEY_WITH_PREFIX: u8 = 9;
    pub(super) const LABEL_DEFAULT_CHARSET: u8 = 10;
    pub(super) const LABEL_COLUMN_CHARSET: u8 = 11;
}

/// Fills the columns in and gives the primary key.
pub(super) fn read(mut bytes: Bytes<'_>, columns: &mut [MapColumn]) -> Result<Vec<KeyPart>, Malformed> {
    let mut key = Vec::new();
    while !bytes.is_empty() {
        let kind = bytes.u8("TABLE_MAP metadata")?;
        let mut value = Bytes(bytes.counted("TABLE_MAP metadata")?);
        match kind {
            kind::SIGNEDNESS => signs(value, columns)?,
            kind::DEFAULT_CHARSET => default_charset(value, columns, ColumnType::is_character)?,
            kind::COLUMN_CHARSET => column_charsets(value, columns, ColumnType::is_character)?,
            kind::LABEL_DEFAULT_CHARSET => default_charset(value, columns, is_labelled)?,
            kind::LABEL_COLUMN_CHARSET => column_charsets(value, columns, is_labelled)?,
            kind::COLUMN_NAME => {
                for column in columns.iter_mut() {
                    let name = value.counted("TABLE_MAP column name")?;
                    let name = std::str::from_utf8(name).map_err(|_| Malformed("TABLE_MAP column name"))?;
                    column.name = Some(name.to_owned());
                }
            }
            kind::SET_LABELS => labels(value, columns, |wire| matches!(wire, ColumnType::Set { .. }))?,
            kind::ENUM_LABELS => labels(value, columns, |wire| matches!(wire, ColumnType::Enum { .. }))?,
            kind::GEOMETRY_TYPE => {
                for column in of_class(columns, |wire| matches!(wire, ColumnType::Geometry { .. })) {
                    let code = value.length("TABLE_MAP geometry type")?;
                    column.geometry = u32::try_from(code).ok();
                }
            }
            kind::SIMPLE_PRIMARY_KEY | kind::PRIMARY_KEY_WITH_PREFIX => {
                while !value.is_empty() {
                    let column = value.length("TABLE_MAP primary key")?;
                    if column >= columns.len() {
                        return Err(Malformed("TABLE_MAP primary key"));
                    }
                    let prefixed = kind == kind::PRIMARY_KEY_WITH_PREFIX;
                    let prefix = if prefixed { value.length("TABLE_MAP primary key")? } else { 0 };
                    key.push(KeyPart { column, prefix });
                }
            }
            // A kind that a newer server adds: it cannot change how bytes are cut.
            _ => {}
        }
    }
    Ok(key)
}

fn is_labelled(wire: ColumnType) -> bool {
    matches!(wire, ColumnType::Enum { .. } | ColumnType::Set { .. })
}

fn of_class(
    columns: &mut [MapColumn],
    class: fn(ColumnType) -> bool,
) -> impl Iterator<Item = &mut MapColumn> {
    columns.iter_mut().filter(move |column| class(column.wire))
}

/// One bit a numeric column, highest bit first.
fn signs(value: Bytes<'_>, columns: &mut [MapColumn]) -> Result<(), Malformed> {
    for (index, column) in of_class(columns, ColumnType::is_numeric).enumerate() {
        let byte = value.0.get(index / 8).ok_or(Malformed("TABLE_MAP signedness"))?;
        column.unsigned = Some(byte << (index % 8) & 0x80 != 0);
    }
    Ok(())
}

/// One collation for all columns of the class, then (index within the class,
/// collation) of those that differ.
fn default_charset(
    mut value: Bytes<'_>,
    columns: &mut [MapColumn],
    class: fn(ColumnType) -> bool,
) -> Result<(), Malformed> {
    const WHAT: &str = "TABLE_MAP default charset";
    let default = charset(&mut value, WHAT)?;
    let mut members: Vec<&mut MapColumn> = of_class(columns, class).collect();
    for column in &mut members {
        column.charset = Some(default);
    }
    while !value.is_empty() {
        let member = value.length(WHAT)?;
        let column = members.get_mut(member).ok_or(Malformed(WHAT))?;
        column.charset = Some(charset(&mut value, WHAT)?);
    }
    Ok(())
}

fn column_charsets(
    mut value: Bytes<'_>,
    columns: &mut [MapColumn],
    class: fn(ColumnType) -> bool,
) -> Result<(), Malformed> {
    for column in of_class(columns, class) {
        column.charset = Some(charset(&mut value, "TABLE_MAP column charset")?);
    }
    Ok(())
}

fn charset(value: &mut Bytes<'_>, what: &'static str) -> Result<Charset, Malformed> {
    let collation = value.length(what)?.try_into().map_err(|_| Malformed(what))?;
    Ok(Charset::of_collation(collation))
}

fn labels(
    mut value: Bytes<'_>,
    columns: &mut [MapColumn],
    class: fn(ColumnType) -> bool,
) -> Result<(), Malformed> {
    for column in of_class(columns, class) {
        let count = value.length("TABLE_MAP labels")?;
        let mut labels = Vec::new();
        for _ in 0..count {
            labels.push(value.counted("TABLE_MAP labels")?.to_vec());
        }
        column.labels = Some(labels);
    }
    Ok(())
}
