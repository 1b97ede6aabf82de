//! The decoder over captures from a real server.

use tidegate_model::{DataType, ErrorKind};

use super::*;
use crate::captures::{ALL, capture, decoded, raw_events, version_of};
use crate::codec::TableCodec;

/// One word an event.
fn words(name: &str) -> Vec<String> {
    let name_of = |event: &Event<'_>| match event {
        Event::FormatDescription(_) => "format".into(),
        Event::Rotate(_) => "rotate".into(),
        Event::Gtid(gtid) => format!("gtid{}", if gtid.ddl { " ddl" } else { "" }),
        Event::GtidList(_) => "list".into(),
        Event::Query(query) => {
            query.sql.split_whitespace().take(2).collect::<Vec<_>>().join(" ").to_lowercase()
        }
        Event::Xid(_) => "xid".into(),
        Event::TableMap(map) => format!("map {}", map.names().unwrap().1),
        Event::Rows(rows) => format!("{:?}", rows.kind).to_lowercase(),
        Event::AnnotateRows(_) => "annotate".into(),
        Event::XaPrepare(_) => "xa prepare".into(),
        Event::Ignored { type_code } => format!("ignored {type_code}"),
        other => format!("{other:?}"),
    };
    decoded(capture(name)).iter().map(|decoded| name_of(&decoded.event)).collect()
}

#[test]
fn a_group_is_gtid_map_rows_xid() {
    let words = words("changes");
    // How many checkpoints follow (type 161) is up to the server's own timing.
    assert_eq!(words[..3], ["format", "list", "ignored 161"], "{words:?}");
    assert!(words.windows(5).any(|w| w == ["gtid", "annotate", "map refused", "update", "xid"]), "{words:?}");
    assert!(words.windows(2).any(|w| w == ["gtid ddl", "create table"]), "{words:?}");
    assert_eq!(words.last().unwrap(), "rotate");
}

#[test]
fn positions_are_the_servers() {
    for (name, file) in ALL {
        let mut end = 4;
        for (decoded, raw) in decoded(file).iter().zip(raw_events(file)) {
            assert_eq!(decoded.start.offset, end, "{name}");
            if !matches!(decoded.event, Event::Rotate(_)) {
                assert_eq!(decoded.end.offset, u64::from(raw.log_pos), "{name}");
                end = decoded.end.offset;
            }
        }
        let last = decoded(file).pop().unwrap();
        assert_eq!(last.end.offset, 4, "{name}: the next file");
    }
}

#[test]
fn a_position_beyond_4_gib_goes_on() {
    let body = 7_u64.to_le_bytes();
    let event = |log_pos| RawEvent {
        timestamp: 1,
        type_code: type_code::XID,
        server_id: 1,
        size: 31,
        log_pos,
        flags: 0,
        body: &body,
        checksum_algorithm: None,
        checksum: None,
    };
    let mut decoder = Decoder::in_file("binlog.000001", (1 << 32) - 100).unwrap();
    let first = decoder.decode(event(u32::MAX - 60)).unwrap();
    assert_eq!((first.start.offset, first.end.offset), ((1 << 32) - 92, (1 << 32) - 61));
    let second = decoder.decode(event(20)).unwrap();
    assert_eq!((second.start.offset, second.end.offset), ((1 << 32) - 11, (1 << 32) + 20));
    assert_eq!(decoder.decode(event(10)).unwrap().end.offset, (2 << 32) + 10);
}

#[test]
fn a_flipped_bit_is_a_checksum_error() {
    let events = raw_events(capture("types"));
    let mut body = events[4].body.to_vec();
    body[3] ^= 1;
    let mut decoder = Decoder::in_file("binlog.000007", 4).unwrap();
    for event in &events[..4] {
        decoder.decode(*event).unwrap();
    }
    let before = decoder.position();
    let error = decoder.decode(RawEvent { body: &body, ..events[4] }).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.to_string().contains("checksum"), "{error}");
    assert_eq!(decoder.position(), before);
    decoder.decode(events[4]).unwrap();
}

#[test]
fn unknown_events_are_skipped_only_if_ignorable() {
    let event = |flags| RawEvent {
        timestamp: 0,
        type_code: 199,
        server_id: 1,
        size: 19,
        log_pos: 0,
        flags,
        body: &[],
        checksum_algorithm: None,
        checksum: None,
    };
    let mut decoder = Decoder::new();
    assert_eq!(decoder.decode(event(0x80)).unwrap().event, Event::Ignored { type_code: 199 });
    assert_eq!(decoder.ignored(), 1);
    assert_eq!(decoder.decode(event(0)).unwrap_err().kind(), ErrorKind::Unsupported);
}

#[test]
fn a_streams_first_rotate_carries_a_checksum_in_its_name() {
    let mut body = 4_u64.to_le_bytes().to_vec();
    body.extend_from_slice(b"binlog.000042");
    let mut event = RawEvent {
        timestamp: 0,
        type_code: type_code::ROTATE,
        server_id: 1,
        size: (19 + body.len() + 4) as u32,
        log_pos: 0,
        flags: 0x20,
        body: &body,
        checksum_algorithm: None,
        checksum: None,
    };
    let crc = event.crc32();
    let with_crc = [&body[..], &crc.to_le_bytes()].concat();
    event.body = &with_crc;
    let mut decoder = Decoder::new();
    let decoded = decoder.decode(event).unwrap();
    assert_eq!(decoder.file(), "binlog.000042");
    assert_eq!((decoded.end.file_no, decoded.end.offset), (42, 4));
}

/// The map of a table in a capture.
fn map_of(name: &str, table: &str) -> TableMap {
    let events = decoded(capture(name));
    let mut maps = events.iter().filter_map(|decoded| match &decoded.event {
        Event::TableMap(map) if map.names().unwrap().1 == table => Some(TableMap::parse(map).unwrap()),
        _ => None,
    });
    maps.next_back().unwrap_or_else(|| panic!("{table} has a map"))
}

#[test]
fn full_metadata_tells_names_signs_charsets_labels_and_keys() {
    let map = map_of("types", "texts");
    let columns = map.columns(&[]).unwrap();
    let described: Vec<_> =
        columns.iter().map(|c| format!("{} {}: {}", c.name, c.source_type, c.data_type)).collect();
    for expected in [
        "id int: int32",
        "c4 char(10): text(10) utf8mb4",
        "v4 varchar(300): text(300) utf8mb4",
        "v3 varchar(20): text(20) utf8mb3",
        "va varchar(20): text(20) ascii",
        "cl char(5): text(5) latin1",
        "tt tinytext: text(255) utf8mb4",
        "t text: text(65535) latin1",
        "mt mediumtext: text(16777215) utf8mb3",
        "lt longtext: text(4294967295) utf8mb4",
        "b255 binary(255): binary(255) fixed",
        "vb300 varbinary(300): binary(300)",
        "mb mediumblob: binary(16777215)",
        "e enum('a','b''q','ü'): enum(3 labels)",
        "el enum('x','é'): enum(2 labels)",
    ] {
        assert!(described.iter().any(|d| d == expected), "{expected} in {described:#?}");
    }
    let numbers = map_of("types", "numbers").columns(&[]).unwrap();
    let unsigned: Vec<_> = (numbers.iter())
        .filter(|c| matches!(c.data_type, DataType::Integer { unsigned: true, .. }))
        .map(|c| c.name.as_str())
        .collect();
    assert_eq!(unsigned, ["u8", "u16", "u24", "u32", "u64", "zf"]);
    assert_eq!(numbers.last().unwrap().data_type, DataType::Year);
    assert_eq!(map.primary_key, [KeyPart { column: 0, prefix: 0 }]);
    let key = map_of("changes", "noKey").primary_key;
    assert_eq!(key, [KeyPart { column: 1, prefix: 3 }, KeyPart { column: 0, prefix: 0 }]);
}

#[test]
fn types_behind_a_geometry_are_told_apart() {
    let columns = map_of("changes", "parked").columns(&[]).unwrap();
    let described: Vec<_> = columns.iter().map(|c| format!("{} {}", c.name, c.data_type)).collect();
    assert_eq!(
        described,
        [
            "id int32",
            "g other(geometry)",
            "p other(point)",
            "v text sjis",
            "u binary(16) fixed",
            "i4 binary(4) fixed",
            "i6 binary(16) fixed",
            "vc other(varchar or varbinary, column compressed)",
            "tc other(blob or text, column compressed)",
            "after text(5) latin1",
            "y year",
            "j text(4294967295) utf8mb4",
        ]
    );
    assert_eq!(columns.iter().filter(|c| !c.nullable).map(|c| &c.name[..]).collect::<Vec<_>>(), ["p"]);
}

#[test]
fn signs_and_charsets_find_their_columns() {
    let columns = map_of("changes", "classes").columns(&[]).unwrap();
    let words: Vec<_> = columns.iter().map(|c| format!("{} {}", c.source_type, c.data_type)).collect();
    assert_eq!(
        words,
        [
            "year(4) year",
            "int unsigned uint32",
            "bit(3) bit(3)",
            "int int32",
            "set('a') set(1 labels)",
            "tinyint unsigned uint8",
            "timestamp timestamp(0)",
            "decimal(5,2) unsigned decimal(5,2)",
            "float float32",
            "enum('é') enum(1 labels)",
            "bigint unsigned uint64",
            "text text(65535) utf8mb3",
            "varbinary(3) binary(3)",
            "date date",
            "smallint int16",
            "varchar(3) text(3) ascii",
        ]
    );
}

#[test]
fn a_type_that_is_not_exact_parks_its_table() {
    let map = map_of("changes", "parked");
    let error = TableCodec::new(&version_of(&map, &[]), &map).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    let text = error.to_string();
    assert!(text.contains("table t.parked, column g, type geometry"), "{text}");
}

#[test]
fn maps_are_equal_by_layout() {
    let map = map_of("types", "texts");
    assert_eq!(map.fingerprint, map_of("changes", "texts").fingerprint);
    assert_ne!(map.fingerprint, map_of("types", "numbers").fingerprint);
    assert_eq!(map.fingerprint.to_string(), "23ce68797c4927200e0f865250e281b6", "it outlives versions");
}

#[test]
fn gtids_tell_xa_and_two_phase_alters() {
    let gtids: Vec<_> = decoded(capture("minimal"))
        .into_iter()
        .filter_map(|decoded| if let Event::Gtid(gtid) = decoded.event { Some(gtid) } else { None })
        .collect();
    let prepared = gtids.iter().position(|gtid| gtid.xa_prepared).expect("XA PREPARE");
    assert!(gtids[prepared + 1].xa_completed && gtids[prepared + 1].standalone, "{gtids:?}");
    let start = gtids.iter().find(|gtid| gtid.alter == Some(AlterPhase::Start)).expect("START ALTER");
    let phases: Vec<_> = gtids.iter().filter_map(|gtid| gtid.alter).collect();
    assert_eq!(phases, [AlterPhase::Start, AlterPhase::Commit(start.gtid.sequence)]);
    let sequences: Vec<_> = gtids.iter().map(|gtid| gtid.gtid.sequence).collect();
    assert!(sequences.windows(2).all(|pair| pair[1] == pair[0] + 1), "{sequences:?}");
}

#[test]
fn minimal_metadata_and_no_checksums() {
    let words = words("minimal");
    assert!(words.iter().any(|w| w == "xa prepare"), "{words:?}");
    assert!(words.iter().any(|w| w == "insert into"), "a statement as text: {words:?}");
    let map = map_of("minimal", "plain");
    assert!(!map.is_full());
    assert_eq!(map.columns(&[]).unwrap_err().kind(), ErrorKind::Schema);
}

#[test]
fn rows_that_are_logged_in_part_are_told() {
    let event = |kind, present: &'static [u8], present_after: &'static [u8]| RowsEvent {
        kind,
        table_id: 1,
        statement_end: true,
        width: 9,
        present,
        present_after,
        images: Default::default(),
    };
    let (all, key) = (&[0xff, 0x01], &[0x04, 0x00]);
    for (event, partial) in [
        (event(RowsKind::Write, all, &[]), false),
        (event(RowsKind::Write, &[0xff, 0x00], &[]), true),
        (event(RowsKind::Update, all, all), false),
        (event(RowsKind::Update, key, all), true),
        (event(RowsKind::Update, all, key), true),
        (event(RowsKind::Delete, key, &[]), false),
        (event(RowsKind::Delete, &[0x02, 0x00], &[]), true),
    ] {
        assert_eq!(event.is_partial(&[2]), partial, "{event:?}");
    }
    assert!(event(RowsKind::Delete, key, &[]).is_partial(&[]), "without a key every column counts");
}
