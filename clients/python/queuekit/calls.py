"""The calls of the API: how each is built, decoded and repeated. Both clients send these."""

from __future__ import annotations

import os
import random
import re
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from urllib.parse import SplitResult, quote, urlencode, urlsplit

from . import trace
from .encoding import dump, load, utc, with_bytes
from .errors import Error, Unreachable, error_of
from .types import (Ack, Beat, CancelOutcome, Checkpoints, EmitOutcome, Enqueued, EnqueueOutcome,
                    ErrorGroup, Filter, Job, JobPage, Nack, NewCheckpoint, NewJob, Orders, Outcome,
                    PageFilter, Queue, QueuePage, Queues, Report, Reserved)

T = TypeVar("T")
PAUSE = 5.0  # The longest pause between two tries, and so the delay after an outage ends.
WAIT = 20.0  # The wait of one call: short enough for proxies before the server.
ENDED = ("completed", "dead", "cancelled")
_RETRIED = (0, 429, 502, 503, 504)
_UNCHANGED = ("queue_full", "rate_limited", "unavailable", "storage_full", "overloaded", "closed")


class Settings:
    """Where the server is, and how long to wait for it."""

    def __init__(self, url: str | None, api_key: str | None, timeout: float,
                 deadline: float) -> None:
        self.url = url or os.environ.get("QUEUEKIT_SERVER") or "http://127.0.0.1:8080"
        self.timeout, self.deadline = timeout, deadline
        self.server: SplitResult = urlsplit(self.url)
        if self.server.scheme not in ("http", "https") or not self.server.hostname:
            raise ValueError(f"{self.url!r} is no server: give http://HOST:PORT or https://..")
        # Also without a body: this type shows the server that the request is no web form.
        self.headers = {"Accept": "application/json", "Content-Type": "application/json"}
        self.api_key = api_key or os.environ.get("QUEUEKIT_API_KEY")
        if self.api_key:
            if not re.fullmatch(r"[\x21-\x7e]+", self.api_key):
                raise ValueError("the API key has a space or another character that no key has")
            self.headers["Authorization"] = f"Bearer {self.api_key}"

    def path(self, call: Call[Any]) -> str:
        return self.server.path.rstrip("/") + call.path


@dataclass(frozen=True)
class Call(Generic[T]):
    """One request, and what its answer means."""

    method: str
    path: str
    body: bytes | None = None
    pick: Callable[[Any], T] = lambda answer: answer
    """Takes the value of the call from the decoded answer."""
    is_repeatable: bool = True
    """Whether a second request has no other effect than one: else it is repeated only if the
    server has surely not acted on the first."""
    wait: float = 0.0
    """How long the server may wait before it answers, in seconds."""
    headers: Mapping[str, str] = field(default_factory=dict)
    recover: Callable[[Error], T] | None = None
    """The value of the call if it failed; raises the error if there is none."""

    def decode(self, status: int, reason: str, retry_after: str, text: bytes) -> T:
        """The value of an answer, or raises its error."""
        is_ok = status < 300
        try:
            answer = load(text) if text else None
        except (ValueError, RecursionError):  # Not a queuekit server: perhaps a proxy answered.
            detail = f"{self.path} answered {text[:200]!r}"
            answer, is_ok = {"type": "no_json", "detail": detail}, False
        if is_ok:
            return self.pick(answer)
        problem = answer if isinstance(answer, dict) else {"title": reason}
        raise error_of(status, problem, float(retry_after) if retry_after.isdigit() else None)

    def unreachable(self, url: str, error: BaseException, is_sent: bool) -> Unreachable:
        detail = f"{self.method} {url}{self.path}: {error or type(error).__name__}"
        told = Unreachable(0, {"type": Unreachable.CODE, "detail": detail})
        told.is_sent = is_sent
        return told


class Tries:
    """Says after each failed try of a call how long to pause before the next."""

    def __init__(self, call: Call[Any], deadline: float) -> None:
        self._call, self._until, self._pause = call, time.monotonic() + deadline, 0.1

    def pause_after(self, error: Error) -> float | None:
        """`None` if another try cannot help, or comes too late."""
        # Jitter: clients that were refused together do not retry together.
        after = (error.retry_after or 0) * random.uniform(1, 1.2)
        pause = max(self._pause * random.random(), after)
        if not self._can_help(error) or time.monotonic() + pause > self._until:
            return None
        self._pause = min(self._pause * 2, PAUSE)
        return pause

    def _can_help(self, error: Error) -> bool:
        if self._call.is_repeatable:
            return error.status in _RETRIED
        if isinstance(error, Unreachable):
            return not error.is_sent
        return error.code in _UNCHANGED


def plain(method: str, path: str, body: object = None, is_repeatable: bool | None = None
          ) -> Call[Any]:
    if not re.fullmatch(r"/[\x21-\x7e]*", path):
        raise ValueError(f"{path!r} is no path: it begins with /, and has spaces as %20")
    repeat = method.upper() != "POST" if is_repeatable is None else is_repeatable
    return Call(method.upper(), path, None if body is None else dump(body), is_repeatable=repeat)


def enqueue(job: NewJob) -> Call[Enqueued]:
    return Call("POST", "/v1/jobs", dump(_keyed("payload", job)), headers=trace.headers())


def enqueue_many(jobs: Sequence[NewJob]) -> Call[list[EnqueueOutcome]]:
    def recover(error: Error) -> list[EnqueueOutcome]:
        if "outcomes" not in error.problem:
            raise error
        return error.problem["outcomes"]  # 429: every queue was still full at the deadline.

    body = dump({"jobs": [_keyed("payload", job) for job in jobs]})
    return Call("POST", "/v1/jobs", body, _outcomes, headers=trace.headers(), recover=recover)


def emit(event: Mapping[str, Any]) -> Call[EmitOutcome]:
    return Call("POST", "/v1/events", dump(_keyed("data", event)), headers=trace.headers())


def get_job(id: str, wait: float = 0.0) -> Call[Job]:
    query = f"?wait_ms={int(wait * 1000)}" if wait else ""
    return Call("GET", f"/v1/jobs/{_name(id)}{query}", wait=wait)


def list_jobs(filter: Filter | PageFilter, cursor: str | None) -> Call[JobPage]:
    return Call("GET", "/v1/jobs" + _query({**filter, "cursor": cursor}))


def cancel(id: str) -> Call[CancelOutcome]:
    return Call("POST", f"/v1/jobs/{_name(id)}/cancel", None, lambda answer: answer["outcome"])


def retry(id: str, fresh: bool) -> Call[None]:
    # A repeated retry could bring the job back twice, if it has died again between the two.
    body = dump({"fresh": True}) if fresh else None
    return Call("POST", f"/v1/jobs/{_name(id)}/retry", body, lambda _: None, is_repeatable=False)


def list_queues(after: str | None, limit: int) -> Call[QueuePage]:
    return Call("GET", "/v1/queues" + _query({"after": after, "limit": limit}))


def get_queue(name: str) -> Call[Queue]:
    return Call("GET", f"/v1/queues/{_name(name)}")


def list_errors(queue: str | None, limit: int) -> Call[list[ErrorGroup]]:
    query = _query({"queue": queue, "limit": limit})
    return Call("GET", "/v1/errors" + query, None, lambda answer: answer["groups"])


def reserve(queues: Queues, worker: str, limit: int, lease_ms: int, wait_ms: int
            ) -> Call[Reserved]:
    named = dict(queues) if isinstance(queues, Mapping) else list(queues)
    body = {"queues": named, "worker": worker, "limit": limit, "lease_ms": lease_ms,
            "wait_ms": wait_ms}
    # A repeat could lease more jobs than were asked for.
    return Call("POST", "/v1/reserve", dump(body), is_repeatable=False, wait=wait_ms / 1000)


def ack(acks: Sequence[Ack]) -> Call[list[Outcome]]:
    return _settle("ack", [with_bytes("result", item) for item in acks])


def nack(nacks: Sequence[Nack]) -> Call[list[Outcome]]:
    return _settle("nack", nacks)


def extend(tokens: Sequence[str], lease_ms: int) -> Call[list[Outcome]]:
    body = dump({"tokens": list(tokens), "lease_ms": lease_ms})
    return Call("POST", "/v1/extend", body, _outcomes)


def report(reports: Sequence[Report]) -> Call[list[Outcome]]:
    # A repeated report would store its lines twice.
    is_repeatable = not any(item.get("lines") for item in reports)
    body = dump({"reports": list(reports)})
    return Call("POST", "/v1/report", body, _outcomes, is_repeatable=is_repeatable)


def put_checkpoint(new: NewCheckpoint) -> Call[Outcome]:
    return Call("POST", "/v1/checkpoint", dump(with_bytes("result", new)))


def checkpoints(token: str) -> Call[Checkpoints]:
    return Call("POST", "/v1/checkpoints", dump({"token": token}))


def beat(beat: Beat) -> Call[Orders | None]:
    return Call("POST", "/v1/beat", dump(beat), lambda answer: (answer or {}).get("orders"))


def _settle(route: str, items: Sequence[object]) -> Call[list[Outcome]]:
    return Call("POST", f"/v1/{route}", dump({f"{route}s": list(items)}), _outcomes)


def _outcomes(answer: Any) -> Any:
    return answer["outcomes"]


def _keyed(field: str, item: Mapping[str, Any]) -> dict[str, Any]:
    """The item to store, always with a key: else a repeated call would store it twice."""
    keyed = {"idempotency_key": str(uuid.uuid4()), **with_bytes(field, item)}
    if "run_at" in keyed:
        keyed["run_at"] = utc(keyed["run_at"])
    return keyed


def _name(text: str) -> str:
    return quote(text, safe="")


def _query(parameters: Mapping[str, Any]) -> str:
    told = {name: _parameter(value) for name, value in parameters.items() if value is not None}
    return "?" + urlencode(told) if told else ""


def _parameter(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int)):
        return str(value)
    if isinstance(value, Sequence):
        return ",".join(value)
    return utc(value)
