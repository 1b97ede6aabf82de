//! The standard mapping from end to end: what it makes of rows, what it refuses, and how a changed
//! configuration takes over.

use serde_json::{Value, json};
use tidegate_tests::rig::{MariaDb, Pipeline, user_cells};

#[test]
fn the_mapping_maps() {
    let database = MariaDb::shared().database("mapping");
    let mut session = database.session();
    session.run(
        "create table customers (id int primary key, cust_nm varchar(40), email varchar(40), age varchar(9), score int,
            secret varchar(20), note text);
         insert into customers values (1, 'Ann', 'ann@example.org', '41', null, 'x', 'kept')",
    );
    let pipeline = Pipeline::new(&database)
        .mapping(
            "{ rename: { cust_nm: customer_name }, mask: { email: { keep_last: 4 } }, cast: { age: int64 },
               default: { score: 0 }, drop: [secret], compute: { ref: \"c-{id}\" } }",
        )
        .parquet();
    let agent = pipeline.start();
    agent.wait_for_snapshot();
    session.run(
        "insert into customers values (2, 'Bob', null, null, 7, 'y', null);
         update customers set cust_nm = 'Anna' where id = 1;
         delete from customers where id = 2",
    );
    agent.wait_for_position(&database.position());
    agent.stop();
    let events = pipeline.lake().events("mapping.customers");
    let seen: Vec<Value> = events.iter().map(|event| json!([event.op(), event.cells()])).collect();
    let ann = |name: &str| {
        json!({ "id": 1, "customer_name": name, "email": masked("ann@example.org"), "age": 41, "score": 0,
                "note": "kept", "ref": "c-1" })
    };
    let bob = json!({ "id": 2, "customer_name": "Bob", "email": null, "age": null, "score": 7, "note": null, "ref": "c-2" });
    assert_eq!(json!(seen), json!([["r", ann("Ann")], ["c", bob], ["u", ann("Anna")], ["d", bob]]));
    for event in &events {
        let module = event.text("__module");
        let digest = module.strip_prefix("mapping@").unwrap_or_else(|| panic!("{module}"));
        assert!(digest.len() == 12 && digest.bytes().all(|byte| byte.is_ascii_hexdigit()), "{module}");
    }
}

fn masked(text: &str) -> String {
    let hidden = text.chars().count() - 4;
    "*".repeat(hidden) + &text[text.len() - 4..]
}

#[test]
fn a_refused_row_goes_to_the_dead_letters_and_the_others_go_on() {
    let database = MariaDb::shared().database("refused");
    let mut session = database.session();
    session.run("create table t (id int primary key, num varchar(9), extra varchar(9))");
    let pipeline = Pipeline::new(&database).mapping("{ cast: { num: int64 }, drop: [extra] }").parquet();
    let agent = pipeline.start();
    agent.wait_for_snapshot();
    session.run(
        "insert into t values (1, '1', 'a'), (2, 'none', 'b'), (3, '3', 'c');
         update t set num = 'bad' where id = 3;
         update t set num = '4' where id = 3;
         delete from t where id = 2",
    );
    agent.wait_for_position(&database.position());
    let status = agent.status().expect("the agent answers");
    agent.stop();
    let events = pipeline.lake().events("refused.t");
    let seen: Vec<Value> =
        events.iter().map(|event| json!([event.op(), event.integer("id"), event.integer("num")])).collect();
    assert_eq!(json!(&seen[..2]), json!([["c", 1, 1], ["c", 3, 3]]));

    let queue = pipeline.dead_letters();
    let mut letters = queue.rows_of(&queue.committed_files("dead_letters")).rows;
    letters.sort_by_key(|letter| (letter["pos"].to_string(), letter["idx"].as_i64()));
    assert_eq!(status["dead_letters"], letters.len(), "{status}");
    let insert = &letters[0];
    assert_eq!(
        (&insert["operation"], &insert["stage"], &insert["column"]),
        (&json!("c"), &json!("transform:mapping"), &json!("num"))
    );
    assert_eq!(
        insert["after"],
        json!({ "id": 2, "num": "none", "extra": "b" }),
        "the image is the original one"
    );
    assert_eq!(insert["code"], "invalid_value");
    assert!(insert["message"].as_str().is_some_and(|message| !message.is_empty()));
    let update = &letters[1];
    assert_eq!(
        (&update["operation"], &update["before"]["num"], &update["after"]["num"]),
        (&json!("u"), &json!("3"), &json!("bad"))
    );
    // Every event is in one place: six were captured.
    assert_eq!(events.len() + letters.len(), 6, "{letters:?}");
    assert!(!agent_log(&pipeline).contains("none"), "a row's value is in the log");
}

fn agent_log(pipeline: &Pipeline) -> String {
    std::fs::read_to_string(pipeline.file().with_extension("log")).expect("the agent has logged")
}

#[test]
fn a_changed_configuration_is_a_swap() {
    let database = MariaDb::shared().database("swap");
    let mut session = database.session();
    session.run("create table t (id int primary key, a int, b int)");
    let folder = Pipeline::new(&database).source("snapshot: { mode: latest }");
    let with = |config: &str| folder.clone().mapping(config).parquet();
    let first = with("{ drop: [a] }");
    let agent = first.start();
    session.run("insert into t values (1, 1, 1)");
    agent.wait_for_position(&database.position());
    agent.stop();
    let second = with("{ drop: [b] }");
    let agent = second.start();
    session.run("insert into t values (2, 2, 2)");
    agent.wait_for_position(&database.position());
    // Killed and lost, the same log gives the same output: by the module of its position.
    agent.kill();
    session.run("insert into t values (3, 3, 3)");
    let agent = second.start();
    agent.wait_for_position(&database.position());
    agent.stop();
    let events = second.lake().events("swap.t");
    let seen: Vec<Value> =
        events.iter().map(|event| json!([event.version, user_cells(&event.row)])).collect();
    assert_eq!(
        json!(seen),
        json!([[1, { "id": 1, "b": 1 }], [2, { "id": 2, "a": 2 }], [2, { "id": 3, "a": 3 }]])
    );
    // A configuration that the table knows as older: going back by editing the file is refused.
    let said = first.refuses(3);
    assert!(said.contains("mapping"), "the transform is not named: {said}");
    assert_eq!(second.lake().events("swap.t").len(), 3);
}

#[test]
fn a_configuration_with_a_mistake_is_told() {
    let database = MariaDb::shared().database("bad_mapping");
    database.session().run("create table t (id int primary key, a int)");
    let pipeline = Pipeline::new(&database).mapping("{ renam: { a: b } }").parquet();
    let said = pipeline.refuses(2);
    for word in ["renam", "rename"] {
        assert!(said.contains(word), "'{word}' is not in: {said}");
    }
}

#[test]
fn one_hundred_refusals_in_a_row_park_the_table() {
    let database = MariaDb::shared().database("all_refused");
    let mut session = database.session();
    session
        .run("create table t (id int primary key, num varchar(9)); create table good (id int primary key)");
    let pipeline = Pipeline::new(&database).mapping("{ cast: { num: int64 } }").parquet();
    let agent = pipeline.start();
    agent.wait_for_snapshot();
    session.run("insert into t select seq, 'none' from seq_1_to_250; insert into good values (1)");
    let cause = agent.wait_for_table("all_refused.t", "parked");
    assert!(cause.contains("mapping"), "the transform is not named: {cause}");
    agent.wait_for_position(&database.position());
    agent.stop();
    let queue = pipeline.dead_letters();
    assert_eq!(queue.rows_of(&queue.committed_files("dead_letters")).rows.len(), 100);
    assert_eq!(pipeline.lake().events("all_refused.good").len(), 1);
}

#[test]
fn tables_and_columns_that_are_not_listed_can_be_dropped() {
    let database = MariaDb::shared().database("unlisted");
    let mut session = database.session();
    session
        .run("create table kept (id int primary key, a int, b int not null); create table other (id int primary key)");
    let pipeline = Pipeline::new(&database)
        .mapping(
            "{ unlisted_tables: drop, per_table: { \"unlisted.kept\": { keep: [id, b], unlisted_columns: drop, key: [b] } } }",
        )
        .parquet();
    let agent = pipeline.start();
    agent.wait_for_snapshot();
    session.run("insert into kept values (1, 2, 3); insert into other values (1)");
    agent.wait_for_position(&database.position());
    agent.stop();
    let lake = pipeline.lake();
    assert_eq!(lake.tables("unlisted"), ["kept"]);
    assert_eq!(json!(lake.events("unlisted.kept")[0].cells()), json!({ "id": 1, "b": 3 }));
}
