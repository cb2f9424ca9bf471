"""Workers: run jobs until they are stopped. `Worker` runs each in a thread, `AsyncWorker` each as
a coroutine; both are an `Engine`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from .async_client import AsyncClient
from .client import Client
from .engine import Engine
from .run import AsyncContext, AsyncHandler, Context, Handler
from .types import Queues


class Worker:
    """Runs jobs, each in a thread, until SIGTERM, SIGINT or `stop()`."""

    def __init__(self, client: Client, queues: Queues, handlers: Mapping[str, Handler], *,
                 concurrency: int = 10, lease_ms: int = 30_000, wait_ms: int = 20_000,
                 name: str | None = None) -> None:
        """`queues` in the order they are served, or with weights; `handlers` by kind of job."""
        of = client.settings
        calls = AsyncClient(of.url, of.api_key, timeout=of.timeout, deadline=of.deadline)
        self._engine = Engine(calls, queues, handlers, lambda lease: Context(client, lease),
                              concurrency, lease_ms, wait_ms, name)
        self.id, self.name = self._engine.id, self._engine.name

    def stop(self, *_: Any) -> None:
        """Ends `run` gracefully; a second call ends it without waiting for handlers."""
        self._engine.stop()

    def run(self, drain: float = 25.0) -> None:
        """Works until stopped, then waits up to `drain` s for running jobs and releases the rest.

        Call it once. In the main thread SIGTERM and SIGINT stop it too, and a second one makes it
        stop without waiting.
        """
        asyncio.run(self._engine.run(drain, signals=True))


class AsyncWorker:
    """Runs jobs, each as a coroutine, until SIGTERM, SIGINT, `stop()`, or `run` is cancelled."""

    def __init__(self, client: AsyncClient, queues: Queues, handlers: Mapping[str, AsyncHandler],
                 *, concurrency: int = 10, lease_ms: int = 30_000, wait_ms: int = 20_000,
                 name: str | None = None) -> None:
        """`queues` in the order they are served, or with weights; `handlers` by kind of job."""
        self._engine = Engine(client, queues, handlers, lambda lease: AsyncContext(client, lease),
                              concurrency, lease_ms, wait_ms, name)
        self.id, self.name = self._engine.id, self._engine.name

    def stop(self, *_: Any) -> None:
        """Ends `run` gracefully; a second call ends it without waiting for handlers."""
        self._engine.stop()

    async def run(self, drain: float = 25.0, *, signals: bool = True) -> None:
        """Works until stopped, then waits up to `drain` s for running jobs and releases the rest.

        Call it once. If it is cancelled, it ends in the same way, and a second cancel makes it end
        without waiting. With `signals`, in the main thread, SIGTERM and SIGINT stop it too.
        """
        await self._engine.run(drain, signals)
