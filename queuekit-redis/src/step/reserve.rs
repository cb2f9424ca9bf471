//! The progress of a reserve that goes from queue to queue (contract R5.10, R7.5).

use std::time::{Duration, Instant};

use queuekit_core::backend::{Division, Taken};
use queuekit_core::lifecycle::Budget;
use queuekit_core::{Lease, QueueName, Reserve, Reserved};

use super::exchange::{Answer, Ask, Outcomes, Part};

pub(crate) struct Round<'a> {
    pub(crate) request: &'a Reserve,
    pub(crate) division: Division<'a>,
    /// The end of its time.
    until: Instant,
    pub(crate) budget: Budget,
    pub(crate) leases: Vec<Lease>,
    /// For each queue that was asked, when to look again.
    next_in: Vec<(QueueName, Option<Duration>)>,
    /// A queue has not looked at all its keys.
    unfinished: bool,
    /// The settlement for the first queue.
    pub(crate) settles: Option<Part<'a>>,
    pub(crate) settled: Option<(Part<'a>, Outcomes)>,
}

/// Shares the budget among these queues so that all together keep it. If they are too many, it
/// covers some of them, others each time. None if nothing is left.
pub(crate) fn share(budget: Budget, queues: &mut Vec<&QueueName>) -> Option<Budget> {
    let Budget { reclaims, dead_letters, answer } = budget;
    let most = reclaims.min(dead_letters).min(queues.len());
    if most == 0 {
        return None;
    }
    let from = fastrand::usize(..queues.len());
    queues.rotate_left(from);
    queues.truncate(most);
    Some(Budget { reclaims: reclaims / most, dead_letters: dead_letters / most, answer })
}

impl<'a> Round<'a> {
    pub(crate) fn new(request: &'a Reserve, time: Duration) -> Self {
        Self {
            request,
            division: request.queues.division(request.limit),
            until: Instant::now() + time,
            budget: Budget::of(request),
            leases: Vec::new(),
            next_in: Vec::new(),
            unfinished: false,
            settles: None,
            settled: None,
        }
    }

    pub(crate) fn ask(&self, most: usize) -> Ask<'a> {
        Ask { request: self.request, most, budget: self.budget, until: self.until }
    }

    pub(crate) fn time_left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }

    pub(crate) fn visited(&self, name: &QueueName) -> bool {
        self.next_in.iter().any(|(visited, _)| visited == name)
    }

    pub(crate) fn took(&mut self, queue: &QueueName, part: Option<Part<'a>>, answer: Answer) {
        let is_full = answer.budget.answer.is_full();
        self.division.got(Taken { jobs: answer.leases.len(), is_full });
        self.budget = answer.budget;
        self.leases.extend(answer.leases);
        self.next_in.retain(|(name, _)| name != queue);
        self.next_in.push((queue.clone(), answer.next_in));
        self.unfinished |= answer.moving || answer.behind;
        self.settled = part.map(|part| (part, answer.outcomes)).or(self.settled.take());
    }

    /// Notes that a queue has not answered.
    pub(crate) fn passed(&mut self, queue: &QueueName) {
        self.division.got(0);
        self.next_in.push((queue.clone(), None));
    }

    pub(crate) fn reserved(self) -> Reserved {
        let full = self.leases.len() == self.request.limit;
        let more = self.unfinished || self.budget.more(self.request.limit, self.leases.len());
        let next_due_in = self.next_in.into_iter().filter_map(|(_, next)| next).min();
        Reserved::new(self.leases, next_due_in.filter(|_| !full), more)
    }
}
