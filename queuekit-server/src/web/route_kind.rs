//! What the middleware asks of a route.

use std::collections::BTreeMap;

/// How the middleware treats the requests of a route.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum RouteKind {
    /// It needs a key, and takes a place among the requests at once until it is answered.
    #[default]
    Keyed,
    /// The same for a page of the dashboard, which costs more than an answer of the API: a key has
    /// few in progress, and its further ones wait.
    Page,
    /// It needs a key, and may wait long for something to happen: it has a limit of its own, and
    /// takes no place among the requests at once.
    Waiting,
    /// It shows the same to everybody and on every server. It needs no key, as browsers send none.
    Published,
    /// It is open to everybody, and answers one line.
    Open,
}

/// The kind of each route, by its path. Only routes without parts that vary are other than
/// [`RouteKind::Keyed`].
#[derive(Clone, Debug, Default)]
pub(crate) struct RouteKinds(BTreeMap<String, RouteKind>);

impl RouteKinds {
    pub(crate) fn set(&mut self, path: impl Into<String>, kind: RouteKind) {
        self.0.insert(path.into(), kind);
    }

    pub(crate) fn of(&self, path: &str) -> RouteKind {
        self.0.get(path).copied().unwrap_or_default()
    }
}
