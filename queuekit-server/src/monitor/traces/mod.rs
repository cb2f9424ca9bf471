//! Traces: spans of the calls that store jobs and of the runs of jobs. With the feature `otlp` they
//! are sent to a collector of OpenTelemetry, if one is named.

#[cfg_attr(feature = "otlp", allow(dead_code, reason = "so that it is always compiled"))]
mod off;
#[cfg(feature = "otlp")]
mod otlp;

use queuekit::workers::Hooks;
use queuekit::{Ctx, QueueName, TraceContext, Worker};
use tracing::field::Empty;
use tracing::{Instrument, Span, info_span};

#[cfg(not(feature = "otlp"))]
use off as sink;
#[cfg(feature = "otlp")]
use otlp as sink;
pub(crate) use sink::Traces;

/// The span of this task, if traces are on.
pub(crate) fn current() -> Option<TraceContext> {
    if sink::is_on() { sink::context(&Span::current()) } else { None }
}

/// A span of a command.
pub(crate) fn command(name: &'static str) -> Span {
    match sink::is_on() {
        true => info_span!("command", otel.name = name),
        false => Span::none(),
    }
}

/// The span of a call that stores jobs or events, which continues the trace of its caller.
pub(crate) struct Sending {
    span: Span,
    context: Option<TraceContext>,
}

impl Sending {
    /// Begins the span. `queue` is that of all messages, if they have one queue.
    pub(crate) fn new(
        caller: Option<TraceContext>,
        queue: Option<&QueueName>,
        messages: usize,
    ) -> Self {
        if !sink::is_on() {
            return Self { span: Span::none(), context: caller };
        }
        let name = queue.map_or_else(|| "send".to_owned(), |queue| format!("send {queue}"));
        let span = info_span!(
            "send",
            otel.kind = "producer",
            otel.name = name,
            otel.status_code = Empty,
            messaging.system = "queuekit",
            messaging.operation.type = "send",
            messaging.destination.name = queue.map(display),
            messaging.batch.message_count = messages,
        );
        if let Some(caller) = &caller {
            sink::set_parent(&span, caller);
        }
        let context = sink::context(&span).or(caller);
        Self { span, context }
    }

    /// What the jobs and events carry.
    pub(crate) fn context(&self) -> Option<&TraceContext> {
        self.context.as_ref()
    }

    /// Makes the call in the span.
    pub(crate) async fn run<T, E>(self, call: impl Future<Output = Result<T, E>>) -> Result<T, E> {
        let result = call.instrument(self.span.clone()).await;
        if result.is_err() {
            self.span.record("otel.status_code", "error");
        }
        result
    }
}

/// The worker; if traces are on, its runs continue those of their jobs.
pub(crate) fn follow(worker: Worker) -> Worker {
    if sink::is_on() { worker.hooks(Following) } else { worker }
}

/// The span of a run has the one that enqueued its job as its parent, and as a link, which some
/// collectors prefer for work that is done later.
struct Following;

impl Hooks for Following {
    fn on_span(&self, ctx: &Ctx, span: &Span) {
        if let Some(sender) = TraceContext::of(ctx.metadata()) {
            sink::set_parent(span, &sender);
            sink::add_link(span, &sender);
        }
    }
}
