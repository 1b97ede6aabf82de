//! The rig itself: servers and readers do what the scenarios take for granted.

use std::path::Path;

use serde_json::json;
use tidegate_tests::load::Load;
use tidegate_tests::rig::{Lake, MariaDb, Random, Scratch, expected_rows};

#[test]
fn the_shared_server_is_configured_for_capture() {
    let mut session = MariaDb::shared().session();
    assert_eq!(session.value("select @@binlog_format"), "ROW");
    assert_eq!(session.value("select @@binlog_row_image"), "FULL");
    assert_eq!(session.value("select @@binlog_row_metadata"), "FULL");
    assert!(session.value("select version()").starts_with("10.11."));
}

#[test]
fn a_position_covers_what_was_written_before_it() {
    let database = MariaDb::shared().database("rig_position");
    let before = database.position();
    database.session().run("create table t (a int primary key); insert into t values (1)");
    let after = database.position();
    assert!(after.reached(&before) && !before.reached(&after), "{before} then {after}");
}

#[test]
fn a_server_of_ones_own_stops_restarts_and_loses_old_logs() {
    let server = MariaDb::start(&["--log-bin-compress=1"]);
    let database = server.database("rig_restart");
    database.session().run("create table t (a int primary key); insert into t values (1)");
    let first = server.binlog_files()[0].clone();
    assert!(first.is_file());
    server.stop();
    server.restart();
    assert_eq!(database.session().value("select count(*) from t"), "1");
    assert_eq!(database.session().value("select @@log_bin_compress"), "1");
    server.purge_binlog();
    assert!(!first.exists());
}

#[test]
fn the_server_says_what_it_stores_in_the_readers_form() {
    let database = MariaDb::shared().database("rig_oracle");
    let mut session = database.session();
    session.run(
        "create table t (
            id int(4) zerofill primary key, u bigint unsigned, d decimal(20, 10), f float, x double, small_x double,
            latin varchar(20) character set latin1, e enum('a', 'b'), s set('x', 'y'), j json,
            b binary(4), v varbinary(10), bits bit(10), day date, dt datetime(3), ts timestamp(6) null,
            t time(6), y year, ip inet4)
         default charset utf8mb4;
         set names utf8mb4;
         insert into t values (1, 18446744073709551615, 0.5, 16777216, 1e16, 0.1, 'Grüße', 'b', 'x,y',
            '{\"k\": 1}', x'0102', x'ff', b'1000000001', '2024-02-29', '2024-02-29 12:00:00.5',
            '2024-02-29 12:00:00.000001', '-838:59:59.000001', 0, '10.0.0.1');
         insert into t (id) values (2)",
    );
    let rows = expected_rows(&mut session, "t", "id");
    let expected = json!({
        "id": 1, "u": "18446744073709551615", "d": "0.5000000000", "f": 16777216.0, "x": 1e16, "small_x": 0.1,
        "latin": "Grüße", "e": "b", "s": "x,y", "j": "{\"k\": 1}",
        "b": "01020000", "v": "ff", "bits": "0201", "day": "2024-02-29", "dt": "2024-02-29T12:00:00.500000",
        "ts": "2024-02-29T12:00:00.000001Z", "t": -3_020_399_000_001_i64, "y": 0, "ip": "10.0.0.1",
    });
    assert_eq!(serde_json::Value::Object(rows[0].clone()), expected);
    let null_but_for_the_key = rows[1].iter().all(|(name, cell)| cell.is_null() == (name != "id"));
    assert!(null_but_for_the_key, "{:?}", rows[1]);
}

#[test]
fn a_load_knows_what_it_did() {
    let database = MariaDb::shared().database("rig_load");
    let mut load = Load::new(&database, "t", Random::printed("rig_load"));
    for _ in 0..12 {
        load.transactions(20);
        load.ddl();
    }
    assert!(load.changes() > 200, "{} changes", load.changes());
    let rows = database.session().rows("select id, seq from t order by id");
    let cell = |cell: &Option<String>| cell.as_ref().and_then(|text| text.parse::<u64>().ok());
    let rows: Vec<_> = rows.iter().map(|row| (cell(&row[0]), cell(&row[1]))).collect();
    let known: Vec<_> = load.rows().map(|(key, stamp)| (Some(key), Some(stamp))).collect();
    assert_eq!(rows, known);
}

#[test]
fn both_readers_give_the_same_exact_cells() {
    let folder = Scratch::new("rig-readers");
    let lake = Lake::at(folder.path());
    let file = folder.join("t.parquet");
    lake.duckdb(format!(
        "copy (select 18446744073709551615::decimal(20, 0) u, '-0.10'::decimal(5, 2) d, 16777216::float f, 1e16 x,
            'ff00'::varchar h, from_hex('ff00') b, timestamp '2024-02-29 12:00:00.5' dt,
            timestamptz '2024-02-29 12:00:00.000001Z' ts, date '2024-02-29' as day, null::int n,
            {{'a': [1, 2]}} nested) to '{}' (format parquet)",
        file.display()
    ));
    let expected = json!({
        "u": "18446744073709551615", "d": "-0.10", "f": 16777216.0, "x": 1e16, "h": "ff00", "b": "ff00",
        "dt": "2024-02-29T12:00:00.500000", "ts": "2024-02-29T12:00:00.000001Z", "day": "2024-02-29",
        "n": null, "nested": {"a": [1, 2]},
    });
    let by_duckdb = lake.duckdb(format!("from '{}'", file.display()));
    let by_pyarrow = lake.pyarrow(&[file]);
    assert_eq!(json!(by_duckdb.rows), json!([expected]));
    assert_eq!(json!(by_pyarrow.rows), json!([expected]));
}

#[test]
#[should_panic(expected = "duckdb: ")]
fn a_reader_that_cannot_answer_fails_the_test() {
    Lake::at(Path::new("/nonexistent")).duckdb("select nonsense");
}
