//! What every request passes: who is asking, whether a web page of another site made them ask, and
//! how many at once; and what every answer says of itself.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{Request, State};
use axum::http::header::CONNECTION;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tokio::sync::Semaphore;

use super::HttpOptions;
use super::access::Visit;
use super::caller::{Caller, sent_key};
use super::connections::Connection;
use super::content_type::refuse_cloud_events;
use super::csrf::Names;
use super::guesses::Guesses;
use super::keys::Keys;
use super::limits::LiveLimits;
use super::problem::Problem;

/// Routes that tell nothing but a word, and are open to everybody.
const OPEN: [&str; 2] = ["/healthz", "/readyz"];
/// The description of the API, which is the same on every server: a browser sends no key.
const PUBLISHED: [&str; 2] = ["/docs", "/openapi.json"];
/// Whoever stands between a client and this server may look at the other one.
const SINGLE: [&str; 5] = ["host", "authorization", "idempotency-key", "origin", "sec-fetch-site"];
/// Answers are for who asked: neither for a cache, nor to be guessed at or shown by other sites.
const PRIVATE: [(&str, &str); 3] = [
    ("cache-control", "no-store"),
    ("x-content-type-options", "nosniff"),
    ("cross-origin-resource-policy", "same-origin"),
];

/// Each keeps a connection and what has come on it.
const WAITING: usize = 256;

/// Guards all routes.
#[derive(Debug)]
pub(crate) struct Door {
    keys: Keys,
    names: Names,
    limits: Arc<LiveLimits>,
    guesses: Guesses,
    /// Wrong keys whose answers wait; what is beyond is told at once, and its connection closed.
    waiting: Semaphore,
    access_log: bool,
}

impl Door {
    pub(crate) fn new(options: &HttpOptions, limits: Arc<LiveLimits>) -> Self {
        Self {
            keys: options.keys.clone(),
            names: Names::new(options),
            limits,
            guesses: Guesses::default(),
            waiting: Semaphore::new(WAITING),
            access_log: options.access_log,
        }
    }

    fn admit(&self, parts: &Parts) -> Result<Caller, Problem> {
        check_single(&parts.headers)?;
        // Who may pass without a key is looked at more closely.
        let is_open = self.keys.is_empty();
        if is_open {
            self.names.check(parts)?;
        }
        refuse_cloud_events(parts)?;
        let caller = Caller::of(&self.keys, is_open, parts)?;
        caller.spend(1)?;
        Ok(caller)
    }

    /// The answer, and who asked if that is known.
    async fn answer(&self, request: Request, next: Next) -> (Option<Caller>, Response) {
        let path = request.uri().path();
        if OPEN.contains(&path) {
            return (None, next.run(request).await);
        }
        let (is_published, is_waiting) = (PUBLISHED.contains(&path), is_waiting(path));
        let (mut parts, body) = request.into_parts();
        let caller = match self.admit(&parts) {
            Ok(caller) => caller,
            Err(_) if is_published => {
                let _place = match self.limits.requests.take_of_all(1) {
                    Ok(place) => place,
                    Err(problem) => return (None, problem.into_response()),
                };
                return (None, next.run(Request::from_parts(parts, body)).await);
            }
            Err(problem) => return (None, self.refuse(parts, problem).await),
        };
        if let Some(connection) = parts.extensions.get::<Arc<Connection>>() {
            connection.speaks();
        }
        parts.extensions.insert(caller.clone());
        let request = Request::from_parts(parts, body);
        // Long polls and streams have bounds of their own: they must not use up that of the others.
        let _place = match is_waiting {
            true => None,
            false => match self.limits.requests.take(&caller) {
                Ok(place) => Some(place),
                Err(problem) => return (Some(caller), problem.into_response()),
            },
        };
        let response = next.run(request).await;
        (Some(caller), response)
    }

    /// A wrong key is told so later, the more of them have come from there. It is the last that is
    /// read of its connection, and nothing of it is kept meanwhile: waiting costs little.
    async fn refuse(&self, parts: Parts, problem: Problem) -> Response {
        let mut response = problem.into_response();
        if response.status() == StatusCode::UNAUTHORIZED && sent_key(&parts).is_some() {
            let peer = parts.extensions.get().copied();
            drop(parts);
            if let Ok(_place) = self.waiting.try_acquire() {
                tokio::time::sleep(self.guesses.wait(peer, Instant::now())).await;
            }
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

/// The middleware.
pub(crate) async fn pass(State(door): State<Arc<Door>>, request: Request, next: Next) -> Response {
    let visit = Visit::of(&request);
    let (caller, mut response) = door.answer(request, next).await;
    for (name, value) in PRIVATE {
        response.headers_mut().entry(name).or_insert(HeaderValue::from_static(value));
    }
    if matches!(response.status(), StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
        && let Some(refused) = door.guesses.told(visit.peer(), Instant::now())
    {
        visit.log_refusal(caller.as_ref(), &response, refused);
    }
    if door.access_log {
        visit.log(caller.as_ref(), &response);
    }
    response
}

fn is_waiting(path: &str) -> bool {
    path == "/v1/reserve" || path == "/v1/stream"
}

fn check_single(headers: &HeaderMap) -> Result<(), Problem> {
    let is_twice = |name: &&str| headers.get_all(*name).iter().nth(1).is_some();
    match SINGLE.into_iter().find(is_twice) {
        Some(name) => {
            Err(Problem::bad_request(format!("the header {name} is there twice; send it once")))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s6_who_says_twice_who_is_asked_or_who_asks_is_refused() {
        for name in SINGLE {
            let request = axum::http::Request::builder().header(name, "localhost");
            let (parts, ()) = request.header(name, "evil").body(()).unwrap().into_parts();
            let refused = check_single(&parts.headers).unwrap_err().into_response();
            assert_eq!(refused.status(), 400, "{name}");
        }
    }
}
