//! Snapshot value = stream value: the values that the protocol would hand out
//! for the server's text, against the same rows out of the log.

use std::collections::BTreeMap;

use mysql_async::Value;
use tidegate_model::{BatchBuilder, Cell, Column, DataType, ErrorKind, Operation, TableVersion};

use super::{SnapshotCodec, select_expression};
use crate::captures::{batch, capture, transaction};
use crate::charset::Charset;

const VALUES: &str = include_str!("../../testdata/values.tsv");

/// Rows of the server's text, by id.
fn rows(table: &str) -> BTreeMap<i64, BTreeMap<&'static str, &'static str>> {
    let mut rows: BTreeMap<i64, BTreeMap<_, _>> = BTreeMap::new();
    for line in VALUES.lines() {
        let [of, id, column, text] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
        if of == table {
            rows.entry(id.parse().unwrap()).or_default().insert(column, text);
        }
    }
    rows
}

/// The protocol's value for the server's text.
fn value(text: &str, column: &Column) -> Value {
    if text == "NULL" {
        return Value::NULL;
    }
    let label = |labels: &[String], label: &str| labels.iter().position(|known| known == label);
    match &column.data_type {
        DataType::Integer { unsigned: true, .. } | DataType::Year => Value::UInt(text.parse().unwrap()),
        DataType::Integer { .. } => Value::Int(text.parse().unwrap()),
        DataType::Float32 => Value::Float(text.parse::<f64>().unwrap() as f32),
        DataType::Float64 => Value::Double(text.parse().unwrap()),
        DataType::Bit { length } => {
            let bytes = u64::from_str_radix(text, 16).unwrap().to_be_bytes();
            Value::Bytes(bytes[8 - usize::from(*length).div_ceil(8)..].to_vec())
        }
        DataType::Binary { .. } => {
            let pairs = text.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
            Value::Bytes(pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect())
        }
        DataType::Enum { labels } => Value::Int(label(labels, text).map_or(0, |index| index as i64 + 1)),
        DataType::Set { labels } => {
            let members = text.split(',').filter_map(|member| label(labels, member));
            Value::Int(members.fold(0_u64, |bits, index| bits | 1 << index) as i64)
        }
        DataType::Text { charset, .. } if **charset == *"latin1" => {
            let byte = |wanted: char| {
                let all: Vec<u8> = (0..=255).collect();
                let text = Charset::Latin1.decode(&all).unwrap();
                text.chars().position(|known| known == wanted).unwrap() as u8
            };
            Value::Bytes(text.chars().map(byte).collect())
        }
        DataType::Time { .. } => {
            let (negative, text) = text.strip_prefix('-').map_or((false, text), |text| (true, text));
            let [hours, minutes, seconds, micros] = numbers(text, [':', ':', '.']);
            Value::Time(negative, hours / 24, (hours % 24) as u8, minutes as u8, seconds as u8, micros)
        }
        DataType::Date | DataType::DateTime { .. } | DataType::Timestamp { .. } => {
            let (date, clock) = text.split_once(' ').unwrap_or((text, "00:00:00"));
            let [year, month, day, _] = numbers(date, ['-', '-', '.']);
            let [hour, minute, second, micros] = numbers(clock, [':', ':', '.']);
            Value::Date(year as u16, month as u8, day as u8, hour as u8, minute as u8, second as u8, micros)
        }
        _ => Value::Bytes(text.replace("\\\\", "\\").into_bytes()),
    }
}

/// Three numbers and a fraction in millionths.
fn numbers(text: &str, between: [char; 3]) -> [u32; 4] {
    let (whole, fraction) = text.split_once(between[2]).unwrap_or((text, ""));
    let mut parts = whole.split(between[0]).map(|part| part.parse().unwrap());
    let mut next = || parts.next().unwrap();
    [next(), next(), next(), format!("{fraction:0<6}").parse().unwrap()]
}

#[test]
fn a_snapshot_row_equals_the_streams() {
    for table in ["numbers", "texts", "moments"] {
        let stream = batch(capture("types"), table, &["j"]);
        let version = stream.table.clone();
        let codec = SnapshotCodec::new(&version).unwrap();
        let mut builder = BatchBuilder::new(version.clone(), 1);
        builder.transaction(transaction());
        for row in rows(table).values() {
            let values: Vec<Value> = version.columns.iter().map(|c| value(row[&*c.name], c)).collect();
            builder.event(Operation::Snapshot, -1, 0);
            codec.append_row(|index| values.get(index), &mut builder).unwrap();
        }
        let snapshot = builder.finish().unwrap();
        for (index, column) in version.columns.iter().enumerate() {
            let (own, streamed) = (snapshot.rows.data.column(index), stream.rows.data.column(index));
            assert_eq!(own, streamed, "{table}.{}", column.name);
        }
    }
}

/// A version with one column.
fn single(data_type: DataType) -> TableVersion {
    let mut version = (*batch(capture("types"), "refused", &[]).table).clone();
    let mut column = version.columns.remove(0);
    column.data_type = data_type;
    TableVersion::new(version.uid, version.name, 1, vec![column], vec![])
}

/// The cell that a value becomes, or the refusal's text, or the error.
fn append(data_type: DataType, value: &Value) -> Result<String, tidegate_model::Error> {
    let version = single(data_type);
    let mut builder = BatchBuilder::new(version.clone().into(), 1);
    builder.transaction(transaction());
    builder.event(Operation::Snapshot, -1, 0);
    SnapshotCodec::new(&version)?.append_row(|_| Some(value), &mut builder)?;
    let batch = builder.finish().unwrap();
    Ok(match batch.refused.first() {
        Some(refusal) => {
            assert_eq!(batch.cell(0, 0), Cell::Null);
            format!("refused {}", refusal.texts[0].2)
        }
        None => format!("{:?}", batch.cell(0, 0)),
    })
}

#[test]
fn what_is_no_value_is_refused_or_an_error() {
    let zero = Value::Date(0, 0, 0, 0, 0, 0, 0);
    let check = |data_type, value: &Value| append(data_type, value).unwrap();
    assert_eq!(check(DataType::Date, &zero), "refused 0000-00-00");
    assert_eq!(check(DataType::DateTime { fraction: 2 }, &zero), "refused 0000-00-00 00:00:00.00");
    assert_eq!(check(DataType::Timestamp { fraction: 0 }, &zero), "refused 0000-00-00 00:00:00");
    let text = |charset: &str| DataType::Text { length: 9, charset: charset.into() };
    assert_eq!(check(text("utf8mb4"), &Value::Bytes(vec![b'a', 0xff])), "refused 0x61FF");
    assert_eq!(check(text("ascii"), &Value::Bytes(vec![0x80])), "refused 0x80");
    assert_eq!(check(text("latin1"), &Value::Bytes(vec![0x80])), r#"Text("€")"#);

    let integer = DataType::Integer { bits: 8, unsigned: false };
    for (data_type, value) in [
        (integer.clone(), Value::Bytes(b"1".to_vec())),
        (integer, Value::Int(1 << 40)),
        (DataType::Float32, Value::Double(1.0)),
        (DataType::Date, Value::Bytes(b"2024-01-01".to_vec())),
        (DataType::Decimal { precision: 4, scale: 2 }, Value::Bytes(b"1.5".to_vec())),
        (DataType::Decimal { precision: 4, scale: 2 }, Value::Bytes(b"123.00".to_vec())),
        (DataType::Enum { labels: ["a".to_owned()].into() }, Value::Int(2)),
        (DataType::Set { labels: ["a".to_owned()].into() }, Value::Int(2)),
    ] {
        let error = append(data_type.clone(), &value).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{data_type}");
        assert!(error.to_string().contains("column id"), "{error}");
    }
    assert_eq!(append(DataType::Uuid, &Value::NULL).unwrap_err().kind(), ErrorKind::Unsupported);
}

#[test]
fn labels_are_selected_as_numbers() {
    assert_eq!(select_expression(&DataType::Set { labels: [].into() }, "`a`"), "`a`+0");
    assert_eq!(select_expression(&DataType::Json, "`a`"), "`a`");
}
