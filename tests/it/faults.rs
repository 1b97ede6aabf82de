//! Faults from outside: a message that names fault and remedy, the exit code that programs look at,
//! and nothing lost.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use tidegate_tests::load::Load;
use tidegate_tests::rig::{MariaDb, Pipeline, Random, Run, mapping_component, tidegate, wait_for};

/// What `tidegate check` says about a file and its exit code.
fn check(pipeline: &Pipeline, file: &Path) -> (Option<i32>, String) {
    let output = tidegate(pipeline, ["check", file.to_str().expect("the rig's folders have UTF-8 names")]);
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&said).into_owned())
}

/// The pipeline's file with a part replaced.
fn changed(pipeline: &Pipeline, from: &str, to: &str) -> std::path::PathBuf {
    let file = pipeline.write();
    let text = fs::read_to_string(&file).expect("it was just written");
    assert!(text.contains(from), "no '{from}' in {text}");
    let changed = file.with_file_name("changed.yaml");
    fs::write(&changed, text.replace(from, to)).expect("the scenario's folder can be written");
    changed
}

fn assert_says(said: &str, words: &[&str]) {
    for word in words {
        assert!(said.contains(word), "'{word}' is not in: {said}");
    }
    assert!(!said.contains("panicked"), "{said}");
}

/// A pipeline of a table with one row.
fn one_row(name: &str) -> Pipeline {
    let database = MariaDb::shared().database(name);
    database.session().run("create table t (id int primary key); insert into t values (1)");
    Pipeline::new(&database).parquet()
}

#[test]
fn a_wrong_password() {
    let pipeline = one_row("wrong_password");
    let file = changed(&pipeline, "${env:TIDEGATE_TEST_PASSWORD}", "not-the-password");
    let (code, said) = check(&pipeline, &file);
    assert_eq!(code, Some(1), "{said}");
    assert_says(&said, &["tidegate", "password"]);
    assert!(!said.contains("not-the-password"), "a secret is shown: {said}");
    // The same from a run, at once: a login that is refused does not heal by itself.
    let output = tidegate(&pipeline, ["run", file.to_str().expect("UTF-8")]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
}

#[test]
fn a_server_that_is_away_and_comes_back() {
    let server = MariaDb::start(&[]);
    let database = server.database("away");
    let mut session = database.session();
    session.run("create table t (id int primary key); insert into t values (1)");
    drop(session);
    let pipeline = Pipeline::new(&database).parquet().section("retry: { backoff: 200ms, max: unlimited }");
    server.stop();
    let (code, said) = check(&pipeline, &pipeline.write());
    assert_eq!(code, Some(1), "{said}");
    assert_says(&said, &[&server.port().to_string()]);
    let agent = pipeline.spawn(&[]);
    let told = agent
        .wait_for_status("the error in the status", |status| status["error"].as_str().map(str::to_owned));
    assert_says(&told, &["127.0.0.1"]);
    server.restart();
    agent.wait_for_snapshot();
    // Away once more, in the middle of the stream.
    database.session().run("insert into t values (2)");
    server.stop();
    server.restart();
    database.session().run("insert into t values (3)");
    agent.wait_for_position(&database.position());
    agent.stop();
    let ids: Vec<i64> = pipeline.lake().events("away.t").iter().map(|event| event.integer("id")).collect();
    assert_eq!(ids, [1, 2, 3]);
}

#[test]
fn a_server_without_what_capture_needs() {
    let server = MariaDb::start(&["--binlog-format=MIXED", "--binlog-row-image=MINIMAL"]);
    let database = server.database("unprepared");
    database.session().run("create table t (id int primary key)");
    let pipeline = Pipeline::new(&database).parquet();
    let (code, said) = check(&pipeline, &pipeline.write());
    assert!(code != Some(0), "{said}");
    // Each finding with the SQL that mends it.
    assert_says(&said, &["binlog_format", "binlog_row_image", "SET GLOBAL"]);
}

#[test]
fn a_table_that_is_not_there() {
    let pipeline = one_row("no_table").tables(["no_table.ordres"]);
    let (code, said) = check(&pipeline, &pipeline.write());
    assert!(matches!(code, Some(1 | 2)), "{code:?} {said}");
    assert_says(&said, &["no_table.ordres"]);
    let refused = pipeline.spawn(&[]);
    let status = refused.wait_for_exit();
    assert!(matches!(status.code(), Some(1 | 2)), "{status}: {}", refused.log());
}

#[test]
fn an_unknown_key_with_its_line_and_the_nearest_one() {
    let pipeline = one_row("unknown_key");
    let file = changed(&pipeline, "heartbeat:", "hartbeat:");
    let text = fs::read_to_string(&file).expect("it was just written");
    let line = 1 + text.lines().position(|line| line.contains("hartbeat")).expect("it is there");
    let (code, said) = check(&pipeline, &file);
    assert_eq!(code, Some(2), "{said}");
    assert_says(&said, &["'hartbeat'", "'heartbeat'", &format!(":{line}")]);
    let (code, said) =
        check(&pipeline, &changed(&pipeline, "heartbeat: 200ms", "snapshot: { mode: earliest }"));
    assert_eq!(code, Some(2), "{said}");
    assert_says(&said, &["earliest", "not yet supported"]);
}

#[test]
fn several_problems_at_once() {
    let pipeline = one_row("several_problems");
    let file = changed(&pipeline, "heartbeat: 200ms", "tls: sometimes\n  prot: 1");
    let (code, said) = check(&pipeline, &file);
    assert_eq!(code, Some(2), "{said}");
    assert_says(&said, &["'prot'", "'port'", "sometimes"]);
}

#[test]
fn a_module_that_is_none() {
    let pipeline = one_row("broken_module");
    let broken = pipeline.folder().join("broken.wasm");
    fs::write(&broken, b"\0asm but not really").expect("the scenario's folder can be written");
    let pipeline = pipeline.transform("{ name: clean, module: broken.wasm, tables: [\"broken_module.*\"] }");
    let (code, said) = check(&pipeline, &pipeline.write());
    assert!(matches!(code, Some(1 | 2)), "{code:?} {said}");
    assert_says(&said, &["broken.wasm", "clean"]);
    let agent = pipeline.spawn(&[]);
    let status = agent.wait_for_exit();
    assert!(matches!(status.code(), Some(1 | 2)), "{status}: {}", agent.log());
    assert!(pipeline.lake().events("broken_module.t").is_empty());
    // The module mended, nothing is lost.
    fs::copy(mapping_component(), broken).expect("the component is there");
    pipeline.start().wait_for_snapshot();
    assert_eq!(pipeline.lake().events("broken_module.t").len(), 1);
}

#[test]
fn a_module_that_wants_what_is_not_granted() {
    let pipeline = one_row("foreign_import");
    let foreign = wat::parse_str(
        "(component (import \"wasi:clocks/monotonic-clock@0.2.0\" (instance (export \"now\" (func (result u64))))))",
    );
    fs::write(pipeline.folder().join("foreign.wasm"), foreign.expect("it is a component"))
        .expect("the scenario's folder can be written");
    let pipeline =
        pipeline.transform("{ name: clean, module: foreign.wasm, tables: [\"foreign_import.*\"] }");
    let (code, said) = check(&pipeline, &pipeline.write());
    assert!(matches!(code, Some(1 | 2)), "{code:?} {said}");
    assert_says(&said, &["wasi:clocks/monotonic-clock", "foreign.wasm"]);
}

#[test]
fn a_lake_that_cannot_be_written() {
    let pipeline = one_row("read_only");
    let Some(nobody) = as_nobody(&pipeline) else { return };
    fs::create_dir(pipeline.lake().root()).expect("the scenario's folder can be written");
    let agent = pipeline.run(Run { through: &nobody, ..Run::default() });
    let said = wait_for("the fault to be told", || {
        let log = agent.log();
        let told = log.lines().find(|line| line.to_lowercase().contains("permission denied"));
        told.map(str::to_owned).ok_or(log.clone())
    });
    assert_says(&said, &["lake"]);
    if agent.has_ended() {
        assert_eq!(agent.wait_for_exit().code(), Some(1), "{}", agent.log());
    }
    agent.kill();
    // Mended, nothing is lost.
    allow_everyone(pipeline.lake().root());
    let agent = pipeline.run(Run { through: &nobody, ..Run::default() });
    agent.wait_for_snapshot();
    agent.stop();
    assert_eq!(pipeline.lake().events("read_only.t").len(), 1);
}

#[test]
fn a_disk_that_is_full() {
    let database = MariaDb::shared().database("disk_full");
    let mut load = Load::new(&database, "t", Random::printed("disk_full"));
    let pipeline = Pipeline::new(&database).parquet().section("retry: { backoff: 200ms, max: unlimited }");
    pipeline.start().wait_for_snapshot();
    for (point, pass) in [("staged-file", 2), ("data-object", 2), ("log-entry", 3), ("redb-commit", 4)] {
        for fault in ["enospc", "eio"] {
            let agent = pipeline.spawn(&[("TIDEGATE_FAIL", &format!("{point}:{fault}:{pass}"))]);
            load.transactions(20);
            load.beside(|| {
                wait_for("the fault to be told", || {
                    let log = agent.log().to_lowercase();
                    let told = log.contains("no space left") || log.contains("no storage space");
                    let told = told || log.contains("input/output error") || log.contains("os error 5");
                    if told || agent.has_ended() {
                        Ok(())
                    } else {
                        Err(format!("nothing of {point}:{fault}"))
                    }
                });
            });
            // A full disk heals by itself as soon as there is room, so the agent goes on; a disk that
            // fails may end it. Either way the next start has everything.
            let agent = if agent.has_ended() {
                assert_eq!(agent.wait_for_exit().code(), Some(1), "{point}:{fault}: {}", agent.log());
                pipeline.start()
            } else {
                agent
            };
            agent.wait_for_position(&database.position());
            agent.stop();
            load.check(&pipeline);
        }
    }
}

#[test]
fn a_small_file_system_that_is_full() {
    let database = MariaDb::shared().database("tmpfs_full");
    let mut load = Load::new(&database, "t", Random::printed("tmpfs_full"));
    let pipeline = Pipeline::new(&database).parquet().section("retry: { backoff: 200ms, max: unlimited }");
    let Some(mount) = Mount::small(pipeline.lake().root()) else { return };
    let agent = pipeline.start();
    agent.wait_for_snapshot();
    let filler = mount.0.join("filler");
    let _ = fs::write(&filler, vec![0; 8 << 20]);
    load.transactions(20);
    agent.wait_for_status("the error in the status", |status| {
        status["error"].as_str().filter(|error| error.to_lowercase().contains("space")).map(str::to_owned)
    });
    fs::remove_file(&filler).expect("it was just written");
    agent.wait_for_position(&database.position());
    agent.stop();
    load.check(&pipeline);
}

/// How to start a program as `nobody`, who can write the scenario's folder but not what root makes
/// in it later. `None`, said loudly, where we are not root.
#[expect(clippy::print_stderr, reason = "what is skipped has to be seen")]
fn as_nobody(pipeline: &Pipeline) -> Option<[&'static str; 4]> {
    if !rustix::process::geteuid().is_root() {
        eprintln!("SKIPPED: only root can start an agent as nobody");
        return None;
    }
    allow_everyone(pipeline.folder());
    // What the harness opens for the agent is open already; the rest it makes itself.
    Some(["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"])
}

fn allow_everyone(folder: &Path) {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o777)).expect("the folder is ours");
}

/// A file system of two MiB, unmounted with the test.
struct Mount(std::path::PathBuf);

impl Mount {
    #[expect(clippy::print_stderr, reason = "what is skipped has to be seen")]
    fn small(at: &Path) -> Option<Self> {
        fs::create_dir_all(at).expect("the scenario's folder can be written");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=2m", "tmpfs"]).arg(at).output();
        match mounted {
            Ok(output) if output.status.success() => Some(Self(at.to_owned())),
            other => {
                eprintln!("SKIPPED: no small file system can be mounted here: {other:?}");
                None
            }
        }
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_row_over_the_bound_parks_its_table_only() {
    let database = MariaDb::shared().database("long_row");
    let mut session = database.session();
    session.run("create table t (id int primary key); create table big (id int primary key, b longblob)");
    let pipeline = Pipeline::new(&database).parquet();
    let agent = pipeline.start();
    agent.wait_for_snapshot();
    session.run("insert into big values (1, 'small')");
    session.run("insert into big values (2, repeat('x', 70000000)); insert into t values (1)");
    let cause = agent.wait_for_table("long_row.big", "parked");
    assert_says(&cause, &["64 MiB", "tidegate snapshot"]);
    agent.wait_for_position(&database.position());
    agent.stop();
    let lake = pipeline.lake();
    assert_eq!(lake.pyarrow(&lake.globbed_files("long_row.t")).rows.len(), 1);
    assert_eq!(lake.pyarrow(&lake.globbed_files("long_row.big")).rows.len(), 1);
}
