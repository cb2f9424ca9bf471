//! Who is asking, and what they may do.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use jiff::Timestamp;
use queuekit::{Clock, Job, SystemClock};

use super::keys::{KeyEntry, Keys, Scope};
use super::problem::Problem;

/// Who sent a request: the holder of a key, or anybody where no keys are asked for.
#[derive(Clone, Debug)]
pub(crate) struct Caller(Option<Arc<KeyEntry>>);

impl Caller {
    /// Finds out who sent this.
    ///
    /// # Errors
    /// 401 if keys are asked for and this one is none of them.
    pub(crate) fn of(keys: &Keys, is_open: bool, parts: &Parts) -> Result<Self, Problem> {
        let sent = parts.headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let bearer = sent
            .and_then(|sent| sent.split_once(' '))
            .and_then(|(scheme, key)| scheme.eq_ignore_ascii_case("bearer").then_some(key.trim()));
        if is_open {
            return Ok(Self(None));
        }
        let found = keys.find(bearer.unwrap_or_default(), now());
        found.map(|key| Self(Some(key))).ok_or_else(|| {
            let detail = "send a key of this server as `Authorization: Bearer qk_..`; \
                          `queuekit key new` makes one";
            Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", detail)
        })
    }

    /// # Errors
    /// 403 if the key does not open this.
    pub(crate) fn need(&self, scope: Scope) -> Result<(), Problem> {
        match &self.0 {
            Some(key) if !key.has(scope) => {
                let wanted = serde_json::to_string(&scope).unwrap_or_default();
                let detail = format!("the key {} lacks the scope {wanted}", key.id);
                Err(Problem::forbidden(detail))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn has(&self, scope: Scope) -> bool {
        self.0.as_ref().is_none_or(|key| key.has(scope))
    }

    /// # Errors
    /// 403 if the key is not for this queue.
    pub(crate) fn need_queue(&self, queue: &str) -> Result<(), Problem> {
        match &self.0 {
            Some(key) if !key.sees_queue(queue) => {
                Err(Problem::forbidden(format!("the key {} is not for queue {queue}", key.id)))
            }
            _ => Ok(()),
        }
    }

    /// # Errors
    /// 403 if the key is not for this type.
    pub(crate) fn need_type(&self, kind: &str) -> Result<(), Problem> {
        match &self.0 {
            Some(key) if !key.sees_type(kind) => {
                Err(Problem::forbidden(format!("the key {} is not for type {kind}", key.id)))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn sees_queue(&self, queue: &str) -> bool {
        self.0.as_ref().is_none_or(|key| key.sees_queue(queue))
    }

    pub(crate) fn sees_type(&self, kind: &str) -> bool {
        self.0.as_ref().is_none_or(|key| key.sees_type(kind))
    }

    pub(crate) fn sees(&self, job: &Job) -> bool {
        self.sees_queue(job.queue.as_str()) && self.sees_type(job.kind.as_str())
    }

    /// Whether some queues or types are hidden from it.
    pub(crate) fn is_bound(&self) -> bool {
        self.0.as_ref().is_some_and(|key| key.is_bound())
    }

    /// Whether some types are hidden from it.
    pub(crate) fn is_bound_to_types(&self) -> bool {
        self.0.as_ref().is_some_and(|key| !key.types.is_empty())
    }

    /// For the log.
    pub(crate) fn id(&self) -> &str {
        self.0.as_ref().map_or("-", |key| &key.id)
    }
}

/// What the door has put there: nothing gets past it without.
impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        parts.extensions.get::<Self>().cloned().ok_or_else(|| {
            let detail = "this route was reached without the check of keys; report a bug";
            Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", detail)
        })
    }
}

fn now() -> Timestamp {
    let millis = SystemClock::default().now().as_millis();
    Timestamp::from_millisecond(millis).unwrap_or(Timestamp::MAX)
}
