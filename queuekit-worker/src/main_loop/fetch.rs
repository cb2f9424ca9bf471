//! Asks the store for work, and decides when to ask again.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use queuekit_core::retry::{chance, jittered, reconnect_delay};
use queuekit_core::{Error, ErrorKind, Lease, Nonce, Reserve, Reserved, Result};
use tokio::time::Instant;

use super::serving::{Ask, Serving};
use crate::state::shared::Shared;

/// After this many looks that found nothing a worker may rest. The time between two gives
/// housekeeping its turn.
const IDLE_LOOKS: u32 = 2;

/// When to look for work, and where.
pub(crate) struct Fetcher {
    shared: Arc<Shared>,
    pub(crate) serving: Serving,
    /// What is left to ask of the present look, and what its answers have come to.
    look: Look,
    look_at: Instant,
    /// Calls that failed in a row.
    failures: u32,
    /// Looks in a row that the store asked for and that found nothing.
    fruitless: u32,
    /// The nonce of a call whose answer is unknown: repeating the call may return its leases.
    unclear: Option<Nonce>,
    found_nothing: bool,
    /// Looks in a row that found nothing, and since when nothing else has happened.
    idle_looks: u32,
    /// When something is due, as the last look told.
    due_at: Option<Instant>,
}

/// One look for work: a request per group of queues.
#[derive(Default)]
struct Look {
    asks: VecDeque<Ask>,
    found: bool,
    more: bool,
    due_in: Option<Duration>,
}

impl Fetcher {
    pub(crate) fn new(shared: Arc<Shared>, serving: Serving) -> Self {
        Self {
            shared,
            serving,
            look: Look::default(),
            look_at: Instant::now(),
            failures: 0,
            fruitless: 0,
            unclear: None,
            found_nothing: false,
            idle_looks: 0,
            due_at: None,
        }
    }

    /// When to look next.
    pub(crate) fn look_at(&self) -> Instant {
        self.look_at
    }

    /// Whether the last look found nothing that can run now.
    pub(crate) fn found_nothing(&self) -> bool {
        self.found_nothing
    }

    /// Whether several looks in a row have found nothing, and when something is due then.
    pub(crate) fn idles_until(&self) -> Option<Option<Instant>> {
        (self.idle_looks >= IDLE_LOOKS).then_some(self.due_at)
    }

    /// There may be work: looks at once, unless the store is failing.
    pub(crate) fn look_now(&mut self) {
        (self.found_nothing, self.idle_looks) = (false, 0);
        // During an outage the backoff holds, however many handlers return.
        if self.failures == 0 {
            self.look_at = Instant::now();
        }
    }

    /// What to ask now for this many free slots.
    ///
    /// # Errors
    /// `Unavailable` if the system has no randomness to give.
    pub(crate) fn request(&mut self, free: usize) -> Result<Option<Reserve>> {
        if free == 0 {
            // The next free slot belongs to the first queue again, not to the next one.
            self.look.asks.clear();
            return Ok(None);
        }
        if Instant::now() < self.look_at {
            return Ok(None);
        }
        if self.look.asks.is_empty() {
            let asks = self.serving.asks(free)?.into();
            self.look = Look { asks, ..Look::default() };
        }
        let Some(ask) = self.look.asks.pop_front() else {
            return Ok(None);
        };
        let most = self.shared.backend().capabilities().limits.reserve_jobs();
        // Slots may have been taken since this look began.
        let limit = ask.limit.min(free).min(most);
        let (ttl, worker) = (self.shared.settings.ttl, self.shared.id().clone());
        let mut request = Reserve::new(ask.queues, limit, ttl, worker)?;
        if let Some(nonce) = self.unclear {
            request.nonce = nonce;
        }
        Ok(Some(request))
    }

    /// The store has answered.
    pub(crate) fn granted(&mut self, reserved: Reserved, limit: usize) -> Vec<Lease> {
        (self.failures, self.unclear) = (0, None);
        let look = &mut self.look;
        look.found |= !reserved.leases.is_empty();
        // After a full answer the store may have more than was asked for.
        look.more |= reserved.more || reserved.leases.len() >= limit;
        look.due_in = [look.due_in, reserved.next_due_in].into_iter().flatten().min();
        self.look_at = Instant::now();
        if look.asks.is_empty() {
            self.found_nothing = !look.found && !look.more;
            self.idle_looks =
                if self.found_nothing { self.idle_looks.saturating_add(1) } else { 0 };
            self.due_at = look.due_in.and_then(|due| self.look_at.checked_add(due));
            if !look.more {
                // Workers that started together must not poll together.
                let poll = jittered(self.shared.settings.poll_interval, chance());
                let due = self.due_in().unwrap_or(poll);
                // Never later than the poll, because another process may store a job that is due
                // sooner.
                self.look_at += poll.min(due);
            }
        }
        reserved.leases
    }

    /// The call with this nonce has failed.
    pub(crate) fn failed(&mut self, error: &Error, nonce: Option<Nonce>) {
        (self.found_nothing, self.idle_looks) = (false, 0);
        // The queues not yet asked are in the same store: the next look begins anew.
        self.look = Look::default();
        self.look_at = Instant::now() + reconnect_delay(self.failures, chance());
        self.failures = self.failures.saturating_add(1);
        // Only a call whose effect is unknown may have granted leases.
        self.unclear = nonce.filter(|_| *error.kind() == ErrorKind::Indeterminate);
    }

    /// A store may name a time at which nothing can run after all, again and again: from the
    /// second fruitless look on it is asked less often.
    fn due_in(&mut self) -> Option<Duration> {
        let Some(due) = self.look.due_in.filter(|_| !self.look.found) else {
            self.fruitless = 0;
            return self.look.due_in;
        };
        let floor = match self.fruitless.checked_sub(1) {
            None => Duration::ZERO,
            Some(times) => reconnect_delay(times, chance()),
        };
        self.fruitless = self.fruitless.saturating_add(1);
        Some(due.max(floor))
    }
}
