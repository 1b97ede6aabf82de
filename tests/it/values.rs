//! Values: what readers that are not ours find in the lake is what the server says that it stores,
//! cell by cell, whichever way a row came.
//!
//! Every value goes three ways: it is there before the agent starts (snapshot), it is written while
//! the agent runs (stream), and it is on its way when the agent is killed (stream after a crash).

use std::collections::BTreeMap;

use serde_json::{Number, Value};
use tidegate_tests::rig::{
    Event, Lake, MariaDb, Pipeline, Row, Session, expected_json_rows, expected_rows, table_status, wait_for,
};

/// A table of values: the columns' definitions, and rows as SQL lists.
struct Values {
    table: &'static str,
    columns: &'static str,
    rows: &'static [&'static str],
}

const INTEGERS: Values = Values {
    table: "integers",
    columns: "t8 tinyint, u8 tinyint unsigned, t16 smallint, u16 smallint unsigned, t24 mediumint,
        u24 mediumint unsigned, t32 int, u32 int unsigned, t64 bigint, u64 bigint unsigned, z int(6) zerofill,
        flag boolean",
    rows: &[
        "-128, 0, -32768, 0, -8388608, 0, -2147483648, 0, -9223372036854775808, 0, 0, false",
        "127, 255, 32767, 65535, 8388607, 16777215, 2147483647, 4294967295, 9223372036854775807,
            18446744073709551615, 4294967295, true",
        "-1, 128, -1, 32768, -1, 8388608, -1, 2147483648, -1, 9223372036854775808, 42, -1",
        "null, null, null, null, null, null, null, null, null, null, null, null",
    ],
};

const DECIMALS: Values = Values {
    table: "decimals",
    columns: "d1 decimal(1,0), d5 decimal(5,2), d9 decimal(9,9), d18 decimal(18,4), d20 decimal(20,0), d38 decimal(38,10),
        d39 decimal(39,10), d65 decimal(65,30), u decimal(10,3) unsigned",
    rows: &[
        "-9, -999.99, -0.999999999, -99999999999999.9999, -99999999999999999999,
            -9999999999999999999999999999.9999999999, -99999999999999999999999999999.9999999999,
            -99999999999999999999999999999999999.999999999999999999999999999999, 0",
        "9, 999.99, 0.999999999, 99999999999999.9999, 99999999999999999999,
            9999999999999999999999999999.9999999999, 99999999999999999999999999999.9999999999,
            99999999999999999999999999999999999.999999999999999999999999999999, 9999999.999",
        "0, 0.01, 0.000000001, 0.0001, 1, 0.0000000001, 0.0000000001, 0.000000000000000000000000000001, 0.001",
        "-1, -0.10, -0.100000000, -1000000000.0001, -1000000000, -10000000000.5, -1.5, -1.5, 100.000",
        "null, null, null, null, null, null, null, null, null",
    ],
};

const FLOATS: Values = Values {
    table: "floats",
    columns: "f float, x double, g float(7,3), h double(12,4)",
    rows: &[
        "0, 0, 0, 0",
        "16777216, 9007199254740993, 1.5, 0.0001",
        "0.1, 0.1, -1234.567, -99999999.9999",
        "-3.402823466e38, -1.7976931348623157e308, 9999.999, 99999999.9999",
        "1.175494351e-38, 2.2250738585072014e-308, 0.001, 1",
        "1e-45, 5e-324, 0.5, 1e7",
        "123456.789, 1e16, 1, 123456.789",
        "null, null, null, null",
    ],
};

const TEXT: Values = Values {
    table: "text",
    columns: "m varchar(2000) character set utf8mb4, g char(10) character set utf8mb4, u3 varchar(20) character set utf8mb3,
        l varchar(200) character set latin1, a varchar(200) character set ascii, lc char(20) character set latin1,
        tt tinytext character set latin1, t text character set utf8mb4, mt mediumtext character set utf8mb4,
        lt longtext character set latin1",
    rows: &[
        "'', '', '', '', '', '', '', '', '', ''",
        "'😀 Grüße, 世界', '😀😀', 'naïve ✓', 'Grüße', 'plain', 'ÄÖÜ', 'ß', '𝄞', '\\0 and \\t and \\n', 'é'",
        "repeat('ä', 2000), repeat('😀', 10), repeat('世', 20), repeat('ÿ', 200), repeat('~', 200), repeat('é', 20),
            repeat('é', 255), repeat('😀', 5000), repeat('x', 100000), repeat('é', 70000)",
        // All of 0x80 to 0x9f, of which the server's latin1 has characters where ISO's has none.
        "'\"quoted\" \\\\ ''single''', 'trail   ', ' lead',
            x'808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f', 'del \\Z', x'80a4',
            x'9f', ' ', '\r\n', x'00017f80ff'",
        "null, null, null, null, null, null, null, null, null, null",
    ],
};

const BYTES: Values = Values {
    table: "bytes",
    columns: "b8 binary(8), b1 binary(1), v varbinary(300), tb tinyblob, b blob, mb mediumblob, lb longblob, bit1 bit(1),
        bit10 bit(10), bit64 bit(64)",
    rows: &[
        "x'', x'', x'', x'', x'', x'', x'', b'0', b'0', 0",
        // Zeros at the end, which the log leaves out of a BINARY.
        "x'0102000000000000', x'00', x'010000', x'0000', x'00', x'000000', x'ff00', b'1', b'1111111111',
            18446744073709551615",
        "x'ffffffffffffffff', x'ff', repeat(x'00ff', 150), repeat(x'ab', 255), repeat(x'80', 65535),
            repeat(x'c3', 100000), repeat(x'00', 70000), b'1', b'1000000001', 9223372036854775808",
        "'text', 'a', 'text', 'text', 'text', 'text', 'text', b'0', b'0000000001', 1",
        "null, null, null, null, null, null, null, null, null, null",
    ],
};

const MOMENTS: Values = Values {
    table: "moments",
    columns: "day date, d0 datetime, d1 datetime(1), d2 datetime(2), d3 datetime(3), d4 datetime(4), d5 datetime(5),
        d6 datetime(6), ts0 timestamp null, ts3 timestamp(3) null, ts6 timestamp(6) null, t0 time, t3 time(3), t6 time(6),
        y year",
    rows: &[
        "'1000-01-01', '1000-01-01 00:00:00', '1000-01-01 00:00:00.1', '1969-12-31 23:59:59.99',
            '1969-12-31 23:59:59.999', '1969-12-31 23:59:59.9999', '1970-01-01 00:00:00.00001',
            '1000-01-01 00:00:00.000001', '1970-01-01 00:00:01', '1970-01-01 00:00:01.001',
            '1970-01-01 00:00:01.000001', '-838:59:59', '-838:59:59.999', '-838:59:59.999999', 0",
        "'9999-12-31', '9999-12-31 23:59:59', '9999-12-31 23:59:59.9', '9999-12-31 23:59:59.99',
            '9999-12-31 23:59:59.999', '9999-12-31 23:59:59.9999', '9999-12-31 23:59:59.99999',
            '9999-12-31 23:59:59.999999', '2038-01-19 03:14:07', '2038-01-19 03:14:07.999',
            '2038-01-19 03:14:07.999999', '838:59:59', '838:59:59.999', '838:59:59.999999', 2155",
        "'2024-02-29', '2024-02-29 12:34:56', '2024-02-29 12:34:56.7', '2024-02-29 12:34:56.78',
            '2024-02-29 12:34:56.789', '2024-02-29 12:34:56.7890', '2024-02-29 12:34:56.78901',
            '2024-02-29 12:34:56.789012', '2024-03-31 01:30:00', '2024-10-27 01:30:00.5', '2001-09-09 01:46:40',
            '-00:00:01', '-00:00:00.001', '-00:00:00.000001', 1901",
        "'0001-01-01', '0001-01-01 00:00:00', '0001-01-01 00:00:00', '0001-01-01 00:00:00', '0001-01-01 00:00:00',
            '0001-01-01 00:00:00', '0001-01-01 00:00:00', '0001-01-01 00:00:00', '1999-12-31 23:59:59',
            '1999-12-31 23:59:59', '1999-12-31 23:59:59', '00:00:00', '00:00:00', '00:00:00', 1970",
        "null, null, null, null, null, null, null, null, null, null, null, null, null, null, null",
    ],
};

const LABELS: Values = Values {
    table: "labels",
    columns: "e enum('small', 'it''s \"large\"', 'a,b', 'größer') character set utf8mb4, el enum('ä', 'é') character set latin1,
        s set('a', 'b', 'grün', 'it''s') character set utf8mb4, s64 set('0','1','2','3','4','5','6','7','8','9','10','11',
        '12','13','14','15','16','17','18','19','20','21','22','23','24','25','26','27','28','29','30','31','32','33','34',
        '35','36','37','38','39','40','41','42','43','44','45','46','47','48','49','50','51','52','53','54','55','56','57',
        '58','59','60','61','62','63'), j json",
    rows: &[
        "'small', 'ä', '', '', '{}'",
        "'it''s \"large\"', 'é', 'a,grün', '0,63', '{\"k\": [1, 2.50, -0.0, 1e400, \"ü\\\\u00e9😀\"], \"a\": null}'",
        "'a,b', 'ä', 'a,b,grün,it''s', '7,8,9,31,32', 'null'",
        "'größer', 'é', 'it''s', '62', '  [ 18446744073709551615 , 1.0 ]  '",
        // Number 0 of an ENUM: the value that an unknown label becomes.
        "'no such label', 'ä', 'b', '0', '\"text\"'",
        "null, null, null, null, null",
    ],
};

const ALL: [Values; 7] = [INTEGERS, DECIMALS, FLOATS, TEXT, BYTES, MOMENTS, LABELS];

/// Columns of 4-byte floats: equal if they read back as the same float.
const FLOAT32: [&str; 2] = ["f", "g"];

#[test]
fn every_value_arrives_as_the_server_has_it() {
    let database = MariaDb::shared().database("values");
    let mut session = database.session();
    // Not strict: an unknown label is stored as number 0, and a DOUBLE out of range as the largest.
    session.run("set sql_mode = '', names utf8mb4");
    for Values { table, columns, .. } in ALL {
        session.run(format!("create table {table} (id int primary key, {columns}, touched int)"));
    }
    write(&mut session, 0);
    let pipeline = Pipeline::new(&database).parquet().json_lines();
    let agent = pipeline.start();
    agent.wait_for_snapshot();
    write(&mut session, 100);
    agent.wait_for_position(&database.position());
    write(&mut session, 200);
    for Values { table, .. } in ALL {
        session.run(format!("update {table} set touched = 1 where id >= 200"));
    }
    agent.kill();
    let agent = pipeline.start();
    agent.wait_for_position(&database.position());
    agent.stop();

    for Values { table, rows, .. } in ALL {
        let name = format!("values.{table}");
        let parquet = expected_rows(&mut session, table, "id");
        assert_eq!(parquet.len(), 3 * rows.len());
        compare(table, "pyarrow", newest(pipeline.lake().events(&name)), &parquet);
        compare(table, "DuckDB", duckdb(&pipeline.lake(), &name), &parquet);
        let json = expected_json_rows(&mut session, table, "id");
        compare(table, "JSON lines", newest(pipeline.json_lake().events(&name)), &json);
    }
}

/// Inserts every row of every table, with ids from `first` on.
fn write(session: &mut Session, first: usize) {
    for Values { table, rows, .. } in ALL {
        for (row, values) in rows.iter().enumerate() {
            session.run(format!("insert into {table} values ({}, {values}, null)", first + row));
        }
    }
}

/// The last image of every key, in the order of the keys.
fn newest(events: Vec<Event>) -> Vec<Row> {
    let rows: BTreeMap<i64, Row> =
        events.into_iter().map(|event| (event.integer("id"), event.cells())).collect();
    rows.into_values().collect()
}

/// The same by DuckDB's own reading of the same files.
fn duckdb(lake: &Lake, table: &str) -> Vec<Row> {
    let files: Vec<String> =
        lake.globbed_files(table).iter().map(|file| format!("'{}'", file.display())).collect();
    lake.duckdb(format!(
        "select columns(name -> not starts_with(name, '__')) from read_parquet([{}])
         qualify row_number() over (partition by id order by __pos desc, __idx desc) = 1 order by id",
        files.join(", ")
    ))
    .rows
}

/// Compares cell by cell, so that a failure names the first cell and not two tables.
fn compare(table: &str, reader: &str, found: Vec<Row>, expected: &[Row]) {
    let keys = |rows: &[Row]| rows.iter().map(|row| row["id"].to_string()).collect::<Vec<_>>();
    assert_eq!(keys(&found), keys(expected), "rows of '{table}' by {reader}");
    for (found, expected) in found.iter().zip(expected) {
        let names = |row: &Row| row.keys().cloned().collect::<std::collections::BTreeSet<_>>();
        assert_eq!(names(found), names(expected), "columns of '{table}' by {reader}");
        for (name, expected_cell) in expected {
            let short = FLOAT32.contains(&name.as_str());
            let (found, server) = (one_float(&found[name], short), one_float(expected_cell, short));
            assert!(
                found == server,
                "'{table}', row {}, column '{name}' by {reader}: {} and not {}",
                expected["id"],
                shown(&found),
                shown(&server)
            );
        }
    }
}

/// A 4-byte float has a short text and a long one; both read back as the same float.
fn one_float(cell: &Value, is_float32: bool) -> Value {
    match cell.as_f64() {
        Some(number) if is_float32 => Value::from(Number::from_f64(f64::from(number as f32))),
        _ => cell.clone(),
    }
}

fn shown(cell: &Value) -> String {
    let text = cell.to_string();
    let short: String = text.chars().take(120).collect();
    if short == text { short } else { format!("{short}… ({} bytes)", text.len()) }
}

#[test]
fn dates_that_no_calendar_has_go_to_the_dead_letters() {
    let database = MariaDb::shared().database("zero_dates");
    let mut session = database.session();
    session.run(
        "set sql_mode = '';
         create table t (id int primary key, day date, moment datetime(3), ts timestamp not null default 0, note text);
         insert into t values (1, '2024-02-29', '2024-02-29 12:00:00', '2024-02-29 12:00:00', 'good'),
            (2, '0000-00-00', null, '2024-02-29 12:00:00', 'zero date')",
    );
    let pipeline = Pipeline::new(&database).parquet();
    let agent = pipeline.start();
    agent.wait_for_snapshot();
    session.run(
        "insert into t values (3, null, '0000-00-00 00:00:00', '2024-02-29 12:00:00', 'zero datetime'),
            (4, null, null, '2024-02-29 12:00:00', 'good'), (5, null, null, 0, 'zero timestamp');
         insert into t values (6, '2024-00-10', null, '2024-02-29 12:00:00', 'no month'),
            (7, null, '2024-02-00 01:02:03.004', '2024-02-29 12:00:00', 'no day'),
            (8, '2024-12-31', null, '2024-02-29 12:00:00', 'good')",
    );
    agent.wait_for_position(&database.position());
    let status = agent.status().expect("the agent answers");
    agent.stop();

    let ids = |events: Vec<Event>| events.iter().map(|event| event.integer("id")).collect::<Vec<_>>();
    assert_eq!(ids(pipeline.lake().events("zero_dates.t")), [1, 4, 8]);
    let queue = pipeline.dead_letters();
    let letters = queue.rows_of(&queue.committed_files("dead_letters")).rows;
    let mut images: Vec<(i64, &Row)> = letters
        .iter()
        .map(|letter| {
            assert_eq!(letter["stage"], "source");
            let image = letter["after"].as_object().expect("an insert has an image");
            (image["id"].as_i64().expect("an integer"), image)
        })
        .collect();
    images.sort_by_key(|(id, _)| *id);
    let refused = [
        (2, "day", "0000-00-00"),
        (3, "moment", "0000-00-00 00:00:00.000"),
        (5, "ts", "0000-00-00 00:00:00"),
        (6, "day", "2024-00-10"),
        (7, "moment", "2024-02-00 01:02:03.004"),
    ];
    assert_eq!(images.len(), refused.len(), "{letters:?}");
    for ((id, column, text), (found, image)) in refused.into_iter().zip(images) {
        assert_eq!((found, &image[column]), (id, &Value::from(text)));
    }
    assert_eq!(status["dead_letters"], refused.len(), "{status}");
}

#[test]
fn a_type_is_exact_or_its_table_is_parked() {
    let database = MariaDb::shared().database("exact_or_parked");
    let mut session = database.session();
    let types = [
        ("uuid_t", "uuid", "'123e4567-e89b-12d3-a456-426655440000'"),
        ("inet4_t", "inet4", "'10.0.0.1'"),
        ("inet6_t", "inet6", "'2001:db8::ff00:42:8329'"),
        ("point_t", "point", "point(1, -2.5)"),
        ("utf16_t", "varchar(20) character set utf16", "'Grüße 😀'"),
        ("sjis_t", "varchar(20) character set sjis", "'日本'"),
    ];
    session.run("set names utf8mb4");
    for (table, data_type, _) in types {
        session.run(format!("create table {table} (id int primary key, v {data_type})"));
    }
    session.run("create table good (id int primary key)");
    let insert = |session: &mut Session, id: usize| {
        for (table, _, value) in types {
            session.run(format!("insert into {table} values ({id}, {value})"));
        }
        session.run(format!("insert into good values ({id})"));
    };
    insert(&mut session, 1);
    let pipeline = Pipeline::new(&database).parquet();
    let agent = pipeline.start();
    agent.wait_for_snapshot();
    insert(&mut session, 2);
    agent.wait_for_position(&database.position());
    let status = wait_for("the status", || agent.status());
    agent.stop();

    assert_eq!(pipeline.lake().events("exact_or_parked.good").len(), 2);
    for (table, data_type, _) in types {
        let name = format!("exact_or_parked.{table}");
        let parked = table_status(&status, &name).and_then(|entry| entry["parked"].as_str());
        let found = newest(pipeline.lake().events(&name));
        match parked {
            Some(cause) => {
                assert!(
                    cause.contains("\"v\"") || cause.contains("column v"),
                    "the cause names the column: {cause}"
                );
                assert!(found.is_empty(), "a parked table '{table}' has rows");
            }
            None => compare(table, data_type, found, &expected_rows(&mut session, table, "id")),
        }
    }
}
