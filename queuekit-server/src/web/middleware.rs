//! The middleware of all routes: checks the key, the origin and the number of requests, and adds
//! headers to every answer.

use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

use axum::extract::{Request, State};
use axum::http::header::{CONNECTION, HOST};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Version};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tokio::sync::Semaphore;

use super::HttpOptions;
use super::access_log::AccessLogEntry;
use super::auth::{Caller, sent_key};
use super::auth_failures::AuthFailures;
use super::content_type::refuse_unreadable;
use super::csrf::AllowedHosts;
use super::hold_until_sent::hold_until_sent;
use super::keys::Keys;
use super::limits::LiveLimits;
use super::problem::Problem;
use super::route_kind::{RouteKind, RouteKinds};

/// Headers that may be sent only once: a proxy in between may check the other one.
const SINGLE: [&str; 5] = ["host", "authorization", "idempotency-key", "origin", "sec-fetch-site"];
/// Answers are for the caller only: not for caches, content sniffing or other sites.
const PRIVATE: [(&str, &str); 3] = [
    ("cache-control", "no-store"),
    ("x-content-type-options", "nosniff"),
    ("cross-origin-resource-policy", "same-origin"),
];

/// Most delayed answers; each keeps a connection open.
const WAITING: usize = 256;

/// Guards all routes.
#[derive(Debug)]
pub(crate) struct Middleware {
    keys: Keys,
    names: AllowedHosts,
    routes: RouteKinds,
    limits: Arc<LiveLimits>,
    auth_failures: AuthFailures,
    /// Answers to wrong keys that are delayed. Beyond that, they are answered at once, and their
    /// connections closed.
    waiting: Semaphore,
    access_log: bool,
}

impl Middleware {
    pub(crate) fn new(options: &HttpOptions, limits: Arc<LiveLimits>, routes: RouteKinds) -> Self {
        Self {
            keys: options.keys.clone(),
            names: AllowedHosts::new(options),
            routes,
            limits,
            auth_failures: AuthFailures::default(),
            waiting: Semaphore::new(WAITING),
            access_log: options.access_log,
        }
    }

    fn admit(&self, parts: &Parts) -> Result<Caller, Problem> {
        check_single(&parts.headers)?;
        check_host(parts)?;
        // Without keys, check where the request came from.
        let is_open = self.keys.is_empty();
        if is_open {
            self.names.check(parts)?;
        }
        refuse_unreadable(parts)?;
        let caller = Caller::of(&self.keys, is_open, parts)?;
        caller.spend(1)?;
        Ok(caller)
    }

    /// The answer, and the caller if known.
    async fn answer(&self, request: Request, next: Next) -> (Option<Caller>, Response) {
        let kind = self.routes.of(request.uri().path());
        if kind == RouteKind::Open {
            return (None, next.run(request).await);
        }
        let (mut parts, body) = request.into_parts();
        let caller = match self.admit(&parts) {
            Ok(caller) => caller,
            Err(_) if kind == RouteKind::Published => {
                let _place = match self.limits.requests.take_shared(1) {
                    Ok(place) => place,
                    Err(problem) => return (None, problem.into_response()),
                };
                return (None, next.run(Request::from_parts(parts, body)).await);
            }
            Err(problem) => return (None, self.refuse(parts, problem).await),
        };
        let in_progress = match self.begin(&parts, &caller) {
            Ok(in_progress) => in_progress,
            Err(problem) => return (Some(caller), problem.into_response()),
        };
        parts.extensions.insert(caller.clone());
        let request = Request::from_parts(parts, body);
        let _place = match kind {
            RouteKind::Waiting => None,
            _ => match self.limits.requests.take(&caller) {
                Ok(place) => Some(place),
                Err(problem) => return (Some(caller), problem.into_response()),
            },
        };
        let response = next.run(request).await;
        (Some(caller), hold_until_sent(response, in_progress))
    }

    /// Keeps the connection of this request open until what is returned is dropped.
    fn begin(&self, parts: &Parts, caller: &Caller) -> Result<impl Send + use<>, Problem> {
        let share = self.limits.busy.take_for_key(caller, 1)?;
        let connection = match parts.extensions.get() {
            Some(OnAdmit(admitted)) => {
                Some(admitted().ok_or_else(|| Problem::overloaded("connections"))?)
            }
            None => None,
        };
        Ok((connection, share))
    }

    /// Answers a wrong key. The more an address has sent, the later. The connection is closed
    /// afterwards, and nothing of the request is kept meanwhile, so waiting costs little.
    async fn refuse(&self, parts: Parts, problem: Problem) -> Response {
        let mut response = problem.into_response();
        if response.status() == StatusCode::UNAUTHORIZED && sent_key(&parts).is_some() {
            let peer = parts.extensions.get().copied();
            drop(parts);
            if let Ok(_place) = self.waiting.try_acquire() {
                tokio::time::sleep(self.auth_failures.delay(peer, Instant::now())).await;
            }
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

/// Called when a request is admitted: its connection stays open until what it returns is dropped.
/// `None` if the connection is being closed.
#[derive(Clone)]
pub(crate) struct OnAdmit(pub(crate) Arc<dyn Fn() -> Option<Box<dyn Any + Send>> + Send + Sync>);

/// The middleware of all routes.
pub(crate) async fn handle(
    State(middleware): State<Arc<Middleware>>,
    request: Request,
    next: Next,
) -> Response {
    let entry = AccessLogEntry::of(&request);
    let (caller, mut response) = middleware.answer(request, next).await;
    for (name, value) in PRIVATE {
        response.headers_mut().entry(name).or_insert(HeaderValue::from_static(value));
    }
    if matches!(response.status(), StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
        && let Some(refused) = middleware.auth_failures.to_log(entry.peer(), Instant::now())
    {
        entry.log_refusal(caller.as_ref(), &response, refused);
    }
    if middleware.access_log {
        entry.log(caller.as_ref(), &response);
    }
    response
}

fn check_single(headers: &HeaderMap) -> Result<(), Problem> {
    let is_twice = |name: &&str| headers.get_all(*name).iter().nth(1).is_some();
    match SINGLE.into_iter().find(is_twice) {
        Some(name) => {
            Err(Problem::bad_request(format!("the header {name} was sent twice; send it once")))
        }
        None => Ok(()),
    }
}

/// RFC 9112, section 3.2: each request says which host it is for.
fn check_host(parts: &Parts) -> Result<(), Problem> {
    let is_named = parts.headers.contains_key(HOST) || parts.uri.authority().is_some();
    if parts.version != Version::HTTP_11 || is_named {
        return Ok(());
    }
    Err(Problem::bad_request("the header host is missing"))
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
