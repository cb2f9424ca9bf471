//! Runs one handler to its end, whatever it does.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use queuekit_core::Bytes;

use crate::hooks::call_hooks;
use crate::inbox::Event;
use crate::middleware::Next;
use crate::run::Run;
use crate::verdict::Verdict;
use crate::{Ctx, JobResult};

/// Starts a run in a task of its own.
pub(crate) fn start(run: Arc<Run>, handler: usize) {
    let ctx = Ctx::new(Arc::clone(&run));
    let shared = &*run.shared;
    let handler = Arc::clone(shared.kinds.handler(handler));
    if shared.middleware.is_empty() {
        handler.spawn(Holder(Some(run)), ctx);
        return;
    }
    let shared = Arc::clone(&run.shared);
    let wrapped = async move { Next::new(&shared.middleware, &*handler).run(ctx).await };
    tokio::spawn(execute(Holder(Some(run)), wrapped));
}

/// Polls a handler until it ends, panics or is abandoned; then its slot is free.
pub(crate) async fn execute(
    mut holder: Holder,
    handler: impl Future<Output = JobResult<Option<Bytes>>> + Send,
) {
    let Some(run) = &holder.0 else { return };
    let verdict =
        if past_deadline(run) { Some(Verdict::past_deadline()) } else { drive(run, handler).await };
    if let Some(verdict) = verdict {
        holder.end(verdict);
    }
}

/// The verdict of the handler; none if somebody else has decided.
async fn drive(
    run: &Arc<Run>,
    handler: impl Future<Output = JobResult<Option<Bytes>>> + Send,
) -> Option<Verdict> {
    let span = span(run);
    call_hooks(&run.shared.hooks, |hooks| {
        hooks.on_start(&Ctx::new(Arc::clone(run)));
    });
    run.start();
    let mut handler = pin!(handler);
    poll_fn(|cx| {
        if run.is_abandoned() {
            return Poll::Ready(None);
        }
        let polled = span.in_scope(|| catch_unwind(AssertUnwindSafe(|| handler.as_mut().poll(cx))));
        match polled {
            Ok(Poll::Ready(answer)) => Poll::Ready(Some(Verdict::of(run, answer))),
            Err(panic) => Poll::Ready(Some(Verdict::of_panic(run, &*panic))),
            Ok(Poll::Pending) => {
                run.wake_when_abandoned(cx.waker());
                if run.is_abandoned() { Poll::Ready(None) } else { Poll::Pending }
            }
        }
    })
    .await
}

/// It may have waited for a thread since it was reserved.
fn past_deadline(run: &Run) -> bool {
    run.lease.deadline_in.is_some_and(|left| run.asked_at.elapsed() > left)
}

fn span(run: &Run) -> tracing::Span {
    let lease = &run.lease;
    tracing::info_span!(
        "job",
        id = %lease.id(),
        kind = %lease.kind,
        queue = %lease.token.queue,
        attempt = lease.attempt,
        traceparent = lease.metadata.get("traceparent"),
    )
}

/// Holds a run's slot: whatever becomes of the task, the pump hears of its end.
pub(crate) struct Holder(Option<Arc<Run>>);

impl Holder {
    fn end(&mut self, verdict: Verdict) {
        if let Some(run) = self.0.take() {
            let kept = Arc::clone(&run);
            let event = if run.claim() { Event::Ended(run, verdict) } else { Event::Returned(run) };
            kept.shared.inbox.push(event);
        }
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        if let Some(run) = &self.0 {
            let verdict = Verdict::of_drop(run);
            self.end(verdict);
        }
    }
}
