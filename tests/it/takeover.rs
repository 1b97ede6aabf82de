//! Two agents on one pipeline, lost states and lost lakes: nothing is doubled, and what cannot be
//! told is refused.

use std::fs;

use tidegate_tests::load::Load;
use tidegate_tests::rig::{MariaDb, Pipeline, Random, Run};

#[test]
fn a_second_agent_fences_the_first() {
    let database = MariaDb::shared().database("takeover");
    let mut load = Load::new(&database, "t", Random::printed("takeover"));
    let pipeline = Pipeline::new(&database).parquet();
    let first = pipeline.start();
    first.wait_for_snapshot();
    load.transactions(20);
    let second = load.beside(|| {
        let second = pipeline.with_state("second").start();
        let said = first.wait_for_exit_code(3);
        assert!(said.contains("another agent has taken over"), "{said}");
        second
    });
    load.transactions(20);
    second.wait_for_position(&database.position());
    second.stop();
    load.check(&pipeline);
    // The first comes back: it has to fence in its turn, and to read what the second did from the lake.
    load.transactions(20);
    let first = pipeline.start();
    first.wait_for_position(&database.position());
    first.stop();
    load.check(&pipeline);
}

#[test]
fn an_agent_that_was_frozen_adds_nothing_when_it_thaws() {
    let database = MariaDb::shared().database("frozen");
    let mut load = Load::new(&database, "t", Random::printed("frozen"));
    let pipeline = Pipeline::new(&database).parquet();
    let first = pipeline.start();
    first.wait_for_snapshot();
    load.beside(|| first.freeze());
    let second = pipeline.with_state("second").start();
    load.transactions(20);
    second.wait_for_position(&database.position());
    first.thaw();
    let said = first.wait_for_exit_code(3);
    assert!(said.contains("another agent has taken over"), "{said}");
    load.transactions(5);
    second.wait_for_position(&database.position());
    second.stop();
    load.check(&pipeline);
}

#[test]
fn a_second_agent_on_the_same_state_is_refused_with_the_pid() {
    let database = MariaDb::shared().database("same_state");
    database.session().run("create table t (id int primary key)");
    let pipeline = Pipeline::new(&database).parquet();
    let first = pipeline.start();
    let address = pipeline.state().join("agent.json");
    let known = fs::read(&address).expect("a running agent leaves its address");
    let said = pipeline.refuses(3);
    assert!(said.contains(&first.pid().to_string()), "the pid {} is not told: {said}", first.pid());
    // The one that runs can still be asked.
    fs::write(&address, known).expect("the state folder can be written");
    first.wait_until_ready();
    database.session().run("insert into t values (1)");
    first.wait_for_position(&database.position());
    first.stop();
    assert_eq!(pipeline.lake().events("same_state.t").len(), 1);
}

#[test]
fn a_lost_state_folder_is_rebuilt_from_the_lake() {
    let database = MariaDb::shared().database("state_lost");
    let mut load = Load::new(&database, "t", Random::printed("state_lost"));
    let pipeline = Pipeline::new(&database).parquet();
    let agent = pipeline.start();
    agent.wait_for_snapshot();
    load.transactions(20);
    load.ddl();
    load.transactions(20);
    agent.wait_for_position(&database.position());
    agent.stop();
    fs::remove_dir_all(pipeline.state()).expect("the state folder is there");
    load.transactions(20);
    let agent = pipeline.start();
    load.ddl();
    load.transactions(20);
    agent.wait_for_position(&database.position());
    agent.stop();
    load.check(&pipeline);
    assert!(
        pipeline
            .lake()
            .events("state_lost.t")
            .iter()
            .all(|event| event.op() != "r" || event.integer("__generation") == 1),
        "the tables were snapshotted anew"
    );
}

#[test]
fn a_lost_state_folder_with_dead_letters_needs_consent() {
    let database = MariaDb::shared().database("letters_lost");
    let mut session = database.session();
    session.run("create table t (id int primary key, num varchar(9))");
    let pipeline = Pipeline::new(&database).mapping("{ cast: { num: int64 } }").parquet();
    let agent = pipeline.start();
    agent.wait_for_snapshot();
    session.run("insert into t values (1, '1'), (2, 'none'), (3, '3')");
    agent.wait_for_position(&database.position());
    agent.stop();
    fs::remove_dir_all(pipeline.state()).expect("the state folder is there");
    let said = pipeline.refuses(3);
    assert!(said.contains("--accept-state-loss"), "the way on is not told: {said}");
    assert!(said.contains("dead letter"), "the cause is not told: {said}");
    let agent = pipeline.run(Run { arguments: &["--accept-state-loss"], ..Run::default() });
    session.run("insert into t values (4, '4')");
    agent.wait_for_position(&database.position());
    agent.stop();
    let ids: Vec<i64> =
        pipeline.lake().events("letters_lost.t").iter().map(|event| event.integer("id")).collect();
    assert_eq!(ids, [1, 3, 4]);
}

#[test]
fn a_lost_lake_is_refused_with_both_offsets() {
    let database = MariaDb::shared().database("lake_lost");
    let mut session = database.session();
    session.run("create table t (id int primary key)");
    let pipeline = Pipeline::new(&database).parquet();
    let agent = pipeline.start();
    agent.wait_for_snapshot();
    session.run("insert into t values (1)");
    let reached = database.position();
    agent.wait_for_position(&reached);
    agent.stop();
    fs::remove_dir_all(pipeline.lake().root()).expect("the lake is there");
    let said = pipeline.refuses(3);
    assert!(
        said.contains(&reached.to_string()) || said.contains("0-"),
        "the state's offset is not told: {said}"
    );
    assert!(said.contains("'lake'") || said.contains("sink lake"), "the sink is not named: {said}");
    assert!(!pipeline.lake().root().join("lake_lost").exists(), "a refused start wrote into the lake");
}

#[test]
fn a_lake_that_lost_its_newest_commits_is_refused() {
    let database = MariaDb::shared().database("commits_lost");
    let mut session = database.session();
    session.run("create table t (id int primary key)");
    let pipeline = Pipeline::new(&database).parquet();
    let agent = pipeline.start();
    agent.wait_for_snapshot();
    session.run("insert into t values (1)");
    agent.wait_for_position(&database.position());
    agent.stop();
    let copy = pipeline.folder().join("copy");
    copy_folder(pipeline.lake().root(), &copy);
    let agent = pipeline.start();
    session.run("insert into t values (2)");
    agent.wait_for_position(&database.position());
    agent.stop();
    // A backup was played back: the state knows of commits that the lake does not.
    fs::remove_dir_all(pipeline.lake().root()).expect("the lake is there");
    fs::rename(&copy, pipeline.lake().root()).expect("both lie in the scenario's folder");
    let said = pipeline.refuses(3);
    assert!(said.contains("'lake'") || said.contains("sink lake"), "the sink is not named: {said}");
}

fn copy_folder(from: &std::path::Path, to: &std::path::Path) {
    fs::create_dir_all(to).expect("the scenario's folder can be written");
    for entry in fs::read_dir(from).expect("the folder is there") {
        let entry = entry.expect("it can be listed");
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("a file can be copied");
        }
    }
}
