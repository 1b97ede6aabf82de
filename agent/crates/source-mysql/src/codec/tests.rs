//! The codec over captures from a real server, against the server's own text.

use std::collections::{BTreeMap, BTreeSet};

use tidegate_model::{BatchBuilder, Cell, ChangeBatch, DataType, Image, Operation, RefusalCode};

use super::TableCodec;
use crate::binlog::{Event, TableMap, type_code};
use crate::captures::{batch, capture, decoded, raw_events, transaction, version_of};

/// Row of the first event whose key is `id`.
fn row_of(batch: &ChangeBatch, id: i64) -> usize {
    (0..batch.rows.data.num_rows())
        .find(|&row| batch.cell(row, 0) == Cell::Integer(id))
        .expect("a row of this id")
}

/// A cell as the server writes it; numbers that have several texts are left to
/// [`same`].
fn server_text(cell: Cell<'_>, data_type: &DataType) -> String {
    let fraction_text = |micros: u64, digits: u8| match digits {
        0 => String::new(),
        digits => format!(".{}", &format!("{micros:06}")[..usize::from(digits)]),
    };
    match (cell, data_type) {
        (Cell::Null, _) => "NULL".into(),
        (Cell::Integer(micros), DataType::Time { fraction }) => {
            let (sign, micros) = (if micros < 0 { "-" } else { "" }, micros.unsigned_abs());
            let (seconds, rest) = (micros / 1_000_000, micros % 1_000_000);
            let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
            format!("{sign}{hours:02}:{minutes:02}:{seconds:02}{}", fraction_text(rest, *fraction))
        }
        (Cell::Integer(year), DataType::Year) => format!("{year:04}"),
        (Cell::Integer(value), _) => value.to_string(),
        (Cell::Unsigned(value), _) => value.to_string(),
        (Cell::Float32(value), _) => format!("{:e}", f64::from(value)),
        (Cell::Float64(value), _) => format!("{value:e}"),
        (Cell::Decimal(value, scale), _) => {
            let (sign, scale) = (if value < 0 { "-" } else { "" }, usize::from(scale));
            let digits = format!("{:0width$}", value.unsigned_abs(), width = scale + 1);
            let (integral, fraction) = digits.split_at(digits.len() - scale);
            format!("{sign}{integral}{}{fraction}", if scale == 0 { "" } else { "." })
        }
        (Cell::Text(text), _) => text.replace('\\', "\\\\").replace('\n', "\\n").replace('\t', "\\t"),
        (Cell::Binary(bytes), _) => {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
            match data_type {
                // HEX() of a BIT is that of a number.
                DataType::Bit { .. } => {
                    Some(hex.trim_start_matches('0')).filter(|t| !t.is_empty()).unwrap_or("0").into()
                }
                _ => hex,
            }
        }
        (Cell::Date(days), _) => date_text(days.into()),
        (Cell::Timestamp(micros), DataType::DateTime { fraction } | DataType::Timestamp { fraction }) => {
            let (seconds, rest) = (micros.div_euclid(1_000_000), micros.rem_euclid(1_000_000));
            let of_day = seconds.rem_euclid(86_400);
            let clock = format!("{:02}:{:02}:{:02}", of_day / 3600, of_day / 60 % 60, of_day % 60);
            format!(
                "{} {clock}{}",
                date_text(seconds.div_euclid(86_400)),
                fraction_text(rest as u64, *fraction)
            )
        }
        (cell, _) => panic!("{cell:?}"),
    }
}

/// A day's date, found by counting: nothing of the codec's arithmetic.
fn date_text(days: i64) -> String {
    let is_leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let (mut year, mut left) = (1, days + 719_162); // days since 0001-01-01
    while left >= 365 + i64::from(is_leap(year)) {
        left -= 365 + i64::from(is_leap(year));
        year += 1;
    }
    let months = [31, 28 + i64::from(is_leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while left >= months[month] {
        left -= months[month];
        month += 1;
    }
    format!("{year:04}-{:02}-{:02}", month + 1, left + 1)
}

fn same(own: &str, server: &str, data_type: &DataType) -> bool {
    match data_type {
        DataType::Float32 | DataType::Float64 if own != "NULL" && server != "NULL" => {
            own.parse::<f64>().unwrap() == server.parse::<f64>().unwrap()
        }
        DataType::Integer { .. } if own != "NULL" => own.parse::<i128>().ok() == server.parse::<i128>().ok(),
        _ => own == server,
    }
}

#[test]
fn every_cell_equals_the_servers_text() {
    let values = include_str!("../../testdata/values.tsv");
    let tables: BTreeSet<&str> = values.lines().filter_map(|line| line.split('\t').next()).collect();
    assert_eq!(tables.len(), 3);
    let mut cells = 0;
    for table in tables {
        let batch = batch(capture("types"), table, &["j"]);
        for line in values.lines() {
            let [of, id, column, server] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
            if of == table {
                let row = row_of(&batch, id.parse().unwrap());
                let index = batch.table.index_of(column).unwrap();
                let data_type = &batch.table.columns[index].data_type;
                let own = server_text(batch.cell(row, index), data_type);
                assert!(
                    same(&own, server, data_type),
                    "{table}.{column} ({data_type}) of {id}: {own}, not {server}"
                );
                cells += 1;
            }
        }
        assert!(batch.refused.is_empty());
    }
    assert!(cells > 300, "{cells}");
}

#[test]
fn dates_that_are_none_refuse_their_event_with_the_servers_text() {
    let batch = batch(capture("types"), "refused", &[]);
    assert_eq!(batch.len(), 4);
    let mut told = BTreeMap::new();
    for refusal in &batch.refused {
        assert_eq!(refusal.code, RefusalCode::InvalidValue);
        assert_eq!(refusal.column.as_deref(), Some("d"));
        assert!(!refusal.message.contains("00"), "no value in the message");
        for (row, column, text) in &refusal.texts {
            assert_eq!(batch.cell(*row as usize, *column as usize), Cell::Null);
            told.insert((refusal.event, *column), text.as_str());
        }
    }
    let expected = [
        ((0, 1), "0000-00-00"),
        ((0, 2), "0000-00-00 00:00:00.000"),
        ((0, 3), "0000-00-00 00:00:00.00"),
        ((1, 1), "2024-00-10"),
        ((1, 2), "2024-05-00 10:11:12.123"),
        ((2, 1), "2024-02-30"),
        ((2, 2), "0000-01-01 00:00:00.000"),
    ];
    assert_eq!(told, expected.into());
    assert_eq!(batch.cell(3, 4), Cell::Text("fine"));
}

#[test]
fn an_update_has_both_images() {
    let batch = batch(capture("changes"), "numbers", &[]);
    assert_eq!(batch.events.operation, [Operation::Update, Operation::Update, Operation::Delete]);
    assert_eq!(batch.events.idx, [0, 1, 2]);
    assert_eq!(batch.rows.image, [Image::Before, Image::After, Image::Before, Image::After, Image::Before]);
    let u64s = batch.table.index_of("u64").unwrap();
    let i24s = batch.table.index_of("i24").unwrap();
    assert_eq!(batch.cell(0, u64s), Cell::Unsigned(0));
    assert_eq!(batch.cell(1, u64s), Cell::Unsigned(7));
    assert_eq!(batch.cell(2, u64s), Cell::Unsigned(u64::MAX));
    assert_eq!(batch.cell(0, i24s), Cell::Integer(-8_388_608));
    assert_eq!(batch.cell(1, i24s), Cell::Integer(5));
}

#[test]
fn what_a_partial_image_leaves_out_is_absent() {
    let batch = batch(capture("changes"), "texts", &["j"]);
    let column = |name: &str| batch.table.index_of(name).unwrap();
    // MINIMAL: the key before, the changed column after.
    assert_eq!(batch.events.operation[..3], [Operation::Update, Operation::Delete, Operation::Insert]);
    assert_eq!(batch.cell(0, 0), Cell::Integer(4));
    assert_eq!(batch.cell(0, column("v4")), Cell::Absent);
    assert_eq!(batch.cell(1, 0), Cell::Absent);
    assert_eq!(batch.cell(1, column("v4")), Cell::Text("minimal"));
    assert_eq!(batch.cell(2, 0), Cell::Integer(2));
    assert_eq!(batch.cell(2, column("j")), Cell::Absent);
    // An insert names only the columns that were given.
    assert_eq!(batch.cell(3, column("v4")), Cell::Text("nine"));
    // NOBLOB: blobs that did not change are left out.
    let after = batch.rows_of(3).end - 1;
    assert_eq!(batch.cell(after, column("v4")), Cell::Text("noblob"));
    assert_eq!(batch.cell(after, column("lb")), Cell::Absent);
    assert_eq!(batch.cell(after, column("vl")), Cell::Text("z"));
}

#[test]
fn compressed_events_decode_like_plain_ones() {
    let events = decoded(capture("compressed"));
    assert!(
        events
            .iter()
            .any(|e| matches!(&e.event, Event::Query(q) if q.sql.starts_with("create table zipped")))
    );
    let batch = batch(capture("compressed"), "zipped", &[]);
    assert_eq!(batch.len(), 24);
    assert_eq!(batch.cell(row_of(&batch, 7), 1), Cell::Text("ababababababab"));
    assert_eq!(batch.cell(21, 1), Cell::Text("ab!"));
    let codes: BTreeSet<_> = raw_events(capture("compressed")).iter().map(|raw| raw.type_code).collect();
    for code in [
        type_code::QUERY_COMPRESSED,
        type_code::WRITE_ROWS_COMPRESSED_V1,
        type_code::UPDATE_ROWS_COMPRESSED_V1,
        type_code::DELETE_ROWS_COMPRESSED_V1,
    ] {
        assert!(codes.contains(&code), "{code} in {codes:?}");
    }
}

#[test]
fn changes_that_are_not_wanted_are_read_over() {
    let events = decoded(capture("types"));
    for table in ["numbers", "texts", "moments"] {
        let mut map = None;
        for event in &events {
            match &event.event {
                Event::TableMap(event) => map = Some(TableMap::parse(event).unwrap()),
                Event::Rows(rows) => {
                    let Some(map) = map.as_ref().filter(|map| map.name.table == table) else { continue };
                    let version = version_of(map, &[]);
                    let codec = TableCodec::new(&version, map).unwrap();
                    let whole = |wanted: fn(u64) -> bool| {
                        let mut builder = BatchBuilder::new(version.clone().into(), 1);
                        builder.transaction(transaction());
                        let mut seen = 0;
                        let next = || {
                            seen += 1;
                            wanted(seen).then_some((0, seen))
                        };
                        let decoded = codec.decode_rows(rows, &mut builder, next).unwrap();
                        (decoded, builder.finish())
                    };
                    let (all, batch) = whole(|_| true);
                    assert_eq!(all.changes, all.appended);
                    let batch = batch.unwrap();
                    let (later, rest) = whole(|n| n > 1);
                    assert_eq!((later.changes, later.appended), (all.changes, all.changes - 1));
                    if let Some(rest) = rest {
                        assert_eq!(rest.rows.data, batch.rows.data.slice(1, batch.rows.data.num_rows() - 1));
                    }
                    assert!(whole(|_| false).1.is_none());
                }
                _ => {}
            }
        }
    }
}

#[test]
fn minimal_metadata_decodes_by_the_recorded_schema() {
    let mut version = version_of(&full_twin(), &[]);
    let mut decoded_rows = Vec::new();
    let mut map = None;
    for event in decoded(capture("minimal")) {
        match event.event {
            Event::TableMap(event) => map = Some(TableMap::parse(&event).unwrap()),
            Event::Rows(rows) => {
                let codec = TableCodec::new(&version, map.as_ref().unwrap()).unwrap();
                let mut builder = BatchBuilder::new(version.clone().into(), 1);
                builder.transaction(transaction());
                codec.decode_rows(&rows, &mut builder, || Some((0, 0))).unwrap();
                let batch = builder.finish().unwrap();
                decoded_rows.push(format!(
                    "{:?} {:?} {:?}",
                    batch.cell(0, 0),
                    batch.cell(0, 1),
                    batch.cell(0, 2)
                ));
            }
            _ => {}
        }
    }
    assert_eq!(decoded_rows[0], r#"Integer(4294967295) Text("é") Text("b")"#);
    // A recorded type that the map contradicts is no basis for decoding.
    version.columns[0].data_type = DataType::Integer { bits: 64, unsigned: true };
    assert!(TableCodec::new(&version, map.as_ref().unwrap()).is_err());
}

/// The map of the capture `minimal`, with the metadata that it would have.
fn full_twin() -> TableMap {
    use crate::charset::Charset;
    let events = decoded(capture("minimal"));
    let mut map = (events.iter())
        .find_map(|e| if let Event::TableMap(map) = &e.event { TableMap::parse(map).ok() } else { None })
        .unwrap();
    for (column, name) in map.columns.iter_mut().zip(["id", "v", "e"]) {
        column.name = Some(name.into());
        column.unsigned = (name == "id").then_some(true);
        column.charset = (name != "id").then_some(Charset::Latin1);
        column.labels = (name == "e").then(|| vec![b"a".to_vec(), b"b".to_vec()]);
    }
    map
}
