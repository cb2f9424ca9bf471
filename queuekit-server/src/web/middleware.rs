//! The middleware of all routes: checks the key, the origin and the number of requests, and adds
//! headers to every answer.

use std::any::Any;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::{Request, State};
use axum::http::header::{CONNECTION, HOST};
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap, HeaderValue, StatusCode, Version};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::HttpOptions;
use super::access_log::AccessLogEntry;
use super::auth::{Caller, Peer, sent_key};
use super::auth_failures::AuthFailures;
use super::content_type::refuse_unreadable;
use super::csrf::AllowedHosts;
use super::fair_share::{SharePermit, key_exhausted};
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

/// How long a page waits for those before it. All the pages of a key that opened as many as it may
/// are made within this time.
const PAGE_TIMEOUT: Duration = Duration::from_secs(10);

/// Guards all routes.
#[derive(Debug)]
pub(crate) struct Middleware {
    keys: Keys,
    names: AllowedHosts,
    routes: RouteKinds,
    limits: Arc<LiveLimits>,
    auth_failures: AuthFailures,
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
            access_log: options.access_log,
        }
    }

    /// Checks what every request says about where it goes, and how its body is to be read.
    ///
    /// # Errors
    /// 400 if it says where twice, or does not say it; 415 or 400 if its body is compressed.
    pub(crate) fn check_head(&self, parts: &Parts) -> Result<(), Problem> {
        check_single(&parts.headers)?;
        check_host(parts)?;
        refuse_unreadable(parts)
    }

    pub(crate) fn keys(&self) -> &Keys {
        &self.keys
    }

    /// The names of a server without keys.
    pub(crate) fn names(&self) -> &AllowedHosts {
        &self.names
    }

    fn admit(&self, parts: &Parts) -> Result<Caller, Problem> {
        self.check_head(parts)?;
        // Without keys, check where the request came from.
        let is_open = self.keys.is_empty();
        if is_open {
            self.names.check(parts)?;
        }
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
                let answer = self.run_published(Request::from_parts(parts, body), next).await;
                let mut answer = answer.unwrap_or_else(IntoResponse::into_response);
                // A stranger could ask for hundreds of large answers in one packet.
                answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
                return (None, answer);
            }
            Err(problem) => return (None, self.refuse(parts, problem).await),
        };
        parts.extensions.insert(caller.clone());
        let answer = self.run(&caller, kind, Request::from_parts(parts, body), next).await;
        (Some(caller), answer.unwrap_or_else(IntoResponse::into_response))
    }

    /// Answers a request that anybody may make, if there is a place for it.
    ///
    /// # Errors
    /// 503 if there is none.
    pub(crate) async fn run_published(
        &self,
        request: Request,
        next: Next,
    ) -> Result<Response, Problem> {
        let _place = self.limits.requests.take_shared(1)?;
        Ok(next.run(request).await)
    }

    /// Answers a request of this caller, within its shares.
    ///
    /// # Errors
    /// 429 or 503 if there is no place for it.
    pub(crate) async fn run(
        &self,
        caller: &Caller,
        kind: RouteKind,
        request: Request,
        next: Next,
    ) -> Result<Response, Problem> {
        let in_progress = self.begin(request.extensions(), caller)?;
        let _place = match kind {
            RouteKind::Waiting => None,
            _ => Some(self.limits.requests.take(caller)?),
        };
        let _page = match kind {
            RouteKind::Page => Some(place_of_page(&self.limits, caller).await?),
            _ => None,
        };
        Ok(hold_until_sent(next.run(request).await, in_progress))
    }

    /// Keeps the connection of this request open until what is returned is dropped.
    fn begin(&self, of: &Extensions, caller: &Caller) -> Result<impl Send + use<>, Problem> {
        let share = self.limits.busy.take_for_key(caller, 1)?;
        let connection = match of.get() {
            Some(OnAdmit(admitted)) => {
                let begun = admitted(caller.key());
                Some(begun.map_err(|refused| match refused {
                    NotBegun::Closing => Problem::overloaded("connections"),
                    NotBegun::KeyExhausted => key_exhausted(caller, "connections of one address"),
                })?)
            }
            None => None,
        };
        Ok((connection, share))
    }

    /// Answers a request that is not admitted. A wrong key is answered the later, the more its
    /// address has sent; nothing of the request is kept meanwhile, so waiting costs little. The
    /// connection of a stranger is closed afterwards.
    async fn refuse(&self, parts: Parts, problem: Problem) -> Response {
        let mut response = problem.into_response();
        if response.status() != StatusCode::UNAUTHORIZED {
            return response;
        }
        let wrong_key_of = sent_key(&parts).map(|_| parts.extensions.get().copied());
        drop(parts);
        if let Some(peer) = wrong_key_of {
            self.wait_after_wrong_key(peer).await;
        }
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        response
    }

    /// Waits before a wrong key is answered: the more an address has sent, the longer.
    pub(crate) async fn wait_after_wrong_key(&self, peer: Option<Peer>) {
        self.auth_failures.wait(peer).await;
    }

    /// Adds the headers of every answer, and logs it.
    pub(crate) fn finish(
        &self,
        entry: &AccessLogEntry,
        caller: Option<&Caller>,
        mut response: Response,
    ) -> Response {
        for (name, value) in PRIVATE {
            response.headers_mut().entry(name).or_insert(HeaderValue::from_static(value));
        }
        if matches!(response.status(), StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
            && let Some(refused) = self.auth_failures.to_log(entry.peer(), Instant::now())
        {
            entry.log_refusal(caller, &response, refused);
        }
        if self.access_log {
            entry.log(caller, &response);
        }
        response
    }
}

/// Called with the id of the key when a request is admitted: its connection stays open until what
/// it returns is dropped.
#[derive(Clone)]
pub(crate) struct OnAdmit(pub(crate) Arc<Begin>);

type Begin = dyn Fn(Option<&str>) -> Result<Box<dyn Any + Send>, NotBegun> + Send + Sync;

/// Why an admitted request does not begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotBegun {
    /// The connection is being closed.
    Closing,
    /// The key uses as many connections of its address as it leaves free.
    KeyExhausted,
}

/// The middleware of all routes.
pub(crate) async fn handle(
    State(middleware): State<Arc<Middleware>>,
    request: Request,
    next: Next,
) -> Response {
    let entry = AccessLogEntry::of(&request);
    let (caller, response) = middleware.answer(request, next).await;
    middleware.finish(&entry, caller.as_ref(), response)
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

/// Waits for a place to make a page of the dashboard.
async fn place_of_page(limits: &LiveLimits, caller: &Caller) -> Result<SharePermit, Problem> {
    tokio::select! {
        biased;
        () = caller.ended() => Err(Problem::key_ended()),
        place = limits.pages.wait(caller, PAGE_TIMEOUT) => place,
    }
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::body::Body;
    use axum::middleware::from_fn;
    use axum::routing::get;
    use futures_util::future::{join_all, poll_immediate};
    use tower::ServiceExt;

    use super::super::HttpLimits;
    use super::super::auth::tests::caller_of;
    use super::*;
    use crate::config::{HttpFlags, Sources};

    /// Guard: 250 pages of one key at once took a gigabyte, and held others up for seconds.
    #[tokio::test(start_paused = true)]
    async fn s6_a_key_makes_three_pages_at_once_and_no_key_waits_for_them() {
        let limits = LiveLimits::new(&HttpLimits::default());
        let (one, other) = (caller_of("one", 1), caller_of("other", 1));
        let three = join_all((0..3).map(|_| place_of_page(&limits, &one))).await;
        assert!(three.iter().all(Result::is_ok));
        let mut fourth = Box::pin(place_of_page(&limits, &one));
        assert!(poll_immediate(&mut fourth).await.is_none());
        assert!(place_of_page(&limits, &other).await.is_ok());
        drop(three);
        assert!(poll_immediate(&mut fourth).await.is_some_and(|page| page.is_ok()));
    }

    /// Guard: each request for a page takes a place, and waits for it for 10 s at most.
    #[tokio::test(start_paused = true)]
    async fn s6_a_page_waits_ten_seconds_for_those_before_it() {
        let options = HttpFlags::default().resolve(&Sources::default()).unwrap();
        let limits = LiveLimits::new(&options.limits);
        let middleware = Middleware::new(&options, Arc::clone(&limits), RouteKinds::default());
        let (middleware, caller) = (Arc::new(middleware), caller_of("one", 1));
        let own = caller.clone();
        let page = from_fn(move |request, next| {
            let (middleware, caller) = (Arc::clone(&middleware), own.clone());
            async move { middleware.run(&caller, RouteKind::Page, request, next).await }
        });
        let server = Router::new().route("/ui", get(async || ())).layer(page);
        let ask = async || {
            let (begun, request) = (tokio::time::Instant::now(), Request::builder().uri("/ui"));
            let answer = server.clone().oneshot(request.body(Body::empty()).unwrap()).await;
            (answer.unwrap().status(), begun.elapsed())
        };
        let own = join_all((0..3).map(|_| place_of_page(&limits, &caller))).await;
        let (status, waited) = ask().await;
        assert_eq!((status, waited.as_secs()), (StatusCode::TOO_MANY_REQUESTS, 10));
        drop(own);
        assert_eq!(ask().await, (StatusCode::OK, Duration::ZERO));
        let others = ["two", "three", "four", "five", "six", "seven"].map(|id| caller_of(id, 1));
        let all = others.iter().flat_map(|other| [other; 3]).take(16);
        let all = join_all(all.map(|other| place_of_page(&limits, other))).await;
        let (status, waited) = ask().await;
        assert_eq!((status, waited.as_secs()), (StatusCode::SERVICE_UNAVAILABLE, 10));
        drop(all);
    }

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
