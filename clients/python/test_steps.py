"""Steps of handlers, over a fake server: those of threads, and those of coroutines."""

import asyncio
import unittest

from faked import Faked
from queuekit import AsyncClient, AsyncWorker

HELD = {"outcome": "held", "now": "2026-11-23T15:40:27.310Z", "checkpoints": [
    {"name": "charge", "at": "2026-11-23T15:40:26.904Z", "result": {"receipt": 7}},
    {"name": "raw", "at": "2026-11-23T15:40:26.905Z", "result_base64": "/wA="},
    {"name": "none", "at": "2026-11-23T15:40:26.906Z", "result": None}]}


class StepsTest(Faked):
    def handler(self, of_ctx):
        """A handler that does this with its context and a step of a value."""
        return lambda payload, ctx: of_ctx(ctx, lambda value: lambda: value)

    def run_once(self, of_ctx, **job):
        """What is recorded of a run."""
        self.fake.lease("1", **job)
        self.start({"t": self.handler(of_ctx)})
        self.fake.wait_for(lambda: self.acks() or self.nacks())
        return (self.acks() or self.nacks())[0]

    def run_steps(self, *names, **job):
        def of_ctx(ctx, step):
            return [ctx.checkpoint(name, step((1, name))) for name in names]
        return self.run_once(of_ctx, **job)

    def stored(self):
        return [{**body, "token": ""} for body in self.fake.bodies("/v1/checkpoint")]

    def test_a_step_is_stored_once_and_its_result_is_what_later_runs_will_read(self):
        self.assertEqual(self.run_steps("a", "b", "a")["result"], [[1, "a"], [1, "b"], [1, "a"]])
        self.assertEqual([step["name"] for step in self.stored()], ["a", "b"])
        self.assertEqual(self.fake.bodies("/v1/checkpoints"), [], "the first run finds none")

    def test_steps_of_earlier_runs_are_read_once_and_not_run_again(self):
        self.fake.script["/v1/checkpoints"] = [(200, {}, HELD)]
        ran = self.run_steps("charge", "none", "charge", "new", lease_seq=2)
        self.assertEqual(ran["result"], [{"receipt": 7}, None, {"receipt": 7}, [1, "new"]])
        self.assertEqual([step["name"] for step in self.stored()], ["new"])
        self.assertEqual(self.fake.bodies("/v1/checkpoints"), [{"token": "1"}])

    def test_a_step_is_looked_for_and_bytes_stay_bytes(self):
        def of_ctx(ctx, step):
            found = [ctx.find_checkpoint("raw").hex(), ctx.find_checkpoint("x", "no")]
            return found + [ctx.checkpoint("own", step(b"\xff")).hex()]
        self.fake.script["/v1/checkpoints"] = [(200, {}, HELD)]
        self.assertEqual(self.run_once(of_ctx, lease_seq=2)["result"], ["ff00", "no", "ff"])
        own = {"token": "", "name": "own", "result_base64": "/w=="}
        self.assertEqual(self.stored(), [own])

    def test_a_step_that_is_not_stored_fails_the_attempt(self):
        wanted = {"conflict": "another result", "full": "at most 64",
                  "lease_lost": "another worker", "not_found": "another worker"}
        self.fake.script["/v1/checkpoint"] = [(200, {}, {"outcome": word}) for word in wanted]
        for token in wanted:
            self.fake.lease(token)
        self.start({"t": self.handler(lambda ctx, step: ctx.checkpoint("a", step(1)))},
                   concurrency=1)
        self.fake.wait_for(lambda: len(self.nacks()) == 4)
        for nack, why in zip(self.nacks(), wanted.values()):
            self.assertIn(why, nack["error"])

    def test_steps_under_a_lost_lease_are_not_run(self):
        lost = {"outcome": "lease_lost", "checkpoints": []}
        self.fake.script["/v1/checkpoints"] = [(200, {}, lost)]
        self.assertIn("another worker", self.run_steps("a", lease_seq=2)["error"])
        self.assertEqual(self.stored(), [])

    def test_a_step_is_not_begun_within_itself(self):
        def of_ctx(ctx, step):
            return ctx.checkpoint("a", lambda: ctx.checkpoint("a", step(1)))
        self.assertIn("'a' is running already", self.run_once(of_ctx)["error"])


class AsyncStepsTest(StepsTest):
    """The same with coroutines, whose calls a thread makes."""

    def open_worker(self, handlers, options):
        return AsyncWorker(AsyncClient(self.fake.url, "qk_secret"), ["q"], handlers, **options)

    def work(self):
        asyncio.run(self.worker.run(self.drain))

    def handler(self, of_ctx):
        async def handler(payload, ctx):
            loop = asyncio.get_running_loop()
            return await asyncio.to_thread(of_ctx, Waited(ctx, loop), lambda value: lambda: value)
        return handler


class Waited:
    """An `AsyncContext` that is called as a `Context` is."""

    def __init__(self, ctx, loop):
        self.ctx, self.loop = ctx, loop

    def checkpoint(self, name, step):
        async def in_thread():
            return await asyncio.to_thread(step)
        return self.wait(self.ctx.checkpoint(name, in_thread))

    def find_checkpoint(self, *args):
        return self.wait(self.ctx.find_checkpoint(*args))

    def wait(self, called):
        return asyncio.run_coroutine_threadsafe(called, self.loop).result(60)


if __name__ == "__main__":
    unittest.main()
