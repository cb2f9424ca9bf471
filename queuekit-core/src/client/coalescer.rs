//! Merging calls made at the same time into one flush (contract R2.10).

use std::collections::VecDeque;
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
    answer: Mutex<Option<Result<Vec<F::Outcome>>>>,
}

impl<F: Flush> Coalescer<F> {
    pub(super) fn new(flush: F) -> Self {
        let state = State {
            waiting: VecDeque::new(),
            next: None,
            last: None,
        };
        Self {
            shared: Arc::new(Lane {
                flush,
                state: Mutex::new(state),
            }),
        }
    }

    /// An outcome per item, in order.
    pub(super) async fn submit(&self, items: Vec<F::Item>) -> Result<Vec<F::Outcome>> {
        if items.is_empty() {
            return Ok(Vec::new());
        }
        let call = Arc::new(Call {
            items,
            answer: Mutex::new(None),
        });
        let mut flushing = self.join(&call);
        loop {
            flushing.await;
            if let Some(answer) = lock(&call.answer).take() {
                return answer;
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
        let limits = Limits::default();
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

    async fn run(&self, calls: Vec<Arc<Call<F>>>) {
        if let [call] = &calls[..] {
            call.answer(self.flush.flush(&call.items).await);
            return;
        }
        let items: Vec<_> = calls
            .iter()
            .flat_map(|call| call.items.iter().cloned())
            .collect();
        match self.flush.flush(&items).await {
            Ok(outcomes) => {
                let mut outcomes = outcomes.into_iter();
                for call in calls {
                    call.answer(Ok(outcomes.by_ref().take(call.items.len()).collect()));
                }
            }
            // One caller's fault, or one that only fits alone: nobody else answers for it.
            Err(error) if !error.is_retryable() || *error.kind() == ErrorKind::StorageFull => {
                for call in calls {
                    call.answer(self.flush.flush(&call.items).await);
                }
            }
            Err(error) => calls
                .iter()
                .for_each(|call| call.answer(Err(error.clone()))),
        }
    }
}

impl<F: Flush> Call<F> {
    fn answer(&self, answer: Result<Vec<F::Outcome>>) {
        let whole = answer.and_then(|outcomes| {
            if outcomes.len() == self.items.len() {
                return Ok(outcomes);
            }
            let message = "the store answered fewer outcomes than items; report a bug of the store";
            Err(Error::new(ErrorKind::Indeterminate, message))
        });
        *lock(&self.answer) = Some(whole);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
