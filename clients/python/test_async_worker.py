"""The worker of asyncio, over a fake server. Its engine is that of `test_worker`."""

import asyncio
import threading
import unittest

from faked import Faked
from queuekit import AsyncClient, AsyncWorker, Fatal


class AsyncWorkerTest(Faked):
    def open_worker(self, handlers, options):
        return AsyncWorker(AsyncClient(self.fake.url, "qk_secret"), ["q"], handlers, **options)

    def work(self):
        asyncio.run(self.worker.run(self.drain))

    def test_coroutines_run_at_once_and_what_they_return_is_the_result(self):
        both = []

        async def handler(payload, ctx):
            both.append(payload)
            while len(both) < 2:
                await asyncio.sleep(0.01)
            return payload * 2

        self.fake.lease("1", payload=1)
        self.fake.lease("2", payload=2)
        self.start({"t": handler})
        self.fake.wait_for(lambda: len(self.acks()) == 2)
        acks = sorted(self.acks(), key=lambda ack: ack["token"])
        self.assertEqual(acks, [{"token": "1", "result": 2}, {"token": "2", "result": 4}])

    def test_an_error_of_any_class_fails_its_job_and_no_other(self):
        async def handler(payload, ctx):
            raise {"exit": SystemExit(1), "late": TimeoutError("x"), "never": Fatal("bad")}[payload]

        for payload in ("exit", "late", "never"):
            self.fake.lease(payload, payload=payload)
        self.start({"t": handler})
        self.fake.wait_for(lambda: len(self.nacks()) == 3)
        self.assertEqual({nack["token"]: (nack["kind"], nack["error"]) for nack in self.nacks()},
                         {"exit": ("retry", "SystemExit: 1"), "late": ("retry", "TimeoutError: x"),
                          "never": ("fatal", "bad")})

    def interrupted(self, **job):
        """What a handler that is interrupted sees, and what is recorded of it."""
        seen = []

        async def handler(payload, ctx):
            try:
                await asyncio.sleep(30)
            except asyncio.CancelledError:
                seen.append(ctx.why)
                raise

        self.fake.lease("1", **job)
        self.start({"t": handler}, lease_ms=2000)
        self.fake.wait_for(self.nacks)
        return seen, self.nacks()[0]["kind"], self.nacks()[0]["error"]

    def test_a_requested_cancel_cancels_the_coroutine(self):
        self.fake.outcomes["/v1/extend"] = {"outcome": "extended", "cancel_requested": True}
        self.assertEqual(self.interrupted(), (["cancel_requested"], "retry", "CancelledError: "))

    def test_a_lost_lease_cancels_the_coroutine_and_spends_no_attempt(self):
        self.fake.outcomes["/v1/extend"] = {"outcome": "lease_lost"}
        self.assertEqual(self.interrupted(), (["lease_lost"], "release", "CancelledError: "))

    def test_a_timeout_cancels_the_coroutine(self):
        error = "timed out after 100 ms: CancelledError: "
        self.assertEqual(self.interrupted(timeout_ms=100), (["timeout"], "retry", error))

    def test_its_lease_is_extended_while_the_coroutine_waits(self):
        async def handler(payload, ctx):
            while len(self.fake.bodies("/v1/extend")) < 2:
                await asyncio.sleep(0.01)

        self.fake.lease("1")
        self.start({"t": handler})
        self.fake.wait_for(self.acks)

    def cancelled(self, drain, seconds):
        """Cancels `run` while a handler runs for this long; returns how the handler ended."""
        began, ended = threading.Event(), []

        async def handler(payload, ctx):
            began.set()
            try:
                await asyncio.sleep(seconds)
                ended.append("done")
            finally:
                ended.append(ctx.why)

        async def main():
            worker = self.open_worker({"t": handler}, {"lease_ms": 1000, "wait_ms": 20_000})
            running = asyncio.create_task(worker.run(drain, signals=False))
            await asyncio.to_thread(began.wait, 10)
            running.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await running
            return worker.id

        self.fake.lease("1")
        id = asyncio.run(main())
        self.assertEqual(self.last_word(), f"/v1/workers/{id}", "it is off the list")
        return ended

    def test_a_cancel_of_run_waits_for_what_runs(self):
        self.assertEqual(self.cancelled(drain=5, seconds=0.4), ["done", ""])
        self.assertEqual((len(self.acks()), self.nacks()), (1, []))

    def test_a_cancel_of_run_releases_what_takes_longer_than_the_drain(self):
        self.assertEqual(self.cancelled(drain=0.1, seconds=30), ["shutdown"])
        (nack,) = self.nacks()
        self.assertEqual((nack["kind"], nack["cause"]), ("release", "shutdown"))

    def test_a_coroutine_reports_its_progress(self):
        async def handler(payload, ctx):
            await ctx.report(0.5, "half", ["a line"])

        self.fake.lease("1")
        self.start({"t": handler})
        self.fake.wait_for(self.acks)
        (report,) = self.fake.items("/v1/report", "reports")
        self.assertEqual(report["progress"], {"fraction": 0.5, "message": "half"})


if __name__ == "__main__":
    unittest.main()
