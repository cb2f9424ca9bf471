"""The client for threads: makes the calls over one connection for each thread."""

from __future__ import annotations

import http.client
import os
import select
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack

from . import calls
from .calls import ENDED, WAIT, Call, Settings, Tries
from .errors import Error
from .types import (Ack, CancelOutcome, Checkpoints, EmitOutcome, Enqueued, EnqueueOutcome,
                    ErrorGroup, EventOptions, Filter, Job, JobOptions, JobPage, Nack,
                    NewCheckpoint, NewJob, Outcome, PageFilter, Queue, Queues, Report, Reserved)

T = TypeVar("T")


class Client:
    """Talks to one server. Safe to share between threads, each of which keeps a connection."""

    def __init__(self, url: str | None = None, api_key: str | None = None, *,
                 timeout: float = 30.0, deadline: float = 30.0) -> None:
        """`timeout` limits one try, `deadline` a call with all its tries, both in seconds."""
        self.settings = Settings(url, api_key, timeout, deadline)
        self._local = threading.local()

    def enqueue(self, kind: str, payload: Any = None, **options: Unpack[JobOptions]) -> Enqueued:
        """Stores a job. A payload of `bytes` is stored as it is, anything else as JSON.

        The call is repeated under one idempotency key, so a `duplicate` may be of an earlier try.
        """
        return self.send(calls.enqueue({**options, "kind": kind, "payload": payload}))

    def enqueue_many(self, jobs: Sequence[NewJob]) -> list[EnqueueOutcome]:
        """Stores up to 1,000 jobs in one step. Returns outcomes: check for `queue_full`."""
        return self.send(calls.enqueue_many(jobs))

    def emit(self, type: str, data: Any = None, **options: Unpack[EventOptions]) -> EmitOutcome:
        """Stores an event for all consumers of its type. Repeats the call as `enqueue` does."""
        return self.send(calls.emit({**options, "type": type, "data": data}))

    def get_job(self, id: str) -> Job:
        """Returns the job as it is now; raises `NotFound` if it does not exist."""
        return self.send(calls.get_job(id))

    def wait(self, id: str, timeout: float) -> Job | None:
        """Returns the job once it is completed, dead or cancelled; `None` after `timeout` seconds.

        Raises `NotFound` if the job does not exist, or was deleted meanwhile.
        """
        until = time.monotonic() + timeout
        while True:
            left = max(until - time.monotonic(), 0)
            call = calls.get_job(id, min(left, WAIT))
            job = self.send(call, deadline=max(self.settings.deadline, left))
            if job["status"] in ENDED:
                return job
            if left <= WAIT:
                return None

    def list_jobs(self, **filter: Unpack[Filter]) -> Iterator[Job]:
        """Yields all jobs that match, page by page; `limit` is the size of a page."""
        cursor: str | None = None
        while True:
            page = self.send(calls.list_jobs(filter, cursor))
            yield from page["jobs"]
            cursor = page.get("cursor")
            if cursor is None:
                return

    def list_jobs_page(self, **filter: Unpack[PageFilter]) -> JobPage:
        """Returns one page. It may be short or empty and still have a `cursor` to the next."""
        return self.send(calls.list_jobs(filter, filter.get("cursor")))

    def cancel(self, id: str) -> CancelOutcome:
        """Cancels a job. `requested`: it is running, and its worker is asked to stop."""
        return self.send(calls.cancel(id))

    def retry(self, id: str, *, fresh: bool = False) -> None:
        """Brings a dead or cancelled job back; raises `Conflict` if it is neither. With `fresh`
        all of its steps run again."""
        self.send(calls.retry(id, fresh))

    def list_queues(self, *, limit: int = 100) -> Iterator[Queue]:
        """Yields all queues by name, page by page; `limit` is the size of a page."""
        after: str | None = None
        while True:
            page = self.send(calls.list_queues(after, limit))
            yield from page["queues"]
            after = page.get("after")
            if after is None:
                return

    def get_queue(self, name: str) -> Queue:
        return self.send(calls.get_queue(name))

    def list_errors(self, queue: str | None = None, *, limit: int = 100) -> list[ErrorGroup]:
        """Returns groups of errors that look alike, the most recent first."""
        return self.send(calls.list_errors(queue, limit))

    def reserve(self, queues: Queues, worker: str, *, limit: int = 1, lease_ms: int = 30_000,
                wait_ms: int = 0) -> Reserved:
        """Leases up to `limit` jobs; waits up to `wait_ms` for one. Workers do all this."""
        return self.send(calls.reserve(queues, worker, limit, lease_ms, wait_ms))

    def ack(self, acks: Sequence[Ack]) -> list[Outcome]:
        """Records that runs succeeded."""
        return self.send(calls.ack(acks))

    def nack(self, nacks: Sequence[Nack]) -> list[Outcome]:
        """Records that runs failed, or were released or cancelled."""
        return self.send(calls.nack(nacks))

    def extend(self, tokens: Sequence[str], lease_ms: int) -> list[Outcome]:
        """Extends leases. `cancel_requested` of an outcome asks that run to stop."""
        return self.send(calls.extend(tokens, lease_ms))

    def report(self, reports: Sequence[Report]) -> list[Outcome]:
        """Stores progress and log lines of runs."""
        return self.send(calls.report(reports))

    def put_checkpoint(self, new: NewCheckpoint) -> Outcome:
        """Stores the result of a step. Contexts of workers do all this."""
        return self.send(calls.put_checkpoint(new))

    def checkpoints(self, token: str) -> Checkpoints:
        """Reads the results of the steps of the job that is leased."""
        return self.send(calls.checkpoints(token))

    def call(self, method: str, path: str, body: object = None, *,
             is_repeatable: bool | None = None) -> Any:
        """Makes any other call. Repeats it if it is not a POST, or is said to be repeatable."""
        return self.send(calls.plain(method, path, body, is_repeatable))

    def send(self, call: Call[T], *, timeout: float | None = None,
             deadline: float | None = None) -> T:
        """Makes a call, and repeats it while that is safe and can help."""
        settings = self.settings
        tries = Tries(call, settings.deadline if deadline is None else deadline)
        while True:
            try:
                return self._try(call, (timeout or settings.timeout) + call.wait)
            except Error as error:
                pause = tries.pause_after(error)
                if pause is None:
                    if call.recover:
                        return call.recover(error)
                    raise
            time.sleep(pause)

    def close(self) -> None:
        """Closes the connection of this thread; the next call opens one."""
        self._connection().close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    def _try(self, call: Call[T], timeout: float) -> T:
        connection, is_sent = self._connection(), False
        connection.timeout = timeout
        try:
            if connection.sock and _is_dropped(connection.sock):
                connection.close()
            if not connection.sock:
                connection.connect()
            connection.sock.settimeout(timeout)
            is_sent = True
            headers = {**self.settings.headers, **call.headers}
            connection.request(call.method, self.settings.path(call), call.body, headers)
            response = connection.getresponse()
            text = response.read()
        except BaseException as error:  # Its rest must not be read as the next answer.
            connection.close()
            if not isinstance(error, (OSError, http.client.HTTPException)):
                raise
            raise call.unreachable(self.settings.url, error, is_sent) from error
        retry_after = response.getheader("Retry-After", "")
        return call.decode(response.status, response.reason, retry_after, text)

    def _connection(self) -> http.client.HTTPConnection:
        """This thread's connection; a new one after a fork, since processes must not share it."""
        owner: tuple[int, http.client.HTTPConnection] | None
        owner = getattr(self._local, "owner", None)
        if owner is None or owner[0] != os.getpid():
            server = self.settings.server
            https = server.scheme == "https"
            kind = http.client.HTTPSConnection if https else http.client.HTTPConnection
            owner = (os.getpid(), kind(str(server.hostname), server.port))
            self._local.owner = owner
        return owner[1]


def _is_dropped(sock: socket.socket) -> bool:
    """Whether an idle connection has something to read: the server has closed it."""
    if hasattr(select, "poll"):
        poll = select.poll()
        poll.register(sock, select.POLLIN)
        return bool(poll.poll(0))
    return bool(select.select([sock], [], [], 0)[0])
