//! Resuming: in the middle of a transaction, over rotated and purged logs, on a server that restarted
//! or is another one.

use tidegate_tests::load::Load;
use tidegate_tests::rig::{MariaDb, Pipeline, Random};

#[test]
fn in_the_middle_of_a_huge_transaction() {
    crash_inside(
        "huge_transaction",
        "begin; insert into t select seq, 'x' from seq_1_to_20000; update t set v = 'y'; commit",
        40_000,
    );
}

#[test]
fn in_the_middle_of_a_multi_row_event() {
    // One event of the log holds up to 8 KiB or one row: here some rows of 1 KiB.
    crash_inside(
        "multi_row_event",
        "insert into t select seq, hex(random_bytes(500)) from seq_1_to_600",
        600,
    );
}

/// Kills the agent behind a commit that has cut the transaction, twice, and counts the events.
fn crash_inside(name: &str, transaction: &str, events: usize) {
    let database = MariaDb::shared().database(name);
    let mut session = database.session();
    session.run("create table t (id int primary key, v varchar(1000))");
    let pipeline = Pipeline::new(&database).parquet_in_commits_of("64KiB");
    let agent = pipeline.start();
    agent.wait_for_snapshot();
    session.run(transaction);
    agent.kill();
    // Whatever the first run has got: it starts over with cuts inside of events.
    let mut cut = 0;
    for pass in [3, 4, 5] {
        let agent = pipeline
            .spawn(&[("TIDEGATE_FAIL", &format!("log-entry:after:{pass}")), ("TIDEGATE_CUT", "events:7")]);
        if !agent.ends_or_reaches(&database.position()) {
            break;
        }
        let open = pipeline.lake().offset().is_some_and(|offset| !offset["scanned"]["open"].is_null());
        cut += usize::from(open);
    }
    assert!(cut > 0, "no commit was in the middle of the transaction");
    let agent = pipeline.start();
    agent.wait_for_position(&database.position());
    agent.stop();
    let found = pipeline.lake().events(&format!("{name}.t"));
    assert_eq!(found.len(), events);
    let mut last = -1;
    for event in &found {
        assert_eq!(event.integer("__idx"), last + 1, "in order, each once");
        last = event.integer("__idx");
    }
    let transactions: std::collections::BTreeSet<&str> =
        found.iter().map(|event| event.text("__tx")).collect();
    assert_eq!(transactions.len(), 1, "{transactions:?}");
}

#[test]
fn over_rotated_logs() {
    let server = MariaDb::start(&[]);
    let database = server.database("rotated");
    let mut load = Load::new(&database, "t", Random::printed("rotated"));
    let mut session = database.session();
    let pipeline = Pipeline::new(&database).parquet();
    let agent = pipeline.start();
    agent.wait_for_snapshot();
    load.transactions(10);
    session.run("flush binary logs");
    load.transactions(10);
    agent.wait_for_position(&database.position());
    session.run("flush binary logs");
    agent.kill();
    session.run("flush binary logs");
    load.transactions(10);
    let agent = pipeline.start();
    session.run("flush binary logs");
    load.transactions(10);
    agent.wait_for_position(&database.position());
    agent.stop();
    load.check(&pipeline);
    // What is delivered may be purged.
    server.purge_binlog();
    let agent = pipeline.start();
    load.transactions(10);
    agent.wait_for_position(&database.position());
    agent.stop();
    load.check(&pipeline);
}

#[test]
fn on_a_server_that_restarted() {
    let server = MariaDb::start(&["--log-bin-compress=1", "--log-bin-compress-min-len=10"]);
    let database = server.database("restarted");
    let mut load = Load::new(&database, "t", Random::printed("restarted"));
    let pipeline = Pipeline::new(&database).parquet().section("retry: { backoff: 200ms, max: unlimited }");
    let agent = pipeline.start();
    agent.wait_for_snapshot();
    load.transactions(20);
    server.stop();
    server.restart();
    load.reconnect(&database);
    load.transactions(20);
    agent.wait_for_position(&database.position());
    agent.stop();
    load.check(&pipeline);
}

#[test]
fn a_log_that_was_purged_meanwhile_is_told() {
    let server = MariaDb::start(&[]);
    let database = server.database("purged");
    let mut session = database.session();
    session.run("create table t (id int primary key)");
    let pipeline = Pipeline::new(&database).parquet();
    let agent = pipeline.start();
    agent.wait_for_snapshot();
    agent.stop();
    session.run("insert into t values (1)");
    server.purge_binlog();
    session.run("insert into t values (2)");
    let said = pipeline.refuses(1);
    for word in ["purged", "snapshot"] {
        assert!(said.contains(word), "'{word}' is not in: {said}");
    }
    assert!(pipeline.lake().events("purged.t").is_empty(), "rows behind a gap were delivered");
}

#[test]
fn a_log_that_was_reset_is_another_one() {
    let server = MariaDb::start(&[]);
    let database = server.database("reset_log");
    let mut session = database.session();
    session.run("create table t (id int primary key)");
    let pipeline = Pipeline::new(&database).parquet();
    let agent = pipeline.start();
    agent.wait_for_snapshot();
    session.run("insert into t values (1)");
    agent.wait_for_position(&database.position());
    agent.stop();
    // The numbers of the new log reach as far as the old ones did: only the witness can tell.
    session.run("reset master");
    for id in 2..12 {
        session.run(format!("insert into t values ({id})"));
    }
    let said = pipeline.refuses(3);
    assert!(
        said.to_lowercase().contains("reset master") || said.contains("another"),
        "the cause is not told: {said}"
    );
    assert_eq!(pipeline.lake().events("reset_log.t").len(), 1);
}

#[test]
fn another_server_at_the_same_address_is_refused() {
    let server = MariaDb::start(&[]);
    let database = server.database("another_server");
    database.session().run("create table t (id int primary key)");
    let pipeline = Pipeline::new(&database).parquet();
    let agent = pipeline.start();
    agent.wait_for_snapshot();
    agent.stop();
    server.stop();
    server.restart_with(&["--server-id=77"]);
    database.session().run("insert into t values (1)");
    // The GTIDs prove the continuation, or they do not: then nothing may be read.
    let agent = pipeline.spawn(&[]);
    if agent.ends_or_reaches(&database.position()) {
        assert_eq!(agent.wait_for_exit().code(), Some(3), "{}", agent.log());
        assert!(pipeline.lake().events("another_server.t").is_empty());
    } else {
        agent.stop();
        assert_eq!(pipeline.lake().events("another_server.t").len(), 1);
    }
}
