//! Subscriptions: which events a consumer gets, and how.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::EventPattern;
use crate::error::{Error, Result};
use crate::limits::{DELAY, MAX_ATTEMPTS, TIMEOUT};
use crate::names::ConsumerName;
use crate::queue::{KeyOnWait, Order, QueuePatch};
use crate::retry::RetryPolicy;

/// A subscription within all limits: only [`SubscriptionDraft::build`] makes one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Subscription {
    pub(super) consumer: ConsumerName,
    pub(super) events: EventPattern,
    pub(super) ordered: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) fair: bool,
    pub(super) enabled: bool,
    pub(super) max_attempts: u32,
    pub(super) timeout_ms: u64,
    pub(super) delay_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) retry: Option<String>,
}

/// The deliveries of one key that may run at once in a fair queue: more than a worker has slots,
/// and few enough that a free one is found quickly.
const BESIDE: u32 = 1000;

/// What the partition keys of events mean to a consumer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Keys {
    /// Nothing: deliveries have no partition key.
    Unused,
    /// Keys take turns, and deliveries of one key may run at the same time.
    InTurn,
    /// Keys take turns, and deliveries of one key run one after the other.
    InOrder,
}

impl Keys {
    /// The queue settings for this.
    pub(super) fn patch(self) -> QueuePatch {
        let patch = QueuePatch::default();
        match self {
            Self::Unused => patch.order(Order::Strict),
            Self::InTurn => patch.order(Order::Fair).per_key(BESIDE).key_on_wait(KeyOnWait::Skip),
            Self::InOrder => patch.order(Order::Fair).per_key(1).key_on_wait(KeyOnWait::Block),
        }
    }
}

/// Describes a subscription. [`build`](Self::build) checks it, and its error names what is wrong.
#[derive(Clone, Debug)]
#[must_use = "a draft subscribes nobody"]
pub struct SubscriptionDraft {
    subscription: Result<Subscription>,
}

impl SubscriptionDraft {
    /// Delivers events of this pattern (`order.paid`, `order.*`, `*`) to this consumer.
    pub fn new<C>(consumer: C, events: &str) -> Self
    where
        C: TryInto<ConsumerName, Error: Into<Error>>,
    {
        let consumer = consumer.try_into().map_err(Into::into);
        let subscription = consumer.and_then(|consumer| {
            Ok(Subscription {
                consumer,
                events: events.parse()?,
                ordered: false,
                fair: false,
                enabled: true,
                max_attempts: 3,
                timeout_ms: 30 * 60 * 1000,
                delay_ms: 0,
                retry: None,
            })
        });
        Self { subscription }
    }

    /// Delivers the events of one partition key one after the other, in their order (default no).
    pub fn ordered(self) -> Self {
        self.check(|subscription| {
            subscription.ordered = true;
            Ok(())
        })
    }

    /// Lets partition keys take turns, however many deliveries of one key wait (default no).
    /// Deliveries of one key may run at the same time. An ordered consumer always lets keys take
    /// turns.
    pub fn fair(self) -> Self {
        self.check(|subscription| {
            subscription.fair = true;
            Ok(())
        })
    }

    /// The attempts before a delivery is dead-lettered (default 3); 1..=1000.
    pub fn max_attempts(self, max_attempts: u32) -> Self {
        self.check(|subscription| {
            if !(1..=MAX_ATTEMPTS).contains(&max_attempts) {
                return Err(Error::invalid("max_attempts", "1..=1000", max_attempts));
            }
            subscription.max_attempts = max_attempts;
            Ok(())
        })
    }

    /// The longest time of one run (default 30 min).
    pub fn timeout(self, timeout: Duration) -> Self {
        self.check(|subscription| {
            if timeout.is_zero() || timeout > TIMEOUT {
                let got = format!("{timeout:?}");
                return Err(Error::invalid("timeout", "1 ms..=366 days", got));
            }
            subscription.timeout_ms = millis(timeout);
            Ok(())
        })
    }

    /// How long each delivery waits (default 0); at most 366 days.
    pub fn delay(self, delay: Duration) -> Self {
        self.check(|subscription| {
            if delay > DELAY {
                return Err(Error::invalid("delay", "at most 366 days", format!("{delay:?}")));
            }
            subscription.delay_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
            Ok(())
        })
    }

    /// The retry policy of failed deliveries (default: that of the worker).
    pub fn retry(self, policy: &RetryPolicy) -> Self {
        self.check(|subscription| {
            let written = policy.written();
            let bytes = written.as_ref().map_or(0, String::len);
            if bytes > RetryPolicy::TEXT_BYTES {
                let got = format!("{bytes} bytes");
                return Err(Error::invalid("retry", "a list of some 30 delays", got));
            }
            let stored = written.filter(|written| RetryPolicy::read(written).is_some());
            subscription.retry = Some(stored.ok_or_else(|| {
                Error::invalid("retry", "a policy that can be stored", format!("{policy:?}"))
            })?);
            Ok(())
        })
    }

    /// Whether events make deliveries for the subscription (default yes). In a declaration this
    /// counts only when the subscription is created; later, operators decide.
    pub fn enabled(self, enabled: bool) -> Self {
        self.check(|subscription| {
            subscription.enabled = enabled;
            Ok(())
        })
    }

    /// Checks the subscription.
    ///
    /// # Errors
    /// `Invalid`. It names the first field that breaks its limit.
    pub fn build(self) -> Result<Subscription> {
        self.subscription
    }

    fn check(mut self, set: impl FnOnce(&mut Subscription) -> Result<()>) -> Self {
        if let Ok(subscription) = &mut self.subscription
            && let Err(error) = set(subscription)
        {
            self.subscription = Err(error);
        }
        self
    }
}

impl TryFrom<SubscriptionDraft> for Subscription {
    type Error = Error;

    fn try_from(draft: SubscriptionDraft) -> Result<Self> {
        draft.build()
    }
}

impl From<&Self> for Subscription {
    fn from(subscription: &Self) -> Self {
        subscription.clone()
    }
}

impl Subscription {
    /// The consumer.
    pub fn consumer(&self) -> &ConsumerName {
        &self.consumer
    }

    /// The pattern of event types.
    pub fn events(&self) -> &EventPattern {
        &self.events
    }

    /// Whether the events of one partition key are delivered in their order.
    pub fn is_ordered(&self) -> bool {
        self.ordered
    }

    /// Whether partition keys take turns.
    pub fn is_fair(&self) -> bool {
        self.keys() != Keys::Unused
    }

    pub(super) fn keys(&self) -> Keys {
        match (self.ordered, self.fair) {
            (true, _) => Keys::InOrder,
            (false, true) => Keys::InTurn,
            (false, false) => Keys::Unused,
        }
    }

    /// Whether events make deliveries for the subscription.
    pub fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// The same, enabled or not.
    pub(super) fn switched(&self, enabled: bool) -> Self {
        Self { enabled, ..self.clone() }
    }

    /// The attempts before a delivery is dead-lettered.
    pub fn max_attempts(&self) -> u32 {
        self.max_attempts
    }

    /// The longest time of one run.
    pub fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms)
    }

    /// How long each delivery waits.
    pub fn delay(&self) -> Duration {
        Duration::from_millis(self.delay_ms)
    }

    /// The retry policy of failed deliveries, if the subscription has one.
    pub fn retry(&self) -> Option<RetryPolicy> {
        self.retry.as_deref().and_then(RetryPolicy::read)
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX).max(1)
}
