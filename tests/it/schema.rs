//! Schema changes: each alone, with the folder, the log's entry and the history that it leaves, and
//! the current rows over all versions.

use serde_json::{Value, json};
use tidegate_tests::rig::{Lake, MariaDb, Pipeline, expected_rows, tidegate, user_cells, wait_for};

use crate::snapshot::{snapshot, wait_for_generation};

/// One column change of a table `(id int primary key, a int not null, b varchar(20))` with two rows.
struct Change {
    table: &'static str,
    ddl: &'static str,
    /// Columns of the second version with their ids: a new column gets a new one, a renamed one keeps
    /// its own.
    after: &'static [(&'static str, u32)],
    existing_rows: &'static str,
    /// What rows of the first version hold in the columns that came.
    initial_default: Option<&'static str>,
}

const CHANGES: [Change; 14] = [
    Change {
        table: "add_nullable",
        ddl: "add column c int",
        after: &[("id", 1), ("a", 2), ("b", 3), ("c", 4)],
        existing_rows: "none",
        initial_default: None,
    },
    Change {
        table: "add_default",
        ddl: "add column c int not null default 7",
        after: &[("id", 1), ("a", 2), ("b", 3), ("c", 4)],
        existing_rows: "initial_default",
        initial_default: Some("7"),
    },
    Change {
        table: "add_text_default",
        ddl: "add column c varchar(20) not null default 'it''s new' after id",
        after: &[("id", 1), ("c", 4), ("a", 2), ("b", 3)],
        existing_rows: "initial_default",
        initial_default: Some("it's new"),
    },
    Change {
        table: "add_implicit_default",
        ddl: "add column c int not null",
        after: &[("id", 1), ("a", 2), ("b", 3), ("c", 4)],
        existing_rows: "initial_default",
        initial_default: Some("0"),
    },
    Change {
        table: "add_computed_default",
        ddl: "add column c datetime not null default current_timestamp",
        after: &[("id", 1), ("a", 2), ("b", 3), ("c", 4)],
        existing_rows: "diverges",
        initial_default: None,
    },
    Change {
        table: "add_if_not_exists",
        ddl: "add column if not exists c int, add column if not exists a int",
        after: &[("id", 1), ("a", 2), ("b", 3), ("c", 4)],
        existing_rows: "none",
        initial_default: None,
    },
    Change {
        table: "rename_column",
        ddl: "rename column a to z",
        after: &[("id", 1), ("z", 2), ("b", 3)],
        existing_rows: "none",
        initial_default: None,
    },
    Change {
        table: "drop_column",
        ddl: "drop column a",
        after: &[("id", 1), ("b", 3)],
        existing_rows: "none",
        initial_default: None,
    },
    Change {
        table: "widen",
        ddl: "modify a bigint not null",
        after: &[("id", 1), ("a", 2), ("b", 3)],
        existing_rows: "none",
        initial_default: None,
    },
    Change {
        table: "widen_text",
        ddl: "modify b varchar(30)",
        after: &[("id", 1), ("a", 2), ("b", 3)],
        existing_rows: "none",
        initial_default: None,
    },
    Change {
        table: "rename_and_widen",
        ddl: "change a z bigint not null",
        after: &[("id", 1), ("z", 2), ("b", 3)],
        existing_rows: "none",
        initial_default: None,
    },
    Change {
        table: "drop_and_add",
        ddl: "drop column b, add column b int",
        after: &[("id", 1), ("a", 2), ("b", 4)],
        existing_rows: "none",
        initial_default: None,
    },
    Change {
        table: "narrow",
        ddl: "modify a tinyint not null",
        after: &[("id", 1), ("a", 2), ("b", 3)],
        existing_rows: "diverges",
        initial_default: None,
    },
    Change {
        table: "convert_type",
        ddl: "modify a varchar(20) not null",
        after: &[("id", 1), ("a", 2), ("b", 3)],
        existing_rows: "diverges",
        initial_default: None,
    },
];

#[test]
fn every_column_change_alone() {
    let database = MariaDb::shared().database("column_changes");
    let mut session = database.session();
    // Narrowing keeps what fits and cuts the rest, without an event.
    session.run("set sql_mode = ''");
    for Change { table, .. } in CHANGES {
        session.run(format!(
            "create table {table} (id int primary key, a int not null, b varchar(20));
             insert into {table} values (1, 100, 'one'), (2, 200, null)"
        ));
    }
    let pipeline = Pipeline::new(&database).parquet();
    let agent = pipeline.start();
    agent.wait_for_snapshot();
    for Change { table, ddl, .. } in CHANGES {
        session.run(format!("alter table {table} {ddl}"));
        session.run(format!("insert into {table} (id) select 3; update {table} set id = 4 where id = 1"));
    }
    agent.wait_for_position(&database.position());
    for Change { table, existing_rows, .. } in CHANGES {
        let name = format!("column_changes.{table}");
        if existing_rows == "diverges" {
            let cause = agent.wait_for_table(&name, "diverges");
            assert!(cause.contains("tidegate snapshot"), "the way out is not told: {cause}");
            assert_eq!(metric(&agent.get("/metrics").expect("metrics"), "cdc_diverging_tables"), 3.0);
        } else {
            let status = agent.status().expect("the agent answers");
            let told = tidegate_tests::rig::table_status(&status, &name).expect("the table has a status");
            assert!(told["diverges"].is_null(), "{told}");
        }
    }
    for change in CHANGES {
        check_lake(&pipeline, "column_changes", &change);
        if change.existing_rows != "diverges" {
            check_latest(&pipeline, &mut session, &format!("column_changes.{}", change.table));
        }
    }
    // A divergence is told by the lake's own log, so a restart does not forget it.
    agent.stop();
    let agent = pipeline.start();
    for Change { table, .. } in CHANGES.iter().filter(|change| change.existing_rows == "diverges") {
        agent.wait_for_table(&format!("column_changes.{table}"), "diverges");
    }
    // The way out of a divergence is a new snapshot.
    for Change { table, .. } in CHANGES.iter().filter(|change| change.existing_rows == "diverges") {
        let name = format!("column_changes.{table}");
        snapshot(&pipeline, &name);
        agent.wait_for_status(&format!("'{name}' to be whole again"), |status| {
            let told = tidegate_tests::rig::table_status(status, &name)?;
            (told["generation"] == 2 && told["snapshot"] == "done" && told["diverges"].is_null())
                .then_some(())
        });
        wait_for_generation(&agent, &pipeline, &name, 2);
        check_latest(&pipeline, &mut session, &name);
    }
    agent.stop();
}

/// Folders, the log's entries and the history of one change.
fn check_lake(pipeline: &Pipeline, schema: &str, change: &Change) {
    let lake = pipeline.lake();
    let table = format!("{schema}.{}", change.table);
    let versions = lake.versions(&table);
    let names: Vec<&str> = versions.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["v1", "v2"], "{table}");
    let columns = |files| {
        let columns = lake.pyarrow(files).columns.into_iter().map(|(name, _)| name);
        columns.filter(|name| !name.starts_with("__")).collect::<Vec<_>>()
    };
    assert_eq!(columns(&versions[0].1), ["id", "a", "b"], "{table}");
    let after: Vec<&str> = change.after.iter().map(|(name, _)| *name).collect();
    assert_eq!(columns(&versions[1].1), after, "{table}");

    let entries = target_changes(&lake, &table);
    assert_eq!(entries.len(), 2, "{table}: {entries:?}");
    let second = &entries[1];
    assert_eq!((&second["base"], &second["after"]["target_version"]), (&json!(1), &json!(2)), "{table}");
    assert_eq!(second["existing_rows"], change.existing_rows, "{table}: {second}");
    let listed = second["after"]["columns"].as_array().expect("columns");
    let listed: Vec<(&str, u64)> = listed
        .iter()
        .map(|column| (column["name"].as_str().expect("a name"), column["id"].as_u64().expect("an id")))
        .collect();
    let expected: Vec<(&str, u64)> = change.after.iter().map(|(name, id)| (*name, u64::from(*id))).collect();
    assert_eq!(listed, expected, "{table}");
    let defaults = second["after"]["columns"].as_array().expect("columns").iter();
    let new = defaults.filter(|column| column["id"] == 4).map(|column| column["initial_default"].as_str());
    assert!(
        new.clone().all(|default| default == change.initial_default),
        "{table}: {:?}",
        new.collect::<Vec<_>>()
    );

    let history = history(pipeline, &table);
    assert_eq!(history.len(), 2, "{table}: {history:?}");
    assert_eq!(history[1]["after"]["source_version"], 2, "{table}");
    assert!(
        history[1]["ddl"][0].as_str().is_some_and(|ddl| ddl.contains(change.ddl)),
        "{table}: {}",
        history[1]
    );
}

/// Current rows over all versions, by both readers' queries.
fn check_latest(pipeline: &Pipeline, session: &mut tidegate_tests::rig::Session, table: &str) {
    let name = table.split_once('.').expect("schema.table").1;
    let server = expected_rows(session, name, "id");
    let by_duckdb: Vec<_> = pipeline.latest(table, "id").iter().map(user_cells).collect();
    assert_eq!(json!(by_duckdb), json!(server), "{table} by DuckDB");
    let mut by_pyarrow: Vec<_> = pipeline.latest_pyarrow(table).iter().map(user_cells).collect();
    by_pyarrow.sort_by_key(|row| row["id"].as_i64());
    assert_eq!(json!(by_pyarrow), json!(server), "{table} by pyarrow");
}

fn target_changes(lake: &Lake, table: &str) -> Vec<Value> {
    let (schema, name) = table.split_once('.').expect("schema.table");
    let log = lake.log();
    let changes = log.iter().filter_map(|entry| entry["target_changes"].as_array()).flatten();
    let of_table = json!({ "schema": schema, "table": name });
    changes.filter(|change| change["after"]["name"] == of_table).cloned().collect()
}

/// Every recorded version of a table.
fn history(pipeline: &Pipeline, table: &str) -> Vec<Value> {
    let file = pipeline.file();
    let file = file.to_str().expect("the rig's folders have UTF-8 names");
    let output = tidegate(pipeline, ["schema", "history", table, "-c", file, "--json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("a list of versions in JSON")
}

/// The value of a metric that has one series.
pub(crate) fn metric(text: &str, name: &str) -> f64 {
    let line = text.lines().find(|line| line.starts_with(name) && !line.starts_with('#'));
    let value = line.and_then(|line| line.rsplit_once(' ')?.1.parse().ok());
    value.unwrap_or_else(|| panic!("no '{name}' in:\n{text}"))
}

#[test]
fn what_is_not_followed_yet_parks_its_table_only() {
    let database = MariaDb::shared().database("parking");
    let mut session = database.session();
    let statements = [
        ("truncated", "truncate table truncated"),
        ("renamed", "rename table renamed to elsewhere"),
        ("unkeyed", "alter table unkeyed drop primary key"),
        ("recoded", "alter table recoded convert to character set latin1"),
        (
            "logged_in_part",
            "set session binlog_row_image = 'MINIMAL'; update logged_in_part set v = 'z' where id = 1;
             set session binlog_row_image = 'FULL'",
        ),
    ];
    for (table, _) in statements {
        session.run(format!(
            "create table {table} (id int primary key, v varchar(9)); insert into {table} values (1, 'x')"
        ));
    }
    session.run("create table good (id int primary key)");
    let pipeline = Pipeline::new(&database).parquet();
    let agent = pipeline.start();
    agent.wait_for_snapshot();
    for (table, statement) in statements {
        session.run(format!("insert into {table} values (2, 'y')"));
        session.run(statement);
        let now = if table == "renamed" { "elsewhere" } else { table };
        session.run(format!("insert into {now} values (3, 'z')"));
    }
    session.run("insert into good values (1)");
    agent.wait_for_position(&database.position());
    let mut parked = 0;
    for (table, statement) in statements {
        let name = format!("parking.{table}");
        let status = agent.status().expect("the agent answers");
        let told = tidegate_tests::rig::table_status(&status, &name).expect("the table has a status").clone();
        let ids: Vec<i64> = pipeline.lake().events(&name).iter().map(|event| event.integer("id")).collect();
        match told["parked"].as_str() {
            Some(cause) => {
                parked += 1;
                assert!(cause.contains("tidegate snapshot"), "{statement}: the way out is not told: {cause}");
                assert_eq!(ids, [1, 2], "{statement}: rows behind the change");
            }
            // Whoever can follow it delivers the row behind it.
            None => assert_eq!(ids, [1, 2, 3], "{statement}"),
        }
    }
    assert!(parked > 0, "nothing is parked");
    assert_eq!(pipeline.lake().events("parking.good").len(), 1);
    let status = agent.status().expect("the agent answers");
    let told = status["tables"]
        .as_array()
        .expect("tables")
        .iter()
        .filter(|table| table["parked"].is_string())
        .count();
    assert!(told >= parked, "{status}");
    assert_eq!(metric(&agent.get("/metrics").expect("metrics"), "cdc_parked_tables"), told as f64);
    // Parked it stays over a restart, and the snapshot is the way out.
    agent.stop();
    let agent = pipeline.start();
    agent.wait_for_table("parking.truncated", "parked");
    snapshot(&pipeline, "parking.truncated");
    wait_for_generation(&agent, &pipeline, "parking.truncated", 2);
    session.run("insert into truncated values (4, 'after')");
    agent.wait_for_position(&database.position());
    agent.stop();
    check_latest(&pipeline, &mut session, "parking.truncated");
}

#[test]
fn a_table_that_is_created_while_running_is_captured() {
    let database = MariaDb::shared().database("created_later");
    let mut session = database.session();
    session.run("create table first (id int primary key)");
    let pipeline = Pipeline::new(&database).parquet();
    let agent = pipeline.start();
    agent.wait_for_snapshot();
    session.run(
        "create table second (id int primary key, v int);
         insert into second values (1, 1), (2, 2);
         alter table second add column w int not null default 5;
         insert into second values (3, 3, 3);
         create table third like first;
         insert into third values (1)",
    );
    agent.wait_for_position(&database.position());
    agent.kill();
    session.run("create table fourth (a int, b int, primary key (b, a)); insert into fourth values (1, 2)");
    let agent = pipeline.start();
    agent.wait_for_position(&database.position());
    agent.stop();
    let lake = pipeline.lake();
    assert_eq!(lake.tables("created_later"), ["fourth", "second", "third"], "first has no row");
    let ids: Vec<(i64, u64)> = lake
        .events("created_later.second")
        .iter()
        .map(|event| (event.integer("id"), event.version))
        .collect();
    assert_eq!(ids, [(1, 1), (2, 1), (3, 2)]);
    check_latest(&pipeline, &mut session, "created_later.second");
    assert_eq!(lake.events("created_later.third").len(), 1);
    assert_eq!(lake.events("created_later.fourth").len(), 1);
}

#[test]
fn a_change_without_a_row_shows_with_the_next_one() {
    let database = MariaDb::shared().database("idle_change");
    let mut session = database.session();
    session.run("create table t (id int primary key, a int); insert into t values (1, 1)");
    let pipeline = Pipeline::new(&database).parquet();
    let agent = pipeline.start();
    agent.wait_for_snapshot();
    session.run("alter table t add column b int; alter table t rename column a to c");
    agent.wait_for_position(&database.position());
    agent.stop();
    // The agent is down while the row comes, and the table is changed once more behind it.
    session.run("insert into t values (2, 2, 2); alter table t drop column c; insert into t values (3, 3)");
    let agent = pipeline.start();
    agent.wait_for_position(&database.position());
    agent.stop();
    let lake = pipeline.lake();
    let versions: Vec<Vec<String>> = lake
        .versions("idle_change.t")
        .iter()
        .map(|(_, files)| {
            let names = lake.pyarrow(files).columns.into_iter().map(|(name, _)| name);
            names.filter(|name| !name.starts_with("__")).collect()
        })
        .collect();
    assert_eq!(versions.first().map(Vec::as_slice), Some(&["id".to_owned(), "a".to_owned()][..]));
    assert_eq!(versions.last().map(Vec::as_slice), Some(&["id".to_owned(), "b".to_owned()][..]));
    assert!(versions.iter().any(|names| *names == ["id", "c", "b"]), "{versions:?}");
    check_latest(&pipeline, &mut session, "idle_change.t");
    let events = lake.events("idle_change.t");
    assert!(events.iter().all(|event| event.integer("__generation") == 1), "the table was snapshotted anew");
}

#[test]
fn a_change_while_a_snapshot_runs() {
    let database = MariaDb::shared().database("change_in_snapshot");
    let mut session = database.session();
    session.run(
        "create table t (id int primary key, a int not null, b int);
         insert into t select seq, seq, seq from seq_1_to_3000",
    );
    let pipeline = Pipeline::new(&database).source("snapshot: { mode: initial, chunk_rows: 100 }").parquet();
    let agent = pipeline.spawn(&[]);
    wait_for("the start to be recorded", || pipeline.lake().offset().map(drop).ok_or_else(String::new));
    for change in [
        "add column c int not null default 3",
        "drop column b",
        "rename column a to z",
        "modify z bigint not null",
    ] {
        session.run(format!("alter table t {change}"));
        session.run("update t set c = c + 1 where id % 100 = 7");
    }
    agent.wait_for_snapshot();
    agent.wait_for_position(&database.position());
    snapshot(&pipeline, "change_in_snapshot.t");
    session.run("alter table t add column late int; update t set late = 1 where id = 2999");
    wait_for_generation(&agent, &pipeline, "change_in_snapshot.t", 2);
    agent.wait_for_position(&database.position());
    agent.stop();
    check_latest(&pipeline, &mut session, "change_in_snapshot.t");
}
