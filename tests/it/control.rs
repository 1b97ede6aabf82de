//! Command line and HTTP interface: what scripts and dashboards rely on.

use std::process::Output;

use serde_json::Value;
use tidegate_tests::rig::{Agent, MariaDb, Pipeline, table_status, tidegate, workspace};

/// A pipeline with a refused row behind it, and its running agent.
fn running(name: &str) -> (Pipeline, Agent) {
    let database = MariaDb::shared().database(name);
    let mut session = database.session();
    session.run("create table t (id int primary key, num varchar(9)); insert into t values (1, '1')");
    let pipeline = Pipeline::new(&database).mapping("{ cast: { num: int64 } }").parquet().json_lines();
    let agent = pipeline.start();
    agent.wait_for_snapshot();
    session.run("insert into t values (2, '2'), (3, 'none'); update t set num = '4' where id = 2; delete from t where id = 1");
    agent.wait_for_position(&database.position());
    (pipeline, agent)
}

/// Runs a command on the pipeline's file.
fn command(pipeline: &Pipeline, words: &[&str]) -> Output {
    let file = pipeline.file();
    let file = file.to_str().expect("the rig's folders have UTF-8 names");
    match words {
        [a] => tidegate(pipeline, [a, "-c", file]),
        [a, b] => tidegate(pipeline, [a, b, "-c", file]),
        [a, b, c] => tidegate(pipeline, [a, b, c, "-c", file]),
        [a, b, c, d] => tidegate(pipeline, [a, b, c, d, "-c", file]),
        _ => panic!("a command of {} words", words.len()),
    }
}

/// What a command that succeeds prints, as JSON.
fn json(pipeline: &Pipeline, words: &[&str]) -> Value {
    let output = command(pipeline, words);
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("output is UTF-8");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{words:?}: {error} in: {text}"))
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn pages_for_monitors() {
    let (_pipeline, agent) = running("monitors");
    agent.get("/healthz").expect("the process is healthy");
    agent.get("/readyz").expect("it is really moving");
    let metrics = agent.get("/metrics").expect("metrics");
    // Names and kinds as dashboards have them.
    let kinds = [
        ("cdc_source_events", "counter"),
        ("cdc_source_lag_ms", "gauge"),
        ("cdc_processing_latency_ms", "histogram"),
        ("cdc_sink_write", "counter"),
        ("cdc_sink_latency_ms", "histogram"),
        ("cdc_checkpoint_duration_ms", "histogram"),
        ("cdc_checkpoint_size_bytes", "gauge"),
        ("cdc_dead_letters", "counter"),
        ("cdc_parked_tables", "gauge"),
        ("cdc_diverging_tables", "gauge"),
    ];
    for (name, kind) in kinds {
        assert!(metrics.contains(&format!("# TYPE {name} {kind}\n")), "no {kind} '{name}' in:\n{metrics}");
    }
    let events = |operation: &str| {
        let series = format!(
            "cdc_source_events_total{{pipeline_id=\"monitors\",table=\"monitors.t\",operation=\"{operation}\"}} "
        );
        let line = metrics.lines().find_map(|line| line.strip_prefix(&series));
        line.and_then(|count| count.parse::<u64>().ok()).unwrap_or(0)
    };
    assert_eq!(["snapshot", "insert", "update", "delete"].map(events), [1, 2, 1, 1], "{metrics}");
    for line in metrics.lines().filter(|line| !line.starts_with('#')) {
        assert!(line.contains("pipeline_id=\"monitors\""), "a series of no pipeline: {line}");
    }
}

#[test]
fn status_tells_how_it_goes() {
    let (pipeline, agent) = running("status_told");
    let told = json(&pipeline, &["status", "--json"]);
    let status = &told["pipelines"][0];
    assert_eq!(status["pipeline"], "status_told");
    assert_eq!(status["state"], "running");
    assert_eq!(status["dead_letters"], 1);
    assert!(status["error"].is_null(), "{status}");
    assert!(status["last_checkpoint_ms"].is_u64(), "{status}");
    let table = table_status(status, "status_told.t").expect("the table has a status");
    assert_eq!(
        (&table["snapshot"], &table["version"], &table["generation"]),
        (&"done".into(), &1.into(), &1.into())
    );
    let sinks: Vec<&str> =
        status["sinks"].as_array().expect("sinks").iter().filter_map(|sink| sink["sink"].as_str()).collect();
    assert!(["dead_letters", "lake", "json"].iter().all(|name| sinks.contains(name)), "{sinks:?}");
    let shown = command(&pipeline, &["status"]);
    assert!(shown.status.success() && text(&shown).contains("status_told"), "{shown:?}");
    drop(agent);
    // Nobody to ask: said, and not taken for good.
    let shown = command(&pipeline, &["status"]);
    assert_eq!(shown.status.code(), Some(1), "{shown:?}");
}

#[test]
fn offsets_are_shown_with_and_without_an_agent() {
    let (pipeline, agent) = running("offsets_shown");
    let position = pipeline.lake().position().to_string();
    let while_running = text(&command(&pipeline, &["offsets", "show"]));
    assert!(while_running.contains(&position), "'{position}' is not in: {while_running}");
    agent.stop();
    let told = json(&pipeline, &["offsets", "show", "--json"]).to_string();
    assert!(told.contains("lake") && told.contains("json") && told.contains("0-"), "{told}");
}

#[test]
fn offsets_can_be_set_back_and_forward() {
    let database = MariaDb::shared().database("offsets_set");
    let mut session = database.session();
    session.run("create table t (id int primary key)");
    let pipeline = Pipeline::new(&database).source("snapshot: { mode: latest }").parquet();
    pipeline.start().stop();
    session.run("insert into t values (1)");
    let beyond = database.position().to_string();
    session.run("insert into t values (2)");
    let refused = {
        let agent = pipeline.start();
        agent.wait_for_position(&database.position());
        let refused = command(&pipeline, &["offsets", "set", "--gtid", &beyond]);
        agent.stop();
        refused
    };
    assert!(!refused.status.success(), "a running pipeline's offset was set");
    let set = command(&pipeline, &["offsets", "set", "--gtid", &beyond]);
    assert!(set.status.success(), "{set:?}");
    session.run("insert into t values (3)");
    let agent = pipeline.start();
    agent.wait_for_position(&database.position());
    agent.stop();
    // Back behind the first row: the second comes again, in a higher epoch, which sorts behind.
    let events = pipeline.lake().events("offsets_set.t");
    let ids: Vec<i64> = events.iter().map(|event| event.integer("id")).collect();
    assert_eq!(ids, [1, 2, 2, 3]);
    assert!(events[1].text("__pos")[..6] < events[2].text("__pos")[..6], "the epoch did not rise");
}

#[test]
fn dead_letters_are_listed_and_shown() {
    let (pipeline, agent) = running("letters_shown");
    let check = |told: Value| {
        let letters = told.as_array().cloned().unwrap_or_else(|| vec![told.clone()]);
        assert_eq!(letters.len(), 1, "{told}");
        letters[0]["id"].as_str().expect("a letter has an id").to_owned()
    };
    let id = check(json(&pipeline, &["dead-letters", "list", "--json"]));
    let shown = text(&command(&pipeline, &["dead-letters", "show", &id]));
    for word in ["transform:mapping", "num", "none"] {
        assert!(shown.contains(word), "'{word}' is not in: {shown}");
    }
    agent.stop();
    assert_eq!(check(json(&pipeline, &["dead-letters", "list", "--json"])), id);
    let unknown = command(&pipeline, &["dead-letters", "show", "0000000000000000"]);
    assert!(matches!(unknown.status.code(), Some(1 | 2)), "{unknown:?}");
}

#[test]
fn the_lakes_files_and_queries_are_printed() {
    let (pipeline, agent) = running("lake_printed");
    agent.stop();
    let printed = text(&command(&pipeline, &["lake", "files", "lake_printed.t", "--sink=lake"]));
    let committed = pipeline.lake().committed_files("lake_printed.t");
    assert!(!committed.is_empty());
    for file in &committed {
        let name = file.file_name().and_then(|name| name.to_str()).expect("UTF-8");
        assert!(printed.contains(name), "'{name}' is not in: {printed}");
    }
    let current = |rows: Vec<tidegate_tests::rig::Row>| {
        let mut rows: Vec<(i64, i64)> =
            rows.iter().filter_map(|row| Some((row["id"].as_i64()?, row["num"].as_i64()?))).collect();
        rows.sort_unstable();
        rows
    };
    assert_eq!(current(pipeline.latest("lake_printed.t", "id")), [(2, 4)]);
    assert_eq!(current(pipeline.latest_pyarrow("lake_printed.t")), [(2, 4)]);
    assert_eq!(current(pipeline.latest_json_lines("lake_printed.t", "id")), [(2, 4)]);
    let unknown = command(&pipeline, &["lake", "latest", "lake_printed.nothing"]);
    assert!(!unknown.status.success(), "{unknown:?}");
}

#[test]
fn check_says_that_all_is_well_and_changes_nothing() {
    let database = MariaDb::shared().database("check_well");
    database.session().run("create table t (id int primary key)");
    let pipeline = Pipeline::new(&database).mapping("{}").parquet();
    let file = pipeline.write();
    let output = tidegate(&pipeline, ["check", file.to_str().expect("UTF-8")]);
    assert!(output.status.success(), "{output:?}");
    assert!(!pipeline.lake().root().exists(), "a check made the lake");
}

#[test]
fn bad_usage_is_exit_code_two() {
    let database = MariaDb::shared().database("bad_usage");
    database.session().run("create table t (id int primary key)");
    let pipeline = Pipeline::new(&database).parquet();
    for arguments in [["run", "--no-such-flag"], ["no-such-command", "x"], ["run", "no-such-file.yaml"]] {
        let output = tidegate(&pipeline, arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "talk belongs on stderr: {output:?}");
    }
    let help = tidegate(&pipeline, ["--help"]);
    assert!(help.status.success() && text(&help).contains("run"), "{help:?}");
}

#[test]
fn a_writing_call_from_a_web_page_is_not_served() {
    let (pipeline, agent) = running("writing_call");
    let address =
        std::fs::read(pipeline.state().join("agent.json")).expect("a running agent leaves its address");
    let address: Value = serde_json::from_slice(&address).expect("JSON");
    let url = address["url"].as_str().expect("an address");
    assert!(url.starts_with("http://127.0.0.1:"), "{url}");
    assert_eq!(address["pid"].as_u64(), Some(u64::from(agent.pid())));
    let unknown = agent.get("/v1/no-such-thing").expect_err("there is none");
    assert!(unknown.contains("404"), "{unknown}");
}

#[test]
fn the_standard_output_is_a_sink_for_people() {
    let database = MariaDb::shared().database("to_stdout");
    let mut session = database.session();
    session.run("create table t (id int primary key)");
    let pipeline = Pipeline::new(&database).parquet().sink("{ name: eyes, type: stdout }");
    let agent = pipeline.start();
    agent.wait_for_snapshot();
    session.run("insert into t values (7)");
    agent.wait_for_position(&database.position());
    agent.stop();
    let printed = |id: i64| {
        let out = std::fs::read_to_string(pipeline.file().with_extension("out")).expect("the run wrote it");
        let rows = out.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let operations: Vec<_> = rows.filter(|row| row["id"] == id).map(|row| row["__op"].clone()).collect();
        assert_eq!(operations, ["c"], "{out}");
    };
    printed(7);
    // It keeps no record: the checkpoint stands in for it at the next start.
    let agent = pipeline.start();
    session.run("insert into t values (8)");
    agent.wait_for_position(&database.position());
    agent.stop();
    printed(8);
}

#[test]
fn no_fail_point_is_named_in_a_release_build() {
    // `make bench` and users build it; where nobody did, there is nothing to look at.
    let release = workspace().join("target/release/tidegate");
    let Ok(binary) = std::fs::read(release) else { return };
    for name in [&b"TIDEGATE_FAIL"[..], b"TIDEGATE_CUT"] {
        let named = binary.windows(name.len()).any(|window| window == name);
        assert!(!named, "the release build names {}", String::from_utf8_lossy(name));
    }
}
