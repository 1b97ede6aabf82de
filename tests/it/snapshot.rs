//! Snapshots under fire: the table is written while its chunks are read.

use tidegate_tests::load::Load;
use tidegate_tests::rig::{Agent, MariaDb, Pipeline, Random, tidegate, wait_for};

/// Rows of a table that is read in so many chunks that writes fall between and into them.
const ROWS: u64 = 50_000;
const CHUNKS: &str = "snapshot: { mode: initial, chunk_rows: 500 }";

#[test]
fn under_fire_it_equals_the_table() {
    let database = MariaDb::shared().database("under_fire");
    let mut load = Load::with_rows(&database, "t", Random::printed("under_fire"), ROWS);
    let pipeline = Pipeline::new(&database).source(CHUNKS).parquet();
    let agent = pipeline.spawn(&[]);
    wait_for_start(&pipeline);
    load.beside(|| agent.wait_for_snapshot());
    agent.wait_for_position(&database.position());
    assert!(load.changes() > 20, "only {} changes beside the snapshot", load.changes());
    load.check(&pipeline);

    // The second generation replaces the first, also what has not changed since.
    load.beside(|| {
        snapshot(&pipeline, "under_fire.t");
        wait_for_generation(&agent, &pipeline, "under_fire.t", 2);
    });
    agent.wait_for_position(&database.position());
    agent.stop();
    load.check(&pipeline);
    let read = pipeline.lake().events("under_fire.t");
    let second = read.iter().filter(|event| event.op() == "r" && event.integer("__generation") == 2).count();
    assert!(second > 40_000, "the second snapshot has {second} rows only");
}

#[test]
fn killed_in_the_middle_it_goes_on_at_its_last_chunk() {
    let database = MariaDb::shared().database("snapshot_killed");
    let mut load = Load::with_rows(&database, "t", Random::printed("snapshot_killed"), ROWS);
    let pipeline = Pipeline::new(&database).source(CHUNKS).parquet();
    let agent = pipeline.spawn(&[]);
    wait_for_start(&pipeline);
    let finished = load.beside(|| {
        let finished = wait_for("some chunks to be committed", || match chunks(&pipeline) {
            (finished, _) if finished >= 10 => Ok(finished),
            (finished, _) => Err(format!("{finished}")),
        });
        agent.kill();
        finished
    });
    let (_, done) = chunks(&pipeline);
    assert!(!done, "the snapshot was over before the kill");
    let agent = pipeline.spawn(&[]);
    load.beside(|| agent.wait_for_snapshot());
    agent.wait_for_position(&database.position());
    agent.stop();
    load.check(&pipeline);
    let (all, _) = chunks(&pipeline);
    assert!(all > finished, "{all} chunks after {finished}");
}

#[test]
fn snapshot_only_ends_by_itself_with_the_tables_contents() {
    let database = MariaDb::shared().database("snapshot_only");
    let mut load = Load::with_rows(&database, "t", Random::printed("snapshot_only"), 2_000);
    let pipeline =
        Pipeline::new(&database).source("snapshot: { mode: snapshot_only, chunk_rows: 100 }").parquet();
    let agent = pipeline.spawn(&[]);
    let status = agent.wait_for_exit();
    assert_eq!(status.code(), Some(0), "{}", agent.log());
    load.check(&pipeline);
    assert_eq!(pipeline.lake().events("snapshot_only.t").len(), 2_000);
}

#[test]
fn latest_takes_no_snapshot() {
    let database = MariaDb::shared().database("latest_only");
    let mut session = database.session();
    session.run("create table t (id int primary key); insert into t values (1)");
    let pipeline = Pipeline::new(&database).source("snapshot: { mode: latest }").parquet();
    let agent = pipeline.start();
    session.run("insert into t values (2)");
    agent.wait_for_position(&database.position());
    agent.stop();
    let events = pipeline.lake().events("latest_only.t");
    let seen: Vec<_> = events.iter().map(|event| (event.op(), event.integer("id"))).collect();
    assert_eq!(seen, [("c", 2)]);
}

#[test]
fn keys_are_compared_by_the_server() {
    let database = MariaDb::shared().database("snapshot_keys");
    let mut session = database.session();
    // Two columns, a collation that calls a and Ä alike, an order that no byte order gives.
    session.run(
        "set names utf8mb4;
         create table t (k varchar(20) collate utf8mb4_general_ci, n int unsigned, b varbinary(4), v int,
            primary key (k, n, b));
         insert into t select elt(seq % 7 + 1, 'a', 'Ä', 'b', '_', 'Z', 'ß', ''), seq * 40000000,
            unhex(lpad(hex(seq), 4, '0')), seq from seq_1_to_100;
         create table one_row (id bigint unsigned primary key); insert into one_row values (18446744073709551615);
         create table no_row (d date primary key)",
    );
    let pipeline = Pipeline::new(&database).source("snapshot: { mode: initial, chunk_rows: 3 }").parquet();
    let agent = pipeline.start();
    agent.wait_for_snapshot();
    agent.stop();
    let mut found: Vec<i64> =
        pipeline.lake().events("snapshot_keys.t").iter().map(|event| event.integer("v")).collect();
    found.sort_unstable();
    assert_eq!(found, (1..=100).collect::<Vec<_>>());
    assert_eq!(pipeline.lake().events("snapshot_keys.one_row").len(), 1);
}

#[test]
fn a_chunk_that_turns_out_too_large_is_planned_anew() {
    let database = MariaDb::shared().database("large_rows");
    // The server's statistics know nothing of rows that were just written.
    database.session().run(
        "create table t (id int primary key, b longblob);
         insert into t select seq, repeat('x', 12000000) from seq_1_to_4",
    );
    let pipeline = Pipeline::new(&database).parquet();
    let agent = pipeline.start();
    agent.wait_for_snapshot();
    agent.stop();
    let (chunks, done) = chunks(&pipeline);
    assert!(done && chunks > 1, "{chunks} chunks");
}

#[test]
fn tables_without_a_key_are_parked_with_the_way_out() {
    let database = MariaDb::shared().database("keyless");
    let mut session = database.session();
    session.run(
        "create table t (a int); insert into t values (1);
         create table old (id int primary key) engine = myisam; insert into old values (1);
         create table good (id int primary key); insert into good values (1)",
    );
    let pipeline = Pipeline::new(&database).parquet();
    let agent = pipeline.start();
    agent.wait_for_snapshot();
    let cause = agent.wait_for_table("keyless.t", "parked");
    assert!(cause.contains("primary key"), "{cause}");
    let cause = agent.wait_for_table("keyless.old", "parked");
    assert!(cause.to_lowercase().contains("innodb"), "{cause}");
    session.run("insert into good values (2)");
    agent.wait_for_position(&database.position());
    agent.stop();
    assert_eq!(pipeline.lake().events("keyless.good").len(), 2);
}

/// Waits until the position that the pipeline starts from is durable: what is written from here on
/// arrives as an event.
fn wait_for_start(pipeline: &Pipeline) {
    wait_for("the start to be recorded", || pipeline.lake().offset().map(drop).ok_or_else(String::new));
}

/// Asks the running agent for a new snapshot of a table.
pub(crate) fn snapshot(pipeline: &Pipeline, table: &str) {
    let file = pipeline.file();
    let file = file.to_str().expect("the rig's folders have UTF-8 names");
    let output = tidegate(pipeline, ["snapshot", table, "-c", file]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Waits until this generation of a table's snapshot is complete in the lake.
pub(crate) fn wait_for_generation(agent: &Agent, pipeline: &Pipeline, table: &str, generation: u64) {
    agent.wait_for_status(&format!("generation {generation} of '{table}' to be complete"), |_| {
        (pipeline.lake().complete_generation(table)? >= generation).then_some(())
    });
}

/// Committed chunks of the one table, and whether its snapshot is complete.
fn chunks(pipeline: &Pipeline) -> (u64, bool) {
    let offset = pipeline.lake().offset().unwrap_or_default();
    let tables = offset["snapshot"].as_object();
    let table = tables.and_then(|tables| tables.values().next()).cloned().unwrap_or_default();
    (table["chunks"].as_u64().unwrap_or(0), table["done"] == true)
}
