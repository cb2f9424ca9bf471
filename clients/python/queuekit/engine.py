"""Working: `run` reserves jobs, a task for each runs and settles it, `_beat` keeps the leases."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import random
import re
import signal
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from . import calls
from .async_client import AsyncClient
from .beat import Beats
from .calls import PAUSE
from .errors import Error
from .run import Run, run_once
from .types import Lease, Nack, Queues, Reserved
from .undecodable import UndecodableKinds

log = logging.getLogger("queuekit")

class Engine:
    """A worker, whatever its handlers are: `open_run` makes of a lease what can call them."""

    def __init__(self, client: AsyncClient, queues: Queues,
                 handlers: Mapping[str, Callable[..., Any]], open_run: Callable[[Lease], Run],
                 concurrency: int, lease_ms: int, wait_ms: int, name: str | None) -> None:
        if not 1 <= concurrency <= 1000:
            raise ValueError(f"concurrency is {concurrency}: give 1 to 1000, or run more workers")
        self.client, self.handlers, self.concurrency = client, dict(handlers), concurrency
        self.queues = dict(queues) if isinstance(queues, Mapping) else list(queues)
        self.lease_ms, self.wait_ms = lease_ms, wait_ms
        host = re.sub(r"[^A-Za-z0-9_.:-]|^[^A-Za-z0-9]+", "", socket.gethostname())[:80]
        self.name = name or f"{host or 'worker'}-{os.getpid()}"
        self.id = f"{self.name[:90]}.{uuid.uuid4()}"
        self.runs: dict[str, Run] = {}  # By token, until the outcome is recorded: the slots.
        self.slots, self.is_quiet = concurrency, False  # As it was ordered.
        self.undecodable = UndecodableKinds()
        self.stops = 0
        self.changed, self.ended = asyncio.Event(), asyncio.Event()
        self._open_run = open_run
        self._tasks: set[asyncio.Task[None]] = set()
        self._polling: asyncio.Task[Reserved] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def stop(self) -> None:
        """Safe to call from any thread, and from signal handlers."""
        self.stops += 1
        try:
            if self._loop:
                self._loop.call_soon_threadsafe(self.hang_up)
        except RuntimeError:
            pass  # The event loop has ended.

    async def run(self, drain: float, signals: bool) -> None:
        self._loop = asyncio.get_running_loop()
        beats = Beats(self)
        beating = asyncio.create_task(beats.run())
        try:
            with _signals(self.stop) if signals else contextlib.nullcontext():
                try:
                    await self._serve()
                finally:
                    self.stops = max(self.stops, 1)
                    await self._drain(drain)
        finally:
            self.ended.set()
            await beating
            await self.client.close()

    async def wait_for(self, done: Callable[[], bool], seconds: float) -> bool:
        """Whether it happened in time."""
        until = time.monotonic() + seconds
        while not done() and (left := until - time.monotonic()) > 0:
            self.changed.clear()
            await _wait(self.changed, left)
        return done()

    def hang_up(self) -> None:
        """Ends the long poll; the server gives back any jobs it has leased for it."""
        self.changed.set()
        if self._polling:
            self._polling.cancel()

    async def _serve(self) -> None:
        pause = 0.1
        while not self.stops:
            if await self.wait_for(lambda: self.stops > 0 or self._has_room(), 60.0):
                if not self.stops:
                    pause = 0.1 if await self._reserve(pause) else min(pause * 2, PAUSE)

    def _has_room(self) -> bool:
        return not self.is_quiet and len(self.runs) < self.slots

    async def _reserve(self, pause: float) -> bool:
        """Reserves and starts jobs; after a failed call it waits before the next."""
        limit = self.slots - len(self.runs)
        call = calls.reserve(self.queues, self.id, limit, self.lease_ms, self.wait_ms)
        # One try: the loop asks again anyway.
        poll = self.client.send(call, timeout=10.0, deadline=0)
        self._polling = asyncio.create_task(poll)
        try:
            await asyncio.wait([self._polling])
            if self._polling.cancelled():
                return True
            leases = self._polling.result()["leases"]
            for lease in leases:
                self._start(lease)
            if not leases:  # A server that is stopping answers at once.
                await self.wait_for(lambda: self.stops > 0, 0.1)
            return True
        except Exception as error:
            log.warning("no jobs were reserved, trying again: %s", error)
            after = min(max(pause, getattr(error, "retry_after", None) or 0), PAUSE)
            await self.wait_for(lambda: self.stops > 0, after * random.uniform(0.5, 1))
            return False
        finally:
            self._polling.cancel()
            self._polling = None

    def _start(self, lease: Lease) -> None:
        run = self._open_run(lease)
        self.runs[run.token] = run
        task = asyncio.create_task(self._work(run))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _work(self, run: Run) -> None:
        try:
            item = await run_once(run, self.handlers)
            if not run.settled:  # Otherwise the run was given up.
                run.settled = True
                if item.get("cause") == "undecodable":
                    self.undecodable.add(run.job["kind"], item["error"])
                await self._settle(run, item)
        finally:
            self.runs.pop(run.token, None)
            self.changed.set()

    async def _settle(self, run: Run, item: dict[str, Any]) -> None:
        """Records the outcome; repeats the call until the server has answered."""
        while not self.ended.is_set():
            name = "nack" if "kind" in item else "ack"
            try:
                outcome = await self._record(run, item)
                if outcome in ("lease_lost", "not_found"):
                    log.warning("job %s: %s, its %s was not recorded", run.job["id"], outcome, name)
                return
            except Exception as error:
                log.warning("job %s: its %s is not recorded: %s", run.job["id"], name, error)
                if getattr(error, "status", 0) not in (400, 413, 422):  # Also of a proxy.
                    await _wait(self.ended, random.uniform(0.5, 1))
                elif name == "ack":
                    item = {"kind": "retry", "error": f"the result could not be stored: {error}"}
                else:
                    return

    async def _record(self, run: Run, item: Any) -> str:
        items: Any = [{"token": run.token, **item}]
        call = calls.nack(items) if "kind" in item else calls.ack(items)
        outcomes = await self.client.send(call, timeout=10.0)
        return outcomes[0]["outcome"]

    async def _drain(self, seconds: float) -> None:
        """Waits for what runs, and releases the rest. A cancel meanwhile ends the wait."""
        interrupted = None
        try:
            await self.wait_for(lambda: not self.runs or self.stops > 1, seconds)
        except asyncio.CancelledError as error:
            interrupted, self.stops = error, 2
        last = 2.0 if self.stops > 1 else 10.0
        left = [run for run in self.runs.values() if not run.settled]
        await self._release(left, last)
        if not await self.wait_for(lambda: not self.runs, last):
            log.error("%d outcomes were not recorded: their leases run out", len(self.runs))
        if interrupted:
            raise interrupted

    async def _release(self, left: list[Run], last: float) -> None:
        for run in left:
            run.settled = True
            run.cancel("shutdown")
        await asyncio.gather(*(run.wait(last) for run in left))
        nacks: list[Nack] = [{"token": run.token, "kind": "release", "cause": "shutdown",
                              "error": "the worker shut down", "delay_ms": 0} for run in left]
        try:
            if nacks:
                await self.client.send(calls.nack(nacks), timeout=last, deadline=last)
        except Error as error:
            log.error("%d jobs were not released, their leases run out: %s", len(left), error)
        for run in left:
            self.runs.pop(run.token, None)


@contextlib.contextmanager
def _signals(stop: Callable[[], None]) -> Iterator[None]:
    """SIGTERM and SIGINT stop it, if this is the main thread: others get no signals."""
    old = {}
    if threading.current_thread() is threading.main_thread():
        numbers = (signal.SIGINT, signal.SIGTERM)
        old = {number: signal.signal(number, lambda *_: stop()) for number in numbers}
    try:
        yield
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)


async def _wait(event: asyncio.Event, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
