//! Exchanges with the store that are under way beside the worker's loop.

use std::sync::Arc;
use std::time::Instant;

use futures_util::future::{BoxFuture, FutureExt};
use futures_util::stream::{FuturesUnordered, StreamExt};
use queuekit_core::capability::Exchanged;
use queuekit_core::{Error, ErrorKind, Reserve, Result};

use super::settle::Batch;
use crate::state::shared::Shared;

/// An exchange that was answered.
pub(crate) struct Answered {
    pub(crate) batch: Batch,
    pub(crate) request: Reserve,
    pub(crate) answer: Result<Exchanged>,
    pub(crate) asked_at: Instant,
}

/// As many at once as the store says are worth it.
pub(crate) struct InFlight {
    shared: Arc<Shared>,
    under_way: FuturesUnordered<BoxFuture<'static, Answered>>,
    /// Jobs that they ask for.
    asked_for: usize,
}

impl InFlight {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, under_way: FuturesUnordered::new(), asked_for: 0 }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.under_way.is_empty()
    }

    pub(crate) fn asked_for(&self) -> usize {
        self.asked_for
    }

    /// Whether an exchange is worth being made beside others, and may be now.
    pub(crate) fn may_begin(&self, batch: &Batch) -> bool {
        let capabilities = self.shared.backend().capabilities();
        let most = capabilities.calls_at_once;
        let room = most > 1 && self.under_way.len() < most;
        room && capabilities.exchange.is_some() && self.is_worth_a_call(batch.len())
    }

    /// Whether this number of outcomes is worth a call of its own beside others.
    pub(crate) fn is_worth_a_call(&self, outcomes: usize) -> bool {
        outcomes >= worth_a_call(self.shared.ordered.slots())
    }

    /// Begins an exchange whose answer is taken when it is there.
    pub(crate) fn begin(&mut self, batch: Batch, request: Reserve) {
        let backend = Arc::clone(self.shared.backend());
        let asked_at = Instant::now();
        self.asked_for += request.limit;
        let call = async move {
            // Asked again, because the future must own what it borrows the capability from.
            let answer = match backend.capabilities().exchange {
                Some(exchange) => exchange.exchange(&batch.settlement(), &request).await,
                None => Err(Error::new(ErrorKind::Unsupported, "the store has no exchange")),
            };
            Answered { batch, request, answer, asked_at }
        };
        self.under_way.push(call.boxed());
    }

    /// Waits for the next that is answered; none if none is under way.
    pub(crate) async fn next(&mut self) -> Option<Answered> {
        let answered = self.under_way.next().await?;
        self.asked_for = self.asked_for.saturating_sub(answered.request.limit);
        Some(answered)
    }

    /// One that is answered already.
    pub(crate) fn take(&mut self) -> Option<Answered> {
        self.next().now_or_never().flatten()
    }
}

/// How many outcomes are worth a call of their own beside others: a quarter of the slots, so that
/// handlers have work while the store works, too; at least 16, because a call has a cost of its
/// own, and at most 200, beyond which a job in a larger call costs no less.
fn worth_a_call(slots: usize) -> usize {
    (slots / 4).clamp(16, 200)
}

#[cfg(test)]
mod tests {
    use super::worth_a_call;

    #[test]
    fn r13_4_a_quarter_of_the_slots_is_worth_a_call() {
        let found = [1, 67, 68, 100, 400, 803, 10_000].map(worth_a_call);
        assert_eq!(found, [16, 16, 17, 25, 100, 200, 200]);
    }
}
