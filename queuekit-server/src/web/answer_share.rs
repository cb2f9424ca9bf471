//! What answers may use of the memory: a part for each key, and an end for those that are read
//! slowly while others wait.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, interval_at};

use super::auth::Caller;
use super::fair_share::{FairShare, ShareSize};
use super::problem::Problem;
use super::unsent_answers::{PATIENCE, UnsentAnswer, UnsentAnswers};

/// While a request waits for longer than [`PATIENCE`], one slow answer is cut off this often.
const CUT_EVERY: Duration = Duration::from_millis(100);

/// What answers of a sort may use of the budget.
#[derive(Debug)]
pub(super) struct AnswerShare {
    pieces: FairShare,
    /// The most that one answer may use.
    most: AtomicUsize,
    unsent: Arc<UnsentAnswers>,
}

impl AnswerShare {
    pub(super) fn empty() -> Self {
        let pieces = FairShare::empty("bytes of answers");
        Self { pieces, most: AtomicUsize::new(0), unsent: Arc::default() }
    }

    pub(super) fn resize(&self, size: ShareSize) {
        self.most.store(size.of_key, Ordering::Relaxed);
        self.pieces.resize(size);
    }

    /// The most that one answer may use.
    pub(super) fn most(&self) -> usize {
        self.most.load(Ordering::Relaxed)
    }

    /// An entry for an answer that holds some of it.
    pub(super) fn begin(&self, caller: &Caller) -> UnsentAnswer {
        self.unsent.begin(caller)
    }

    /// Waits until this much of the key's part is free.
    pub(super) async fn wait_for_key(
        &self,
        caller: &Caller,
        many: u32,
        time: Duration,
    ) -> Result<Option<OwnedSemaphorePermit>, Problem> {
        self.pieces.wait_for_key(caller, many, time).await
    }

    /// Waits until this much is free. No key may hold up others by reading its answers slowly, so
    /// after a while one after another is cut off.
    pub(super) async fn wait_for_shared(
        &self,
        caller: &Caller,
        many: u32,
        time: Duration,
    ) -> Result<OwnedSemaphorePermit, Problem> {
        let mut waiting = pin!(self.pieces.wait_for_shared(many, time));
        let mut cuts = interval_at(Instant::now() + PATIENCE, CUT_EVERY);
        loop {
            tokio::select! {
                biased;
                taken = waiting.as_mut() => return taken,
                _ = cuts.tick() => self.unsent.cut_for(caller),
            }
        }
    }
}
