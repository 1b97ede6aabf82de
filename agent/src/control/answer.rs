//! Errors as answers: `{"error": …, "hint": …}` with the status code that
//! tells a program whether to try again.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use tidegate_model::{Error, ErrorKind};

/// The body of every answer that is not a success.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Failure {
    /// What failed and why.
    pub(crate) error: String,
    /// What to do next; empty when nothing is known.
    pub(crate) hint: String,
}

/// An error on its way out.
#[derive(Debug)]
pub(crate) struct Refused {
    status: StatusCode,
    body: Failure,
}

impl Refused {
    pub(crate) fn new(status: StatusCode, error: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { status, body: Failure { error: error.into(), hint: hint.into() } }
    }
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        let status = match error.kind() {
            ErrorKind::Config | ErrorKind::Unsupported => StatusCode::BAD_REQUEST,
            ErrorKind::Fenced | ErrorKind::Refused => StatusCode::CONFLICT,
            _ if error.is_transient() => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self::new(status, error.message(), error.hint_text().unwrap_or_default())
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        (self.status, Json(self.body)).into_response()
    }
}

/// The answer of paths that nothing stands at.
pub(super) async fn not_found() -> Refused {
    Refused::new(StatusCode::NOT_FOUND, "there is no such resource", "docs/reference/cli.md lists them all")
}
