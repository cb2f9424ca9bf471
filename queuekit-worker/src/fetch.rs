//! Asks the store for work, and decides when to ask again.

use std::sync::Arc;
use std::time::Duration;

use queuekit_core::retry::{jittered, reconnect_delay};
use queuekit_core::{Error, ErrorKind, Lease, Nonce, Reserve, Reserved, Result};
use tokio::time::Instant;

use crate::serving::Serving;
use crate::shared::{Shared, chance};

/// When to look for work, and where.
pub(crate) struct Fetcher {
    shared: Arc<Shared>,
    pub(crate) serving: Serving,
    look_at: Instant,
    /// Calls that failed in a row.
    failures: u32,
    /// Looks in a row that the store asked for and that found nothing.
    fruitless: u32,
    /// Of a call whose answer is unknown: repeating it may bring what it granted.
    unclear: Option<Nonce>,
    found_nothing: bool,
}

impl Fetcher {
    pub(crate) fn new(shared: Arc<Shared>, serving: Serving) -> Self {
        Self {
            shared,
            serving,
            look_at: Instant::now(),
            failures: 0,
            fruitless: 0,
            unclear: None,
            found_nothing: false,
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

    /// There may be work: looks at once, unless the store is failing.
    pub(crate) fn hurry(&mut self) {
        self.found_nothing = false;
        if self.failures == 0 {
            self.look_at = Instant::now();
        }
    }

    /// What to ask now for this many free slots.
    ///
    /// # Errors
    /// `Unavailable` if the system has no randomness to give.
    pub(crate) fn request(&mut self, free: usize) -> Result<Option<Reserve>> {
        if free == 0 || Instant::now() < self.look_at {
            return Ok(None);
        }
        let Some(ask) = self.serving.ask(free)? else {
            return Ok(None);
        };
        let (ttl, worker) = (self.shared.ttl, self.shared.id.clone());
        let mut request = Reserve::new(ask.queues, ask.limit, ttl, worker)?;
        if let Some(nonce) = self.unclear {
            request.nonce = nonce;
        }
        Ok(Some(request))
    }

    /// The store has answered.
    pub(crate) fn granted(&mut self, reserved: Reserved, limit: usize) -> Vec<Lease> {
        (self.failures, self.unclear) = (0, None);
        let more = reserved.more || reserved.leases.len() >= limit;
        self.found_nothing = reserved.leases.is_empty() && !more;
        self.look_at = Instant::now();
        if !more {
            let poll = jittered(self.shared.poll_interval, chance());
            let due = self.due_in(&reserved).unwrap_or(poll);
            self.look_at += poll.min(due);
        }
        reserved.leases
    }

    /// The call with this nonce has failed.
    pub(crate) fn failed(&mut self, error: &Error, nonce: Option<Nonce>) {
        self.found_nothing = false;
        self.look_at = Instant::now() + reconnect_delay(self.failures, chance());
        self.failures = self.failures.saturating_add(1);
        self.unclear = nonce.filter(|_| *error.kind() == ErrorKind::Indeterminate);
    }

    /// A store may name a time at which nothing can run after all, again and again: from the
    /// second fruitless look on it is asked less often.
    fn due_in(&mut self, reserved: &Reserved) -> Option<Duration> {
        let Some(due) = reserved.next_due_in.filter(|_| reserved.leases.is_empty()) else {
            self.fruitless = 0;
            return reserved.next_due_in;
        };
        let floor = match self.fruitless.checked_sub(1) {
            None => Duration::ZERO,
            Some(times) => reconnect_delay(times, chance()),
        };
        self.fruitless = self.fruitless.saturating_add(1);
        Some(due.max(floor))
    }
}
