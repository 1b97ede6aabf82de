//! The captures in `testdata/`, read event by event: for tests.

use std::collections::HashMap;

use tidegate_model::{
    BatchBuilder, ChangeBatch, Column, LogPosition, TableName, TableUid, TableVersion, Transaction,
    TxPosition,
};

use crate::binlog::{Decoded, Decoder, Event, RawEvent, TableMap, TypeHint};
use crate::codec::TableCodec;

/// Log files: each was taken by `testdata/capture.sh`.
pub(crate) const ALL: [(&str, &[u8]); 4] = [
    ("types", include_bytes!("../testdata/types.binlog")),
    ("changes", include_bytes!("../testdata/changes.binlog")),
    ("compressed", include_bytes!("../testdata/compressed.binlog")),
    ("minimal", include_bytes!("../testdata/minimal.binlog")),
];

/// The capture of this name.
pub(crate) fn capture(name: &str) -> &'static [u8] {
    ALL.iter().find(|(known, _)| *known == name).map(|(_, file)| *file).expect("a capture of this name")
}

/// The raw events of a file.
pub(crate) fn raw_events(file: &[u8]) -> Vec<RawEvent<'_>> {
    let mut rest = &file[4..];
    let mut checksummed = false;
    let mut events = Vec::new();
    while !rest.is_empty() {
        let event = RawEvent::parse(rest, checksummed).expect("an event");
        rest = &rest[event.size as usize..];
        checksummed = event.checksum_algorithm.map_or(checksummed, |algorithm| algorithm == 1);
        events.push(event);
    }
    events
}

/// The decoded events of a file.
pub(crate) fn decoded(file: &[u8]) -> Vec<Decoded<'_>> {
    let mut decoder = Decoder::in_file("binlog.000007", 4).expect("a name with a number");
    raw_events(file).into_iter().map(|raw| decoder.decode(raw).expect("an event that decodes")).collect()
}

/// A table version that equals what a map proposes.
pub(crate) fn version_of(map: &TableMap, hints: &[Option<TypeHint>]) -> TableVersion {
    let columns = map.columns(hints).expect("FULL metadata").into_iter().enumerate();
    let columns = columns.map(|(index, shape)| Column {
        id: index as u32 + 1,
        name: shape.name,
        data_type: shape.data_type,
        nullable: shape.nullable,
        source_type: shape.source_type,
        initial_default: None,
    });
    let key = map.primary_key.iter().map(|part| part.column).collect();
    TableVersion::new(TableUid(1), map.name.clone(), 1, columns.collect(), key)
}

/// The transaction that tests put their events in.
pub(crate) fn transaction() -> Transaction {
    Transaction {
        position: TxPosition { epoch: 1, log: LogPosition { file_no: 7, offset: 4 } },
        gtid: None,
        commit_time_us: 0,
    }
}

/// All changes of one table in a file as one batch. `json` names its JSON columns.
pub(crate) fn batch(file: &[u8], table: &str, json: &[&str]) -> ChangeBatch {
    let table = TableName::new("t", table);
    let mut maps = HashMap::new();
    let mut building: Option<(TableCodec, BatchBuilder)> = None;
    let mut idx = 0;
    for event in decoded(file) {
        match event.event {
            Event::TableMap(event) => {
                let map = TableMap::parse(&event).expect("a map");
                if map.name == table && building.is_none() {
                    let hints: Vec<_> = (map.columns.iter())
                        .map(|column| {
                            let is_json = json.contains(&column.name.as_deref().expect("FULL metadata"));
                            is_json.then_some(TypeHint::Json)
                        })
                        .collect();
                    let version = version_of(&map, &hints);
                    let codec = TableCodec::new(&version, &map).expect("exact types");
                    let mut builder = BatchBuilder::new(version.into(), 1);
                    builder.transaction(transaction());
                    building = Some((codec, builder));
                }
                maps.insert(map.table_id, map);
            }
            Event::Rows(rows) if maps[&rows.table_id].name == table => {
                let (codec, builder) = building.as_mut().expect("a map before rows");
                let next = || {
                    idx += 1;
                    Some((idx - 1, idx as u64 - 1))
                };
                codec.decode_rows(&rows, builder, next).expect("rows that decode");
            }
            _ => {}
        }
    }
    building.and_then(|(_, builder)| builder.finish()).expect("changes of this table")
}
