"""What tests over a fake server share."""

import asyncio
import inspect
import logging
import threading
import unittest

from fake_server import FakeServer
from queuekit import Client, Worker

BUSY = (503, {"Retry-After": "0"}, {"type": "urn:queuekit:problem:overloaded", "detail": "later"})
logging.disable(logging.CRITICAL)


class Faked(unittest.TestCase):
    def setUp(self):
        self.fake = FakeServer()
        self.addCleanup(self.fake.close)
        self.client = self.open(self.fake.url, "qk_secret", deadline=5)

    def open(self, *args, **options):
        client = Client(*args, **options)
        self.addCleanup(client.close)
        return client

    def start(self, handlers, **options):
        """A worker in a thread; it is stopped when the test ends, or by `self.finish()`."""
        options = {"concurrency": 4, "lease_ms": 1000, "wait_ms": 500, "name": "w", **options}
        self.drain = options.pop("drain", 5)
        self.worker = self.open_worker(handlers, options)
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()
        self.addCleanup(self.finish)

    def open_worker(self, handlers, options):
        return Worker(self.client, ["q"], handlers, **options)

    def work(self):
        self.worker.run(self.drain)

    def finish(self):
        if self.thread.is_alive():
            self.worker.stop()
            self.thread.join(10)
        self.assertFalse(self.thread.is_alive(), "the worker did not stop")

    def last_word(self):
        """The path of the last call; not of a reserve that was hung up on, and arrives late."""
        paths = [path for path, _, _, _ in self.fake.calls if path != "/v1/reserve"]
        return paths[-1]

    def acks(self):
        return self.fake.items("/v1/ack", "acks")

    def nacks(self):
        return self.fake.items("/v1/nack", "nacks")


class Blocking:
    """An `AsyncClient` that is called as a `Client` is, by a test that runs for both."""

    def __init__(self, client):
        self.client, self.loop = client, asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()

    def __getattr__(self, name):
        method = getattr(self.client, name)

        def call(*args, **options):
            called = method(*args, **options)
            told = _all(called) if inspect.isasyncgen(called) else called
            return asyncio.run_coroutine_threadsafe(told, self.loop).result(60)
        return call

    def shut(self):
        self.close()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10)
        self.loop.close()


async def _all(items):
    return [item async for item in items]
