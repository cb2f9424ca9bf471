//! Runs one handler to its end, whatever it does.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use queuekit_core::Bytes;

use super::hooks::{Hooks, call_hooks};
use crate::run::ctx::Ctx;
use crate::run::inbox::{Inbox, RunEvent};
use crate::run::job_error::JobResult;
use crate::run::result::RunResult;
use crate::run::run::Run;

/// The receivers of reports about runs: the main loop and the hooks.
pub(crate) struct Listeners {
    pub(crate) inbox: Inbox,
    pub(crate) hooks: Vec<Arc<dyn Hooks>>,
}

/// Polls a handler until it ends, panics or is abandoned; then its slot is free.
pub(crate) async fn execute(
    mut holder: Holder,
    handler: impl Future<Output = JobResult<Option<Bytes>>> + Send,
) {
    let Some(run) = &holder.run else { return };
    let result = if past_deadline(run) {
        Some(RunResult::past_deadline())
    } else {
        drive(run, &holder.listeners.hooks, handler).await
    };
    if let Some(result) = result {
        let result = match result.lacks_mark() {
            // Boxed, so that a run without it takes no memory for it.
            true => Box::pin(result.parked(run)).await,
            false => result,
        };
        holder.end(result);
    }
}

/// The result of the handler; none if the outcome was decided elsewhere.
async fn drive(
    run: &Arc<Run>,
    hooks: &[Arc<dyn Hooks>],
    handler: impl Future<Output = JobResult<Option<Bytes>>> + Send,
) -> Option<RunResult> {
    let span = span(run);
    // Hooks make a span a part of a trace. If there are none, nobody looks at its outcome, which
    // would cost as much to record as the span.
    if !hooks.is_empty() && !span.is_disabled() {
        run.trace(span.clone());
        call_hooks(hooks, |hooks| hooks.on_span(&Ctx::new(Arc::clone(run)), &span));
    }
    call_hooks(hooks, |hooks| hooks.on_start(&Ctx::new(Arc::clone(run))));
    run.start();
    let mut handler = pin!(handler);
    poll_fn(|cx| {
        if run.is_abandoned() {
            return Poll::Ready(None);
        }
        // A panic is an outcome of this job: its text becomes the error of the attempt.
        let polled = span.in_scope(|| catch_unwind(AssertUnwindSafe(|| handler.as_mut().poll(cx))));
        match polled {
            Ok(Poll::Ready(answer)) => Poll::Ready(Some(RunResult::of(run, answer))),
            Err(panic) => Poll::Ready(Some(RunResult::of_panic(run, &*panic))),
            Ok(Poll::Pending) => {
                // Registers the waker first and looks after, so that no abandon in between is
                // missed.
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

/// Its fields have the names of OpenTelemetry's conventions for messaging. It has no parent: a run
/// continues the trace that enqueued its job, not that of the worker.
fn span(run: &Run) -> tracing::Span {
    let lease = &run.lease;
    let queue = &lease.token.queue;
    tracing::info_span!(
        parent: None,
        "job",
        otel.kind = "consumer",
        otel.name = %format_args!("process {queue}"),
        otel.status_code = tracing::field::Empty,
        messaging.system = "queuekit",
        messaging.operation.type = "process",
        messaging.destination.name = %queue,
        messaging.message.id = %lease.id(),
        queuekit.kind = %lease.kind,
        queuekit.attempt = lease.attempt,
        queuekit.outcome = tracing::field::Empty,
        traceparent = lease.metadata.get("traceparent"),
    )
}

/// Holds a run's slot: however the task ends, the main loop is notified.
pub(crate) struct Holder {
    run: Option<Arc<Run>>,
    listeners: Arc<Listeners>,
}

impl Holder {
    pub(crate) fn new(run: Arc<Run>, listeners: Arc<Listeners>) -> Self {
        Self { run: Some(run), listeners }
    }

    fn end(&mut self, result: RunResult) {
        if let Some(run) = self.run.take() {
            run.end();
            // If another has decided the outcome in the meantime, only the slot is free now.
            let event =
                if run.claim() { RunEvent::Ended(run, result) } else { RunEvent::Returned(run) };
            self.listeners.inbox.push(event);
        }
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        if let Some(run) = &self.run {
            let result = RunResult::of_drop(run);
            self.end(result);
        }
    }
}
