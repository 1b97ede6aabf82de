//! Who may do what.
//!
//! Two doors. The token guards what writes and what shows row values. Without
//! a token the interface listens on loopback only, which keeps other machines
//! out but not the browser on this one: a page that a person visits can send
//! requests to 127.0.0.1, and by rebinding its own name's address even read the
//! answers. Such requests carry the page's host name, so on loopback only
//! addresses and `localhost` are answered; and a write takes JSON, which a
//! foreign page cannot send without asking first.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, HOST};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::Control;
use super::answer::Refused;

/// Lets a request through when no token is set or it carries the token.
pub(super) async fn require_token(
    State(control): State<Arc<Control>>,
    request: Request,
    next: Next,
) -> Response {
    let allowed = match &control.token {
        None => true,
        Some(token) => {
            bearer(request.headers()).is_some_and(|given| same(given.as_bytes(), token.expose().as_bytes()))
        }
    };
    if allowed {
        return next.run(request).await;
    }
    let hint = "send `Authorization: Bearer TOKEN` with `agent.token` of the agent's file; \
                a command takes it from TIDEGATE_TOKEN, or by `-c FILE` from the file";
    Refused::new(StatusCode::UNAUTHORIZED, "this call needs the agent's token", hint).into_response()
}

/// Without a token, refuses requests that were meant for another name.
pub(super) async fn refuse_rebound_hosts(
    State(control): State<Arc<Control>>,
    request: Request,
    next: Next,
) -> Response {
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok());
    if control.token.is_some() || host.is_none_or(is_local) {
        return next.run(request).await;
    }
    let hint = "use the address that the agent listens on, or set `token` in its section";
    Refused::new(StatusCode::FORBIDDEN, "this host name is not the agent's", hint).into_response()
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    headers.get(AUTHORIZATION)?.to_str().ok()?.strip_prefix("Bearer ")
}

/// Compares in a time that depends on the lengths only.
fn same(given: &[u8], expected: &[u8]) -> bool {
    let differences = given.iter().zip(expected).fold(0, |sum, (a, b)| sum | (a ^ b));
    given.len() == expected.len() && differences == 0
}

/// True for an address or `localhost`, with or without a port.
fn is_local(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let name = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_hosts() {
        for host in ["localhost", "LocalHost:8480", "127.0.0.1:8480", "[::1]:8480", "[::1]", "10.0.0.7"] {
            assert!(is_local(host), "{host}");
        }
        for host in ["evil.example", "evil.example:8480", "localhost.evil.example", "127.0.0.1.evil.example"]
        {
            assert!(!is_local(host), "{host}");
        }
    }

    #[test]
    fn tokens_are_compared_whole() {
        assert!(same(b"abc", b"abc"));
        for given in [&b""[..], b"ab", b"abd", b"abcd"] {
            assert!(!same(given, b"abc"));
        }
    }
}
