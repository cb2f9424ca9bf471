//! What else the overview warns of, besides queues, workers and errors.

use std::time::Duration;

use queuekit::Timestamp;
use queuekit::store::capability::Finding;

use super::slot::Slot;
use crate::wire::{ScheduleBody, SubscriptionBody};

/// Parts that take the place of the error groups in a round, one at a time.
pub(super) struct Extras {
    pub(super) consumers: Part<Vec<SubscriptionBody>>,
    pub(super) schedules: Part<Schedules>,
    pub(super) findings: Part<Vec<Finding>>,
    /// Whether one of them was asked for last, and not the groups.
    was_last: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extra {
    Consumers,
    Schedules,
    Findings,
}

/// A part, and when it was asked for.
pub(super) struct Part<T> {
    pub(super) slot: Slot<T>,
    asked_at: Option<Timestamp>,
    every: Duration,
}

/// When each schedule runs next, and when that was read.
pub(super) struct Schedules {
    pub(super) next: Vec<(String, Timestamp)>,
    pub(super) as_of: Timestamp,
}

impl Extras {
    /// The part to ask for instead of the groups, if one is due.
    pub(super) fn next(&self, now: Timestamp) -> Option<Extra> {
        let parts = [
            (self.consumers.due(now), Extra::Consumers),
            (self.schedules.due(now), Extra::Schedules),
            (self.findings.due(now), Extra::Findings),
        ];
        let due = parts.into_iter().filter_map(|(due, extra)| Some((due?, extra)));
        // Of equal ones the first.
        let longest = due.min_by_key(|(asked_at, _)| *asked_at);
        longest.map(|(_, extra)| extra).filter(|_| !self.was_last)
    }

    /// Remembers that a part was asked for, even if there was no answer: a route that does not
    /// answer must not keep others from their turn.
    pub(super) fn asked(&mut self, extra: Extra, now: Timestamp) {
        let at = match extra {
            Extra::Consumers => &mut self.consumers.asked_at,
            Extra::Schedules => &mut self.schedules.asked_at,
            Extra::Findings => &mut self.findings.asked_at,
        };
        *at = Some(now);
        self.was_last = true;
    }

    /// Remembers that the groups were asked for.
    pub(super) fn asked_groups(&mut self) {
        self.was_last = false;
    }
}

impl Default for Extras {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            consumers: Part::every(seconds(10)),
            schedules: Part::every(seconds(30)),
            findings: Part::every(seconds(60)),
            // The groups are read first.
            was_last: true,
        }
    }
}

impl<T> Part<T> {
    fn every(every: Duration) -> Self {
        Self { slot: Slot::default(), asked_at: None, every }
    }

    /// When it was last asked for, if it is time to ask. A refusal is not asked about again.
    fn due(&self, now: Timestamp) -> Option<Option<Timestamp>> {
        let is_due = self.asked_at.is_none_or(|at| now.since(at) >= self.every);
        (is_due && self.slot.refused.is_none()).then_some(self.asked_at)
    }
}

impl Schedules {
    pub(super) fn of(schedules: Vec<ScheduleBody>, as_of: Timestamp) -> Self {
        let next = |schedule: ScheduleBody| Some((schedule.name, schedule.next_at?.0));
        Self { next: schedules.into_iter().filter_map(next).collect(), as_of }
    }
}
