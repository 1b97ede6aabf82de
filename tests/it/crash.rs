//! Crashes: the agent is killed around every durable step, and at random moments.
//!
//! After each the lake has to hold every change once, in order, under the schema of its position,
//! and its current rows have to be the table's; the load says what it did (`tidegate_tests::load`).
//! Several fail points share one pipeline, which lives through one crash after the other: a defect
//! that a recovery leaves behind shows in a later round too.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::Path;

use tidegate_tests::load::Load;
use tidegate_tests::rig::{Agent, MariaDb, Pipeline, Random, tidegate, wait_for, workspace};

/// A durable step and the pass of it that is hit: a later one where the first would end the agent
/// before the load begins.
type Point = (&'static str, u32);

const COMMIT: [Point; 4] = [("staged-file", 2), ("data-object", 2), ("log-entry", 3), ("redb-commit", 4)];
const SCHEMA: [Point; 7] = [
    ("ddl-note", 1),
    ("schema-record", 1),
    ("ddl-intent", 1),
    ("ddl-applying", 1),
    ("ddl-apply", 1),
    ("ddl-record", 1),
    ("ddl-grant", 1),
];
const OTHERS: [Point; 3] = [("chunk", 2), ("module-table", 1), ("dead-letter", 1)];
/// Steps of a pipeline's first start, where a crash leaves half of a new state.
const START: [Point; 5] =
    [("state-open", 1), ("registry-open", 1), ("table-uid", 1), ("module-file", 1), ("log-entry", 1)];

#[test]
fn around_the_steps_of_a_commit() {
    crash_around("crash_commit", &COMMIT);
}

#[test]
fn around_the_steps_of_a_schema_change() {
    crash_around("crash_schema", &SCHEMA);
}

#[test]
fn around_the_other_durable_steps() {
    crash_around("crash_others", &OTHERS);
}

#[test]
fn around_the_steps_of_the_first_start() {
    for (point, pass) in START {
        for side in ["before", "after"] {
            let name = format!("crash_{}_{side}", point.replace('-', "_"));
            let database = MariaDb::shared().database(&name);
            let mut load = Load::new(&database, "t", Random::printed(&name)).with_refusals();
            let pipeline = Pipeline::new(&database).mapping(&mapping(0)).parquet();
            let agent = pipeline.spawn(&[("TIDEGATE_FAIL", &format!("{point}:{side}:{pass}"))]);
            agent.wait_for_crash();
            let agent = pipeline.start();
            agent.wait_for_snapshot();
            load.transactions(5);
            load.ddl();
            agent.wait_for_position(&database.position());
            agent.stop();
            load.check(&pipeline);
        }
    }
}

#[test]
fn at_random_moments() {
    let rounds = env::var("TIDEGATE_CRASH_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(10);
    let database = MariaDb::shared().database("crash_random");
    let mut random = Random::printed("crash_random");
    let mut load = Load::new(&database, "t", random.clone()).with_refusals();
    let pipeline = Pipeline::new(&database).mapping(&mapping(0)).parquet();
    let mut agent = pipeline.start();
    agent.wait_for_snapshot();
    for round in 0..rounds {
        let moment = random.below(600);
        // The load goes on until the kill, with a schema change somewhere in between.
        load.beside(|| after_milliseconds(random.below(100)));
        load.ddl();
        load.beside(|| {
            after_milliseconds(moment);
            agent.kill();
        });
        load.transactions(5);
        agent = pipeline.spawn(&[]);
        if round % 3 == 0 {
            // Killed again while it recovers.
            after_milliseconds(random.below(300));
            agent.kill();
            agent = pipeline.spawn(&[]);
        }
        agent.wait_for_position(&database.position());
        load.check(&pipeline);
    }
    agent.stop();
    load.check(&pipeline);
}

#[test]
fn every_fail_point_of_the_code_is_in_the_lists() {
    let mut named = BTreeSet::new();
    for folder in ["agent/src", "agent/crates"] {
        collect_points(&workspace().join(folder), &mut named);
    }
    let listed = [&COMMIT[..], &SCHEMA, &OTHERS, &START];
    let listed: BTreeSet<String> = listed.into_iter().flatten().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(named, listed, "fail points of the code (left) and of these tests");
}

/// Crashes before and after each point, one after the other, each under a load with a schema change.
fn crash_around(name: &str, points: &[Point]) {
    let database = MariaDb::shared().database(name);
    let mut load = Load::new(&database, "t", Random::printed(name)).with_refusals();
    // Chunks of a few rows, so that a snapshot has several.
    let pipeline = Pipeline::new(&database).source("snapshot: { mode: initial, chunk_rows: 10 }").parquet();
    let of_round = |round: usize| pipeline.clone().mapping(&mapping(round));
    let agent = of_round(0).start();
    agent.wait_for_snapshot();
    agent.stop();
    let steps = points.iter().flat_map(|point| [(point, "before"), (point, "after")]);
    for (round, ((point, pass), side)) in steps.enumerate() {
        // Another configuration is another module: the table of modules gets an entry at each start.
        let pipeline = of_round(round + 1);
        let fail = format!("{point}:{side}:{pass}");
        let agent = pipeline.spawn(&[("TIDEGATE_FAIL", &fail)]);
        load.beside(|| {
            // What the load alone would not bring about.
            if *point == "chunk" && reaches_ready(&agent) {
                // The agent may be gone before it answers.
                let file = pipeline.file();
                let file = file.to_str().expect("the rig's folders have UTF-8 names");
                let _ = tidegate(&pipeline, ["snapshot", &format!("{name}.t"), "-c", file]);
            }
        });
        load.transactions(10);
        load.ddl();
        load.transactions(10);
        load.beside(|| agent.wait_for_crash());
        let agent = pipeline.spawn(&[]);
        agent.wait_for_position(&database.position());
        if *point == "chunk" {
            wait_for("the snapshot to be complete", || {
                if pipeline.lake().snapshots_done() {
                    Ok(())
                } else {
                    Err(format!("{:?}", pipeline.lake().offset()))
                }
            });
        }
        agent.stop();
        load.check(&pipeline);
    }
}

/// A mapping that refuses rows whose `num` is no number; every round has another configuration.
fn mapping(round: usize) -> String {
    format!("{{ cast: {{ num: int64 }}, default: {{ num: {round} }} }}")
}

/// True once the agent is ready, false if it ended before.
fn reaches_ready(agent: &Agent) -> bool {
    wait_for("the agent to be ready or to end", || match (agent.has_ended(), agent.get("/readyz")) {
        (true, _) => Ok(false),
        (false, Ok(_)) => Ok(true),
        (false, Err(error)) => Err(error),
    })
}

#[expect(clippy::disallowed_methods, reason = "a random moment is the point, not an event to wait for")]
fn after_milliseconds(milliseconds: u64) {
    std::thread::sleep(std::time::Duration::from_millis(milliseconds));
}

/// The names of fail points: what `fail::before` and `fail::after` are called with, by themselves or
/// through a write that has its point as an argument or a variable.
fn collect_points(folder: &Path, named: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("it can be listed").path();
        if path.is_dir() {
            collect_points(&path, named);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).expect("our files are UTF-8");
            let text = text.split("#[cfg(test)]").next().unwrap_or_default();
            for call in ["fail::before(", "fail::after(", "store.write(", "storage.write("] {
                let arguments = text.split(call).skip(1).map(str::trim_start);
                let names = arguments.filter_map(|rest| rest.strip_prefix('"')?.split('"').next());
                named.extend(names.map(str::to_owned));
            }
            for choice in text.split("let point = if ").skip(1).filter_map(|rest| rest.split(';').next()) {
                let names = choice.split('"').skip(1).step_by(2);
                let is_name = |name: &&str| name.contains('-');
                named.extend(names.filter(is_name).map(str::to_owned));
            }
        }
    }
}
