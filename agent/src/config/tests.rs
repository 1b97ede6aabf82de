//! Files in, settings or problems out.

use std::fs;
use std::path::Path;
use std::time::Duration;

use tidegate_model::ErrorKind;

use super::resolve::*;
use super::{Configuration, keys, load_with};

/// The shortest file that works.
const MINIMAL: &str = "\
pipeline: shop
source: { type: mariadb, user: cdc, tables: [shop.orders] }
sinks: [{ name: lake, type: object, url: 'file:lake', format: parquet }]
";

fn load(text: &str) -> tidegate_model::Result<(tempfile::TempDir, Configuration)> {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let file = folder.path().join("p.yaml");
    fs::write(&file, text).expect("it can be written");
    let variable = |name: &str| match name {
        "PASSWORD" => Some("hunter2".to_owned()),
        "PORT" => Some("3307".to_owned()),
        _ => None,
    };
    load_with(&[file], &variable).map(|configuration| (folder, configuration))
}

/// The problems, a line each, without folder and hint markers.
fn problems(text: &str) -> Vec<String> {
    let error = load(text).expect_err("the file has a problem");
    assert_eq!(error.exit_code(), 2, "{error}");
    let text = error.to_string();
    assert!(!text.contains("hunter2"), "{text}");
    text.lines().map(|line| line.split_once("p.yaml:").map_or(line, |(_, rest)| rest).to_owned()).collect()
}

#[test]
fn the_shortest_file_gets_every_default() {
    let (folder, Configuration { agent, pipelines }) = load(MINIMAL).unwrap();
    let root = folder.path();
    assert_eq!(agent.state, root.join("state"));
    assert_eq!(agent.listen, Some("127.0.0.1:8480".parse().unwrap()));
    assert_eq!(agent.memory_bytes, 100 << 20);
    let [pipeline] = &pipelines[..] else { panic!("{pipelines:?}") };
    assert_eq!(pipeline.name, "shop");
    let source = &pipeline.source;
    assert_eq!((source.id.as_str(), source.host.as_str(), source.port), ("shop", "127.0.0.1", 3306));
    assert_eq!((source.tls, source.server_id), (TlsMode::Disable, None));
    assert_eq!(source.snapshot, SnapshotConfig { mode: SnapshotMode::Initial, chunk_rows: 10_000 });
    assert_eq!(source.tables, ["shop.orders"]);
    assert_eq!(pipeline.dead_letter.path, root.join("state/shop/dead-letters"));
    assert_eq!(pipeline.checkpoint.interval, Duration::from_secs(1));
    assert_eq!(pipeline.retry.attempts_max, None);
    let SinkKind::Object { path, format, commit_interval, commit_bytes } = &pipeline.sinks[0].kind else {
        panic!("{pipeline:?}")
    };
    assert_eq!((path, *format), (&root.join("lake"), ObjectFormat::Parquet));
    assert_eq!((*commit_interval, *commit_bytes), (Duration::from_secs(60), 256 << 20));
}

#[test]
fn everything_that_works_can_be_written() {
    let text = r#"
agent: { state: ./data, listen: 127.0.0.1:0, memory: 64MiB }
pipeline: shop
source:
  type: mariadb
  id: shop-db-1
  host: db.example
  port: ${env:PORT}
  user: tidegate
  password: ${env:PASSWORD}
  tls_ca: ca.pem
  server_id: 5501
  heartbeat: 200ms
  tables:
    - shop.orders
    - { name: "shop.item_*" }
  snapshot: { mode: snapshot_only, chunk_rows: 7 }
  types: { zero_dates: dead_letter, tinyint1: int8 }
transforms:
  - name: clean
    module: transforms/mapping.wasm
    tables: ["shop.*"]
    config: { rename: { cust_nm: customer_name }, default: { c: 0, d: 1.5, e: true, f: null }, salt: "${env:PASSWORD}" }
    on_error: stop
    memory: 8MiB
sinks:
  - { name: lake, type: object, url: "file:/srv/lake", format: parquet, commit: { interval: 5s, bytes: 1MiB } }
  - { name: json, type: object, url: "file:out/json", format: json_lines }
  - { name: eyes, type: stdout }
dead_letter: { url: "file:refused" }
checkpoint: { interval: 2s, min_pause: 1s, timeout: 1m }
retry: { backoff: 1s, max: 3 }
errors: { corrupt_event: stop }
"#;
    let (folder, Configuration { agent, mut pipelines }) = load(text).unwrap();
    assert_eq!((agent.state, agent.memory_bytes), (folder.path().join("data"), 64 << 20));
    let pipeline = pipelines.remove(0);
    assert_eq!((pipeline.source.port, pipeline.source.password.expose()), (3307, "hunter2"));
    assert_eq!((pipeline.source.tls, pipeline.source.server_id), (TlsMode::VerifyIdentity, Some(5501)));
    assert_eq!(pipeline.source.tables, ["shop.orders", "shop.item_*"]);
    assert_eq!(pipeline.source.snapshot.mode, SnapshotMode::SnapshotOnly);
    let transform = &pipeline.transforms[0];
    assert_eq!(transform.module, folder.path().join("transforms/mapping.wasm"));
    assert_eq!((transform.on_error, transform.memory_bytes), (OnError::Stop, 8 << 20));
    let config: serde_json::Value = serde_json::from_str(transform.config_json.expose()).unwrap();
    let expected = serde_json::json!({
        "rename": { "cust_nm": "customer_name" },
        "default": { "c": 0, "d": 1.5, "e": true, "f": null },
        "salt": "hunter2",
    });
    assert_eq!(config, expected);
    let names: Vec<_> =
        pipeline.sinks.iter().map(|sink| (sink.name.as_str(), sink.kind.type_name())).collect();
    assert_eq!(names, [("lake", "object"), ("json", "object"), ("eyes", "stdout")]);
    assert_eq!(pipeline.dead_letter.path, folder.path().join("refused"));
    assert_eq!(pipeline.retry, RetryConfig { backoff: Duration::from_secs(1), attempts_max: Some(3) });
    assert!(!format!("{pipeline:?}").contains("hunter2"), "{pipeline:?}");
}

/// A file and what is wrong with it: the whole list, each line's beginning.
fn check(text: &str, expected: &[&str]) {
    let found = problems(text);
    let agree = found.len() == expected.len() && found.iter().zip(expected).all(|(f, e)| f.starts_with(e));
    assert!(agree, "{text}\nfound:    {found:#?}\nexpected: {expected:#?}");
}

/// The minimal file with one more line, which is line 4.
fn check_line(line: &str, expected: &[&str]) {
    check(&format!("{MINIMAL}{line}\n"), expected);
}

/// The minimal file with more in its source, which is line 2.
fn check_source(keys: &str, expected: &[&str]) {
    check(&MINIMAL.replace("user: cdc,", &format!("user: cdc, {keys},")), expected);
}

/// The minimal file with another sink, which is line 3.
fn check_sink(keys: &str, expected: &[&str]) {
    let sinks = MINIMAL.lines().next_back().unwrap_or_default();
    check(&MINIMAL.replace(sinks, &format!("sinks: [{{ {keys} }}]")), expected);
}

#[test]
fn an_unknown_key_is_told_with_its_line_and_the_nearest_known_one() {
    check_line("chekpoint: {}", &["4: unknown key 'chekpoint' (hint: did you mean 'checkpoint'?)"]);
    check_line("Retry: {}", &["4: unknown key 'Retry' (hint: did you mean 'retry'?)"]);
    check_line("zzzzzz: 1", &["4: unknown key 'zzzzzz' (hint: known here: agent, pipeline, source"]);
    check_line(
        "checkpoint: { intervall: 1s }",
        &["4: unknown key 'intervall' in 'checkpoint' (hint: did you"],
    );
    check_source("pasword: x", &["2: unknown key 'pasword' in 'source' (hint: did you mean 'password'?)"]);
    check_source("snapshot: { chunk_row: 1 }", &["2: unknown key 'chunk_row' in 'source.snapshot'"]);
    check_sink(
        "name: a, type: stdout, formt: x",
        &["3: unknown key 'formt' in 'sinks[]' (hint: did you mean 'format'?)"],
    );
}

#[test]
fn what_is_not_built_yet_is_refused_by_name() {
    for (line, key) in [
        ("registry: { url: 'http://registry:8481' }", "'registry'"),
        ("dead_letter: { sink: bus, topic: x }", "'dead_letter.sink'"),
        ("errors: { corrupt_event: dead_letter }", "'errors.corrupt_event: dead_letter'"),
        ("alerts: { warning: 30s }", "'alerts'"),
        ("dead_letter: { url: 's3://bucket/x' }", "'dead_letter.url': a store other than `file:`"),
        ("transforms: [{ name: a, module: a.wasm, wasi: virtual }]", "'transforms[].wasi'"),
    ] {
        let found = problems(&format!("{MINIMAL}{line}\n"));
        assert!(found[0].starts_with(&format!("4: {key} is not yet supported")), "{line}: {found:?}");
    }
    for (keys, key) in [
        ("snapshot: { mode: earliest }", "'source.snapshot.mode: earliest'"),
        ("snapshot: { mode: timestamp }", "'source.snapshot.mode: timestamp'"),
        ("snapshot: { mode: position }", "'source.snapshot.mode: position'"),
        ("snapshot: { parallel: 2 }", "'source.snapshot.parallel'"),
        ("types: { zero_dates: text }", "'source.types.zero_dates: text'"),
        ("types: { tinyint1: bool }", "'source.types.tinyint1: bool'"),
        ("types: { bigint_unsigned: long }", "'source.types.bigint_unsigned'"),
        ("slot: a", "'source.slot'"),
    ] {
        check_source(keys, &[&format!("2: {key} is not yet supported")]);
    }
    for table in ["columns: { exclude: [note] }", "key: [sku]", "where: 'a = 3'", "operations: [insert]"] {
        let text = MINIMAL.replace("[shop.orders]", &format!("[{{ name: shop.orders, {table} }}]"));
        let key = table.split(':').next().unwrap_or_default();
        check(&text, &[&format!("2: 'source.tables[].{key}' is not yet supported")]);
    }
    for kind in ["mysql", "postgres"] {
        check(
            &MINIMAL.replace("mariadb", kind),
            &[&format!("2: 'source.type: {kind}' is not yet supported")],
        );
    }
    check_sink(
        "name: bus, type: kafka, delivery: exactly_once",
        &["3: 'sinks[].delivery' is not yet supported", "3: 'sinks[].type: kafka' is not yet supported"],
    );
    check_sink(
        "name: a, type: object, url: 's3://bucket/lake', format: parquet",
        &["3: 'sinks[].url': a store other than `file:` is not yet supported"],
    );
    // Alone it is told apart from a mistake; both end with exit code 2.
    let kind = |text: &str| load(text).expect_err("refused").kind();
    assert_eq!(kind(&format!("{MINIMAL}alerts: {{}}\n")), ErrorKind::Unsupported);
    assert_eq!(kind(&format!("{MINIMAL}alerts: {{}}\nalert: 1\n")), ErrorKind::Config);
}

#[test]
fn a_value_of_another_kind_is_told() {
    check(
        "- a\n",
        &[
            "1: the file must be a map of keys, not a list",
            "1: 'pipeline' is missing",
            "1: 'source' is",
            "1: 'sinks' is",
        ],
    );
    check(
        &MINIMAL.replace("shop\n", "2024\n"),
        &["1: 'pipeline' must be text, not a number (hint: put quotes"],
    );
    check(&MINIMAL.replace("shop\n", "a/b\n"), &["1: 'pipeline' must be a plain name"]);
    check_line("checkpoint: 1s", &["4: 'checkpoint' must be a map of keys, not text"]);
    check_line(
        "checkpoint: { interval: 10 }",
        &["4: 'checkpoint.interval' must be a duration (hint: write a"],
    );
    check_line("checkpoint: { interval: 0s }", &["4: 'checkpoint.interval' must be a duration"]);
    check_line("retry: { max: often }", &["4: 'retry.max' must be a whole number from 0 to"]);
    check_line("transforms: { name: a }", &["4: 'transforms' must be a list, not a map"]);
    check_line(
        "transforms: [{ name: a, module: a, config: [1] }]",
        &["4: 'transforms[].config' must be a map, not a list"],
    );
    check_line("agent: { memory: lots }", &["4: 'agent.memory' must be a size (hint: write a whole number"]);
    check_line("agent: { memory: 1KiB }", &["4: 'agent.memory' must be from 16 MiB to 1024 GiB"]);
    check_source("port: 0", &["2: 'source.port' must be a whole number from 1 to 65535"]);
    check_source("port: 99999", &["2: 'source.port' must be a whole number from 1 to 65535"]);
    check_source("server_id: -1", &["2: 'source.server_id' must be a whole number from 1 to"]);
    check_source("tls: verify", &["2: 'source.tls' cannot be 'verify' (hint: write disable, or require"]);
    check_source("tls: requir", &["2: 'source.tls' cannot be 'requir' (hint: did you mean 'require'?)"]);
    check_source("snapshot: { chunk_rows: 10001 }", &["2: 'source.snapshot.chunk_rows' must be a whole"]);
    check_source("password: 12345", &["2: 'source.password' must be text, not a number (hint: put quotes"]);
    check(&MINIMAL.replace("shop.orders", "orders"), &["2: 'source.tables[]' must be a schema and a table"]);
    check(&MINIMAL.replace("[shop.orders]", "[]"), &["2: 'source.tables' names no table"]);
    check_sink("name: a, type: object, url: lake, format: parquet", &["3: 'sinks[].url' must be a URL"]);
    check_sink("name: a, type: stdout, format: parquet", &["3: 'sinks[].format' means nothing to a stdout"]);
}

#[test]
fn what_is_missing_is_told() {
    check("agent: {}\n", &["1: 'pipeline' is missing", "1: 'source' is missing", "1: 'sinks' is missing"]);
    check(
        "pipeline: shop\nsource: {}\nsinks: [{}]\n",
        &[
            "2: 'type' is missing in 'source'",
            "2: 'user' is missing in 'source'",
            "2: 'tables' is missing in 'source'",
            "3: 'name' is missing in 'sinks[]'",
            "3: 'type' is missing in 'sinks[]'",
        ],
    );
    check_sink("name: a, type: object", &["3: 'url' is missing in 'sinks[]'", "3: 'format' is missing in"]);
    check_line("transforms: [{ name: a }]", &["4: 'module' is missing in 'transforms[]'"]);
    check("pipeline: shop\nsource:\nsinks: []\n", &["1: 'source' is missing", "3: 'sinks' names no sink"]);
}

#[test]
fn references_and_secrets() {
    check_source(
        "password: '${env:NOT_SET}'",
        &["2: 'source.password': the environment variable 'NOT_SET' is"],
    );
    check_source("password: '${file:missing}'", &["2: 'source.password': '"]);
    check_source("password: '${vault:x}'", &["2: 'source.password': '${vault:x}' is no reference"]);
    // What a reference led to is never quoted, whatever is wrong with it.
    check_source("tls: '${env:PASSWORD}'", &["2: 'source.tls' cannot be '${env:PASSWORD}'"]);
    check_source("port: '${env:PASSWORD}'", &["2: 'source.port' must be a whole number"]);
    check(
        &MINIMAL.replace("pipeline: shop", "pipeline: ${env:PASSWORD}!"),
        &["1: 'pipeline' must be a plain"],
    );
    check_line("agent: { listen: 0.0.0.0:8480 }", &["4: 'agent.listen' is open to other machines, so"]);
    check_line("agent: { listen: '[::]:8480', token: '' }", &["4: 'agent.listen' is open to other machines"]);
    check_line("agent: { listen: here }", &["4: 'agent.listen' must be an address and a port"]);
    let open = format!("{MINIMAL}agent: {{ listen: 0.0.0.0:0, token: \"${{env:PASSWORD}}\" }}\n");
    assert_eq!(load(&open).unwrap().1.agent.token.unwrap().expose(), "hunter2");
    let off = format!("{MINIMAL}agent: {{ listen: off }}\n");
    assert_eq!(load(&off).unwrap().1.agent.listen, None);
}

#[test]
fn all_problems_are_told_at_once_in_the_order_of_the_file() {
    check(
        "pipelin: shop\nsource:\n  type: oracle\n  prt: 1\n  tables: [a]\n  heartbeat: soon\nsinks:\n  - { name: x, type: files }\n",
        &[
            "1: unknown key 'pipelin' (hint: did you mean 'pipeline'?)",
            "1: 'pipeline' is missing",
            "3: 'source.type' cannot be 'oracle' (hint: write mariadb)",
            "3: 'user' is missing in 'source'",
            "4: unknown key 'prt' in 'source' (hint: did you mean 'port'?)",
            "5: 'source.tables[]' must be a schema and a table",
            "6: 'source.heartbeat' must be a duration",
            "8: 'sinks[].type' cannot be 'files'",
        ],
    );
}

#[test]
fn names_are_unique() {
    let sink = "{ name: a, type: stdout }";
    let sinks = MINIMAL.lines().next_back().unwrap_or_default();
    check(&MINIMAL.replace(sinks, &format!("sinks: [{sink}, {sink}]")), &["3: the name 'a' stands twice"]);
}

#[test]
fn what_is_no_yaml_is_told_with_its_line_and_without_its_text() {
    check("pipeline: [\n", &["1: this is not YAML"]);
    check("a: 1\na: 2\n", &["2: this is not YAML"]);
    check("pipeline: shop\nsource:\n  password: hunter2\n bad\n", &["4: this is not YAML"]);
}

#[test]
fn several_files_make_one_agent() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let file = folder.path().join(name);
        fs::write(&file, text).unwrap();
        file
    };
    let agent = "agent: { state: common }\n";
    let a = write("a.yaml", MINIMAL);
    let b = write("b.yaml", &format!("{agent}{}", MINIMAL.replace("pipeline: shop", "pipeline: stock")));
    let c = write("c.yaml", &format!("{agent}{}", MINIMAL.replace("pipeline: shop", "pipeline: third")));
    let broken = write("broken.yaml", "pipeline: x\n");
    let load = |files: &[&Path]| {
        let files: Vec<_> = files.iter().map(|file| file.to_path_buf()).collect();
        load_with(&files, &|_| None)
    };

    let both = load(&[&a, &b]).unwrap();
    assert_eq!(both.agent.state, folder.path().join("common"));
    let names: Vec<_> = both.pipelines.iter().map(|pipeline| pipeline.name.as_str()).collect();
    assert_eq!(names, ["shop", "stock"]);
    assert_eq!(both.pipelines[0].dead_letter.path, folder.path().join("common/shop/dead-letters"));

    for (files, part) in [
        (&[&*b, &*c][..], "have a section 'agent'"),
        (&[&*a, &*a], "pipeline 'shop' stands in"),
        (&[&*broken, &*a], "broken.yaml:1: 'source' is missing"),
        (&[&folder.path().join("none.yaml")], "none.yaml' cannot be read"),
        (&[], "no pipeline file is given"),
    ] {
        let error = load(files).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(error.to_string().contains(part), "{part}: {error}");
    }
}

#[test]
fn the_reference_page_names_every_key_and_no_other() {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference/configuration.md"))
        .expect("the page is there");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")).map(|row| {
        let mut cells = row.split('|').map(str::trim);
        let mut next = || cells.next().unwrap_or_default().trim_matches('`').to_owned();
        (next(), next(), next())
    });
    let mut written: Vec<_> = rows.collect();
    let mut known: Vec<_> = keys::ALL
        .iter()
        .map(|key| match key.status {
            keys::Status::NotYet => (key.path.to_owned(), "not yet supported".to_owned(), String::new()),
            _ => (key.path.to_owned(), key.values.to_owned(), key.default.to_owned()),
        })
        .collect();
    for rows in [&mut written, &mut known] {
        rows.iter_mut().for_each(|row| row.2 = row.2.trim_matches('`').to_owned());
        rows.sort();
    }
    for row in &known {
        assert!(written.contains(row), "docs/reference/configuration.md lacks {row:?}");
    }
    for row in &written {
        assert!(
            known.contains(row),
            "docs/reference/configuration.md has {row:?}, which the code does not know"
        );
    }
}
