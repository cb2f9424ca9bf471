"""Enqueuing, and every other call of the API: each is repeated while that helps."""

from __future__ import annotations

import base64
import http.client
import json
import os
import random
import threading
import time
import uuid
from decimal import Decimal
from typing import Any, Dict, List, Mapping, Optional, Sequence
from urllib.parse import quote, urlsplit

Json = Dict[str, Any]
PAUSE = 5.0  # The longest pause between two tries: an outage is noticed to be over within it.
_RETRIED = (0, 429, 502, 503, 504)


class Error(Exception):
    """What the server refused, or that it cannot be reached (`status` 0, type `unreachable`)."""

    def __init__(self, status: int, problem: Json, retry_after: Optional[float] = None):
        self.status, self.problem, self.retry_after = status, problem, retry_after
        self.type = str(problem.get("type", "")).rsplit(":", 1)[-1]
        self.title = str(problem.get("title", ""))
        self.detail = str(problem.get("detail", ""))
        super().__init__(f"{status} {self.type}: {self.detail or self.title}")


class Client:
    """Talks to one server. Safe to share between threads, each of which keeps a connection."""

    def __init__(self, url: Optional[str] = None, api_key: Optional[str] = None, *,
                 timeout: float = 30.0, deadline: float = 30.0):
        """`timeout` is of one try, `deadline` of a call with all its tries, both in seconds."""
        self.url = url or os.environ.get("QUEUEKIT_SERVER") or "http://127.0.0.1:8080"
        self.timeout, self.deadline = timeout, deadline
        self._server = urlsplit(self.url)
        if self._server.scheme not in ("http", "https") or not self._server.hostname:
            raise ValueError(f"{self.url!r} is no server: give http://HOST:PORT or https://..")
        # Also without a body: it is by this type that the server tells us from a form of a page.
        self._headers = {"Accept": "application/json", "Content-Type": "application/json"}
        key = api_key or os.environ.get("QUEUEKIT_API_KEY")
        if key:
            self._headers["Authorization"] = f"Bearer {key}"
        self._local = threading.local()

    def enqueue(self, type: str, payload: Any = None, **options: Any) -> Json:
        """Stores a job; its `id`, and as `outcome` whether it is `created` or a `duplicate`.

        A payload of `bytes` is stored as it is, anything else as JSON. The options are the fields
        of docs/http.md: `queue`, `priority`, `delay_ms`, `idempotency_key`, .. The call is
        repeated under one idempotency key, so a `duplicate` may be of an earlier try.
        """
        job = _keyed("payload", {**options, "type": type, "payload": payload})
        answer: Json = self.call("POST", "/v1/jobs", job)
        return answer

    def enqueue_many(self, jobs: Sequence[Mapping[str, Any]]) -> List[Json]:
        """Stores up to 1,000 jobs in one step; an outcome for each, which may be `queue_full`."""
        body = {"jobs": [_keyed("payload", dict(job)) for job in jobs]}
        try:
            answer = self.call("POST", "/v1/jobs", body)
        except Error as error:
            if "outcomes" not in error.problem:
                raise
            answer = error.problem  # 429: every queue is full, and was until the deadline.
        outcomes: List[Json] = answer["outcomes"]
        return outcomes

    def emit(self, type: str, data: Any = None, **options: Any) -> Json:
        """Stores an event for all who have subscribed to it; repeated as `enqueue` is."""
        event = _keyed("data", {**options, "type": type, "data": data})
        answer: Json = self.call("POST", "/v1/events", event)
        return answer

    def get_job(self, id: str) -> Json:
        """The job as it is now; an `Error` with status 404 if there is none."""
        job: Json = self.call("GET", "/v1/jobs/" + quote(id, safe=""))
        return job

    def call(self, method: str, path: str, body: Any = None, *, timeout: Optional[float] = None,
             deadline: Optional[float] = None) -> Any:
        """One request of the API, repeated while that helps. Only for what can be repeated."""
        data = None if body is None else dump(body)
        until = time.monotonic() + (self.deadline if deadline is None else deadline)
        pause = 0.1
        while True:
            try:
                return self._try(method, path, data, timeout or self.timeout)
            except Error as error:
                # Jitter: those who were refused together do not come back together.
                after = (error.retry_after or 0) * random.uniform(1, 1.2)
                wait = max(pause * random.random(), after)
                if error.status not in _RETRIED or time.monotonic() + wait > until:
                    raise
                time.sleep(wait)
                pause = min(pause * 2, PAUSE)

    def close(self) -> None:
        """Closes the connection of this thread; the next call opens one."""
        self.connection().close()

    def connection(self) -> http.client.HTTPConnection:
        """That of this thread; one of its own after a fork, which must not share its parent's."""
        owner = getattr(self._local, "owner", (0, None))
        if owner[0] != os.getpid():
            https = self._server.scheme == "https"
            kind = http.client.HTTPSConnection if https else http.client.HTTPConnection
            owner = (os.getpid(), kind(str(self._server.hostname), self._server.port))
            self._local.owner = owner
        connection: http.client.HTTPConnection = owner[1]
        return connection

    def _try(self, method: str, path: str, data: Optional[bytes], timeout: float) -> Any:
        connection = self.connection()
        connection.timeout = timeout
        if connection.sock:
            connection.sock.settimeout(timeout)
        try:
            connection.request(method, self._server.path.rstrip("/") + path, data, self._headers)
            response = connection.getresponse()
            text = response.read()
        except BaseException as error:  # Half of an answer must not be read as the next one.
            connection.close()
            if not isinstance(error, (OSError, http.client.HTTPException)):
                raise
            detail = f"{method} {self.url}{path}: {error or type(error).__name__}"
            raise Error(0, {"type": "unreachable", "detail": detail}) from error
        is_ok = response.status < 300
        try:
            answer = _load(text) if text else None
        except (ValueError, RecursionError):  # A proxy answered, or nobody we know.
            answer, is_ok = {"type": "no_json", "detail": f"{path} answered {text[:200]!r}"}, False
        if is_ok:
            return answer
        after = response.getheader("Retry-After", "")
        problem = answer if isinstance(answer, dict) else {"title": response.reason}
        raise Error(response.status, problem, float(after) if after.isdigit() else None)


def dump(value: Any) -> bytes:
    """As JSON; a `ValueError` or `TypeError` if it is none."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _keyed(field: str, item: Json) -> Json:
    """What is to be stored; without a key, a repeated call would store it twice."""
    value = item.pop(field, None)
    if isinstance(value, (bytes, bytearray)):
        item[field + "_base64"] = base64.b64encode(value).decode()
    elif value is not None:
        item[field] = value
    return {"idempotency_key": str(uuid.uuid4()), **item}


def _load(text: bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError:  # Python refuses to read integers of more than 4300 digits.
        return json.loads(text, parse_int=lambda n: int(n) if len(n) < 640 else Decimal(n))
