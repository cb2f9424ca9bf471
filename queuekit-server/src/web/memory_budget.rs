//! A budget of memory for requests and answers, counted before it is allocated.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::OwnedSemaphorePermit;

use super::HttpLimits;
use super::auth::Caller;
use super::fair_share::{FairShare, KEY_PART, ShareSize};
use super::problem::Problem;
use super::resizable_semaphore::ResizableSemaphore;

/// The budget is counted in pieces of this size.
const PIECE: usize = 1024;
/// This fraction of the budget is reserved for calls that end or extend leases.
const KEPT: usize = 8;
/// Answers together get this fraction of the rest, so that bodies, which do not wait, find room
/// beside any number of answers.
const ANSWERS: usize = 2;
/// How long to wait for others to give back memory.
const WAIT_MAX: Duration = Duration::from_secs(5);

/// The budget.
#[derive(Debug)]
pub(crate) struct MemoryBudget {
    pieces: FairShare,
    /// Reserved for calls that end or extend leases: a full server must not make jobs run again.
    kept: ResizableSemaphore,
    /// What answers may use of the pieces.
    answers: FairShare,
    /// The most that one answer may use.
    most: AtomicUsize,
}

impl MemoryBudget {
    /// Empty until it has a size.
    pub(crate) fn empty() -> Self {
        let pieces = FairShare::empty("bytes of requests and answers");
        let answers = FairShare::empty("bytes of answers");
        Self { pieces, kept: ResizableSemaphore::empty(), answers, most: AtomicUsize::new(0) }
    }

    /// A body of the largest size always fits if nothing else is in use.
    pub(crate) fn resize(&self, limits: &HttpLimits) {
        let HttpLimits { body_bytes: body, buffered_bytes: all, .. } = *limits;
        // The rest must still have room for one body of the largest size.
        let kept = (all / KEPT).min(all.saturating_sub(body));
        let of_key = (all / KEY_PART).max(body);
        let answers = (all - kept) / ANSWERS;
        self.pieces.resize(ShareSize { all: pieces(all - kept), of_key: pieces(of_key) });
        self.answers.resize(ShareSize { all: pieces(answers), of_key: pieces(answers) });
        self.kept.resize(kept / PIECE);
        self.most.store(of_key.min(answers), Ordering::Relaxed);
    }
}

/// The part of the budget that one request uses, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct RequestBudget {
    memory: Arc<MemoryBudget>,
    caller: Caller,
    settles: bool,
    of_key: Option<OwnedSemaphorePermit>,
    of_all: Option<OwnedSemaphorePermit>,
    of_kept: Option<OwnedSemaphorePermit>,
    of_answers: Option<OwnedSemaphorePermit>,
    held: usize,
}

impl RequestBudget {
    /// Nothing yet. A call that settles leases may also use the reserved part.
    pub(crate) fn of(memory: &Arc<MemoryBudget>, caller: &Caller, settles: bool) -> Self {
        let (memory, caller) = (Arc::clone(memory), caller.clone());
        Self {
            memory,
            caller,
            settles,
            of_key: None,
            of_all: None,
            of_kept: None,
            of_answers: None,
            held: 0,
        }
    }

    /// Its size in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.held * PIECE
    }

    /// Grows to at least this size.
    ///
    /// # Errors
    /// 429 if the key has its share; 503 if the budget is used up.
    pub(crate) fn grow_to(&mut self, bytes: usize) -> Result<(), Problem> {
        let missing = pieces(bytes).saturating_sub(self.held);
        if missing == 0 {
            return Ok(());
        }
        let many = u32::try_from(missing).unwrap_or(u32::MAX);
        let MemoryBudget { pieces, kept, .. } = &*self.memory;
        let own = pieces.take_for_key(&self.caller, many)?;
        match pieces.take_shared(many) {
            Ok(taken) => join(&mut self.of_all, Some(taken)),
            Err(full) => {
                // If acks and extensions were refused when memory is short, finished work would run
                // again.
                let taken = if self.settles { kept.take(many) } else { None };
                let taken = taken.ok_or(full)?;
                join(&mut self.of_kept, Some(taken));
            }
        }
        join(&mut self.of_key, own);
        self.held += missing;
        Ok(())
    }

    /// Grows to this size for an answer, or to the most that one answer may use, and waits for
    /// others to give back memory.
    ///
    /// # Errors
    /// As for [`grow_to`](Self::grow_to), after a wait.
    pub(crate) async fn wait_for(&mut self, bytes: usize) -> Result<(), Problem> {
        let most = self.memory.most.load(Ordering::Relaxed);
        // More than this never becomes free.
        let missing = pieces(bytes.min(most)).saturating_sub(self.held);
        if missing == 0 {
            return Ok(());
        }
        let many = u32::try_from(missing).unwrap_or(u32::MAX);
        let MemoryBudget { pieces, answers, .. } = &*self.memory;
        let of_key = pieces.wait_for_key(&self.caller, many, WAIT_MAX).await?;
        let of_answers = answers.wait_for_shared(many, WAIT_MAX).await?;
        let of_all = pieces.wait_for_shared(many, WAIT_MAX).await?;
        join(&mut self.of_key, of_key);
        join(&mut self.of_answers, Some(of_answers));
        join(&mut self.of_all, Some(of_all));
        self.held += missing;
        Ok(())
    }

    /// Shrinks to this size.
    pub(crate) fn shrink_to(&mut self, bytes: usize) {
        let spare = self.held.saturating_sub(pieces(bytes));
        let spare_of_all = self.of_all.as_mut().and_then(|held| held.split(spare));
        // The reserved part is not counted here, and is given back when it is dropped.
        if spare_of_all.is_some() {
            drop(self.of_key.as_mut().and_then(|held| held.split(spare)));
            // A body is held beside the answer, and was not counted as one.
            let of_answers = self.of_answers.as_mut();
            drop(of_answers.and_then(|held| held.split(spare.min(held.num_permits()))));
            self.held -= spare;
        }
    }
}

fn join(held: &mut Option<OwnedSemaphorePermit>, more: Option<OwnedSemaphorePermit>) {
    match (held, more) {
        (Some(held), Some(more)) => held.merge(more),
        (held, more) => *held = more.or(held.take()),
    }
}

fn pieces(bytes: usize) -> usize {
    bytes.div_ceil(PIECE)
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;
    use crate::web::Scope;
    use crate::web::keys::{Keys, NewKey};

    const MIB: usize = 1 << 20;

    fn memory() -> Arc<MemoryBudget> {
        let (buffered_bytes, body_bytes) = (32 * MIB, MIB);
        let limits = HttpLimits { buffered_bytes, body_bytes, ..HttpLimits::default() };
        let memory = MemoryBudget::empty();
        memory.resize(&limits);
        Arc::new(memory)
    }

    fn caller(id: &str) -> Caller {
        let key = NewKey::draw(id, vec![Scope::Admin]).unwrap();
        let sent = format!("Bearer {}", key.secret);
        let request = Request::builder().header("authorization", sent).body(()).unwrap();
        Caller::of(&Keys::new(vec![key.entry], None), false, &request.into_parts().0).unwrap()
    }

    #[test]
    fn s6_one_key_has_a_quarter_of_the_memory_and_what_settles_the_last_of_it() {
        let memory = memory();
        let callers = ["a", "b", "c", "d", "e"].map(caller);
        let mut budgets =
            callers.each_ref().map(|caller| RequestBudget::of(&memory, caller, false));
        for budget in &mut budgets[..3] {
            budget.grow_to(8 * MIB).unwrap();
            assert_eq!(budget.grow_to(8 * MIB + 1).unwrap_err().kind(), "rate_limited");
        }
        budgets[3].grow_to(4 * MIB).unwrap();
        assert_eq!(budgets[4].grow_to(1).unwrap_err().kind(), "overloaded");
        let mut settling = RequestBudget::of(&memory, &callers[4], true);
        settling.grow_to(4 * MIB).unwrap();
        assert_eq!(settling.grow_to(5 * MIB).unwrap_err().kind(), "overloaded");
        budgets[0].shrink_to(MIB);
        budgets[4].grow_to(7 * MIB).unwrap_err();
        drop(settling);
        budgets[4].grow_to(7 * MIB).unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn s6_answers_leave_half_of_the_memory_to_bodies() {
        let memory = memory();
        let [a, b, c, d] = ["a", "b", "c", "d"].map(caller);
        let mut pages = [&a, &b].map(|caller| RequestBudget::of(&memory, caller, false));
        pages[0].wait_for(8 * MIB).await.unwrap();
        pages[1].wait_for(6 * MIB).await.unwrap();
        let mut third = RequestBudget::of(&memory, &c, false);
        assert_eq!(third.wait_for(MIB).await.unwrap_err().kind(), "overloaded");
        let mut bodies = [&c, &d].map(|caller| RequestBudget::of(&memory, caller, false));
        bodies[0].grow_to(8 * MIB).unwrap();
        bodies[1].grow_to(6 * MIB).unwrap();
        pages[0].shrink_to(7 * MIB);
        drop(bodies);
        third.wait_for(MIB).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn s6_who_can_wait_gets_what_others_give_back() {
        let (memory, caller) = (memory(), caller("a"));
        let mut first = RequestBudget::of(&memory, &caller, false);
        first.wait_for(100 * MIB).await.unwrap();
        assert_eq!(first.bytes(), 8 * MIB, "no more than one key may have");
        let mut second = RequestBudget::of(&memory, &caller, false);
        assert_eq!(second.wait_for(1).await.unwrap_err().kind(), "rate_limited");
        let (waited, ()) = tokio::join!(second.wait_for(MIB), async { first.shrink_to(7 * MIB) });
        waited.unwrap();
        assert_eq!((first.bytes(), second.bytes()), (7 * MIB, MIB));
    }
}
