//! Merging calls made at the same time into one flush (contract R2.10).

use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use async_trait::async_trait;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared, WeakShared};

use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;

/// A batched call.
#[async_trait]
pub(super) trait Flush: Send + Sync + 'static {
    type Item: Clone + Weigh + Send + Sync + 'static;
    type Outcome: Clone + Send + Sync + 'static;

    async fn flush(&self, items: &[Self::Item]) -> Result<Vec<Self::Outcome>>;

    /// An item as it goes into a flush of several calls.
    fn merged(&self, item: &Self::Item) -> Self::Item {
        item.clone()
    }

    /// Whether one call may be held up by what others have not ended, and its flush with it. All
    /// flushes then are of merged items, and those that the store tells of as
    /// [held up](Error::is_held_up) are repeated by each caller for itself.
    fn may_block(&self) -> bool {
        false
    }

    /// What one call may carry.
    fn limits(&self) -> Limits;
}

/// What an item adds to the size of a call.
pub(super) trait Weigh {
    fn bytes(&self) -> usize;
}

/// Merges calls: while one flush is under way, those that come form the next one.
///
/// A flush is a future that all who wait for it poll, so it needs no task, no timer and no
/// runtime, and goes on when any of them goes away. Whoever goes away before its flush began is
/// left out of it.
pub(super) struct Coalescer<F: Flush> {
    shared: Arc<Lane<F>>,
}

struct Lane<F: Flush> {
    flush: F,
    state: Mutex<State<F>>,
}

struct State<F: Flush> {
    /// Calls that no flush has taken yet, oldest first.
    waiting: VecDeque<Weak<Call<F>>>,
    /// The flush that will take them; it begins when the one before it has ended.
    next: Option<WeakShared<BoxFuture<'static, ()>>>,
    /// The flush begun last. Both are weak: a flush that nobody waits for any more is dropped,
    /// and with it the connection it held.
    last: Option<WeakShared<BoxFuture<'static, ()>>>,
}

type Flushing = Shared<BoxFuture<'static, ()>>;

/// One caller's items, and their outcomes when they are there.
struct Call<F: Flush> {
    items: Vec<F::Item>,
    answer: Mutex<Option<Answer<F>>>,
}

/// What a flush came to, for one call.
enum Answer<F: Flush> {
    Is(Result<Vec<F::Outcome>>),
    /// The flush was held up: the caller is to make the call for itself.
    GoesAlone,
}

impl<F: Flush> Coalescer<F> {
    pub(super) fn new(flush: F) -> Self {
        let state = State { waiting: VecDeque::new(), next: None, last: None };
        Self { shared: Arc::new(Lane { flush, state: Mutex::new(state) }) }
    }

    /// An outcome per item, in order.
    pub(super) async fn submit(&self, items: Vec<F::Item>) -> Result<Vec<F::Outcome>> {
        if items.is_empty() {
            return Ok(Vec::new());
        }
        let call = Arc::new(Call { items, answer: Mutex::new(None) });
        let mut flushing = self.join(&call);
        loop {
            flushing.await;
            let answer = lock(&call.answer).take();
            match answer {
                Some(Answer::Is(answer)) => return answer,
                // No flush waits for it, so that whoever comes later does not either.
                Some(Answer::GoesAlone) => {
                    return call.whole(self.shared.flush(&call.items).await);
                }
                None => {}
            }
            // The flush was full: the call is in the next one.
            flushing = self.next_flush(&mut lock(&self.shared.state));
        }
    }

    fn join(&self, call: &Arc<Call<F>>) -> Flushing {
        let mut state = lock(&self.shared.state);
        state.waiting.push_back(Arc::downgrade(call));
        self.next_flush(&mut state)
    }

    fn next_flush(&self, state: &mut State<F>) -> Flushing {
        if let Some(next) = state.next.as_ref().and_then(WeakShared::upgrade) {
            return next;
        }
        let shared = Arc::clone(&self.shared);
        let before = state.last.as_ref().and_then(WeakShared::upgrade);
        let flushing = async move {
            if let Some(before) = before {
                before.await;
            }
            let calls = shared.begin();
            shared.run(calls).await;
        };
        let flushing = flushing.boxed().shared();
        state.next = flushing.downgrade();
        flushing
    }
}

impl<F: Flush> Lane<F> {
    /// Takes as many whole calls as fit into one flush.
    fn begin(&self) -> Vec<Arc<Call<F>>> {
        let mut state = lock(&self.state);
        state.last = state.next.take();
        let limits = self.flush.limits();
        let (mut items, mut bytes, mut calls) = (0, 0, Vec::new());
        while let Some(front) = state.waiting.front() {
            if let Some(call) = front.upgrade() {
                items += call.items.len();
                bytes += call.items.iter().map(Weigh::bytes).sum::<usize>();
                let full = items > limits.enqueue_jobs() || bytes > limits.enqueue_bytes();
                if full && !calls.is_empty() {
                    break;
                }
                calls.push(call);
            }
            state.waiting.pop_front();
        }
        calls
    }

    /// One call of the store. A panic inside it must reach every caller as an error: a shared
    /// future that panics never wakes those who did not poll it.
    async fn flush(&self, items: &[F::Item]) -> Result<Vec<F::Outcome>> {
        let flush = AssertUnwindSafe(self.flush.flush(items)).catch_unwind();
        flush.await.unwrap_or_else(|_| {
            let message = "the store panicked; whether the call took effect is unknown";
            Err(Error::new(ErrorKind::Indeterminate, message))
        })
    }

    async fn run(&self, calls: Vec<Arc<Call<F>>>) {
        if let [call] = &calls[..]
            && !self.flush.may_block()
        {
            call.answer(self.flush(&call.items).await);
            return;
        }
        let items = calls.iter().flat_map(|call| &call.items);
        let items: Vec<_> = items.map(|item| self.flush.merged(item)).collect();
        match self.flush(&items).await {
            Ok(outcomes) => {
                let mut outcomes = outcomes.into_iter();
                for call in calls {
                    call.answer(Ok(outcomes.by_ref().take(call.items.len()).collect()));
                }
            }
            // One caller's fault, or one that only fits alone: nobody else answers for it.
            Err(error) if !error.is_retryable() || *error.kind() == ErrorKind::StorageFull => {
                for call in calls {
                    call.answer(self.flush(&call.items).await);
                }
            }
            // Somebody's open transaction holds up one of them: the others need not wait for it.
            Err(error) if error.is_held_up() && self.flush.may_block() => {
                for call in calls {
                    *lock(&call.answer) = Some(Answer::GoesAlone);
                }
            }
            Err(error) => calls.iter().for_each(|call| call.answer(Err(error.clone()))),
        }
    }
}

impl<F: Flush> Call<F> {
    fn answer(&self, answer: Result<Vec<F::Outcome>>) {
        *lock(&self.answer) = Some(Answer::Is(self.whole(answer)));
    }

    fn whole(&self, answer: Result<Vec<F::Outcome>>) -> Result<Vec<F::Outcome>> {
        answer.and_then(|outcomes| {
            if outcomes.len() == self.items.len() {
                return Ok(outcomes);
            }
            let message = "the store answered fewer outcomes than items; report a bug of the store";
            Err(Error::new(ErrorKind::Indeterminate, message))
        })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures_util::future::{join_all, poll_immediate, try_join_all};
    use tokio::sync::Semaphore;

    use super::*;

    /// Doubles numbers when told to go on; refuses a flush that has a zero in it. Merged ones are
    /// negative: -7 is held up, 7 waits for what holds it.
    #[derive(Clone)]
    struct Doubling(Arc<Gate>);

    struct Gate {
        may_block: bool,
        /// One permit lets one flush through.
        permits: Semaphore,
        held: Semaphore,
        flushed: Mutex<Vec<usize>>,
        dropped: Mutex<usize>,
    }

    impl Weigh for i64 {
        fn bytes(&self) -> usize {
            8
        }
    }

    struct CountDrop<'a>(&'a Gate, bool);

    impl Drop for CountDrop<'_> {
        fn drop(&mut self) {
            *lock(&self.0.dropped) += usize::from(!self.1);
        }
    }

    #[async_trait]
    impl Flush for Doubling {
        type Item = i64;
        type Outcome = i64;

        async fn flush(&self, items: &[i64]) -> Result<Vec<i64>> {
            lock(&self.0.flushed).push(items.len());
            let mut under_way = CountDrop(&self.0, false);
            let gate = if items.contains(&7) { &self.0.held } else { &self.0.permits };
            gate.acquire().await.unwrap().forget();
            under_way.1 = true;
            assert!(!items.contains(&13), "a store that panics");
            if items.contains(&0) {
                return Err(Error::invalid("item", "over 0", 0));
            }
            if items.contains(&-7) {
                return Err(Error::new(ErrorKind::Unavailable, "7 is taken").held_up());
            }
            Ok(items.iter().map(|item| item.abs() * 2).collect())
        }

        fn merged(&self, item: &i64) -> i64 {
            if self.0.may_block { -item } else { *item }
        }

        fn may_block(&self) -> bool {
            self.0.may_block
        }

        fn limits(&self) -> Limits {
            Limits::default()
        }
    }

    fn coalescer(may_block: bool) -> (Coalescer<Doubling>, Arc<Gate>) {
        let gate = Arc::new(Gate {
            may_block,
            permits: Semaphore::new(0),
            held: Semaphore::new(0),
            flushed: Mutex::default(),
            dropped: Mutex::default(),
        });
        (Coalescer::new(Doubling(Arc::clone(&gate))), gate)
    }

    #[tokio::test]
    async fn calls_made_while_a_flush_is_under_way_share_the_next_one() {
        let (coalescer, gate) = coalescer(false);
        let mut first = pin!(coalescer.submit(vec![1]));
        assert!(poll_immediate(&mut first).await.is_none());
        let mut later = pin!(try_join_all((2..5).map(|n| coalescer.submit(vec![n, n]))));
        assert!(poll_immediate(&mut later).await.is_none());
        gate.permits.add_permits(2);
        assert_eq!(later.await.unwrap(), [[4, 4], [6, 6], [8, 8]]);
        assert_eq!(first.await.unwrap(), [2]);
        assert_eq!(*lock(&gate.flushed), [1, 6]);
    }

    #[tokio::test]
    async fn r2_10_who_fails_for_its_own_fault_fails_alone() {
        let (coalescer, gate) = coalescer(false);
        let mut answers = pin!(join_all([9, 1, 0, 3].map(|n| coalescer.submit(vec![n]))));
        assert!(poll_immediate(&mut answers).await.is_none());
        gate.permits.add_permits(5);
        let answers = answers.await.split_off(1);
        assert_eq!(*lock(&gate.flushed), [1, 3, 1, 1, 1]);
        assert_eq!(answers[0].as_deref().unwrap(), [2]);
        assert!(answers[1].is_err());
        assert_eq!(answers[2].as_deref().unwrap(), [6]);
    }

    #[tokio::test]
    async fn r2_10_who_is_held_up_holds_up_none_of_its_flush() {
        let (coalescer, gate) = coalescer(true);
        let mut others = pin!(try_join_all([1, 2, 3].map(|n| coalescer.submit(vec![n]))));
        assert!(poll_immediate(&mut others).await.is_none());
        let mut held = pin!(coalescer.submit(vec![7]));
        assert!(poll_immediate(&mut held).await.is_none());
        gate.permits.add_permits(4);
        let answers = poll_immediate(&mut others).await.expect("nobody waits for 7");
        assert_eq!(answers.unwrap(), [[2], [4], [6]]);
        assert!(poll_immediate(&mut held).await.is_none());
        assert_eq!(*lock(&gate.flushed), [1, 3, 1, 1, 1], "each goes alone");
        gate.permits.add_permits(1);
        assert_eq!(coalescer.submit(vec![4]).await.unwrap(), [8], "nor any after it");
        gate.held.add_permits(1);
        assert_eq!(held.await.unwrap(), [14]);
    }

    #[tokio::test]
    async fn r2_10_a_caller_that_goes_away_harms_none() {
        let (coalescer, gate) = coalescer(false);
        let mut first = Box::pin(coalescer.submit(vec![1]));
        assert!(poll_immediate(&mut first).await.is_none());
        let mut gone_before_it_began = Box::pin(coalescer.submit(vec![2]));
        assert!(poll_immediate(&mut gone_before_it_began).await.is_none());
        let mut stays = pin!(coalescer.submit(vec![3]));
        assert!(poll_immediate(&mut stays).await.is_none());
        // The one who drove the flush under way goes too.
        drop((first, gone_before_it_began));
        gate.permits.add_permits(2);
        assert_eq!(stays.await.unwrap(), [6]);
        assert_eq!(lock(&gate.flushed).last(), Some(&1), "it was left out of the flush");
    }

    #[tokio::test]
    async fn r10_3_a_flush_that_nobody_waits_for_is_dropped() {
        let (coalescer, gate) = coalescer(false);
        let mut only = Box::pin(coalescer.submit(vec![1]));
        assert!(poll_immediate(&mut only).await.is_none());
        drop(only);
        assert_eq!(*lock(&gate.dropped), 1);
        gate.permits.add_permits(1);
        assert_eq!(coalescer.submit(vec![2]).await.unwrap(), [4]);
    }

    #[tokio::test]
    async fn r2_10_a_panic_of_the_store_reaches_every_caller() {
        let (coalescer, gate) = coalescer(false);
        let mut answers = pin!(join_all([1, 2, 13].map(|n| coalescer.submit(vec![n]))));
        assert!(poll_immediate(&mut answers).await.is_none());
        gate.permits.add_permits(3);
        let answers = answers.await;
        assert!(answers[0].is_ok());
        for answer in &answers[1..] {
            assert_eq!(answer.as_ref().unwrap_err().kind(), &ErrorKind::Indeterminate);
        }
        gate.permits.add_permits(1);
        assert_eq!(coalescer.submit(vec![4]).await.unwrap(), [8], "and none after it");
    }

    #[tokio::test]
    async fn r2_3_a_call_is_never_split_over_flushes() {
        let (coalescer, gate) = coalescer(false);
        let sizes = [1, 600, 600, 300];
        let mut answers = pin!(join_all(sizes.map(|size| coalescer.submit(vec![1; size]))));
        assert!(poll_immediate(&mut answers).await.is_none());
        gate.permits.add_permits(3);
        let counts: Vec<_> = answers.await.into_iter().map(|all| all.unwrap().len()).collect();
        assert_eq!(counts, sizes);
        assert_eq!(*lock(&gate.flushed), [1, 600, 900]);
    }
}
