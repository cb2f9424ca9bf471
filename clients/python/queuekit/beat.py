"""Beats: extend the leases of a worker, show what it does, and obey its orders."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import time
from typing import TYPE_CHECKING

from . import calls
from .encoding import utc
from .run import Run
from .types import Beat, Orders
from .version import VERSION

if TYPE_CHECKING:
    from .engine import Engine

log = logging.getLogger("queuekit")
BEAT = 10.0  # The longest time between two beats: an order reaches the worker with the next.
JOBS = 100  # A beat names at most this many running jobs, those that run the longest.
LAST = 2.0  # At the end, how long to wait until the worker is off the server's list.
NAMES = 100  # A beat names at most this many queues and kinds, and says if there are more.
GRACE = 10.0  # How long the lease of a run is kept after it timed out.


class Beats:
    def __init__(self, engine: Engine) -> None:
        self._engine, self._client = engine, engine.client
        self._lease = engine.lease_ms / 1000
        self._obeyed = 0
        self._started_at = utc(time.time())

    async def run(self) -> None:
        """Extends leases and cancels runs until the engine has ended."""
        lease, extend_at, beat_at = self._lease, 0.0, 0.0
        while not self._engine.ended.is_set():
            now = time.monotonic()
            runs = [run for run in self._engine.runs.values() if now < run.ends_at + GRACE]
            for run in runs:
                if now > run.extended_at + 0.9 * lease:
                    run.cancel("lease_lost")  # Or so we must assume: no extend was confirmed.
                if now > run.ends_at:
                    run.cancel("timeout")
            left = min((run.extended_at for run in runs), default=now) + 0.9 * lease - now
            timeout = max(0.05, min(lease / 5, left)) if left > 0 else lease / 5
            try:
                if now >= extend_at:
                    if runs:
                        await self._extend(runs, timeout)
                    extend_at = now + lease / 3
                if now >= beat_at:
                    beat_at = now + min(lease / 3, BEAT)
                    if self._obey(await self._show(timeout)):
                        await self._show(timeout)  # The list shows at once that it has obeyed.
            except Exception as error:
                log.warning("leases are not extended yet, or not shown: %s", error)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(1.0, lease / 20)):
                    await self._engine.ended.wait()
        try:  # In this task, so that no beat follows it. If it fails, the entry expires.
            gone = calls.plain("DELETE", f"/v1/workers/{self._engine.id}")
            await self._client.send(gone, timeout=LAST, deadline=0)
        except Exception as error:
            log.debug("the worker is not taken off the list: %s", error)

    async def _extend(self, runs: list[Run], timeout: float) -> None:
        now = time.monotonic()
        call = calls.extend([run.token for run in runs], self._engine.lease_ms)
        outcomes = await self._client.send(call, timeout=timeout, deadline=0)
        for outcome, run in zip(outcomes, runs):
            if outcome["outcome"] == "extended":
                run.extended_at = now
                if outcome.get("cancel_requested"):
                    run.cancel("cancel_requested")
            elif outcome["outcome"] == "settling":  # No other worker can get the job meanwhile.
                run.extended_at = now
            elif outcome["outcome"] != "unknown":  # The next extend asks again.
                run.cancel("lease_lost")

    async def _show(self, timeout: float) -> Orders | None:
        """Announces the worker in the list of workers; returns its orders. No job depends on it."""
        engine = self._engine
        runs = sorted(engine.runs.values(), key=lambda run: run.started_at)
        queues, kinds = list(engine.queues), sorted(engine.handlers)
        beat: Beat = {
            "id": engine.id, "name": engine.name, "queues": queues[:NAMES],
            "more_queues": len(queues) > NAMES, "kinds": kinds[:NAMES],
            "more_kinds": len(kinds) > NAMES, "slots": engine.slots, "running": len(runs),
            "ttl_ms": engine.lease_ms, "host": socket.gethostname(), "pid": os.getpid(),
            "version": f"queuekit-python {VERSION}", "started_at": self._started_at,
            "obeyed": self._obeyed, "undecodable": engine.undecodable.lately(),
            "jobs": [{"id": run.job["id"], "kind": run.job["kind"], "since": utc(run.started_at)}
                     for run in runs[:JOBS]]}
        return await self._client.send(calls.beat(beat), timeout=timeout, deadline=0)

    def _obey(self, orders: Orders | None) -> bool:
        """Obeys orders that are new; returns whether there were any."""
        if not orders or orders.get("seq", 0) <= self._obeyed:
            return False
        log.info("orders are obeyed: %s", orders)
        engine, mode = self._engine, orders.get("mode")
        if slots := orders.get("slots"):
            engine.slots = min(slots, engine.concurrency)
        if mode in ("quiet", "resume"):
            engine.is_quiet = mode == "quiet"
        if mode == "stop" and not engine.stops:
            engine.stop()
        self._obeyed = orders["seq"]
        engine.changed.set()
        if engine.is_quiet:
            engine.hang_up()
        return True
