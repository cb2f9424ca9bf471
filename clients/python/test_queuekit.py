"""`python3 -m unittest` in this folder. The last tests need a server: QUEUEKIT_SERVER=http://.."""

import logging
import os
import signal
import subprocess
import sys
import threading
import time
import unittest
import uuid
from unittest import mock

from fake_server import FakeServer
from queuekit import Client, Error, Fatal, Release, Retry, Worker

BUSY = (503, {"Retry-After": "0"}, {"type": "urn:queuekit:problem:overloaded", "detail": "later"})
logging.disable(logging.CRITICAL)


class Faked(unittest.TestCase):
    def setUp(self):
        self.fake = FakeServer()
        self.addCleanup(self.fake.close)
        self.client = Client(self.fake.url, "qk_secret", deadline=5)
        self.addCleanup(self.client.close)

    def start(self, handlers, **options):
        """A worker in a thread; it is stopped when the test ends, or by `self.finish()`."""
        options = {"concurrency": 4, "lease_ms": 1000, "wait_ms": 500, "name": "w", **options}
        self.drain = options.pop("drain", 5)
        self.worker = Worker(self.client, ["q"], handlers, **options)
        self.thread = threading.Thread(target=self.worker.run, args=(self.drain,), daemon=True)
        self.thread.start()
        self.addCleanup(self.finish)

    def finish(self):
        if self.thread.is_alive():
            self.worker.stop()
            self.thread.join(10)
        self.assertFalse(self.thread.is_alive(), "the worker did not stop")

    def acks(self):
        return self.fake.items("/v1/ack", "acks")

    def nacks(self):
        return self.fake.items("/v1/nack", "nacks")


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
        self.assertEqual((error.status, error.type, error.title), (422, "invalid", "Invalid"))
        self.assertEqual(error.problem["field"], "kind")
        self.assertEqual(str(error), "422 invalid: `kind` is empty")
        self.assertEqual(len(self.fake.calls), 1)

    def test_nobody_there_is_an_error_that_names_the_address(self):
        client = Client("http://127.0.0.1:9", deadline=0.3)
        with self.assertRaises(Error) as caught:
            client.get_job("x")
        self.assertEqual((caught.exception.status, caught.exception.type), (0, "unreachable"))
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
            self.assertEqual(caught.exception.type, "no_json")


class WorkerTest(Faked):
    def test_s6_a_payload_that_is_nested_too_deep_costs_only_its_own_job(self):
        deep = b"[" * 100_000 + b"]" * 100_000
        leases = b'{"token":"0","job":{"id":"0","kind":"t","payload":' + deep + b'}},' \
            b'{"token":"1","job":{"id":"1","kind":"t","payload":1}}'
        self.fake.script["/v1/reserve"] = [(200, {}, b'{"leases":[' + leases + b"]}")]
        self.start({"t": lambda payload, ctx: payload})
        self.fake.wait_for(lambda: len(self.acks()) == 1 and len(self.nacks()) == 1)
        self.assertEqual(self.acks(), [{"token": "1", "result": 1}])
        self.assertEqual((self.nacks()[0]["token"], self.nacks()[0]["kind"]), ("0", "retry"))

    def test_a_returned_value_is_the_result_and_no_more_is_reserved_than_there_are_slots(self):
        for i in range(20):
            self.fake.lease(str(i), payload=i)
        self.start({"t": lambda payload, ctx: {"double": payload * 2}})
        self.fake.wait_for(lambda: len(self.acks()) == 20)
        self.assertIn({"token": "3", "result": {"double": 6}}, self.acks())
        self.finish()
        for body in self.fake.bodies("/v1/reserve"):
            self.assertLessEqual(body["limit"], 4)

    def test_errors_decide_what_becomes_of_the_job(self):
        def handler(payload, ctx):
            raise {"plain": ValueError("no\ud800"), "later": Retry("busy", delay_ms=5),
                   "not now": Release("nap", delay_ms=7), "never": Fatal("bad")}[payload]
        for payload in ("plain", "later", "not now", "never"):
            self.fake.lease(payload, payload=payload)
        self.start({"t": handler})
        self.fake.wait_for(lambda: len(self.nacks()) == 4)
        nacks = {nack.pop("token"): nack for nack in self.nacks()}
        self.assertEqual(nacks["plain"], {"kind": "retry", "error": "ValueError: no?"})
        self.assertEqual(nacks["later"], {"kind": "retry", "error": "busy", "delay_ms": 5})
        self.assertEqual(nacks["not now"], {"kind": "release", "error": "nap", "delay_ms": 7,
                                            "cause": "snooze"})
        self.assertEqual(nacks["never"], {"kind": "fatal", "error": "bad"})

    def test_a_result_that_is_no_json_fails_the_attempt(self):
        self.fake.lease("1")
        self.start({"t": lambda payload, ctx: object()})
        self.fake.wait_for(self.nacks)
        self.assertIn("not JSON serializable", self.nacks()[0]["error"])

    def test_a_type_without_handler_is_released_for_longer_each_time(self):
        for token, releases in (("1", 0), ("2", 3), ("3", 50)):
            self.fake.lease(token, kind="other", releases=releases)
        self.start({"t": lambda payload, ctx: None})
        self.fake.wait_for(lambda: len(self.nacks()) == 3)
        self.assertEqual({n["token"]: (n["kind"], n["delay_ms"]) for n in self.nacks()},
                         {"1": ("release", 1000), "2": ("release", 8000), "3": ("release", 60000)})

    def test_a_lease_is_extended_while_its_handler_blocks(self):
        self.fake.lease("1")
        extends = lambda: len(self.fake.bodies("/v1/extend"))  # noqa: E731
        self.start({"t": lambda payload, ctx: self.fake.wait_for(lambda: extends() >= 3)})
        self.fake.wait_for(self.acks)
        beat = self.fake.bodies("/v1/beat")[0]
        self.assertEqual((beat["kinds"], beat["slots"], beat["queues"]), (["t"], 4, ["q"]))

    def test_a_worker_of_many_types_says_that_there_are_more(self):
        self.start({f"t{n}": None for n in range(101)})
        self.fake.wait_for(lambda: self.fake.bodies("/v1/beat"))
        beat = self.fake.bodies("/v1/beat")[0]
        self.assertEqual((len(beat["kinds"]), beat["more_kinds"]), (100, True))
        self.assertEqual((beat["queues"], beat["more_queues"]), (["q"], False))

    def stopped_by(self, outcome, lease_ms=5000):
        seen = []

        def handler(payload, ctx):
            ctx.cancelled.wait(10)
            seen.append(ctx.why)
            raise RuntimeError("stopped")
        self.fake.outcomes["/v1/extend"] = outcome
        self.fake.lease("1")
        self.start({"t": handler}, lease_ms=lease_ms)
        self.fake.wait_for(self.nacks)
        return seen[0]

    def test_a_lost_lease_stops_its_handler_and_ends_no_worker(self):
        self.assertEqual(self.stopped_by({"outcome": "lease_lost"}), "lease_lost")
        self.fake.lease("2", kind="t")
        self.fake.wait_for(lambda: len(self.nacks()) == 2)

    def test_a_requested_cancel_stops_its_handler(self):
        outcome = {"outcome": "extended", "cancel_requested": True}
        self.assertEqual(self.stopped_by(outcome), "cancel_requested")

    def test_a_lease_that_cannot_be_extended_stops_its_handler_before_it_ends(self):
        self.fake.script["/v1/extend"] = [BUSY] * 1000
        began = time.monotonic()
        self.assertEqual(self.stopped_by({}, lease_ms=1000), "lease_lost")
        self.assertLess(time.monotonic() - began, 3)
        self.assertEqual(self.nacks()[0]["kind"], "release")

    def test_a_run_that_times_out_is_told_to_stop(self):
        def handler(payload, ctx):
            ctx.cancelled.wait(10)
            raise RuntimeError(ctx.why)
        self.fake.lease("1", timeout_ms=300)
        self.start({"t": handler}, lease_ms=5000)
        self.fake.wait_for(self.nacks)
        self.assertEqual(self.nacks()[0]["error"], "timed out after 300 ms: RuntimeError: timeout")

    def test_a_run_that_goes_on_after_its_timeout_is_given_up_and_holds_its_slot(self):
        self.fake.lease("1", timeout_ms=100)
        end = threading.Event()
        self.addCleanup(end.set)
        beats = lambda: len(self.fake.bodies("/v1/beat"))  # noqa: E731
        with mock.patch("queuekit.worker.GRACE", 0.3):
            self.start({"t": lambda payload, ctx: end.wait(10)}, concurrency=2)
            self.fake.wait_for(lambda: beats() >= 3)
            extended = len(self.fake.bodies("/v1/extend"))
            self.fake.wait_for(lambda: beats() >= 5)
        self.assertEqual(len(self.fake.bodies("/v1/extend")), extended, "its lease runs out")
        self.assertEqual(self.fake.bodies("/v1/reserve")[-1]["limit"], 1)
        end.set()
        self.fake.wait_for(lambda: self.fake.bodies("/v1/reserve")[-1]["limit"] == 2)

    def test_an_ack_is_repeated_until_it_is_answered(self):
        self.fake.script["/v1/ack"] = [BUSY, "lost", "reset", (401, {}, {})]
        self.fake.lease("1")
        self.start({"t": lambda payload, ctx: 5})
        self.fake.wait_for(lambda: len(self.acks()) == 5)
        self.assertEqual(self.acks(), [{"token": "1", "result": 5}] * 5)

    def test_a_result_that_the_server_refuses_fails_its_job_and_no_other(self):
        refuse = (422, {}, {"type": "urn:queuekit:problem:invalid", "detail": "too large"})
        self.fake.script["/v1/ack"] = [refuse]
        self.fake.lease("1")
        self.fake.lease("2")
        self.start({"t": lambda payload, ctx: 5})
        self.fake.wait_for(lambda: self.nacks() and len(self.acks()) == 2)
        self.finish()
        (nack,) = self.nacks()
        self.assertIn("the result could not be stored: 422", nack["error"])

    def test_outages_end_without_a_restart(self):
        self.fake.script["/v1/reserve"] = [BUSY, "reset", (500, {}, b"<html>"), (200, {}, b"[")]
        self.fake.lease("1")
        self.start({"t": lambda payload, ctx: None})
        self.fake.wait_for(self.acks)

    def test_it_waits_when_stopped_for_what_runs(self):
        running = threading.Event()

        def handler(payload, ctx):
            running.set()
            time.sleep(0.5)
            return "done"
        self.fake.lease("1")
        self.start({"t": handler}, wait_ms=20_000)
        running.wait(5)
        began = time.monotonic()
        self.finish()
        self.assertLess(time.monotonic() - began, 3, "the long poll is hung up on")
        self.assertEqual(self.acks(), [{"token": "1", "result": "done"}])

    def order(self, seq, **order):
        """Gives an order with the next beat, and returns the beat that says that it is obeyed."""
        obeyed = lambda: [b for b in self.fake.bodies("/v1/beat") if b["obeyed"] == seq]  # noqa: E731
        self.fake.script["/v1/beat"] = [(200, {}, {"orders": {"seq": seq, **order}})]
        self.fake.wait_for(obeyed)
        return obeyed()[0]

    def test_it_tells_what_runs(self):
        end = threading.Event()
        self.addCleanup(end.set)
        self.fake.lease("1")
        self.start({"t": lambda payload, ctx: end.wait(10)})
        self.fake.wait_for(lambda: [b for b in self.fake.bodies("/v1/beat") if b["jobs"]])
        beat = [b for b in self.fake.bodies("/v1/beat") if b["jobs"]][0]
        self.assertEqual((beat["jobs"][0]["kind"], beat["pid"]), ("t", os.getpid()))
        self.assertLessEqual(beat["started_at"], beat["jobs"][0]["since"])

    def test_it_obeys_orders(self):
        self.start({"t": lambda payload, ctx: "done"})
        self.fake.wait_for(lambda: self.fake.bodies("/v1/reserve"))
        beat = self.order(7, mode="quiet", slots=2)
        self.assertEqual(beat["slots"], 2)
        beats = len(self.fake.bodies("/v1/beat"))  # The server holds a lost poll for 0.5 s.
        self.fake.wait_for(lambda: len(self.fake.bodies("/v1/beat")) >= beats + 3)
        reserves = len(self.fake.bodies("/v1/reserve"))
        self.fake.lease("1")
        self.fake.wait_for(lambda: len(self.fake.bodies("/v1/beat")) >= beats + 5)
        self.assertEqual(len(self.fake.bodies("/v1/reserve")), reserves, "it takes no more")
        self.assertEqual(self.order(8, mode="resume", slots=9)["slots"], 4, "it began with four")
        self.fake.wait_for(self.acks)
        self.order(9, mode="stop")
        self.fake.wait_for(lambda: self.fake.calls[-1][0] == f"/v1/workers/{self.worker.id}")

    def test_its_last_word_takes_it_off_the_list(self):
        self.start({"t": lambda payload, ctx: None})
        self.fake.wait_for(lambda: self.fake.bodies("/v1/beat"))
        self.finish()
        last = self.fake.calls[-1][0]
        self.assertEqual(last, f"/v1/workers/{self.worker.id}")

    def test_it_releases_what_goes_on_too_long(self):
        running = threading.Event()
        self.fake.lease("1")
        self.start({"t": lambda payload, ctx: running.set() or time.sleep(30)}, drain=0.2)
        running.wait(5)
        self.finish()
        self.assertEqual([(n["token"], n["kind"]) for n in self.nacks()], [("1", "release")])

    def test_signals_stop_it_and_the_second_forces(self):
        script = ("import sys, time, queuekit as q; c = q.Client(sys.argv[1]);"
                  "q.Worker(c, ['q'], {'t': lambda p, ctx: time.sleep(60)}).run(drain=50)")
        self.fake.lease("1")
        folder = os.path.dirname(os.path.abspath(__file__))
        process = subprocess.Popen([sys.executable, "-c", script, self.fake.url], cwd=folder)
        self.addCleanup(process.kill)
        self.fake.wait_for(lambda: len(self.fake.bodies("/v1/reserve")) >= 2)
        process.send_signal(signal.SIGTERM)
        time.sleep(0.7)
        self.assertIsNone(process.poll(), "it waits for its handler")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(5), 0)
        self.assertEqual([n["kind"] for n in self.nacks()], ["release"])


SERVER = os.environ.get("QUEUEKIT_SERVER")
if not SERVER:
    print("NOT RUN: the tests against a server. Set QUEUEKIT_SERVER to its URL.", file=sys.stderr)


@unittest.skipUnless(SERVER, "QUEUEKIT_SERVER is not set")
class ServerTest(unittest.TestCase):
    def setUp(self):
        self.client, self.queue = Client(SERVER), f"python-{uuid.uuid4()}"

    def work(self, handlers, until):
        worker = Worker(self.client, [self.queue], handlers, lease_ms=3000, wait_ms=1000)
        thread = threading.Thread(target=worker.run, args=(5,))
        thread.start()
        try:
            limit = time.monotonic() + 20
            while not until() and time.monotonic() < limit:
                time.sleep(0.05)
        finally:
            worker.stop()
            thread.join()
        self.assertTrue(until(), "it did not come to that in 20 s")
        listed = [shown["id"] for shown in self.client.call("GET", "/v1/workers")["workers"]]
        self.assertNotIn(worker.id, listed, "it has ended")

    def state(self, id):
        return self.client.get_job(id)["status"]

    def test_a_job_is_enqueued_worked_and_read(self):
        big = 2 ** 80
        id = self.client.enqueue("add", [big, 1], queue=self.queue)["id"]
        self.work({"add": lambda payload, ctx: sum(payload)},
                  lambda: self.state(id) == "completed")
        self.assertEqual(self.client.get_job(id)["result"], big + 1)

    def test_waiting_ends_with_the_job_or_the_time(self):
        id = self.client.enqueue("add", [1, 2], queue=self.queue)["id"]
        self.assertIsNone(self.client.wait(id, 0.05))
        ended = []
        waiting = threading.Thread(target=lambda: ended.append(self.client.wait(id, 20)))
        waiting.start()
        self.work({"add": lambda payload, ctx: sum(payload)},
                  lambda: self.state(id) == "completed")
        waiting.join()
        self.assertEqual((ended[0]["status"], ended[0]["result"]), ("completed", 3))
        with self.assertRaises(Error) as caught:
            self.client.wait(str(uuid.uuid4()), 20)
        self.assertEqual(caught.exception.status, 404)

    def test_bytes_and_a_fatal_error(self):
        def handler(payload, ctx):
            ctx.report(0.5, "half", ["a line"])
            raise Fatal(payload.hex())
        id = self.client.enqueue("raw", b"\xff\x00", queue=self.queue)["id"]
        self.work({"raw": handler}, lambda: self.state(id) == "dead")
        job = self.client.get_job(id)
        self.assertEqual((job["reason"], job["progress"]["fraction"]), ("ff00", 0.5))

    def test_a_cancelled_run_ends_cancelled(self):
        def handler(payload, ctx):
            self.client.call("POST", f"/v1/jobs/{ctx.job['id']}/cancel")
            ctx.cancelled.wait(10)
            raise RuntimeError("stopped")
        id = self.client.enqueue("long", queue=self.queue)["id"]
        self.work({"long": handler}, lambda: self.state(id) == "cancelled")

    def test_a_repeated_enqueue_is_a_duplicate(self):
        key = {"queue": self.queue, "idempotency_key": "once"}
        first, second = self.client.enqueue("t", **key), self.client.enqueue("t", **key)
        self.assertEqual((first["outcome"], second["outcome"]), ("created", "duplicate"))
        self.assertEqual(first["id"], second["id"])
        outcomes = self.client.enqueue_many([{"kind": "t", **key}, {"kind": "t",
                                                                   "queue": self.queue}])
        self.assertEqual([o["outcome"] for o in outcomes], ["duplicate", "created"])

    def test_a_repeated_event_is_a_duplicate(self):
        event = {"data": b"\xff", "idempotency_key": self.queue}
        outcomes = [self.client.emit("python.tried", **event)["outcome"] for _ in range(2)]
        self.assertEqual(outcomes, ["emitted", "duplicate"])

    def test_what_is_refused_says_why(self):
        for call, status in ((lambda: self.client.enqueue("t", nonsense=1), 422),
                             (lambda: self.client.get_job(str(uuid.uuid4())), 404),
                             (lambda: self.client.enqueue("t", "x" * (17 << 20)), 413)):
            with self.assertRaises(Error) as caught:
                call()
            self.assertEqual(caught.exception.status, status)
            self.assertTrue(caught.exception.detail)


if __name__ == "__main__":
    unittest.main()
