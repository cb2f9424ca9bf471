//! Merging calls made at the same time into one flush (contract R2.10).

use std::collections::VecDeque;
use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Poll;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared, WeakShared};
use futures_util::task::AtomicWaker;

use crate::error::{Error, ErrorKind, Result};
use crate::store_limits::Limits;

/// How much longer than `op_timeout` a call may take (contract R10.2). The time begins anew when
/// its flush does; a call that has waited longer behind a flush that failed fails with it.
const BEHIND: Duration = Duration::from_secs(1);

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
    /// flushes then are of merged items, and those for which the store
    /// returns [held up](Error::is_held_up) are repeated by each caller for itself.
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
/// A flush is a future that all who wait for it poll, so it needs no task, no timer and no runtime,
/// and it continues if one of them is dropped: each call that it took keeps it alive. A caller that
/// is dropped before its flush began is left out of it.
pub(super) struct Coalescer<F: Flush> {
    shared: Arc<Inner<F>>,
}

struct Inner<F: Flush> {
    flush: F,
    behind: Duration,
    state: Mutex<State<F>>,
}

struct State<F: Flush> {
    /// Calls that no flush has taken yet, oldest first.
    waiting: VecDeque<Weak<Call<F>>>,
    /// The flush that will take them; it begins when the one before it has ended.
    next: Option<WeakShared<BoxFuture<'static, ()>>>,
    /// The flush begun last. Both are weak: a flush whose callers are all gone is dropped, and with
    /// it the connection it held.
    last: Option<WeakShared<BoxFuture<'static, ()>>>,
}

type Flushing = Shared<BoxFuture<'static, ()>>;

/// One caller's items, and their outcomes when they are there.
struct Call<F: Flush> {
    items: Vec<F::Item>,
    came: Instant,
    answer: Mutex<Option<Answer<F>>>,
    place: Mutex<Place>,
    /// Wakes the caller if its answer comes before the flush that it waits for.
    waker: AtomicWaker,
}

/// Where a call is.
enum Place {
    Waiting,
    /// In this flush, which lives as long as the caller. The task that polled it may have been
    /// answered by the flush before, and be gone.
    Taken(Flushing),
    /// Its caller was dropped.
    Gone,
}

/// What a flush came to, for one call.
enum Answer<F: Flush> {
    Is(Result<Vec<F::Outcome>>),
    /// The flush was held up: the caller is to make the call for itself.
    GoesAlone,
}

impl<F: Flush> Coalescer<F> {
    pub(super) fn new(flush: F) -> Self {
        Self::with(flush, BEHIND)
    }

    fn with(flush: F, behind: Duration) -> Self {
        let state = State { waiting: VecDeque::new(), next: None, last: None };
        Self { shared: Arc::new(Inner { flush, behind, state: Mutex::new(state) }) }
    }

    /// An outcome per item, in order.
    pub(super) async fn submit(&self, items: Vec<F::Item>) -> Result<Vec<F::Outcome>> {
        if items.is_empty() {
            return Ok(Vec::new());
        }
        let call = Caller(Arc::new(Call::new(items)));
        let call = &call.0;
        let mut flushing = self.join(call);
        let mut is_taken = false;
        loop {
            match call.answered(flushing).await {
                Some(Answer::Is(answer)) => return answer,
                // No flush waits for this call, so calls that arrive later do not either.
                Some(Answer::GoesAlone) => {
                    return call.whole(self.shared.flush(&call.items).await);
                }
                None if is_taken => return Err(unanswered()),
                None => {}
            }
            // The flush was full: the call is in the one after it, which may have begun.
            let taken = call.taken_by();
            is_taken = taken.is_some();
            flushing = taken.unwrap_or_else(|| self.next_flush(&mut lock(&self.shared.state)));
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
        // One flush at a time: the calls that arrive during it make the next one large.
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

impl<F: Flush> Inner<F> {
    /// Takes as many whole calls as fit into one flush.
    fn begin(&self) -> Vec<Arc<Call<F>>> {
        let mut state = lock(&self.state);
        state.last = state.next.take();
        // This is the flush that begins. It is being polled, so it is there.
        let Some(own) = state.last.as_ref().and_then(WeakShared::upgrade) else {
            return Vec::new();
        };
        let limits = self.flush.limits();
        let (mut items, mut bytes, mut calls) = (0, 0, Vec::new());
        while let Some(front) = state.waiting.front() {
            // None if its caller was dropped.
            if let Some(call) = front.upgrade() {
                items += call.items.len();
                bytes += call.items.iter().map(Weigh::bytes).sum::<usize>();
                let full = items > limits.enqueue_jobs() || bytes > limits.enqueue_bytes();
                // A call that is too large by itself is taken alone, and the store refuses it.
                if full && !calls.is_empty() {
                    break;
                }
                if call.take(&own) {
                    calls.push(call);
                }
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

    async fn run(&self, mut calls: Vec<Arc<Call<F>>>) {
        // A call that is at fault leaves the flush, and the others stay in one: alone, each would
        // take as long as the flush.
        while let Some(at) = self.run_merged(&calls).await {
            let at_fault = calls.remove(at);
            self.run_alone(&[at_fault]).await;
        }
    }

    /// Runs the calls as one flush. The call that is at fault, if the others are to be run again.
    async fn run_merged(&self, calls: &[Arc<Call<F>>]) -> Option<usize> {
        if calls.is_empty() || (calls.len() == 1 && !self.flush.may_block()) {
            self.run_alone(calls).await;
            return None;
        }
        let items = calls.iter().flat_map(|call| &call.items);
        let items: Vec<_> = items.map(|item| self.flush.merged(item)).collect();
        let flushed = self.flush(&items).await;
        if let Some(at) = flushed.as_ref().err().and_then(|error| at_fault(calls, error)) {
            return Some(at);
        }
        match flushed {
            Ok(outcomes) => {
                let mut outcomes = outcomes.into_iter();
                for call in calls {
                    call.answer(Ok(outcomes.by_ref().take(call.items.len()).collect()));
                }
            }
            // One of the calls is at fault, or fits only alone: the others must not fail with it.
            Err(error) if !error.is_retryable() || *error.kind() == ErrorKind::StorageFull => {
                self.run_alone(calls).await;
            }
            // An open transaction elsewhere blocks one of these calls. The others need not wait.
            Err(error) if error.is_held_up() && self.flush.may_block() => {
                for call in calls {
                    *lock(&call.answer) = Some(Answer::GoesAlone);
                }
            }
            Err(error) => {
                calls.iter().for_each(|call| call.answer(Err(error.clone())));
                if is_silence(&error) {
                    self.give_up_behind(&error);
                }
            }
        }
        None
    }

    async fn run_alone(&self, calls: &[Arc<Call<F>>]) {
        let mut silent = None;
        for call in calls {
            match &silent {
                // Otherwise each call would wait for the full time limit of those before it.
                Some(error) if self.is_late(call) => call.answer(Err(behind(error))),
                _ => {
                    let answer = self.flush(&call.items).await;
                    silent = answer.as_ref().err().filter(|error| is_silence(error)).cloned();
                    call.answer(answer);
                }
            }
        }
        if let Some(error) = silent {
            self.give_up_behind(&error);
        }
    }

    /// Fails the calls that have used up their own time while the store did not answer.
    fn give_up_behind(&self, error: &Error) {
        lock(&self.state).waiting.retain(|call| {
            let Some(call) = call.upgrade() else { return false };
            let is_late = self.is_late(&call);
            if is_late {
                call.answer(Err(behind(error)));
            }
            !is_late
        });
    }

    fn is_late(&self, call: &Call<F>) -> bool {
        call.came.elapsed() > self.behind
    }
}

/// The place of the only call that a flush of several is refused for, if the error says so.
fn at_fault<F: Flush>(calls: &[Arc<Call<F>>], error: &Error) -> Option<usize> {
    let ErrorKind::Invalid { item: Some(item), .. } = *error.kind() else { return None };
    let mut ends = calls.iter().scan(0, |end, call| {
        *end += call.items.len();
        Some(*end)
    });
    ends.position(|end| item < end).filter(|_| calls.len() > 1)
}

/// Whether the store did not answer, which is no single caller's fault.
fn is_silence(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::Indeterminate) && !error.is_held_up()
}

/// The error of a call whose flush never began.
fn behind(error: &Error) -> Error {
    let message = "the store did not answer the calls before this one; this call was not applied";
    Error::new(ErrorKind::Unavailable, message).caused_by(error.clone())
}

fn unanswered() -> Error {
    let message = "the call has no answer; whether it took effect is unknown; report this bug";
    Error::new(ErrorKind::Indeterminate, message)
}

/// A call as its caller holds it.
struct Caller<F: Flush>(Arc<Call<F>>);

/// A flush holds its calls, and would never be dropped if one of them still held it.
impl<F: Flush> Drop for Caller<F> {
    fn drop(&mut self) {
        let place = std::mem::replace(&mut *lock(&self.0.place), Place::Gone);
        // Not under the lock: with the flush, others of its calls may go.
        drop(place);
    }
}

impl<F: Flush> Call<F> {
    fn new(items: Vec<F::Item>) -> Self {
        let (came, waker) = (Instant::now(), AtomicWaker::new());
        Self { items, came, answer: Mutex::new(None), place: Mutex::new(Place::Waiting), waker }
    }

    /// Puts it into this flush, unless its caller was dropped.
    fn take(&self, flush: &Flushing) -> bool {
        let mut place = lock(&self.place);
        let is_there = !matches!(*place, Place::Gone);
        if is_there {
            *place = Place::Taken(flush.clone());
        }
        is_there
    }

    fn taken_by(&self) -> Option<Flushing> {
        match &*lock(&self.place) {
            Place::Taken(flush) => Some(flush.clone()),
            Place::Waiting | Place::Gone => None,
        }
    }

    /// Its answer, as soon as it is there; none if the flush has ended without it.
    async fn answered(&self, flushing: Flushing) -> Option<Answer<F>> {
        let mut flushing = pin!(flushing);
        poll_fn(|cx| {
            // Registered before the look, so that an answer that comes in between wakes the caller.
            self.waker.register(cx.waker());
            if let Some(answer) = lock(&self.answer).take() {
                return Poll::Ready(Some(answer));
            }
            flushing.as_mut().poll(cx).map(|()| lock(&self.answer).take())
        })
        .await
    }

    fn answer(&self, answer: Result<Vec<F::Outcome>>) {
        *lock(&self.answer) = Some(Answer::Is(self.whole(answer)));
        self.waker.wake();
    }

    fn whole(&self, answer: Result<Vec<F::Outcome>>) -> Result<Vec<F::Outcome>> {
        answer.and_then(|outcomes| {
            if outcomes.len() == self.items.len() {
                return Ok(outcomes);
            }
            let message = "the store returned too few outcomes; report this bug of the store";
            Err(Error::new(ErrorKind::Indeterminate, message))
        })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
