//! What holds of `[limits]` now: one place that takes other limits while the server goes on.

use std::sync::{Arc, PoisonError, RwLock};

use queuekit::{ConsumerName, QueueName, ScheduleName};

use super::HttpLimits;
use super::bound::{Bound, Size};
use super::permits::Permits;
use super::quota::Quota;
use super::rates::Rates;
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
    pub(crate) queues: Arc<Quota<QueueName>>,
    pub(crate) schedules: Arc<Quota<ScheduleName>>,
    pub(crate) rates: Arc<Rates>,
    pub(crate) subscriptions: Arc<Quota<ConsumerName>>,
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
            queues: Quota::none("queues", "max_queues_per_key"),
            schedules: Quota::none("schedules", "max_schedules_per_key"),
            rates: Arc::default(),
            subscriptions: Quota::none("subscriptions", "max_subscriptions_per_key"),
        };
        live.replace(limits);
        Arc::new(live)
    }

    /// Those that hold for what begins now.
    pub(super) fn now(&self) -> HttpLimits {
        *self.now.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many live workers one key may have.
    pub(crate) fn workers_of_key(&self) -> usize {
        self.now().workers_of_key
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
        self.queues.resize(limits.queues_of_key);
        self.schedules.resize(limits.schedules_of_key);
        self.subscriptions.resize(limits.subscriptions_of_key);
        *self.now.write().unwrap_or_else(PoisonError::into_inner) = *limits;
    }
}
