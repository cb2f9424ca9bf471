"""One run of a job: what its handler gets, what it can raise, and how it is recorded."""

from __future__ import annotations

import asyncio
import base64
import contextvars
import logging
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, TypeVar

from . import trace
from .async_client import AsyncClient
from .client import Client
from .encoding import dump, with_bytes
from .steps import Steps
from .types import Lease, LeasedJob, NackKind, NewCheckpoint, ReleaseCause, Report

log = logging.getLogger("queuekit")
Why = Literal["", "cancel_requested", "lease_lost", "timeout", "shutdown"]
T = TypeVar("T")


class Retry(Exception):
    """Raised by a handler: this attempt failed; `delay_ms` overrides the retry policy."""

    kind: NackKind = "retry"

    def __init__(self, why: str = "", delay_ms: int | None = None) -> None:
        super().__init__(why)
        self.delay_ms = delay_ms
        self.cause: ReleaseCause | None = None


class Release(Retry):
    """Raised by a handler to run again after `delay_ms`; no attempt is spent."""

    kind = "release"

    def __init__(self, why: str = "", delay_ms: int | None = None,
                 cause: ReleaseCause = "snooze") -> None:
        super().__init__(why, delay_ms)
        self.cause = cause


class Undecodable(Release):
    """Raised by a handler that cannot read its payload: a worker that can gets the job; no attempt
    is spent. The server says when it runs again, and ends it after 7 days."""

    def __init__(self, why: str = "") -> None:
        super().__init__(why, cause="undecodable")


class Fatal(Retry):
    """Raised by a handler if no retry can help: the job is dead-lettered at once."""

    kind = "fatal"


class Run:
    """The run of a job: `job` has the fields of the leased job; its lease's `token` is a secret."""

    def __init__(self, lease: Lease) -> None:
        self.job: LeasedJob = lease["job"]
        self.token = str(lease["token"])
        self.why: Why = ""
        """Why it should stop, if it should."""
        self.started_at, self.extended_at = time.time(), time.monotonic()
        self.ends_at = self.extended_at + (self.job.get("timeout_ms") or float("inf")) / 1000
        self.settled = False
        self._steps = Steps(self.job)

    @property
    def payload(self) -> Any:
        """The payload: a value, or bytes if it is not JSON."""
        encoded = self.job.get("payload_base64")
        return self.job.get("payload") if encoded is None else base64.b64decode(encoded)

    def cancel(self, why: Why) -> None:
        """Asks the handler to stop."""
        if not self.why:
            self.why = why
            self._stop()

    async def call(self, handler: Callable[..., Any]) -> Ending:
        raise NotImplementedError

    async def wait(self, seconds: float) -> None:
        """Waits for a handler that was cancelled and cannot refuse."""

    def _stop(self) -> None:
        raise NotImplementedError

    def _reports(self, fraction: float, message: str, lines: Sequence[str]) -> list[Report]:
        progress: Any = {"fraction": fraction, "message": message}
        return [{"token": self.token, "progress": progress, "lines": list(lines)}]

    def _step(self, name: str, result: object) -> NewCheckpoint:
        return {"token": self.token, "name": name, "result": result}


Ending = tuple[Any, BaseException | None]
"""What a handler returned or raised. Not raised again: a coroutine cannot raise any error."""


class Context(Run):
    """The run of a job, as its handler sees it, in a thread of its own."""

    def __init__(self, client: Client, lease: Lease) -> None:
        super().__init__(lease)
        self._client = client
        self.cancelled = threading.Event()
        """Set when the run should stop. Then raise: returning means that the work is done."""

    def report(self, fraction: float, message: str = "", lines: Sequence[str] = ()) -> None:
        """Reports progress, for people who look at the job."""
        self._client.report(self._reports(fraction, message, lines))

    def checkpoint(self, name: str, step: Callable[[], T]) -> T:
        """Runs a step once for all runs of the job: if it was done, returns what it returned then.

        The result is stored before this returns: as JSON, or as it is if it is `bytes`.
        """
        self._read_steps()
        with self._steps.one_at_a_time(name):
            if name not in self._steps.results:
                new = self._step(name, step())
                self._steps.keep(new, self._client.put_checkpoint(new))
            result: T = self._steps.results[name]
            return result

    def find_checkpoint(self, name: str, default: Any = None) -> Any:
        """Returns what a step has returned, or `default` if it was not done."""
        self._read_steps()
        return self._steps.results.get(name, default)

    def _read_steps(self) -> None:
        if not self._steps.is_read:
            self._steps.read(self._client.checkpoints(self.token))

    async def call(self, handler: Callable[..., Any]) -> Ending:
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[Ending] = loop.create_future()
        context = contextvars.copy_context()  # With the current span.

        def work() -> None:
            try:
                ending = _ending(lambda: context.run(handler, self.payload, self))
            finally:
                self._client.close()
            try:
                loop.call_soon_threadsafe(_resolve, ended, ending)
            except RuntimeError:
                pass  # The worker has ended without it.

        try:
            threading.Thread(target=work, daemon=True).start()
        except RuntimeError as error:
            return None, Release(f"no thread: {error}", 1000, "throttle")
        return await ended

    def _stop(self) -> None:
        self.cancelled.set()


class AsyncContext(Run):
    """The run of a job, as its coroutine sees it. The coroutine is cancelled if it should stop."""

    def __init__(self, client: AsyncClient, lease: Lease) -> None:
        super().__init__(lease)
        self._client = client
        self._task: asyncio.Task[Ending] | None = None

    async def report(self, fraction: float, message: str = "", lines: Sequence[str] = ()) -> None:
        """Reports progress, for people who look at the job."""
        await self._client.report(self._reports(fraction, message, lines))

    async def checkpoint(self, name: str, step: Callable[[], Awaitable[T]]) -> T:
        """Runs a step once for all runs of the job: if it was done, returns what it returned then.

        The result is stored before this returns: as JSON, or as it is if it is `bytes`.
        """
        await self._read_steps()
        with self._steps.one_at_a_time(name):
            if name not in self._steps.results:
                new = self._step(name, await step())
                self._steps.keep(new, await self._client.put_checkpoint(new))
            result: T = self._steps.results[name]
            return result

    async def find_checkpoint(self, name: str, default: Any = None) -> Any:
        """Returns what a step has returned, or `default` if it was not done."""
        await self._read_steps()
        return self._steps.results.get(name, default)

    async def _read_steps(self) -> None:
        if not self._steps.is_read:
            self._steps.read(await self._client.checkpoints(self.token))

    async def call(self, handler: Callable[..., Any]) -> Ending:
        async def work() -> Ending:
            try:
                return await handler(self.payload, self), None
            except BaseException as error:  # Even one that would end the event loop.
                return None, error

        self._task = asyncio.create_task(work())
        return await self._task

    async def wait(self, seconds: float) -> None:
        if self._task:
            await asyncio.wait([self._task], timeout=seconds)

    def _stop(self) -> None:
        if self._task:
            self._task.cancel()


Handler = Callable[[Any, Context], object]
AsyncHandler = Callable[[Any, AsyncContext], Awaitable[object]]


async def run_once(run: Run, handlers: Mapping[str, Callable[..., Any]]) -> dict[str, Any]:
    """Runs the handler in a span. Returns what to record: only nacks have a `kind`."""
    with trace.run(run.job) as span:
        kind = run.job["kind"]
        if kind in handlers:
            result, error = await run.call(handlers[kind])
        else:
            later = min(60_000, 1000 << min(run.job.get("releases", 0), 6))
            result, error = None, Release(f"no handler for the kind {kind}", later, "unknown_kind")
        if error is None:
            _, error = _ending(lambda: dump(with_bytes("result", {"result": result})))
        item = {"result": result} if error is None else nack_of(run, error)
        trace.end(span, item)
        return item


def nack_of(run: Run, error: BaseException) -> dict[str, Any]:
    asked = error if isinstance(error, Retry) else Retry()
    ended, delay, text, cause = asked.kind, asked.delay_ms, _text(error), asked.cause
    log.warning("job %s, %s: %s", run.job["id"], ended, text,
                exc_info=None if asked is error else error)
    if ended == "retry" and run.why == "timeout":
        text = f"timed out after {run.job.get('timeout_ms')} ms: {text}"
    elif ended == "retry" and run.why in ("shutdown", "lease_lost"):
        ended, delay = "release", 0  # It was interrupted, not at fault.
        cause = "shutdown" if run.why == "shutdown" else None
    told: dict[str, Any] = {"kind": ended, "error": text}
    return told | {name: value for name, value in (("delay_ms", delay), ("cause", cause))
                   if value is not None}


def _resolve(ended: asyncio.Future[Ending], ending: Ending) -> None:
    if not ended.done():
        ended.set_result(ending)


def _ending(work: Callable[[], Any]) -> Ending:
    try:
        return work(), None
    except BaseException as error:
        return None, error


def _text(error: BaseException) -> str:
    """The error as text. Never fails and always fits into JSON: else no nack could be sent."""
    try:
        text = str(error) if isinstance(error, Retry) else f"{type(error).__name__}: {error}"
    except Exception:
        text = type(error).__name__
    return text[:8000].encode("utf-8", "replace").decode()
