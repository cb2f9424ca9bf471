//! Who wants which events, and how.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::EventPattern;
use crate::error::{Error, Result};
use crate::limits::{DELAY, MAX_ATTEMPTS, TIMEOUT};
use crate::names::ConsumerName;
use crate::queue::{KeyOnWait, Order, QueuePatch};
use crate::retry::RetryPolicy;

/// A stored retry policy; each delivery has it.
const RETRY_BYTES: usize = 256;

/// A subscription that obeys every limit: only [`SubscriptionDraft::build`] makes one.
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

/// Deliveries of one key that run at once where keys take turns: more than a worker has slots, and
/// few enough to find a free place among.
const BESIDE: u32 = 1000;

/// What the partition keys of events mean to a consumer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Keys {
    /// Nothing: deliveries have none.
    Unused,
    /// They are served in turn; deliveries of one key run beside each other.
    InTurn,
    /// They are served in turn; deliveries of one key run one after the other.
    InOrder,
}

impl Keys {
    /// The settings of a queue by which it is so.
    pub(super) fn patch(self) -> QueuePatch {
        let patch = QueuePatch::default();
        match self {
            Self::Unused => patch.order(Order::Strict),
            Self::InTurn => patch.order(Order::Fair).per_key(BESIDE).key_on_wait(KeyOnWait::Skip),
            Self::InOrder => patch.order(Order::Fair).per_key(1).key_on_wait(KeyOnWait::Block),
        }
    }
}

/// Describes a subscription; [`build`](Self::build) checks everything and names what is wrong.
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

    /// Events of one partition key are delivered one after the other, in their order (default
    /// not).
    pub fn ordered(self) -> Self {
        self.check(|subscription| {
            subscription.ordered = true;
            Ok(())
        })
    }

    /// Partition keys are served in turn, however many deliveries one of them has waiting; those of
    /// one key still run beside each other (default not). An ordered consumer serves them in turn
    /// in any case.
    pub fn fair(self) -> Self {
        self.check(|subscription| {
            subscription.fair = true;
            Ok(())
        })
    }

    /// How often a delivery is tried before it is a dead letter (default 3); 1..=1000.
    pub fn max_attempts(self, max_attempts: u32) -> Self {
        self.check(|subscription| {
            if !(1..=MAX_ATTEMPTS).contains(&max_attempts) {
                return Err(Error::invalid("max_attempts", "1..=1000", max_attempts));
            }
            subscription.max_attempts = max_attempts;
            Ok(())
        })
    }

    /// How long one run may take (default 30 min).
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

    /// Each delivery waits this long (default 0); at most 366 days.
    pub fn delay(self, delay: Duration) -> Self {
        self.check(|subscription| {
            if delay > DELAY {
                return Err(Error::invalid("delay", "at most 366 days", format!("{delay:?}")));
            }
            subscription.delay_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
            Ok(())
        })
    }

    /// When a failed delivery is tried again (default: what the worker says).
    pub fn retry(self, policy: &RetryPolicy) -> Self {
        self.check(|subscription| {
            let stored = policy.written().filter(|written| RetryPolicy::read(written).is_some());
            let written = stored.ok_or_else(|| {
                Error::invalid("retry", "a policy that can be stored", format!("{policy:?}"))
            })?;
            if written.len() > RETRY_BYTES {
                let got = format!("{} bytes", written.len());
                return Err(Error::invalid("retry", "a list of some 30 delays", got));
            }
            subscription.retry = Some(written);
            Ok(())
        })
    }

    /// While it is disabled, events make no deliveries for it (default enabled). Where it is
    /// declared, that is how it begins; later an operator says so.
    pub fn enabled(self, enabled: bool) -> Self {
        self.check(|subscription| {
            subscription.enabled = enabled;
            Ok(())
        })
    }

    /// The subscription, checked.
    ///
    /// # Errors
    /// `Invalid`, naming the first field that breaks its limit.
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
    /// Who gets the deliveries.
    pub fn consumer(&self) -> &ConsumerName {
        &self.consumer
    }

    /// Of which events.
    pub fn events(&self) -> &EventPattern {
        &self.events
    }

    /// Whether those of one partition key are delivered in their order.
    pub fn is_ordered(&self) -> bool {
        self.ordered
    }

    /// Whether partition keys are served in turn.
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

    /// Whether events make deliveries for it.
    pub fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// The same, enabled or not.
    pub(super) fn switched(&self, enabled: bool) -> Self {
        Self { enabled, ..self.clone() }
    }

    /// How often a delivery is tried.
    pub fn max_attempts(&self) -> u32 {
        self.max_attempts
    }

    /// How long one run may take.
    pub fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms)
    }

    /// How long each delivery waits.
    pub fn delay(&self) -> Duration {
        Duration::from_millis(self.delay_ms)
    }

    /// When a failed delivery is tried again, if it says so.
    pub fn retry(&self) -> Option<RetryPolicy> {
        self.retry.as_deref().and_then(RetryPolicy::read)
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX).max(1)
}
