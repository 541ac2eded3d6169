//! Problems as HTTP answers.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use hub::operate::Refusal;
use operator::Problem;

/// A [`Problem`] on its way out.
#[derive(Debug)]
pub struct Failure(pub Problem);

/// What an operation ends with.
pub type Outcome<T> = Result<T, Failure>;

impl Failure {
    /// A problem without a next step.
    pub fn new(code: &str, message: impl Into<String>) -> Failure {
        Failure(Problem::new(code, message))
    }
    /// The same with a next step.
    pub fn next(self, next: impl Into<String>) -> Failure {
        Failure(self.0.next(next))
    }
    /// Something of the system failed; what it was is told, without a value of anybody's.
    pub fn io(what: &str, error: &std::io::Error) -> Failure {
        Failure::new("io", format!("{what}: {error}"))
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Failure {
        Failure(problem)
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Failure {
        Failure(Problem { code: refusal.code, message: refusal.message, next: refusal.next })
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let body = serde_json::to_vec(&self.0).unwrap_or_else(|_| b"{}".to_vec());
        (status(&self.0.code), [(header::CONTENT_TYPE, "application/json")], body).into_response()
    }
}

/// The HTTP status is only a hint for people with a network tool: programs read the code.
fn status(code: &str) -> StatusCode {
    match code {
        "wrong_door" | "pin_required" | "pin_wrong" | "pin_locked" | "not_a_person" => StatusCode::FORBIDDEN,
        "unknown_operation" | "unknown_path" | "unknown_server" | "unknown_tool" | "unknown_token"
        | "unknown_approval" | "unknown_call" | "no_log" => StatusCode::NOT_FOUND,
        "wrong_method" => StatusCode::METHOD_NOT_ALLOWED,
        "server_exists" | "token_exists" | "ambiguous_tool" | "server_disabled" | "cannot_edit" | "digest_changed"
        | "hash_changed" | "unreadable" | "approval_expired" | "not_unknown" | "scope_too_wide" => StatusCode::CONFLICT,
        "bad_config" | "invalid_arguments" => StatusCode::UNPROCESSABLE_ENTITY,
        "body_too_large" => StatusCode::PAYLOAD_TOO_LARGE,
        "wrong_content_type" => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "hub_stopping" | "audit_unavailable" => StatusCode::SERVICE_UNAVAILABLE,
        "not_offered" => StatusCode::NOT_IMPLEMENTED,
        "timeout" => StatusCode::GATEWAY_TIMEOUT,
        "io" | "internal" => StatusCode::INTERNAL_SERVER_ERROR,
        _ => StatusCode::BAD_REQUEST,
    }
}
