"""Traces: with OpenTelemetry, a run continues the trace of the span that enqueued its job."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator, Mapping
from typing import Any


def _optional(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


propagate, otel = _optional("opentelemetry.propagate"), _optional("opentelemetry.trace")
_HEADERS = ("traceparent", "tracestate")
_OUTCOMES = {"": "completed", "retry": "failed", "fatal": "dead", "release": "released"}


def headers() -> dict[str, str]:
    """The current span, for a request that stores jobs: the server adds it to them."""
    carrier: dict[str, str] = {}
    if propagate is not None:
        propagate.inject(carrier)
    return {name: carrier[name] for name in _HEADERS if name in carrier}


@contextlib.contextmanager
def run(job: Mapping[str, Any]) -> Iterator[Any]:
    """The span of a run: a child of the one that enqueued its job, and linked to it."""
    if otel is None:
        yield None
        return
    metadata = job.get("metadata") or {}
    sender = propagate.extract({name: metadata[name] for name in _HEADERS if name in metadata})
    linked = otel.get_current_span(sender).get_span_context()
    links = [otel.Link(linked)] if linked.is_valid else []
    attributes = {
        "messaging.system": "queuekit", "messaging.operation.type": "process",
        "messaging.destination.name": job["queue"], "messaging.message.id": job["id"],
        "queuekit.kind": job["kind"], "queuekit.attempt": job["attempts"],
    }
    tracer = otel.get_tracer("queuekit")
    # Not the error: it may repeat the payload.
    quiet = {"record_exception": False, "set_status_on_exception": False}
    with tracer.start_as_current_span(f"process {job['queue']}", context=sender, links=links,
                                      kind=otel.SpanKind.CONSUMER, attributes=attributes,
                                      **quiet) as span:
        yield span


def end(span: Any, item: Mapping[str, Any]) -> None:
    """Records in the span of a run what is recorded of the run."""
    if span is None:
        return
    span.set_attribute("queuekit.outcome", _OUTCOMES[item.get("kind", "")])
    if item.get("kind") in ("retry", "fatal"):
        span.set_status(otel.Status(otel.StatusCode.ERROR))
