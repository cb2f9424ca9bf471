"""Enqueues jobs and makes all other calls; repeats a call while a retry can help."""

from __future__ import annotations

import base64
import http.client
import json
import os
import random
import re
import threading
import time
import uuid
from decimal import Decimal
from typing import Any, Dict, List, Mapping, Optional, Sequence
from urllib.parse import quote, urlsplit

try:
    from opentelemetry import propagate
except ImportError:  # It is optional.
    propagate = None  # type: ignore[assignment]

Json = Dict[str, Any]
PAUSE = 5.0  # The longest pause between two tries, and so the delay after an outage ends.
WAIT = 20.0  # The wait of one call: short enough for proxies before the server.
ENDED = ("completed", "dead", "cancelled")
_RETRIED = (0, 429, 502, 503, 504)
_STORES = ("/v1/jobs", "/v1/events")  # Routes whose calls carry the current span.


class Error(Exception):
    """The server refused a call, or was unreachable (`status` 0, type `unreachable`)."""

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
        """`timeout` limits one try, `deadline` a call with all its tries, both in seconds."""
        self.url = url or os.environ.get("QUEUEKIT_SERVER") or "http://127.0.0.1:8080"
        self.timeout, self.deadline = timeout, deadline
        self._server = urlsplit(self.url)
        if self._server.scheme not in ("http", "https") or not self._server.hostname:
            raise ValueError(f"{self.url!r} is no server: give http://HOST:PORT or https://..")
        # Also without a body: this type shows the server that the request is no web form.
        self._headers = {"Accept": "application/json", "Content-Type": "application/json"}
        key = api_key or os.environ.get("QUEUEKIT_API_KEY")
        if key:
            self._headers["Authorization"] = f"Bearer {key}"
        self._local = threading.local()

    def enqueue(self, kind: str, payload: Any = None, **options: Any) -> Json:
        """Stores a job. Returns its `id`, and an `outcome`: `created` or `duplicate`.

        A payload of `bytes` is stored as it is, anything else as JSON. The options are the fields
        of docs/http.md: `queue`, `priority`, `delay_ms`, `idempotency_key`, .. The call is
        repeated under one idempotency key, so a `duplicate` may be of an earlier try.
        """
        job = _keyed("payload", {**options, "kind": kind, "payload": payload})
        answer: Json = self.call("POST", "/v1/jobs", job)
        return answer

    def enqueue_many(self, jobs: Sequence[Mapping[str, Any]]) -> List[Json]:
        """Stores up to 1,000 jobs in one step. Returns outcomes: check for `queue_full`."""
        body = {"jobs": [_keyed("payload", dict(job)) for job in jobs]}
        try:
            answer = self.call("POST", "/v1/jobs", body)
        except Error as error:
            if "outcomes" not in error.problem:
                raise
            answer = error.problem  # 429: every queue was still full at the deadline.
        outcomes: List[Json] = answer["outcomes"]
        return outcomes

    def emit(self, type: str, data: Any = None, **options: Any) -> Json:
        """Stores an event for all consumers of its type. Repeats the call as `enqueue` does."""
        event = _keyed("data", {**options, "type": type, "data": data})
        answer: Json = self.call("POST", "/v1/events", event)
        return answer

    def get_job(self, id: str) -> Json:
        """Returns the job as it is now; raises an `Error` with status 404 if it does not exist."""
        job: Json = self.call("GET", "/v1/jobs/" + quote(id, safe=""))
        return job

    def wait(self, id: str, timeout: float) -> Optional[Json]:
        """Returns the job once it is completed, dead or cancelled; `None` after `timeout` seconds.

        Raises an `Error` with status 404 if the job does not exist, or was deleted meanwhile.
        """
        until = time.monotonic() + timeout
        while True:
            left = max(until - time.monotonic(), 0)
            wait = min(left, WAIT)
            path = f"/v1/jobs/{quote(id, safe='')}?wait_ms={int(wait * 1000)}"
            job: Json = self.call("GET", path, timeout=self.timeout + wait,
                                  deadline=max(self.deadline, left))
            if job["status"] in ENDED:
                return job
            if left <= wait:
                return None

    def call(self, method: str, path: str, body: Any = None, *, timeout: Optional[float] = None,
             deadline: Optional[float] = None) -> Any:
        """Makes one request, and retries it while that can help: it must be safe to repeat."""
        data = None if body is None else dump(body)
        headers = {**self._headers, **(_span() if path in _STORES else {})}
        until = time.monotonic() + (self.deadline if deadline is None else deadline)
        pause = 0.1
        while True:
            try:
                return self._try(method, path, data, headers, timeout or self.timeout)
            except Error as error:
                # Jitter: clients that were refused together do not retry together.
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
        """This thread's connection; a new one after a fork, since processes must not share it."""
        owner = getattr(self._local, "owner", (0, None))
        if owner[0] != os.getpid():
            https = self._server.scheme == "https"
            kind = http.client.HTTPSConnection if https else http.client.HTTPConnection
            owner = (os.getpid(), kind(str(self._server.hostname), self._server.port))
            self._local.owner = owner
        connection: http.client.HTTPConnection = owner[1]
        return connection

    def _try(self, method: str, path: str, data: Optional[bytes], headers: Mapping[str, str],
             timeout: float) -> Any:
        connection = self.connection()
        connection.timeout = timeout
        if connection.sock:
            connection.sock.settimeout(timeout)
        try:
            connection.request(method, self._server.path.rstrip("/") + path, data, headers)
            response = connection.getresponse()
            text = response.read()
        except BaseException as error:  # Its rest must not be read as the next answer.
            connection.close()
            if not isinstance(error, (OSError, http.client.HTTPException)):
                raise
            detail = f"{method} {self.url}{path}: {error or type(error).__name__}"
            raise Error(0, {"type": "unreachable", "detail": detail}) from error
        is_ok = response.status < 300
        try:
            answer = _load(text) if text else None
        except (ValueError, RecursionError):  # Not a queuekit server: perhaps a proxy answered.
            answer, is_ok = {"type": "no_json", "detail": f"{path} answered {text[:200]!r}"}, False
        if is_ok:
            return answer
        after = response.getheader("Retry-After", "")
        problem = answer if isinstance(answer, dict) else {"title": response.reason}
        raise Error(response.status, problem, float(after) if after.isdigit() else None)


def _span() -> Dict[str, str]:
    """The current span of OpenTelemetry, as headers: the server adds it to what it stores."""
    carrier: Dict[str, str] = {}
    if propagate is not None:
        propagate.inject(carrier)
    return {name: carrier[name] for name in ("traceparent", "tracestate") if name in carrier}


def dump(value: Any) -> bytes:
    """Encodes a value as JSON; raises `ValueError` or `TypeError` if it cannot be."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _keyed(field: str, item: Json) -> Json:
    """The item to store, always with a key: else a repeated call would store it twice."""
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
        return _parse(text.decode())
    except RecursionError:  # One job with such a payload must not cost all that came with it.
        return _load_deep(text.decode())


def _parse(text: str) -> Any:
    return json.loads(text, parse_int=lambda n: int(n) if len(n) < 640 else Decimal(n))


_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]|[^\s\[\]{},:"]+')


def _load_deep(text: str) -> Any:
    """Reads JSON of any depth, slowly, with a list of what is open instead of recursion."""
    opened: List[List[Any]] = [[]]  # An object, too, is a list until it ends: key, value, ..
    for token in _TOKEN.findall(text):
        if token in "[{":
            opened.append([])
        elif token in "]}":
            items = opened.pop()
            value = items if token == "]" else dict(zip(items[::2], items[1::2]))
            if not opened:
                raise ValueError("a bracket is closed that was not opened")
            opened[-1].append(value)
        else:
            opened[-1].append(_parse(token))
    if len(opened) != 1 or len(opened[0]) != 1:
        raise ValueError("the text is not one JSON value")
    return opened[0][0]
