//! The present `[limits]`, which can change while the server runs.

use std::sync::{Arc, PoisonError, RwLock};

use queuekit::QueueName;
use queuekit::events::ConsumerName;
use queuekit::schedules::ScheduleName;

use super::HttpLimits;
use super::fair_share::{FairShare, ShareSize};
use super::memory_budget::MemoryBudget;
use super::quota::Quota;
use super::resizable_semaphore::ResizableSemaphore;
use super::schedule_rates::ScheduleRates;
use super::store_calls::StoreCalls;

/// A page of many queues or workers takes milliseconds, and megabytes until it is written. A person
/// has one or two in progress, even with many tabs. Four keys that ask for slow ones leave places.
const PAGES: ShareSize = ShareSize { all: 16, of_key: 3 };
/// Such a change visits all partition keys of its queue, in many short steps. There are few at
/// once, because each makes all other calls slower, and one of a key, so that it does not keep an
/// operator's waiting.
const KEY_CHANGES: ShareSize = ShareSize { all: 2, of_key: 1 };

/// The limits, and what counts against them.
#[derive(Debug)]
pub(crate) struct LiveLimits {
    now: RwLock<HttpLimits>,
    pub(crate) connections: ResizableSemaphore,
    /// Connections with a request in progress.
    pub(crate) busy: FairShare,
    pub(crate) memory: Arc<MemoryBudget>,
    pub(crate) requests: FairShare,
    /// Reserve calls that do not wait.
    pub(crate) looks: FairShare,
    /// Long polls.
    pub(crate) polls: FairShare,
    pub(crate) streams: FairShare,
    /// Pages of the dashboard in progress.
    pub(crate) pages: FairShare,
    pub(crate) store_calls: StoreCalls,
    /// Changes of how a queue treats its partition keys.
    pub(crate) key_changes: FairShare,
    pub(crate) queues: Arc<Quota<QueueName>>,
    pub(crate) schedules: Arc<Quota<ScheduleName>>,
    pub(crate) rates: Arc<ScheduleRates>,
    pub(crate) subscriptions: Arc<Quota<ConsumerName>>,
}

impl LiveLimits {
    pub(crate) fn new(limits: &HttpLimits) -> Arc<Self> {
        let live = Self {
            now: RwLock::new(*limits),
            connections: ResizableSemaphore::empty(),
            busy: FairShare::empty("connections with a request in progress"),
            memory: Arc::new(MemoryBudget::empty()),
            requests: FairShare::empty("requests"),
            looks: FairShare::empty("requests"),
            polls: FairShare::empty("long polls"),
            streams: FairShare::empty("streams"),
            pages: FairShare::empty("pages"),
            store_calls: StoreCalls::new(),
            key_changes: FairShare::empty("changes of how a queue treats its partition keys"),
            queues: Quota::none("queues", "max_queues_per_key"),
            schedules: Quota::none("schedules", "max_schedules_per_key"),
            rates: Arc::default(),
            subscriptions: Quota::none("subscriptions", "max_subscriptions_per_key"),
        };
        live.replace(limits);
        Arc::new(live)
    }

    /// The limits for what begins now.
    pub(crate) fn now(&self) -> HttpLimits {
        *self.now.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many live workers one key may have.
    pub(crate) fn workers_of_key(&self) -> usize {
        self.now().workers_of_key
    }

    /// Replaces the limits. What has begun continues. If it exceeds a new limit, nothing new begins
    /// until enough has ended.
    pub(crate) fn replace(&self, limits: &HttpLimits) {
        self.connections.resize(limits.connections);
        self.busy.resize(ShareSize::with_equal_parts(limits.connections));
        self.memory.resize(limits);
        self.requests.resize(ShareSize::with_equal_parts(limits.requests));
        self.looks.resize(ShareSize::with_equal_parts(limits.requests));
        self.polls.resize(ShareSize::with_equal_parts(limits.waiting));
        self.streams.resize(ShareSize { all: limits.streams, of_key: limits.streams_of_key });
        self.pages.resize(PAGES);
        self.key_changes.resize(KEY_CHANGES);
        self.queues.resize(limits.queues_of_key);
        self.schedules.resize(limits.schedules_of_key);
        self.subscriptions.resize(limits.subscriptions_of_key);
        *self.now.write().unwrap_or_else(PoisonError::into_inner) = *limits;
    }
}
