"""The clients and workers, over a real server: QUEUEKIT_SERVER=http://.."""

import asyncio
import os
import sys
import threading
import time
import unittest
import uuid
from datetime import datetime, timedelta, timezone

from faked import Blocking
from queuekit import AsyncClient, AsyncWorker, Client, Fatal, Worker, errors

SERVER = os.environ.get("QUEUEKIT_SERVER")
if not SERVER:
    print("NOT RUN: the tests against a server. Set QUEUEKIT_SERVER to its URL.", file=sys.stderr)


@unittest.skipUnless(SERVER, "QUEUEKIT_SERVER is not set")
class ServerTest(unittest.TestCase):
    def setUp(self):
        self.client, self.queue = self.open(), f"python-{uuid.uuid4()}"

    def open(self):
        client = Client(SERVER)
        self.addCleanup(client.close)
        return client

    def work(self, handlers, until):
        worker = Worker(self.client, [self.queue], handlers, lease_ms=3000, wait_ms=1000)
        self.run_until(worker, lambda: worker.run(5), until)

    def run_until(self, worker, run, until):
        thread = threading.Thread(target=run)
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
        with self.assertRaises(errors.NotFound):
            self.client.wait(str(uuid.uuid4()), 20)

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
            self.client.cancel(ctx.job["id"])
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
        for call, kind in ((lambda: self.client.enqueue("t", nonsense=1), errors.Invalid),
                           (lambda: self.client.get_job(str(uuid.uuid4())), errors.NotFound),
                           (lambda: self.client.enqueue("t", "x" * (17 << 20)), errors.TooLarge)):
            with self.assertRaises(kind) as caught:
                call()
            self.assertTrue(caught.exception.detail)

    def test_jobs_are_listed_page_by_page_cancelled_and_retried(self):
        tenants = ["acme", "acme", "other", "other", "other"]
        new = [{"kind": "t", "queue": self.queue, "payload": {"n": n}, "metadata": {"tenant": of}}
               for n, of in enumerate(tenants)]
        ids = {outcome["id"] for outcome in self.client.enqueue_many(new)}
        pending = {"queue": self.queue, "status": "pending", "limit": 2}
        self.assertEqual({job["id"] for job in self.client.list_jobs(**pending)}, ids)
        self.assertEqual(len(self.client.list_jobs_page(**pending)["jobs"]), 2)
        one = min(ids)
        self.assertEqual([self.client.cancel(one) for _ in range(2)], ["cancelled", "already_done"])
        cancelled = self.client.list_jobs(queue=self.queue, status=["cancelled", "dead"])
        self.assertEqual([job["id"] for job in cancelled], [one])
        second = self.client.list_jobs(queue=self.queue, payload="n:1", metadata="tenant:acme",
                                       created_to=datetime.now(timezone.utc) + timedelta(hours=1))
        self.assertEqual([job["payload"] for job in second], [{"n": 1}])
        self.client.retry(one)
        self.assertEqual(self.state(one), "ready")
        with self.assertRaises(errors.Conflict):
            self.client.retry(one)

    def test_leases_are_reserved_extended_reported_acked_and_nacked(self):
        for n in range(2):
            self.client.enqueue("t", n, queue=self.queue)
        leases = self.client.reserve({self.queue: 3}, "w", limit=2, lease_ms=5000)["leases"]
        a, b = (lease["token"] for lease in leases)
        extended = self.client.extend([a, b], 5000)
        self.assertEqual([outcome["outcome"] for outcome in extended], ["extended"] * 2)
        reported = self.client.report([{"token": a, "lines": ["a line"]}])
        self.assertEqual(reported[0]["outcome"], "reported")
        self.assertEqual(self.client.ack([{"token": a, "result": b"\xff"}])[0]["outcome"], "acked")
        (dead,) = self.client.nack([{"token": b, "kind": "fatal", "error": "no address 7"}])
        self.assertEqual(dead["outcome"], "dead")
        self.assertEqual(self.client.get_job(leases[0]["job"]["id"])["result_base64"], "/w==")
        self.assertEqual(self.client.get_queue(self.queue)["totals"]["dead"], 1)
        (group,) = self.client.list_errors(self.queue)
        self.assertEqual((group["kind"], group["deaths"]), ("t", 1))
        self.assertIn(self.queue, [queue["name"] for queue in self.client.list_queues(limit=2)])


@unittest.skipUnless(SERVER, "QUEUEKIT_SERVER is not set")
class AsyncServerTest(ServerTest):
    """The same with an `AsyncClient`; the worker of threads is tested above."""

    def open(self):
        client = Blocking(AsyncClient(SERVER))
        self.addCleanup(client.shut)
        return client

    def work(self, handlers, until):
        async def main(worker):
            await worker.run(5)

        async def handle(payload, ctx):
            seen = ThreadContext(ctx, asyncio.get_running_loop())
            try:
                return await asyncio.to_thread(handlers[ctx.job["kind"]], payload, seen)
            finally:
                seen.cancelled.set()

        worker = AsyncWorker(AsyncClient(SERVER), [self.queue], dict.fromkeys(handlers, handle),
                             lease_ms=3000, wait_ms=1000)
        self.run_until(worker, lambda: asyncio.run(main(worker)), until)


class ThreadContext:
    """The context of a coroutine, for a handler of the tests above."""

    def __init__(self, ctx, loop):
        self.ctx, self.loop, self.job = ctx, loop, ctx.job
        self.cancelled = threading.Event()

    def report(self, *args):
        asyncio.run_coroutine_threadsafe(self.ctx.report(*args), self.loop).result(10)


if __name__ == "__main__":
    unittest.main()
