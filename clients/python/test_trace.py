"""Traces, with a stand-in for OpenTelemetry and without any."""

import contextlib
import types
import unittest
from unittest import mock

import queuekit.trace
from faked import Faked
from queuekit import Retry

SPAN = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class FakeOtel:
    """As much of OpenTelemetry as the client uses. A context is the `traceparent`."""

    def __init__(self):
        self.current, self.spans = None, []
        self.SpanKind = types.SimpleNamespace(CONSUMER="consumer")
        self.StatusCode = types.SimpleNamespace(ERROR="error")

    # opentelemetry.propagate
    def inject(self, carrier):
        carrier.update({"traceparent": SPAN, "tracestate": "a=b", "baggage": "secret=1"})

    def extract(self, carrier):
        return carrier.get("traceparent")

    # opentelemetry.trace
    def Link(self, linked):
        return linked.name

    def Status(self, code):
        return code

    def get_current_span(self, context):
        linked = types.SimpleNamespace(is_valid=context is not None, name=context)
        return types.SimpleNamespace(get_span_context=lambda: linked)

    def get_tracer(self, _):
        return self

    @contextlib.contextmanager
    def start_as_current_span(self, name, context, links, attributes, **options):
        span = types.SimpleNamespace(name=name, parent=context, links=links, options=options)
        span.attributes, span.status = dict(attributes), None
        span.set_attribute = span.attributes.__setitem__
        span.set_status = lambda status: setattr(span, "status", status)
        self.current = span
        yield span
        self.current = None
        self.spans.append(span)


def install(test, otel):
    """In place of OpenTelemetry, if it is installed."""
    for name in ("propagate", "otel"):
        patch = mock.patch.object(queuekit.trace, name, otel)
        patch.start()
        test.addCleanup(patch.stop)


class TraceTest(Faked):
    def setUp(self):
        super().setUp()
        self.otel = FakeOtel()
        install(self, self.otel)

    def headers(self):
        with self.fake.lock:
            return [headers for _, _, headers, _ in self.fake.calls]

    def test_calls_that_store_jobs_carry_the_current_span_and_no_baggage(self):
        self.client.enqueue("t")
        self.client.enqueue_many([{"kind": "t"}])
        self.client.call("POST", "/v1/ack", {"acks": []})
        one, many, other = self.headers()
        for headers in (one, many):
            self.assertEqual((headers["traceparent"], headers["tracestate"]), (SPAN, "a=b"))
            self.assertNotIn("baggage", headers)
        self.assertNotIn("traceparent", other)

    def test_a_run_is_a_span_that_continues_that_of_its_job(self):
        seen = []

        def handler(payload, ctx):
            seen.append(self.otel.current)
            if payload == "bad":
                raise Retry("hunter2")

        self.start({"t": handler}, concurrency=1)
        job = {"queue": "q", "attempts": 1}
        self.fake.lease("1", payload="good", metadata={"traceparent": SPAN}, **job)
        self.fake.wait_for(self.acks)
        self.fake.lease("2", payload="bad", **job)
        self.fake.wait_for(self.nacks)
        first, second = self.otel.spans
        self.assertEqual(seen, [first, second])
        self.assertEqual((first.name, first.parent, first.links), ("process q", SPAN, [SPAN]))
        self.assertEqual(first.attributes["messaging.message.id"], "job-1")
        self.assertEqual((first.attributes["queuekit.outcome"], first.status), ("completed", None))
        self.assertEqual((second.parent, second.links), (None, []))
        self.assertEqual((second.attributes["queuekit.outcome"], second.status), ("failed", "error"))
        self.assertNotIn("hunter2", repr(second))


class WithoutTest(Faked):
    def setUp(self):
        super().setUp()
        install(self, None)

    def test_without_opentelemetry_a_job_carries_the_span_that_its_caller_names(self):
        self.client.enqueue("t", metadata={"traceparent": SPAN})
        self.assertEqual(self.fake.bodies("/v1/jobs")[0]["metadata"], {"traceparent": SPAN})
        self.assertNotIn("traceparent", self.fake.calls[0][2])
        seen = []
        self.start({"t": lambda _, ctx: seen.append(ctx.job["metadata"])})
        self.fake.lease("1", metadata={"traceparent": SPAN})
        self.fake.wait_for(self.acks)
        self.assertEqual(seen, [{"traceparent": SPAN}])


if __name__ == "__main__":
    unittest.main()
