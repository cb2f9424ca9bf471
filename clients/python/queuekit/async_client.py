"""The client for asyncio: makes the same calls as `Client`, over a connection for each at once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack

from . import calls
from .calls import ENDED, WAIT, Call, Settings, Tries
from .connection import Connection
from .errors import Error
from .types import (Ack, CancelOutcome, Checkpoints, EmitOutcome, Enqueued, EnqueueOutcome,
                    ErrorGroup, EventOptions, Filter, Job, JobOptions, JobPage, Nack,
                    NewCheckpoint, NewJob, Outcome, PageFilter, Queue, Queues, Report, Reserved)

T = TypeVar("T")
KEPT = 16  # Idle connections that are kept for later calls.


class AsyncClient:
    """Talks to one server: as `Client`, with coroutines. For one event loop at a time."""

    def __init__(self, url: str | None = None, api_key: str | None = None, *,
                 timeout: float = 30.0, deadline: float = 30.0) -> None:
        """`timeout` limits one try, `deadline` a call with all its tries, both in seconds."""
        self.settings = Settings(url, api_key, timeout, deadline)
        self._idle: list[Connection] = []
        self._loop: asyncio.AbstractEventLoop | None = None

    async def enqueue(self, kind: str, payload: Any = None, **options: Unpack[JobOptions]
                      ) -> Enqueued:
        """Stores a job. A payload of `bytes` is stored as it is, anything else as JSON.

        The call is repeated under one idempotency key, so a `duplicate` may be of an earlier try.
        """
        return await self.send(calls.enqueue({**options, "kind": kind, "payload": payload}))

    async def enqueue_many(self, jobs: Sequence[NewJob]) -> list[EnqueueOutcome]:
        """Stores up to 1,000 jobs in one step. Returns outcomes: check for `queue_full`."""
        return await self.send(calls.enqueue_many(jobs))

    async def emit(self, type: str, data: Any = None, **options: Unpack[EventOptions]
                   ) -> EmitOutcome:
        """Stores an event for all consumers of its type. Repeats the call as `enqueue` does."""
        return await self.send(calls.emit({**options, "type": type, "data": data}))

    async def get_job(self, id: str) -> Job:
        """Returns the job as it is now; raises `NotFound` if it does not exist."""
        return await self.send(calls.get_job(id))

    async def wait(self, id: str, timeout: float) -> Job | None:
        """Returns the job once it is completed, dead or cancelled; `None` after `timeout` seconds.

        Raises `NotFound` if the job does not exist, or was deleted meanwhile.
        """
        until = time.monotonic() + timeout
        while True:
            left = max(until - time.monotonic(), 0)
            call = calls.get_job(id, min(left, WAIT))
            job = await self.send(call, deadline=max(self.settings.deadline, left))
            if job["status"] in ENDED:
                return job
            if left <= WAIT:
                return None

    async def list_jobs(self, **filter: Unpack[Filter]) -> AsyncIterator[Job]:
        """Yields all jobs that match, page by page; `limit` is the size of a page."""
        cursor: str | None = None
        while True:
            page = await self.send(calls.list_jobs(filter, cursor))
            for job in page["jobs"]:
                yield job
            cursor = page.get("cursor")
            if cursor is None:
                return

    async def list_jobs_page(self, **filter: Unpack[PageFilter]) -> JobPage:
        """Returns one page. It may be short or empty and still have a `cursor` to the next."""
        return await self.send(calls.list_jobs(filter, filter.get("cursor")))

    async def cancel(self, id: str) -> CancelOutcome:
        """Cancels a job. `requested`: it is running, and its worker is asked to stop."""
        return await self.send(calls.cancel(id))

    async def retry(self, id: str, *, fresh: bool = False) -> None:
        """Brings a dead or cancelled job back; raises `Conflict` if it is neither. With `fresh`
        all of its steps run again."""
        await self.send(calls.retry(id, fresh))

    async def list_queues(self, *, limit: int = 100) -> AsyncIterator[Queue]:
        """Yields all queues by name, page by page; `limit` is the size of a page."""
        after: str | None = None
        while True:
            page = await self.send(calls.list_queues(after, limit))
            for queue in page["queues"]:
                yield queue
            after = page.get("after")
            if after is None:
                return

    async def get_queue(self, name: str) -> Queue:
        return await self.send(calls.get_queue(name))

    async def list_errors(self, queue: str | None = None, *, limit: int = 100) -> list[ErrorGroup]:
        """Returns groups of errors that look alike, the most recent first."""
        return await self.send(calls.list_errors(queue, limit))

    async def reserve(self, queues: Queues, worker: str, *, limit: int = 1, lease_ms: int = 30_000,
                      wait_ms: int = 0) -> Reserved:
        """Leases up to `limit` jobs; waits up to `wait_ms` for one. Workers do all this."""
        return await self.send(calls.reserve(queues, worker, limit, lease_ms, wait_ms))

    async def ack(self, acks: Sequence[Ack]) -> list[Outcome]:
        """Records that runs succeeded."""
        return await self.send(calls.ack(acks))

    async def nack(self, nacks: Sequence[Nack]) -> list[Outcome]:
        """Records that runs failed, or were released or cancelled."""
        return await self.send(calls.nack(nacks))

    async def extend(self, tokens: Sequence[str], lease_ms: int) -> list[Outcome]:
        """Extends leases. `cancel_requested` of an outcome asks that run to stop."""
        return await self.send(calls.extend(tokens, lease_ms))

    async def report(self, reports: Sequence[Report]) -> list[Outcome]:
        """Stores progress and log lines of runs."""
        return await self.send(calls.report(reports))

    async def put_checkpoint(self, new: NewCheckpoint) -> Outcome:
        """Stores the result of a step. Contexts of workers do all this."""
        return await self.send(calls.put_checkpoint(new))

    async def checkpoints(self, token: str) -> Checkpoints:
        """Reads the results of the steps of the job that is leased."""
        return await self.send(calls.checkpoints(token))

    async def call(self, method: str, path: str, body: object = None, *,
                   is_repeatable: bool | None = None) -> Any:
        """Makes any other call. Repeats it if it is not a POST, or is said to be repeatable."""
        return await self.send(calls.plain(method, path, body, is_repeatable))

    async def send(self, call: Call[T], *, timeout: float | None = None,
                   deadline: float | None = None) -> T:
        """Makes a call, and repeats it while that is safe and can help."""
        settings = self.settings
        tries = Tries(call, settings.deadline if deadline is None else deadline)
        while True:
            try:
                return await self._try(call, (timeout or settings.timeout) + call.wait)
            except Error as error:
                pause = tries.pause_after(error)
                if pause is None:
                    if call.recover:
                        return call.recover(error)
                    raise
            await asyncio.sleep(pause)

    async def close(self) -> None:
        """Closes the idle connections; the next call opens one."""
        while self._idle:
            self._idle.pop().close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None,
                        trace: TracebackType | None) -> None:
        await self.close()

    async def _try(self, call: Call[T], timeout: float) -> T:
        settings, connection = self.settings, None
        try:
            async with asyncio.timeout(timeout):
                connection = self._take() or await Connection.open(settings.server)
                headers = {**settings.headers, **call.headers}
                answer = await connection.exchange(call.method, settings.path(call), headers,
                                                   call.body)
        except BaseException as error:
            if connection:
                connection.close()
            if not isinstance(error, OSError):
                raise
            raise call.unreachable(settings.url, error, connection is not None) from error
        if connection.is_open and len(self._idle) < KEPT:
            self._idle.append(connection)
        else:
            connection.close()
        retry_after = answer.headers.get("retry-after", "")
        return call.decode(answer.status, answer.reason, retry_after, answer.text)

    def _take(self) -> Connection | None:
        """An idle connection of this event loop, if there is one."""
        loop = asyncio.get_running_loop()
        if self._loop is not loop:  # The connections of an earlier loop have ended with it.
            self._idle, self._loop = [], loop
        while self._idle:
            connection = self._idle.pop()
            if connection.is_open:
                return connection
            connection.close()
        return None
