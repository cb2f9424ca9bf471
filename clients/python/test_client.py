"""The clients, over a fake server: both make the same calls."""

import asyncio
import inspect
import time
import unittest
import warnings
from datetime import datetime, timedelta, timezone

from faked import BUSY, Blocking, Faked
from queuekit import AsyncClient, Client, Error, errors


class ClientTest(Faked):
    def test_a_busy_server_is_asked_again_under_the_same_idempotency_key(self):
        self.fake.script["/v1/jobs"] = [BUSY, (201, {}, {"id": "7", "outcome": "created"})]
        self.assertEqual(self.client.enqueue("t", 1, queue="q")["id"], "7")
        first, second = self.fake.bodies("/v1/jobs")
        self.assertEqual(first, second)
        self.assertEqual(len(first["idempotency_key"]), 36)

    def test_calls_have_keys_of_their_own_and_send_the_api_key(self):
        self.client.enqueue("t")
        self.client.enqueue("t", idempotency_key="mine")
        keys = [body["idempotency_key"] for body in self.fake.bodies("/v1/jobs")]
        self.assertEqual(keys[1], "mine")
        self.assertNotEqual(keys[0], keys[1])
        self.assertEqual(self.fake.calls[0][2]["Authorization"], "Bearer qk_secret")

    def test_a_lost_answer_is_asked_for_again_under_the_same_key(self):
        self.fake.script["/v1/jobs"] = ["lost", "reset"]
        self.assertEqual(self.client.enqueue("t")["outcome"], "created")
        keys = {body["idempotency_key"] for body in self.fake.bodies("/v1/jobs")}
        self.assertEqual((len(self.fake.calls), len(keys)), (3, 1))

    def test_retry_after_is_waited_for(self):
        busy = (429, {"Retry-After": "1"}, BUSY[2])
        self.fake.script["/v1/jobs"] = [busy]
        self.client.enqueue("t")
        (_, _, _, first), (_, _, _, second) = self.fake.calls
        self.assertGreaterEqual(second - first, 1.0)

    def test_a_wait_beyond_the_deadline_is_an_error_at_once(self):
        self.fake.script["/v1/jobs"] = [(429, {"Retry-After": "60"}, BUSY[2])]
        began = time.monotonic()
        with self.assertRaises(Error) as caught:
            self.client.enqueue("t")
        self.assertLess(time.monotonic() - began, 2)
        self.assertEqual(caught.exception.retry_after, 60)

    def test_what_is_refused_is_not_repeated_and_says_why(self):
        problem = {"type": "urn:queuekit:problem:invalid", "title": "Invalid", "field": "kind",
                   "detail": "`kind` is empty"}
        self.fake.script["/v1/jobs"] = [(422, {}, problem)]
        with self.assertRaises(Error) as caught:
            self.client.enqueue("")
        error = caught.exception
        self.assertIsInstance(error, errors.Invalid)
        self.assertEqual((error.status, error.code, error.title), (422, "invalid", "Invalid"))
        self.assertEqual(error.problem["field"], "kind")
        self.assertEqual(str(error), "422 invalid: `kind` is empty")
        self.assertEqual(len(self.fake.calls), 1)

    def test_nobody_there_is_an_error_that_names_the_address(self):
        client = self.open("http://127.0.0.1:9", deadline=0.3)
        with self.assertRaises(Error) as caught:
            client.get_job("x")
        self.assertIsInstance(caught.exception, errors.Unreachable)
        self.assertEqual((caught.exception.status, caught.exception.code), (0, "unreachable"))
        self.assertIn("http://127.0.0.1:9/v1/jobs/x", str(caught.exception))

    def test_every_job_of_a_batch_has_a_key(self):
        self.client.enqueue_many([{"kind": "a", "payload": b"\xff"},
                                  {"kind": "b", "idempotency_key": "k"}])
        a, b = self.fake.bodies("/v1/jobs")[0]["jobs"]
        self.assertEqual((a["payload_base64"], b["idempotency_key"]), ("/w==", "k"))
        self.assertNotIn("payload", a)
        self.assertIn("idempotency_key", a)

    def test_an_event_is_emitted_under_one_key(self):
        self.fake.script["/v1/events"] = [BUSY, (201, {}, {"id": "7", "outcome": "emitted"})]
        self.assertEqual(self.client.emit("order.paid", {"n": 1})["outcome"], "emitted")
        first, second = self.fake.bodies("/v1/events")
        self.assertEqual((first, first["data"]), (second, {"n": 1}))
        self.assertIn("idempotency_key", first)

    def test_a_batch_that_no_queue_takes_is_answered_per_job(self):
        full = {"outcomes": [{"outcome": "queue_full", "retry_after_ms": 60_000}]}
        self.fake.script["/v1/jobs"] = [(429, {"Retry-After": "60"}, full)]
        self.assertEqual(self.client.enqueue_many([{"kind": "a"}]), full["outcomes"])

    def test_a_listing_follows_the_cursor_to_the_last_page(self):
        first = "/v1/jobs?queue=q&status=dead%2Cfailed&created_from=2026-11-27T00%3A00%3A00.000Z"
        self.fake.script[first] = [(200, {}, {"jobs": [{"id": "1"}, {"id": "2"}], "cursor": "a b"})]
        self.fake.script[first + "&cursor=a+b"] = [(200, {}, {"jobs": [{"id": "3"}]})]
        since = datetime(2026, 11, 27, 1, tzinfo=timezone(timedelta(hours=1)))
        jobs = self.client.list_jobs(queue="q", status=["dead", "failed"], created_from=since)
        self.assertEqual([job["id"] for job in jobs], ["1", "2", "3"])
        with self.assertRaises(ValueError):
            self.client.enqueue("t", run_at=datetime(2026, 11, 27))

    def test_a_call_that_is_unsafe_to_repeat_is_made_again_only_if_nothing_changed(self):
        path = "/v1/jobs/1/retry"
        for fault in ("lost", (503, {}, {"type": "urn:queuekit:problem:indeterminate"}),
                      (502, {}, b"<html>")):
            self.fake.script[path] = [fault]
            with self.assertRaises(Error):
                self.client.retry("1")
        self.assertEqual(len(self.fake.bodies(path)), 3)
        self.fake.script[path] = [BUSY]
        self.client.retry("1")
        self.assertEqual(len(self.fake.bodies(path)), 5)

    def test_a_post_of_call_is_repeated_only_if_it_is_said_to_be_repeatable(self):
        self.fake.script["/v1/x"] = ["lost", "lost"]
        with self.assertRaises(errors.Unreachable) as caught:
            self.client.call("POST", "/v1/x", {})
        self.assertTrue(caught.exception.is_sent)
        self.client.call("POST", "/v1/x", {}, is_repeatable=True)
        self.assertEqual(len(self.fake.calls), 3)

    def test_calls_share_a_connection_and_replace_one_that_was_closed(self):
        for _ in range(5):
            self.client.get_job("1")
        self.assertEqual(self.fake.connections, 1)
        self.fake.script["/v1/jobs/2"] = [(200, {"Connection": "drop"}, {})]
        self.client.get_job("2")
        time.sleep(0.1)
        self.client.retry("1")  # It is not repeated, so it must not fail.
        self.assertEqual(self.fake.connections, 2)

    def test_a_late_answer_ends_the_try_and_is_not_read_as_the_next(self):
        client = self.open(self.fake.url, timeout=0.6, deadline=0)
        self.fake.script["/v1/jobs/1"] = ["late"]
        self.fake.script["/v1/jobs/2"] = [(200, {}, {"id": "2"})]
        with self.assertRaises(errors.Unreachable):
            client.get_job("1")
        self.assertEqual(client.get_job("2"), {"id": "2"})

    def test_an_answer_in_chunks_is_read_to_its_end(self):
        self.fake.is_chunked = True
        self.fake.script["/v1/jobs/1"] = [(200, {}, {"id": "1", "payload": "x" * 100_000})]
        self.assertEqual(len(self.client.get_job("1")["payload"]), 100_000)
        self.client.get_job("2")
        self.assertEqual(self.fake.connections, 1)

    def test_an_answer_that_is_no_json_is_an_error_that_shows_it(self):
        self.fake.script["/v1/jobs/1"] = [(200, {}, b"<html>")]
        with self.assertRaises(errors.NoJson) as caught:
            self.client.get_job("1")
        self.assertIn("<html>", str(caught.exception))

    def test_a_key_or_path_that_would_end_its_line_is_refused(self):
        with self.assertRaises(ValueError):
            self.open(self.fake.url, "qk\r\nX: y")
        with self.assertRaises(ValueError):
            self.client.call("GET", "/v1/jobs HTTP/1.1\r\nX: y")


class AsyncClientTest(ClientTest):
    def open(self, *args, **options):
        client = Blocking(AsyncClient(*args, **options))
        self.addCleanup(client.shut)
        return client

    def test_a_call_that_is_cancelled_closes_its_connection(self):
        async def cancel():
            async with AsyncClient(self.fake.url) as client:
                with self.assertRaises(TimeoutError):
                    async with asyncio.timeout(0.5):
                        await client.reserve(["q"], "w", wait_ms=20_000)
                self.fake.lease("1")
                await client.get_job("1")
            return self.fake.connections

        self.assertEqual(asyncio.run(cancel()), 2)

    def test_a_client_may_be_used_in_one_event_loop_after_another(self):
        client = AsyncClient(self.fake.url)
        warnings.simplefilter("ignore", ResourceWarning)  # Its connections are not closed.
        for _ in range(2):
            asyncio.run(client.get_job("1"))
        asyncio.run(client.close())

    def test_it_has_the_methods_of_the_other_client(self):
        def methods(kind):
            found = inspect.getmembers(kind, inspect.isfunction)
            return {name: list(inspect.signature(method).parameters.items())
                    for name, method in found if not name.startswith("_")}

        self.assertEqual(methods(AsyncClient), methods(Client))


class EncodingTest(Faked):
    def test_large_integers_survive(self):
        for digits in (30, 5000):
            text = b'{"id":"1","payload":' + b"7" * digits + b"}"
            self.fake.script["/v1/jobs/1"] = [(200, {}, text)]
            payload = self.client.get_job("1")["payload"]
            self.assertEqual(f"{payload:f}" if digits > 4300 else str(payload), "7" * digits)

    def test_s6_json_of_any_depth_is_read(self):
        deep = b"[" * 100_000 + b'{"a": ["b\\"]", -1.5e3, null]}' + b"]" * 100_000
        self.fake.script["/v1/jobs/1"] = [(200, {}, b'{"id":"1","payload":' + deep + b"}")]
        job = self.client.get_job("1")
        value = job["payload"]
        for _ in range(100_000):
            (value,) = value
        self.assertEqual((job["id"], value), ("1", {"a": ['b"]', -1500.0, None]}))
        for wrong in (b"[" * 100_000, b"[" * 100_000 + b"]" * 100_001):
            self.fake.script["/v1/jobs/1"] = [(200, {}, wrong)]
            with self.assertRaises(Error) as caught:
                self.client.get_job("1")
            self.assertEqual(caught.exception.code, "no_json")
