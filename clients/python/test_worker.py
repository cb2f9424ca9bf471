"""The worker of threads, over a fake server."""

import os
import signal
import subprocess
import sys
import threading
import time
import unittest
from unittest import mock

from faked import BUSY, Faked
from queuekit import Fatal, Release, Retry, Undecodable
from queuekit.undecodable import UndecodableKinds


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
                   "not now": Release("nap", delay_ms=7), "never": Fatal("bad"),
                   "not read": Undecodable("no name")}[payload]
        for payload in ("plain", "later", "not now", "never", "not read"):
            self.fake.lease(payload, payload=payload)
        self.start({"t": handler})
        self.fake.wait_for(lambda: len(self.nacks()) == 5)
        nacks = {nack.pop("token"): nack for nack in self.nacks()}
        self.assertEqual(nacks["plain"], {"kind": "retry", "error": "ValueError: no?"})
        self.assertEqual(nacks["later"], {"kind": "retry", "error": "busy", "delay_ms": 5})
        self.assertEqual(nacks["not now"], {"kind": "release", "error": "nap", "delay_ms": 7,
                                            "cause": "snooze"})
        self.assertEqual(nacks["never"], {"kind": "fatal", "error": "bad"})
        self.assertEqual(nacks["not read"], {"kind": "release", "error": "no name",
                                             "cause": "undecodable"})

    def test_beats_name_the_kinds_that_it_cannot_read(self):
        def handler(payload, ctx):
            raise Undecodable("no name")
        for token in ("1", "2"):
            self.fake.lease(token)
        self.start({"t": handler}, lease_ms=1000)
        said = lambda: self.fake.bodies("/v1/beat")[-1]["undecodable"]  # noqa: E731
        self.fake.wait_for(lambda: self.fake.bodies("/v1/beat") and said())
        self.fake.wait_for(lambda: said()[0]["times"] == 2)
        [kind] = said()
        self.assertEqual((kind["kind"], kind["error"]), ("t", "no name"))
        self.assertLessEqual(kind["first"], kind["last"])

    def test_of_many_kinds_that_it_cannot_read_beats_name_the_latest(self):
        kinds = UndecodableKinds()
        for number in range(11):
            kinds.add(f"t{number}", "no name")
        kinds.add("t1", "no number")
        lately = {said["kind"]: said["times"] for said in kinds.lately()}
        self.assertEqual(lately, {"t1": 2, **{f"t{number}": 1 for number in range(2, 11)}})
        two_hours_later = time.time() + 2 * 3600 + 1
        with mock.patch("time.time", lambda: two_hours_later):
            self.assertEqual(kinds.lately(), [])

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

    def stopped_by(self, outcome, lease_ms=2000):
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
        with mock.patch("queuekit.beat.GRACE", 0.3):
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
        refuse = (413, {}, b"<html>")  # Of a proxy.
        self.fake.script["/v1/ack"] = [refuse]
        self.fake.lease("1")
        self.fake.lease("2")
        self.start({"t": lambda payload, ctx: 5})
        self.fake.wait_for(lambda: self.nacks() and len(self.acks()) == 2)
        self.finish()
        (nack,) = self.nacks()
        self.assertIn("the result could not be stored: 413", nack["error"])

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
        end.set()
        beat = [b for b in self.fake.bodies("/v1/beat") if b["jobs"]][0]
        self.assertEqual((beat["jobs"][0]["kind"], beat["pid"]), ("t", os.getpid()))
        self.assertLessEqual(beat["started_at"], beat["jobs"][0]["since"])

    def test_it_obeys_orders(self):
        self.start({"t": lambda payload, ctx: "done"}, lease_ms=600)
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
        self.fake.wait_for(lambda: self.last_word() == f"/v1/workers/{self.worker.id}")

    def test_its_last_word_takes_it_off_the_list(self):
        self.start({"t": lambda payload, ctx: None})
        self.fake.wait_for(lambda: self.fake.bodies("/v1/beat"))
        self.finish()
        self.assertEqual(self.last_word(), f"/v1/workers/{self.worker.id}")

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
