//! From a TABLE_MAP to exact columns.
//!
//! The map tells nearly every type; where several share one wire form (UUID and
//! BINARY(16), JSON and LONGTEXT), whoever knows decides: the version before,
//! then the catalog, then the DDL's own word. The catalog may already be ahead
//! of the log, so nothing of it is taken that the map contradicts.

use tidegate_model::{Column, DataType, TableName, TableUid, TableVersion};

use crate::binlog::{TableMap, TypeHint};
use crate::catalog::{CatalogColumn, CatalogTable};
use crate::codec::SnapshotCodec;
use crate::ddl::{ColumnClause, same_column};
use crate::derive::{DdlNote, Observed};

/// The columns that a map describes; an error says why they cannot be told.
pub(crate) fn observe(
    map: &TableMap,
    before: Option<&TableVersion>,
    catalog: Option<&CatalogTable>,
    notes: &[DdlNote],
) -> Result<Vec<Observed>, String> {
    let words: Vec<Option<&str>> = map
        .columns
        .iter()
        .map(|column| column.name.as_deref().and_then(|name| type_word(name, notes)))
        .collect();
    let hints: Vec<Option<TypeHint>> =
        words.iter().map(|word| word.and_then(TypeHint::of_type_word)).collect();
    let shapes =
        map.columns(&hints).map_err(|e| format!("{}: {}", e.message(), e.hint_text().unwrap_or_default()))?;
    (shapes.into_iter().zip(&map.columns).zip(words))
        .map(|((shape, column), word)| {
            let observed = |data_type: &DataType, source_type: &str| Observed {
                name: shape.name.clone(),
                data_type: data_type.clone(),
                nullable: column.nullable,
                source_type: source_type.to_owned(),
            };
            let known =
                before.and_then(|before| before.columns.iter().find(|c| same_column(&c.name, &shape.name)));
            if let Some(known) = known.filter(|known| word.is_none() && column.carries(&known.data_type)) {
                return Ok(observed(&known.data_type, &known.source_type));
            }
            let inexact = |words: &str| {
                Err(format!("column {:?} has type {words}, which is not captured exactly yet", shape.name))
            };
            match catalog.and_then(|table| table.columns.iter().find(|c| same_column(&c.name, &shape.name))) {
                Some(CatalogColumn { data_type: Some(data_type), source_type, .. })
                    if column.carries(data_type) =>
                {
                    return Ok(observed(data_type, source_type));
                }
                Some(CatalogColumn { data_type: None, source_type, .. })
                    if is_ambiguous(&shape.data_type) =>
                {
                    return inexact(source_type);
                }
                _ => {}
            }
            if !is_exact(&shape.data_type) {
                return inexact(&shape.source_type);
            }
            if word.is_none() && is_ambiguous(&shape.data_type) {
                return Err(format!("the log does not tell the exact type of column {:?}", shape.name));
            }
            Ok(observed(&shape.data_type, &shape.source_type))
        })
        .collect()
}

/// The columns that the catalog lists, when it is known to be at our place in
/// the log.
pub(crate) fn listed(catalog: &CatalogTable) -> Result<Vec<Observed>, String> {
    if let Some(obstacle) = catalog.obstacle() {
        return Err(obstacle);
    }
    let observed = catalog.columns.iter().filter_map(|column| {
        Some(Observed {
            name: column.name.clone(),
            data_type: column.data_type.clone()?,
            nullable: column.nullable,
            source_type: column.source_type.clone(),
        })
    });
    Ok(observed.collect())
}

/// True when the codec has this type exactly.
pub(crate) fn is_exact(data_type: &DataType) -> bool {
    let column = Column {
        id: 1,
        name: String::new(),
        data_type: data_type.clone(),
        nullable: true,
        source_type: String::new(),
        initial_default: None,
    };
    let version = TableVersion::new(TableUid(0), TableName::new("", ""), 1, vec![column], Vec::new());
    SnapshotCodec::new(&version).is_ok()
}

/// True when a version has exactly these columns and this key.
pub(crate) fn same(version: &TableVersion, observed: &[Observed], key: &[usize]) -> bool {
    version.key == key
        && version.columns.len() == observed.len()
        && (version.columns.iter().zip(observed))
            .all(|(a, b)| a.name == b.name && a.data_type == b.data_type && a.nullable == b.nullable)
}

/// The word that the newest DDL has for a column's type.
fn type_word<'a>(name: &str, notes: &'a [DdlNote]) -> Option<&'a str> {
    notes.iter().rev().flat_map(|note| note.columns.iter().rev()).find_map(|clause| match clause {
        ColumnClause::Add { name: of, type_word, .. } | ColumnClause::Define { name: of, type_word }
            if same_column(of, name) =>
        {
            Some(type_word.as_str())
        }
        _ => None,
    })
}

/// Types that share their wire form with one that the map does not tell.
fn is_ambiguous(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Binary { length: 4 | 16, fixed: true } | DataType::Text { length: u32::MAX, .. }
    )
}
