//! Replays: delivering events of the log again.

use super::consumers::{Consumers, unknown};
use super::{EventId, Subscription};
use crate::backend::PageSize;
use crate::capability::EventFilter;
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::job::NewJob;
use crate::limits::REPLAY_BYTES;
use crate::names::ConsumerName;

/// The most events that one step delivers.
const PAGE: usize = 500;

/// One step of a replay, which delivers at most 500 events (R14.5).
///
/// The name identifies the replay. A step, or a whole replay, that is repeated under the same name
/// delivers nothing twice, as long as its deliveries are stored. Once retention has removed
/// completed deliveries, continue from the cursor of the last report instead.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Replay {
    /// The consumer. It gets the events that its subscription matches, even while the subscription
    /// is disabled.
    pub consumer: ConsumerName,
    /// The name of the replay, 1 to 256 bytes.
    pub name: String,
    /// Where the replay begins.
    pub from: ReplayFrom,
    /// Where the replay ends: none in the first step, and the `to` of the first report in later
    /// ones. Later events are delivered live. This is a position in the log, because clocks can be
    /// set back.
    pub to: Option<u64>,
    /// Where this step begins: none in the first step, and the cursor of the last report in later
    /// ones.
    pub cursor: Option<u64>,
}

/// Where a replay begins.
// Exhaustive: a store has to find each place in its log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplayFrom {
    /// With the first event of the log.
    Beginning,
    /// With the first event that was stored at this instant or later.
    Time(Timestamp),
    /// After this event, which must be in the log.
    Event(EventId),
}

/// The result of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReplayReport {
    /// Events that match the subscription.
    pub matched: usize,
    /// Deliveries that this step stored.
    pub delivered: usize,
    /// Where the replay ends: the position of the last event in the log when it began.
    pub to: u64,
    /// Where to continue; none at the end.
    pub cursor: Option<u64>,
}

impl Replay {
    /// The first step.
    pub fn new(consumer: ConsumerName, name: impl Into<String>, from: ReplayFrom) -> Self {
        Self { consumer, name: name.into(), from, to: None, cursor: None }
    }

    /// The step after the one with this report; none at the end.
    pub fn after(&self, report: &ReplayReport) -> Option<Self> {
        let cursor = Some(report.cursor?);
        Some(Self { to: Some(report.to), cursor, ..self.clone() })
    }
}

impl Consumers<'_> {
    /// Delivers events of the log again: one step of a replay. Live events are delivered meanwhile.
    ///
    /// # Errors
    /// `NotFound` if the consumer has no subscription, or if the event to begin after is not in the
    /// log; `Invalid` if the name is empty or too long; `Unavailable`, `Indeterminate` (repeat the
    /// step), `Closed`.
    pub async fn replay(&self, replay: &Replay) -> Result<ReplayReport> {
        let subscription = self.get(&replay.consumer).await?;
        let subscription = subscription.ok_or_else(|| unknown(&replay.consumer))?;
        if !(1..=REPLAY_BYTES).contains(&replay.name.len()) {
            let got = format!("{} bytes", replay.name.len());
            return Err(Error::invalid("name", format!("1..={REPLAY_BYTES} bytes"), got));
        }
        let filter = replay.filter(&subscription)?;
        let page = self.outbox()?.list_events(&filter).await?;
        let deliver =
            |event: &super::Event| subscription.delivery(&event.again(), Some(&replay.name));
        let jobs: Vec<NewJob> = page.events.iter().map(deliver).collect::<Result<_>>()?;
        let stored = match jobs.is_empty() {
            true => Vec::new(),
            false => self.outbox()?.deliver_again(&jobs).await?,
        };
        Ok(ReplayReport {
            matched: page.events.len(),
            delivered: stored.into_iter().filter(|stored| *stored).count(),
            to: replay.to.unwrap_or(page.end),
            cursor: page.cursor,
        })
    }

    /// Runs all steps of a replay. Returns how many deliveries were stored.
    ///
    /// # Errors
    /// Those of [`replay`](Self::replay).
    pub async fn replay_all(&self, replay: Replay) -> Result<usize> {
        let mut delivered = 0;
        let mut step = Some(replay);
        while let Some(replay) = step {
            let report = self.replay(&replay).await?;
            delivered += report.delivered;
            step = replay.after(&report);
        }
        Ok(delivered)
    }
}

impl Replay {
    fn filter(&self, subscription: &Subscription) -> Result<EventFilter> {
        let (from, after) = match self.from {
            ReplayFrom::Beginning => (None, None),
            ReplayFrom::Time(from) => (Some(from), None),
            ReplayFrom::Event(event) => (None, Some(event)),
        };
        Ok(EventFilter {
            pattern: Some(subscription.events.clone()),
            from,
            to: None,
            after,
            cursor: self.cursor,
            until: self.to,
            limit: PageSize::new(PAGE)?,
        })
    }
}
