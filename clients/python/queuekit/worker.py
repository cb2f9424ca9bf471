"""Working: `run` reserves jobs, a thread for each runs and settles it, `_beat` keeps the leases."""

from __future__ import annotations

import http.client
import logging
import os
import random
import re
import signal
import socket
import threading
import time
import uuid
from datetime import datetime, timezone
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Union

from .client import PAUSE, Client, Error, Json
from .run import Context, Handler, run_once

log = logging.getLogger("queuekit")
LAST = 2.0  # At the end, how long to wait until the worker is off the server's list.
NAMES = 100  # A beat names at most this many queues and kinds, and says if there are more.
BEAT = 10.0  # The longest time between two beats: an order reaches the worker with the next.
VERSION = "0.1.0"
JOBS = 100  # A beat names at most this many running jobs, those that run the longest.
GRACE = 10.0  # How long the lease of a run is kept after it timed out.


class Worker:
    """Runs jobs, each in a thread, until SIGTERM, SIGINT or `stop()`."""

    def __init__(self, client: Client, queues: Union[Sequence[str], Mapping[str, int]],
                 handlers: Mapping[str, Handler], *, concurrency: int = 10,
                 lease_ms: int = 30_000, wait_ms: int = 20_000, name: Optional[str] = None):
        """`queues` in the order they are served, or with weights; `handlers` by kind of job."""
        if not 1 <= concurrency <= 1000:
            raise ValueError(f"concurrency is {concurrency}: give 1 to 1000, or run more workers")
        self.client, self.handlers, self.concurrency = client, dict(handlers), concurrency
        self.queues = dict(queues) if isinstance(queues, Mapping) else list(queues)
        self.lease_ms, self.wait_ms = lease_ms, wait_ms
        host = re.sub(r"[^A-Za-z0-9_.:-]|^[^A-Za-z0-9]+", "", socket.gethostname())[:80]
        self.name = name or f"{host or 'worker'}-{os.getpid()}"
        self.id = f"{self.name[:90]}.{uuid.uuid4()}"
        self._slots, self._is_quiet, self._obeyed = concurrency, False, 0  # As it was ordered.
        self._started_at = _utc(time.time())
        self._lock = threading.Lock()
        self._runs: Dict[str, Context] = {}  # By token, until the outcome is recorded: the slots.
        self._changed, self._ended = threading.Event(), threading.Event()
        self._polling: Optional[http.client.HTTPConnection] = None
        self._stops = 0

    def stop(self, *_: Any) -> None:
        """Ends `run` gracefully; a second call ends it without waiting for handlers."""
        self._stops += 1  # No lock: a signal handler may interrupt the code that holds it.

    def run(self, drain: float = 25.0) -> None:
        """Works until stopped, then waits up to `drain` s for running jobs and releases the rest.

        Call it once. In the main thread SIGTERM and SIGINT stop it too, and a second one makes it
        stop without waiting.
        """
        old = {}
        if threading.current_thread() is threading.main_thread():
            old = {s: signal.signal(s, self.stop) for s in (signal.SIGINT, signal.SIGTERM)}
        beating = threading.Thread(target=self._beat, daemon=True)
        beating.start()
        try:
            pause = 0.1
            while not self._stops:
                if self._wait(self._has_room, 0.5):
                    pause = 0.1 if self._reserve(pause) else min(pause * 2, PAUSE)
            self._drain(drain)
        finally:
            self._ended.set()
            beating.join(LAST)
            self.client.close()
            for number, handler in old.items():
                signal.signal(number, handler)

    def _has_room(self) -> bool:
        return not self._is_quiet and len(self._runs) < self._slots

    def _wait(self, done: Callable[[], bool], seconds: float) -> bool:
        """Whether it happened in time. Polls, because `stop` wakes no waiting thread."""
        until = time.monotonic() + seconds
        while not done() and time.monotonic() < until:
            self._changed.wait(0.05)
            self._changed.clear()
        return done()

    def _reserve(self, pause: float) -> bool:
        """Reserves and starts jobs; after a failed call it waits before the next."""
        ask = {"queues": self.queues, "limit": max(1, self._slots - len(self._runs)),
               "lease_ms": self.lease_ms, "wait_ms": self.wait_ms, "worker": self.id}
        timeout = self.wait_ms / 1000 + 10
        self._polling = self.client.connection()
        try:
            # One try: a repeat could lease more jobs, and the loop asks again anyway.
            answer = self.client.call("POST", "/v1/reserve", ask, timeout=timeout, deadline=0)
            for lease in answer["leases"]:
                self._start(Context(self.client, lease))
            if not answer["leases"]:  # A server that is stopping answers at once.
                self._wait(lambda: self._stops > 0, 0.1)
            return True
        except Exception as error:
            if not self._stops and not self._is_quiet:
                log.warning("no jobs were reserved, trying again: %s", error)
                after = min(max(pause, getattr(error, "retry_after", None) or 0), PAUSE)
                self._wait(lambda: self._stops > 0, after * random.uniform(0.5, 1))
            return False
        finally:
            self._polling = None

    def _start(self, run: Context) -> None:
        with self._lock:
            self._runs[run.token] = run
        try:
            threading.Thread(target=self._work, args=(run,), daemon=True).start()
        except RuntimeError:  # No more threads can be started: let the lease expire.
            self._runs.pop(run.token)
            raise

    def _work(self, run: Context) -> None:
        try:
            item = run_once(run, self.handlers)
            if self._is_first(run):
                self._settle(run, item)
        finally:
            self.client.close()
            with self._lock:
                self._runs.pop(run.token, None)
            self._changed.set()

    def _is_first(self, run: Context) -> bool:
        """Records one outcome per run: that of its handler, or that it was given up."""
        with self._lock:
            was_settled, run.settled = run.settled, True
        return not was_settled

    def _settle(self, run: Context, item: Json) -> None:
        """Records the outcome; repeats the call until the server has answered."""
        while not self._ended.is_set():
            path = "nack" if "kind" in item else "ack"
            body = {path + "s": [{"token": run.token, **item}]}
            try:
                answer = self.client.call("POST", f"/v1/{path}", body, timeout=10)["outcomes"][0]
                if answer["outcome"] in ("lease_lost", "not_found"):
                    log.warning("job %s: %s, its %s was not recorded", run.job["id"],
                                answer["outcome"], path)
                return
            except Exception as error:
                log.warning("job %s: its %s is not recorded: %s", run.job["id"], path, error)
                if getattr(error, "status", 0) not in (400, 413, 422):
                    self._ended.wait(random.uniform(0.5, 1))
                elif path == "ack":
                    item = {"kind": "retry", "error": f"the result could not be stored: {error}"}
                else:
                    return

    def _beat(self) -> None:
        """Extends leases and cancels runs, in its own thread, which no handler can block."""
        lease, extend_at, beat_at = self.lease_ms / 1000, 0.0, 0.0
        while not self._ended.wait(min(1.0, lease / 20)):
            if self._stops or self._is_quiet:
                self._hang_up()
            now = time.monotonic()
            with self._lock:
                runs = [run for run in self._runs.values() if now < run.ends_at + GRACE]
            for run in runs:
                if now > run.extended_at + 0.9 * lease:
                    run.cancel("lease_lost")  # Or so we must assume: no extend was confirmed.
                if now > run.ends_at:
                    run.cancel("timeout")
            if now < min(extend_at, beat_at):
                continue
            left = min((run.extended_at for run in runs), default=now) + 0.9 * lease - now
            timeout = max(0.05, min(lease / 5, left)) if left > 0 else lease / 5
            try:
                if now >= extend_at:
                    if runs:
                        self._extend(runs, timeout)
                    extend_at = now + lease / 3
                if now >= beat_at:
                    beat_at = now + min(lease / 3, BEAT)
                    if self._obey(self._show(timeout)):
                        self._show(timeout)  # So that the list shows at once that it has obeyed.
            except Exception as error:
                log.warning("leases are not extended yet, or not shown: %s", error)
        try:  # In this thread, so that no beat follows it. If it fails, the entry expires.
            path = f"/v1/workers/{self.id}"
            self.client.call("DELETE", path, timeout=LAST, deadline=0)
        except Exception as error:
            log.debug("the worker is not taken off the list: %s", error)
        self.client.close()

    def _hang_up(self) -> None:
        """Ends the long poll; the server gives back any jobs it has leased for it."""
        try:
            self._polling.sock.shutdown(socket.SHUT_RDWR)  # type: ignore[union-attr]
        except (AttributeError, OSError):
            pass  # No long poll is in progress.

    def _extend(self, runs: List[Context], timeout: float) -> None:
        now = time.monotonic()
        body = {"tokens": [run.token for run in runs], "lease_ms": self.lease_ms}
        answer = self.client.call("POST", "/v1/extend", body, timeout=timeout, deadline=0)
        for outcome, run in zip(answer["outcomes"], runs):
            if outcome["outcome"] == "extended":
                run.extended_at = now
                if outcome.get("cancel_requested"):
                    run.cancel("cancel_requested")
            elif outcome["outcome"] == "settling":  # No other worker can get the job meanwhile.
                run.extended_at = now
            elif outcome["outcome"] != "unknown":  # The next extend asks again.
                run.cancel("lease_lost")

    def _show(self, timeout: float) -> Json:
        """Announces this worker in the list of workers; returns its orders. No job depends on it."""
        with self._lock:
            runs = sorted(self._runs.values(), key=lambda run: run.started_at)
        queues, kinds = list(self.queues), sorted(self.handlers)
        beat = {"id": self.id, "name": self.name, "queues": queues[:NAMES],
                "more_queues": len(queues) > NAMES, "kinds": kinds[:NAMES],
                "more_kinds": len(kinds) > NAMES, "slots": self._slots,
                "running": len(runs), "ttl_ms": self.lease_ms, "host": socket.gethostname(),
                "pid": os.getpid(), "version": f"queuekit-python {VERSION}",
                "started_at": self._started_at, "obeyed": self._obeyed,
                "jobs": [{"id": run.job["id"], "kind": run.job["kind"],
                          "since": _utc(run.started_at)} for run in runs[:JOBS]]}
        answer = self.client.call("POST", "/v1/beat", beat, timeout=timeout, deadline=0)
        return (answer or {}).get("orders") or {}

    def _obey(self, orders: Json) -> bool:
        """Obeys orders that are new; returns whether there were any."""
        if orders.get("seq", 0) <= self._obeyed:
            return False
        log.info("orders are obeyed: %s", orders)
        if orders.get("slots"):
            self._slots = min(orders["slots"], self.concurrency)
        mode = orders.get("mode")
        if mode in ("quiet", "resume"):
            self._is_quiet = mode == "quiet"
        if mode == "stop" and not self._stops:
            self.stop()
        self._obeyed = orders["seq"]
        self._changed.set()
        return True

    def _drain(self, seconds: float) -> None:
        self._wait(lambda: not self._runs or self._stops > 1, seconds)
        last = 2.0 if self._stops > 1 else 10.0
        left = [run for run in list(self._runs.values()) if self._is_first(run)]
        release = {"kind": "release", "error": "the worker shut down", "delay_ms": 0,
                   "cause": "shutdown"}
        nacks = [{"token": run.token, **release} for run in left]
        for run in left:
            run.cancel("shutdown")
            self._runs.pop(run.token, None)
        try:
            if nacks:
                body = {"nacks": nacks}
                self.client.call("POST", "/v1/nack", body, timeout=last, deadline=last)
        except Error as error:
            log.error("%d jobs were not released, their leases run out: %s", len(left), error)
        if not self._wait(lambda: not self._runs, last):
            log.error("%d outcomes were not recorded: their leases run out", len(self._runs))


def _utc(seconds: float) -> str:
    at = datetime.fromtimestamp(seconds, timezone.utc)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
