//! Cuts mean nothing: however a segment is cut, the lake's rows are the same.

use std::thread;

use tidegate_tests::load::Load;
use tidegate_tests::rig::{Database, MariaDb, Pipeline, Random, Row};

const CUTS: [&str; 5] = ["", "events:1", "events:7", "events:1000", "random:42"];

#[test]
fn the_same_log_gives_the_same_lake() {
    let database = MariaDb::shared().database("cuts");
    let mut load = Load::new(&database, "t", Random::printed("cuts")).with_refusals();
    load_beside_other_tables(&database);
    let pipelines = CUTS.map(|_| {
        Pipeline::new(&database)
            .source("snapshot: { mode: latest }")
            .mapping("{ cast: { num: int64 }, mask: { note: { keep_last: 2 } } }")
            .parquet()
    });
    // All begin at the same position, before anything is written.
    for pipeline in &pipelines {
        pipeline.start().stop();
    }
    for _ in 0..6 {
        load.transactions(40);
        load.ddl();
    }
    load_beside_other_tables(&database);
    load.transactions(40);

    let position = database.position();
    let lakes: Vec<Vec<Row>> = thread::scope(|scope| {
        let runs = CUTS.iter().zip(&pipelines).map(|(cut, pipeline)| {
            let position = &position;
            scope.spawn(move || {
                let agent = pipeline.spawn(&[("TIDEGATE_CUT", cut)]);
                agent.wait_for_position(position);
                agent.stop();
                rows(pipeline)
            })
        });
        let runs: Vec<_> = runs.collect();
        runs.into_iter()
            .map(|run| run.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    assert!(lakes[0].len() > 200, "{} rows are no log to cut", lakes[0].len());
    for (cut, lake) in CUTS.iter().zip(&lakes).skip(1) {
        assert_eq!(lake.len(), lakes[0].len(), "rows of the lake cut by '{cut}'");
        for (row, uncut) in lake.iter().zip(&lakes[0]) {
            assert_eq!(row, uncut, "cut by '{cut}'");
        }
    }
}

/// A transaction over several tables, so that the index in the transaction runs over all of them.
fn load_beside_other_tables(database: &Database<'_>) {
    database.session().run(
        "create table if not exists a (id int auto_increment primary key, v int);
         create table if not exists b (id int auto_increment primary key, v int);
         begin; insert into a (v) values (1), (2); insert into b (v) values (3); insert into a (v) values (4);
         update a set v = v + 1; delete from b where v = 3; commit",
    );
}

/// All rows and dead letters, each with its table, schema version and every system column.
fn rows(pipeline: &Pipeline) -> Vec<Row> {
    let lake = pipeline.lake();
    let mut rows = Vec::new();
    for table in lake.tables("cuts") {
        for event in lake.events(&format!("cuts.{table}")) {
            let mut row = event.row;
            row.insert("the table".into(), table.clone().into());
            row.insert("its version".into(), event.version.into());
            rows.push(row);
        }
    }
    let queue = pipeline.dead_letters();
    let mut letters = queue.rows_of(&queue.committed_files("dead_letters")).rows;
    letters.sort_by_cached_key(|letter| serde_json::Value::Object(letter.clone()).to_string());
    rows.extend(letters);
    rows
}
