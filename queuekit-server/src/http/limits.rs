//! What holds of `[limits]` now: one place that takes other limits while the server goes on.

use std::sync::{Arc, PoisonError, RwLock};

use super::HttpLimits;
use super::bound::{Bound, Size};
use super::permits::Permits;
use super::room::Memory;

/// The limits, and what counts against them.
#[derive(Debug)]
pub(crate) struct LiveLimits {
    now: RwLock<HttpLimits>,
    pub(super) connections: Permits,
    pub(super) memory: Arc<Memory>,
    pub(super) requests: Bound,
    /// Reserve calls that do not wait.
    pub(crate) looks: Bound,
    /// Long polls.
    pub(crate) polls: Bound,
    pub(crate) streams: Bound,
}

impl LiveLimits {
    pub(crate) fn new(limits: &HttpLimits) -> Arc<Self> {
        let live = Self {
            now: RwLock::new(*limits),
            connections: Permits::none(),
            memory: Arc::new(Memory::none()),
            requests: Bound::none("requests"),
            looks: Bound::none("requests"),
            polls: Bound::none("long polls"),
            streams: Bound::none("streams"),
        };
        live.replace(limits);
        Arc::new(live)
    }

    /// Those that hold for what begins now.
    pub(super) fn now(&self) -> HttpLimits {
        *self.now.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes these. What has begun goes on as it began; where it is more than may be, nothing new
    /// begins until enough of it has ended.
    pub(super) fn replace(&self, limits: &HttpLimits) {
        self.connections.resize(limits.connections);
        self.memory.resize(limits);
        self.requests.resize(Size::in_parts(limits.requests));
        self.looks.resize(Size::in_parts(limits.requests));
        self.polls.resize(Size::in_parts(limits.waiting));
        self.streams.resize(Size { all: limits.streams, of_key: limits.streams_of_key });
        *self.now.write().unwrap_or_else(PoisonError::into_inner) = *limits;
    }
}
