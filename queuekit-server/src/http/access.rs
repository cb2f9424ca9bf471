//! Who asked for what, in the log: never what was sent or answered.

use std::time::Instant;

use axum::extract::{MatchedPath, Request};
use axum::http::Method;
use axum::response::Response;
use http_body::Body as _;

use super::caller::{Caller, Peer, peer_text};

/// A request that is being answered.
pub(super) struct Visit {
    method: &'static str,
    route: Option<MatchedPath>,
    peer: Option<Peer>,
    began: Instant,
}

impl Visit {
    pub(super) fn of(request: &Request) -> Self {
        Self {
            method: word_of(request.method()),
            route: request.extensions().get().cloned(),
            peer: request.extensions().get().copied(),
            began: Instant::now(),
        }
    }

    pub(super) fn peer(&self) -> Option<Peer> {
        self.peer
    }

    /// Logs that it was answered; of a stream, that it begins.
    pub(super) fn log(&self, caller: Option<&Caller>, response: &Response) {
        let (key, peer, route) = (key_of(caller), peer_text(self.peer), self.route());
        let (method, status) = (self.method, response.status().as_u16());
        let ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let bytes = response.body().size_hint().exact();
        tracing::info!(
            target: "queuekit::access", peer, key, method, route, status, ms, bytes
        );
    }

    /// Logs that so many were refused, of which this is the last.
    pub(super) fn log_refusal(&self, caller: Option<&Caller>, response: &Response, refused: u64) {
        let (key, peer, route) = (key_of(caller), peer_text(self.peer), self.route());
        let (method, status) = (self.method, response.status().as_u16());
        tracing::warn!(
            target: "queuekit::audit", peer, key, method, route, status, refused, "refused"
        );
    }

    /// As it is written in the description: what stands in a path is of whoever asks.
    fn route(&self) -> &str {
        self.route.as_ref().map_or("none", MatchedPath::as_str)
    }
}

/// Anybody may send any word.
pub(crate) fn word_of(method: &Method) -> &'static str {
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
