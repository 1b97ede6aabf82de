//! A running agent's HTTP interface, from the side of a command.

use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tidegate_model::{Error, ErrorKind, Result};
use ureq::Agent as Http;

use crate::config::Secret;
use crate::control::Failure;

/// An answer takes at most this long.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A running agent.
#[derive(Debug)]
pub(crate) struct Client {
    http: Http,
    url: String,
    token: Option<Secret>,
}

impl Client {
    /// The agent at this address.
    pub(crate) fn new(url: &str, token: Option<Secret>) -> Self {
        let config = Http::config_builder()
            .timeout_global(Some(TIMEOUT))
            // The answer's own words are better than the code's.
            .http_status_as_error(false)
            // A proxy for the world outside has no business with it.
            .proxy(None)
            .build();
        Self { http: config.into(), url: url.trim_end_matches('/').to_owned(), token }
    }

    /// Reads a resource.
    ///
    /// # Errors
    /// `Connection` when nobody answers; else what the agent says.
    pub(crate) fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T> {
        let mut request = self.http.get(format!("{}{path}", self.url));
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {}", token.expose()));
        }
        self.answer(request.call())
    }

    /// Asks for something to be done.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub(crate) fn post<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T> {
        let mut request = self.http.post(format!("{}{path}", self.url));
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {}", token.expose()));
        }
        self.answer(request.send_json(body))
    }

    fn answer<T: DeserializeOwned>(
        &self,
        answer: std::result::Result<ureq::http::Response<ureq::Body>, ureq::Error>,
    ) -> Result<T> {
        let mut answer = answer.map_err(|error| {
            Error::new(ErrorKind::Connection, "the agent does not answer")
                .with("url", &self.url)
                .because(error)
                .hint("is it running? `tidegate run FILE` starts it")
        })?;
        let status = answer.status();
        if status.is_success() {
            return answer.body_mut().read_json().map_err(|error| self.foreign(error));
        }
        let failure: Failure = answer.body_mut().read_json().map_err(|error| self.foreign(error))?;
        // The kind decides the exit code, so it has to survive the way here.
        let kind = match status.as_u16() {
            400 | 404 => ErrorKind::Config,
            401 | 403 => ErrorKind::Permission,
            409 => ErrorKind::Refused,
            _ => ErrorKind::Connection,
        };
        let error = Error::new(kind, failure.error);
        Err(if failure.hint.is_empty() { error } else { error.hint(failure.hint) })
    }

    fn foreign(&self, error: ureq::Error) -> Error {
        Error::new(ErrorKind::Connection, "the answer is not an agent's")
            .with("url", &self.url)
            .because(error)
            .hint("check the address, and that agent and command have the same version")
    }
}
