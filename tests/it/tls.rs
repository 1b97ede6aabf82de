//! Encrypted connections: each mode checks what it says it checks, and no more.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tidegate_tests::rig::{MariaDb, Pipeline, tidegate};

/// A certificate authority of the test's own.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("no names are good names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key can be made");
        Self(CertifiedIssuer::self_signed(params, key).expect("a certificate can be signed"))
    }

    fn write(&self, file: PathBuf) -> PathBuf {
        fs::write(&file, self.0.pem()).expect("the folder can be written");
        file
    }

    /// A server's options for a certificate of this name or address.
    fn server(&self, folder: &Path, name: &str) -> Vec<String> {
        let key = KeyPair::generate().expect("a key can be made");
        let params = CertificateParams::new(vec![name.to_owned()]).expect("a good name");
        let certificate = params.signed_by(&key, &self.0).expect("a certificate can be signed");
        let (cert_file, key_file) = (folder.join("server.pem"), folder.join("server.key"));
        fs::write(&cert_file, certificate.pem()).expect("the folder can be written");
        fs::write(&key_file, key.serialize_pem()).expect("the folder can be written");
        let ca_file = self.write(folder.join("ca.pem"));
        vec![
            format!("--ssl-ca={}", ca_file.display()),
            format!("--ssl-cert={}", cert_file.display()),
            format!("--ssl-key={}", key_file.display()),
        ]
    }
}

/// A folder that the server's account can read, too.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("it is ours");
    folder
}

fn check(pipeline: &Pipeline) -> (Option<i32>, String) {
    let file = pipeline.write();
    let output = tidegate(pipeline, ["check", file.to_str().expect("the rig's folders have UTF-8 names")]);
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&said).into_owned())
}

#[test]
fn every_mode_checks_what_it_says() {
    let (folder, authority) = (folder(), Authority::new());
    let ours = folder.path().join("ca.pem");
    let stranger = Authority::new().write(folder.path().join("stranger.pem"));
    let (address, other) = (folder.path().join("address"), folder.path().join("other"));
    for server in [&address, &other] {
        fs::create_dir(server).expect("the folder can be written");
    }
    let options = |folder: &Path, name| authority.server(folder, name);
    let (by_address, by_other) = (options(&address, "127.0.0.1"), options(&other, "db.example"));
    authority.write(ours.clone());

    let servers = [by_address, by_other]
        .map(|options| MariaDb::start(&options.iter().map(String::as_str).collect::<Vec<_>>()));
    // Mode, authority, and whether it works with the certificate of the address and of another host.
    let cases = [
        ("disable", None, [true, true]),
        ("require", None, [true, true]),
        ("verify_ca", Some(&ours), [true, true]),
        ("verify_ca", Some(&stranger), [false, false]),
        ("verify_identity", Some(&ours), [true, false]),
        ("verify_identity", Some(&stranger), [false, false]),
    ];
    for (n, server) in servers.iter().enumerate() {
        let database = server.database("tls");
        database.session().run("create table t (id int primary key); insert into t values (1)");
        for (mode, authority, works) in &cases {
            let mut pipeline = Pipeline::new(&database).source(&format!("tls: {mode}")).parquet();
            if let Some(file) = authority {
                pipeline = pipeline.source(&format!("tls_ca: \"{}\"", file.display()));
            }
            let (code, said) = check(&pipeline);
            let expected = if works[n] { 0 } else { 1 };
            assert_eq!(code, Some(expected), "{mode} with {authority:?}, server {n}: {said}");
            assert!(works[n] || said.contains("certificate"), "{mode}: the fault is not named: {said}");
        }
    }
}

#[test]
fn snapshot_and_stream_are_encrypted() {
    let (folder, authority) = (folder(), Authority::new());
    let options = authority.server(folder.path(), "127.0.0.1");
    let server = MariaDb::start(&options.iter().map(String::as_str).collect::<Vec<_>>());
    let database = server.database("encrypted");
    let mut session = database.session();
    session.run("create table t (id int primary key); insert into t values (1)");
    session.run("alter user tidegate@127.0.0.1 require ssl");
    let ca = folder.path().join("ca.pem");
    let pipeline = Pipeline::new(&database)
        .source("tls: verify_identity")
        .source(&format!("tls_ca: \"{}\"", ca.display()))
        .parquet();
    let agent = pipeline.start();
    agent.wait_for_snapshot();
    session.run("insert into t values (2)");
    agent.wait_for_position(&database.position());
    agent.stop();
    let lake = pipeline.lake();
    assert_eq!(lake.pyarrow(&lake.globbed_files("encrypted.t")).rows.len(), 2);
    // The server turns an open connection of this account away, so all of it was encrypted.
    let (code, said) = check(&Pipeline::new(&database).source("tls: disable").parquet());
    assert_eq!(code, Some(1), "{said}");
}
