//! The access log: who asked for which route, but never what was sent or answered.

use std::time::Instant;

use axum::extract::{MatchedPath, Request};
use axum::http::Method;
use axum::response::Response;
use http_body::Body as _;

use super::auth::{Caller, Peer, peer_text};

/// A request that is being answered.
pub(crate) struct AccessLogEntry {
    method: &'static str,
    route: Option<MatchedPath>,
    peer: Option<Peer>,
    began: Instant,
}

impl AccessLogEntry {
    pub(crate) fn of(request: &Request) -> Self {
        Self {
            method: method_name(request.method()),
            route: request.extensions().get().cloned(),
            peer: request.extensions().get().copied(),
            began: Instant::now(),
        }
    }

    pub(crate) fn peer(&self) -> Option<Peer> {
        self.peer
    }

    /// Logs that the request was answered, or that a stream begins.
    pub(crate) fn log(&self, caller: Option<&Caller>, response: &Response) {
        let (key, peer, route) = (key_of(caller), peer_text(self.peer), self.route());
        let (method, status) = (self.method, response.status().as_u16());
        let ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let bytes = response.body().size_hint().exact();
        tracing::info!(
            target: "queuekit::access", peer, key, method, route, status, ms, bytes
        );
    }

    /// Logs a number of refusals, of which this is the last.
    pub(crate) fn log_refusal(&self, caller: Option<&Caller>, response: &Response, refused: u64) {
        let (key, peer, route) = (key_of(caller), peer_text(self.peer), self.route());
        let (method, status) = (self.method, response.status().as_u16());
        tracing::warn!(
            target: "queuekit::audit", peer, key, method, route, status, refused, "refused"
        );
    }

    /// The route as the description writes it, because the caller controls the path.
    fn route(&self) -> &str {
        self.route.as_ref().map_or("none", MatchedPath::as_str)
    }
}

/// The method as a known word, because the caller may send any word.
pub(crate) fn method_name(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}

fn key_of(caller: Option<&Caller>) -> &str {
    caller.map_or("-", Caller::id)
}
