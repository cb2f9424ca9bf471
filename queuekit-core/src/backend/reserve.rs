//! Reserving jobs.

use std::time::Duration;

use super::weighted::Shares;
use super::{AnswerBytes, Lease, LeaseTtl, Nonce, WeightedQueues};
use crate::error::Result;
use crate::names::{QueueName, WorkerId};

/// One request for leases (contract R5).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Reserve {
    /// Which queues to reserve from, and in which order.
    pub queues: Queues,
    /// The most leases to grant.
    pub limit: usize,
    /// How long each lease lasts if it is not extended.
    pub ttl: LeaseTtl,
    /// The worker that asks.
    pub worker: WorkerId,
    /// The secret half of the leases granted; one per call.
    pub nonce: Nonce,
    /// How many bytes the leases may have together (R8.9): the limit of an answer, or fewer.
    pub answer: AnswerBytes,
}

impl Reserve {
    /// A request with a fresh nonce, for as many bytes as an answer may have.
    ///
    /// # Errors
    /// `Unavailable` if the system has no randomness to give.
    pub fn new(
        queues: impl Into<Queues>,
        limit: usize,
        ttl: LeaseTtl,
        worker: WorkerId,
    ) -> Result<Self> {
        let (queues, nonce, answer) = (queues.into(), Nonce::draw()?, AnswerBytes::default());
        Ok(Self { queues, limit, ttl, worker, nonce, answer })
    }
}

/// Which queues to reserve from.
// Exhaustive: a store that does not know an order cannot serve by it.
#[derive(Clone, Debug)]
pub enum Queues {
    /// In this order: a later queue is served when the earlier ones have no jobs to run (R7.5).
    Strict(Vec<QueueName>),
    /// By weight.
    Weighted(WeightedQueues),
}

impl Queues {
    /// The names, in the order given.
    pub fn names(&self) -> &[QueueName] {
        match self {
            Self::Strict(names) => names,
            Self::Weighted(queues) => queues.names(),
        }
    }

    /// Divides `limit` over the queues: calls `take(queue, most)`, which returns what it took,
    /// until the limit is met, no queue has more, or the answer is full.
    ///
    /// # Errors
    /// The error of `take`.
    pub fn divide(
        &self,
        limit: usize,
        mut take: impl FnMut(&QueueName, usize) -> Result<Taken>,
    ) -> Result<()> {
        let mut division = self.division(limit);
        while let Some((name, most)) = division.next() {
            division.got(take(name, most)?);
        }
        Ok(())
    }

    /// The same turn by turn, for stores that wait between them.
    pub fn division(&self, limit: usize) -> Division<'_> {
        Division { queues: self, left: limit, at: 0, turn: None, weighted: Shares::default() }
    }

    /// Gives back what the queues did not get of their shares because the answer was full: they get
    /// it first in the next call. For stores that divide a limit before they take jobs: of each
    /// queue the share of its first turn, and how many jobs it gave.
    pub fn give_back(&self, round: &[(QueueName, usize, usize)]) {
        if let Self::Weighted(queues) = self {
            let at = |name: &QueueName| queues.names().iter().position(|queue| queue == name);
            let of = |(name, share, jobs): &(QueueName, usize, usize)| {
                Some((at(name)?, *share, Some(*jobs)))
            };
            queues.give_back(&round.iter().filter_map(of).collect::<Vec<_>>());
        }
    }
}

/// What a queue gave in its turn.
// Exhaustive: a store that leaves a part out must not compile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// How many jobs.
    pub jobs: usize,
    /// Whether the answer has no room for another job, though there may be more.
    pub is_full: bool,
}

impl From<usize> for Taken {
    fn from(jobs: usize) -> Self {
        Self { jobs, is_full: false }
    }
}

/// Divides a `limit` over queues: ask for the next turn, then report what it took.
#[derive(Debug)]
pub struct Division<'a> {
    queues: &'a Queues,
    left: usize,
    at: usize,
    /// The queue whose turn it is, and what it may take.
    turn: Option<(usize, usize)>,
    weighted: Shares,
}

impl<'a> Division<'a> {
    /// The next turn; none if the limit is met, no queue has more, or the answer is full.
    #[expect(clippy::should_implement_trait, reason = "what it answers depends on `got`")]
    pub fn next(&mut self) -> Option<(&'a QueueName, usize)> {
        if self.left == 0 {
            return None;
        }
        self.turn = match self.queues {
            Queues::Strict(names) => (self.at < names.len()).then_some((self.at, self.left)),
            Queues::Weighted(queues) => self.weighted.next(queues, self.left),
        };
        self.at += 1;
        self.turn.map(|(at, most)| (&self.queues.names()[at], most))
    }

    /// Reports what the queue of the last turn gave.
    pub fn got(&mut self, taken: impl Into<Taken>) {
        let Taken { jobs, is_full } = taken.into();
        let Some((at, most)) = self.turn.take() else { return };
        self.left = if is_full { 0 } else { self.left - jobs.min(most) };
        if let Queues::Weighted(queues) = self.queues {
            self.weighted.took(at, jobs);
            match is_full {
                true => self.weighted.give_back(queues),
                false if jobs < most => self.weighted.exhausted(queues, at),
                false => {}
            }
        }
    }
}

impl From<QueueName> for Queues {
    fn from(queue: QueueName) -> Self {
        Self::Strict(vec![queue])
    }
}

impl From<Vec<QueueName>> for Queues {
    fn from(queues: Vec<QueueName>) -> Self {
        Self::Strict(queues)
    }
}

impl From<WeightedQueues> for Queues {
    fn from(queues: WeightedQueues) -> Self {
        Self::Weighted(queues)
    }
}

/// The answer of a reserve.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Reserved {
    /// At most `limit`, in serving order.
    pub leases: Vec<Lease>,
    /// A hint when to look again: when the next job becomes due or the next lease expires.
    pub next_due_in: Option<Duration>,
    /// A full batch was taken, or the call only dead-lettered: look again at once.
    pub more: bool,
}

impl Reserved {
    /// The answer with these leases.
    pub fn new(leases: Vec<Lease>, next_due_in: Option<Duration>, more: bool) -> Self {
        Self { leases, next_due_in, more }
    }
}
