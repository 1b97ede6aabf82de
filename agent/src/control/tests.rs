//! The interface over a real socket, without pipelines behind it.

use std::sync::Arc;
use std::time::Instant;

use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::{Control, serve};
use crate::config::Secret;
use crate::telemetry::Metrics;

/// Answers one request after the other as (status, body).
async fn ask<const N: usize>(
    token: Option<&str>,
    requests: [(&str, &str, &str, &str); N],
) -> [(u16, String); N] {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let url = format!("http://{}", listener.local_addr().expect("it is bound"));
    let control = Control {
        pipelines: Vec::new(),
        metrics: Arc::new(Metrics::new()),
        token: token.map(Secret::new),
        started: Instant::now(),
    };
    let stop = CancellationToken::new();
    let server = tokio::spawn(serve(listener, Arc::new(control), stop.clone()));
    let requests = requests.map(|(method, path, header, value)| {
        (method.to_owned(), format!("{url}{path}"), header.to_owned(), value.to_owned())
    });
    let answers = tokio::task::spawn_blocking(move || {
        let http: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
        requests.map(|(method, url, header, value)| {
            let mut answer = match method.as_str() {
                "GET" => http.get(&url).header(&header, &value).call(),
                _ => http.post(&url).header(&header, &value).send(r#"{"table":"a.b"}"#),
            }
            .expect("it answers");
            let body = answer.body_mut().read_to_string().expect("in UTF-8");
            (answer.status().as_u16(), body)
        })
    })
    .await
    .expect("nothing panics");
    stop.cancel();
    server.await.expect("nothing panics").expect("it ends well");
    answers
}

#[tokio::test]
async fn reading_needs_no_token() {
    let get = |path| ("GET", path, "accept", "*/*");
    let paths =
        ["/healthz", "/readyz", "/metrics", "/v1/status", "/v1/pipelines", "/v1/pipelines/x", "/nothing"];
    let [health, ready, metrics, status, pipelines, unknown, nothing] =
        ask(Some("secret"), paths.map(get)).await;
    assert_eq!(health, (200, "ok\n".to_owned()));
    assert_eq!(ready, (200, "ok\n".to_owned()));
    assert!(metrics.1.ends_with("# EOF\n"), "{metrics:?}");
    let status: super::AgentStatus = serde_json::from_str(&status.1).expect("a status");
    assert_eq!(status.pid, std::process::id());
    assert_eq!(pipelines, (200, "[]".to_owned()));
    assert_eq!(unknown.0, 404);
    assert!(unknown.1.contains("there is no pipeline 'x'"), "{unknown:?}");
    assert_eq!(nothing.0, 404);
}

#[tokio::test]
async fn writing_and_row_values_need_the_token() {
    let snapshots = "/v1/pipelines/x/snapshots";
    let letter = "/v1/pipelines/x/dead-letters/0123456789abcdef";
    let [without, wrong, right, no_values, values] = ask(
        Some("secret"),
        [
            ("POST", snapshots, "content-type", "application/json"),
            ("POST", snapshots, "authorization", "Bearer secre"),
            ("POST", snapshots, "authorization", "Bearer secret"),
            ("GET", letter, "accept", "*/*"),
            ("GET", letter, "authorization", "Bearer secret"),
        ],
    )
    .await;
    assert_eq!((without.0, wrong.0, no_values.0), (401, 401, 401));
    assert!(!wrong.1.contains("secre\""), "{wrong:?}");
    // The token is right; the body is not said to be JSON.
    assert_eq!(right.0, 415);
    let refusal: super::Failure = serde_json::from_str(&right.1).expect("a refusal in JSON");
    assert!(refusal.hint.contains("application/json"), "{refusal:?}");
    assert_eq!(values.0, 404);
}

#[tokio::test]
async fn without_a_token_only_local_names_are_answered() {
    let [rebound, local] = ask(
        None,
        [("GET", "/v1/status", "host", "evil.example"), ("GET", "/v1/status", "host", "localhost:8480")],
    )
    .await;
    assert_eq!((rebound.0, local.0), (403, 200));
}
