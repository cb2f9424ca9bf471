//! Delivering events of the log once more.

use super::consumers::{Consumers, unknown};
use super::{EventId, Subscription};
use crate::backend::PageSize;
use crate::capability::EventFilter;
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::job::NewJob;
use crate::limits::REPLAY_BYTES;
use crate::names::ConsumerName;

/// Events that one step delivers.
const PAGE: usize = 500;

/// One step of a replay: at most 500 events are delivered (R14.5).
///
/// Its name tells one replay from another: who repeats a step, or all of it, under the same name
/// delivers nothing twice, as long as what was delivered is stored. After that its completed
/// deliveries are forgotten: go on from the cursor of the last report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replay {
    /// To whom; events that the subscription wants, also while it is disabled.
    pub consumer: ConsumerName,
    /// 1 to 256 bytes.
    pub name: String,
    /// Where it begins.
    pub from: ReplayFrom,
    /// None in the first step, the first report's in the later ones: events that are emitted after
    /// the replay began are delivered as they are emitted. A place in the log, for clocks go back.
    pub to: Option<u64>,
    /// None in the first step, the last report's in the later ones.
    pub cursor: Option<u64>,
}

/// Where a replay begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplayFrom {
    /// With the first event there is.
    Beginning,
    /// With the first that was stored at this instant or later.
    Time(Timestamp),
    /// Behind this one, which is in the log.
    Event(EventId),
}

/// What a step did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReplayReport {
    /// Events that the consumer wants.
    pub matched: usize,
    /// Deliveries that were stored now.
    pub delivered: usize,
    /// Where it ends: the place of the last event there was when it began.
    pub to: u64,
    /// Where to go on; none at the end.
    pub cursor: Option<u64>,
}

impl Replay {
    /// The first step.
    pub fn new(consumer: ConsumerName, name: impl Into<String>, from: ReplayFrom) -> Self {
        Self { consumer, name: name.into(), from, to: None, cursor: None }
    }

    /// The step after the one that answered this; none at the end.
    pub fn after(&self, report: &ReplayReport) -> Option<Self> {
        let cursor = Some(report.cursor?);
        Some(Self { to: Some(report.to), cursor, ..self.clone() })
    }
}

impl Consumers<'_> {
    /// Delivers events of the log once more, behind and beside the live ones: a step.
    ///
    /// # Errors
    /// `NotFound` if the consumer has no subscription, or if the event to begin behind is gone;
    /// `Invalid` if the name is empty or too long; `Unavailable`, `Indeterminate` (make the
    /// step again), `Closed`.
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

    /// All steps of a replay, one after the other; how many deliveries were stored.
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
