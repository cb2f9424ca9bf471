"""Traces: with OpenTelemetry, a run continues the trace of the span that enqueued its job."""

from __future__ import annotations

import contextlib
from typing import Any, Dict, Iterator

try:
    from opentelemetry import propagate, trace
except ImportError:  # It is optional.
    propagate = trace = None  # type: ignore[assignment]

_HEADERS = ("traceparent", "tracestate")
_OUTCOMES = {"": "completed", "retry": "failed", "fatal": "dead", "release": "released"}


@contextlib.contextmanager
def run(job: Dict[str, Any]) -> Iterator[Any]:
    """The span of a run: a child of the one that enqueued its job, and linked to it."""
    if trace is None:
        yield None
        return
    metadata = job.get("metadata") or {}
    sender = propagate.extract({name: metadata[name] for name in _HEADERS if name in metadata})
    linked = trace.get_current_span(sender).get_span_context()
    links = [trace.Link(linked)] if linked.is_valid else []
    attributes = {
        "messaging.system": "queuekit", "messaging.operation.type": "process",
        "messaging.destination.name": job["queue"], "messaging.message.id": job["id"],
        "queuekit.kind": job["kind"], "queuekit.attempt": job["attempts"],
    }
    tracer = trace.get_tracer("queuekit")
    # Not the error: it may repeat the payload.
    quiet = {"record_exception": False, "set_status_on_exception": False}
    with tracer.start_as_current_span(f"process {job['queue']}", context=sender, links=links,
                                      kind=trace.SpanKind.CONSUMER, attributes=attributes,
                                      **quiet) as span:
        yield span


def end(span: Any, item: Dict[str, Any]) -> None:
    """Records in the span of a run what is recorded of the run."""
    if span is None:
        return
    span.set_attribute("queuekit.outcome", _OUTCOMES[item.get("kind", "")])
    if item.get("kind") in ("retry", "fatal"):
        span.set_status(trace.Status(trace.StatusCode.ERROR))
