"""A client and a worker of queuekit, over its HTTP API. One file, nothing but Python >= 3.9.

A worker has three threads beside those of its handlers: `_fetch` asks for as many jobs as there are
free slots, `_beat` keeps the leases of what runs, and `_record` tells the server how it went.
"""

from __future__ import annotations

import base64
import http.client
import json
import logging
import os
import random
import re
import signal
import socket
import threading
import time
import uuid
from decimal import Decimal
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Union
from urllib.parse import quote, urlsplit

__all__ = ["Client", "Context", "Error", "Fatal", "Release", "Retry", "Worker"]

log = logging.getLogger("queuekit")
Json = Dict[str, Any]
_RETRIED = (429, 502, 503, 504)
_GRACE = 10.0  # How long a run may go on after it timed out, before it is given up.
_PAUSE = 5.0  # The longest pause between two tries: an outage is noticed to be over within it.


class Error(Exception):
    """What the server refused, or that it cannot be reached (`status` 0, type `unreachable`)."""

    def __init__(self, status: int, problem: Json, retry_after: Optional[float] = None):
        self.status, self.problem, self.retry_after = status, problem, retry_after
        self.type = str(problem.get("type", "")).rsplit(":", 1)[-1]
        self.title = str(problem.get("title", ""))
        self.detail = str(problem.get("detail", ""))
        super().__init__(f"{status} {self.type}: {self.detail or self.title}")


class Retry(Exception):
    """Raised by a handler: this attempt failed; again after `delay_ms`, or as the server says."""

    kind = "retry"

    def __init__(self, why: str = "", delay_ms: Optional[int] = None):
        super().__init__(why)
        self.delay_ms = delay_ms


class Release(Retry):
    """Raised by a handler: not now; again after `delay_ms`, and no attempt is spent."""

    kind = "release"


class Fatal(Retry):
    """Raised by a handler: no attempt will help; the job is dead at once."""

    kind = "fatal"


class Client:
    """Talks to one server. Safe to share between threads, each of which keeps a connection."""

    def __init__(self, url: Optional[str] = None, api_key: Optional[str] = None, *,
                 timeout: float = 30.0, deadline: float = 30.0):
        """`timeout` is of one try, `deadline` of a call with all its tries, both in seconds."""
        self.url = url or os.environ.get("QUEUEKIT_SERVER") or "http://127.0.0.1:8080"
        key = api_key or os.environ.get("QUEUEKIT_API_KEY")
        self.timeout, self.deadline = timeout, deadline
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{self.url!r} is no server: give http://HOST:PORT or https://..")
        self._host, self._port, self._prefix = parts.hostname, parts.port, parts.path.rstrip("/")
        self._connection = (http.client.HTTPSConnection if parts.scheme == "https"
                            else http.client.HTTPConnection)
        self._headers = {"Accept": "application/json"}
        if key:
            self._headers["Authorization"] = f"Bearer {key}"
        self._local = threading.local()

    def enqueue(self, type: str, payload: Any = None, **options: Any) -> Json:
        """Stores a job; its `id`, and as `outcome` whether it is `created` or a `duplicate`.

        A payload of `bytes` is stored as it is, anything else as JSON. The options are the fields
        of docs/http.md: `queue`, `priority`, `delay_ms`, `idempotency_key`, .. The call is
        repeated under one idempotency key, so a `duplicate` may be of an earlier try.
        """
        answer: Json = self.call("POST", "/v1/jobs", _job({**options, "type": type}, payload))
        return answer

    def enqueue_many(self, jobs: Sequence[Mapping[str, Any]]) -> List[Json]:
        """Stores up to 1,000 jobs in one step; an outcome for each, which may be `queue_full`."""
        body = [_job(dict(job), job.get("payload")) for job in jobs]
        try:
            answer = self.call("POST", "/v1/jobs", {"jobs": body})
        except Error as error:
            if "outcomes" not in error.problem:
                raise
            answer = error.problem  # 429: every queue is full, and was until the deadline.
        outcomes: List[Json] = answer["outcomes"]
        return outcomes

    def get_job(self, id: str) -> Json:
        """The job as it is now; an `Error` with status 404 if there is none."""
        job: Json = self.call("GET", "/v1/jobs/" + quote(id, safe=""))
        return job

    def close(self) -> None:
        """Closes the connection of this thread; the next call opens one."""
        self._own_connection().close()

    def call(self, method: str, path: str, body: Any = None, *, timeout: Optional[float] = None,
             deadline: Optional[float] = None) -> Any:
        """One request of the API, repeated while that helps. Only for what can be repeated."""
        data = None if body is None else _dump(body)
        until = time.monotonic() + (self.deadline if deadline is None else deadline)
        pause = 0.1
        while True:
            try:
                return self._try(method, path, data, timeout or self.timeout)
            except Error as error:
                # Jitter: those who were refused together do not come back together.
                after = (error.retry_after or 0) * random.uniform(1, 1.2)
                wait = max(pause * random.random(), after)
                if error.status not in (0, *_RETRIED) or time.monotonic() + wait > until:
                    raise
                time.sleep(wait)
                pause = min(pause * 2, _PAUSE)

    def _try(self, method: str, path: str, data: Optional[bytes], timeout: float) -> Any:
        connection = self._own_connection()
        connection.timeout = timeout
        if connection.sock:
            connection.sock.settimeout(timeout)
        # Also without a body: it is by this type that the server tells us from a form of a page.
        typed = {} if method == "GET" else {"Content-Type": "application/json"}
        headers = {**self._headers, **typed}
        try:
            connection.request(method, self._prefix + path, data, headers)
            response = connection.getresponse()
            text = response.read()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            detail = f"{method} {self.url}{path}: {error or type(error).__name__}"
            raise Error(0, {"type": "unreachable", "detail": detail}) from error
        except BaseException:  # Half of an answer must not be read as the next one.
            connection.close()
            raise
        try:
            answer = _load(text) if text else None
        except (ValueError, RecursionError) as error:
            answer = {"type": "no_json", "detail": f"{method} {path} answered: {text[:200]!r}"}
            if response.status < 300:
                raise Error(response.status, answer) from error
        if response.status < 300:
            return answer
        after = response.getheader("Retry-After", "")
        problem = answer if isinstance(answer, dict) else {"title": response.reason}
        raise Error(response.status, problem, float(after) if after.isdigit() else None)

    def _own_connection(self) -> http.client.HTTPConnection:
        """That of this thread; one of its own after a fork, which must not share its parent's."""
        local, pid = self._local, os.getpid()
        if getattr(local, "pid", None) != pid:
            local.connection, local.pid = self._connection(self._host, self._port), pid
        connection: http.client.HTTPConnection = local.connection
        return connection


class Context:
    """The run of a job, for its handler. All fields of the job are in `job`."""

    def __init__(self, client: Client, lease: Json):
        self.job: Json = lease["job"]
        self.cancelled = threading.Event()
        """Stop, and raise something: to return is to say that the work is done."""
        self.why = ""
        """Why it was cancelled: `cancel_requested`, `lease_lost`, `timeout` or `shutdown`."""
        self._client, self._token = client, str(lease["token"])
        self._extended_at = self._started_at = time.monotonic()
        self._settled = False

    @property
    def payload(self) -> Any:
        """Its payload: a value, or bytes if they are no JSON."""
        encoded = self.job.get("payload_base64")
        return self.job.get("payload") if encoded is None else base64.b64decode(encoded)

    def report(self, fraction: float, message: str = "", lines: Sequence[str] = ()) -> None:
        """Shows how far it is. Whoever looks sees it; nothing else depends on it."""
        report = {"token": self._token, "progress": {"fraction": fraction, "message": message}}
        self._client.call("POST", "/v1/report", {"reports": [{**report, "lines": list(lines)}]})

    def _cancel(self, why: str) -> None:
        if not self.cancelled.is_set():
            self.why = why
            self.cancelled.set()


Handler = Callable[[Any, Context], Any]


class Worker:
    """Runs jobs, each in a thread, until SIGTERM, SIGINT or `stop()`."""

    def __init__(self, client: Client, queues: Union[Sequence[str], Mapping[str, int]],
                 handlers: Mapping[str, Handler], *, concurrency: int = 10,
                 lease_ms: int = 30_000, wait_ms: int = 20_000, name: Optional[str] = None):
        """`queues` in the order they are served, or with weights; `handlers` by type of job."""
        self.client, self.handlers, self.concurrency = client, dict(handlers), concurrency
        self.queues = dict(queues) if isinstance(queues, Mapping) else list(queues)
        self.lease_ms, self.wait_ms = lease_ms, wait_ms
        host = re.sub(r"[^A-Za-z0-9_.:-]|^[^A-Za-z0-9]+", "", socket.gethostname())[:80]
        self.name = name or f"{host or 'worker'}-{os.getpid()}"
        self._id = f"{self.name[:90]}.{uuid.uuid4()}"
        self._lease = lease_ms / 1000
        self._changed = threading.Condition()  # Guards the three below.
        self._runs: Dict[str, Context] = {}  # By token, until the outcome is recorded.
        self._running = 0  # Threads of handlers, given up ones included.
        self._outcomes: List[Any] = []  # (path, item, run), to be recorded.
        self._stops = 0
        self._stopping, self._ended = threading.Event(), threading.Event()
        self._polling: Optional[http.client.HTTPConnection] = None

    def stop(self, *_: Any) -> None:
        """Ends `run`, in good order; the second call ends it without waiting for handlers."""
        self._stops += 1  # No lock: this also runs as a signal handler, amid whatever held one.

    def run(self, drain: float = 25.0) -> None:
        """Works, once. When stopped, waits up to `drain` seconds for what runs, releases the rest.

        In the main thread SIGTERM and SIGINT stop it, too, and a second one forces it.
        """
        old = {}
        if threading.current_thread() is threading.main_thread():
            old = {s: signal.signal(s, self.stop) for s in (signal.SIGINT, signal.SIGTERM)}
        loops = (self._fetch, self._record, self._beat)
        threads = [threading.Thread(target=self._loop, args=(loop,), daemon=True)
                   for loop in loops]
        for thread in threads:
            thread.start()
        try:
            self._wait(lambda: self._stops > 0, float("inf"))
            self._stopping.set()
            self._wait(lambda: self._hung_up(threads[0]), 2)
            self._wait(lambda: not self._unsettled() or self._stops > 1, drain)
            for run in self._unsettled():
                run._cancel("shutdown")
                self._settle(run, "nack", kind="release", error="the worker shut down", delay_ms=0)
            last = 2 if self._stops > 1 else 10
            if not self._wait(lambda: not self._runs, last):
                log.error("%d outcomes were not recorded: their leases run out", len(self._runs))
        finally:
            self._ended.set()
            for number, handler in old.items():
                signal.signal(number, handler)

    def _wait(self, done: Callable[[], bool], seconds: float) -> bool:
        # Looks instead of being woken, for the reason that `stop` takes no lock.
        until = time.monotonic() + seconds
        while not done() and time.monotonic() < until:
            time.sleep(0.05)
        return done()

    def _hung_up(self, fetch: threading.Thread) -> bool:
        """Ends the long poll: the server takes back what it would have given."""
        try:
            if self._polling and self._polling.sock:
                self._polling.sock.shutdown(socket.SHUT_RDWR)
        except (AttributeError, OSError):
            pass  # Its own thread has closed it meanwhile.
        return not fetch.is_alive()

    def _loop(self, loop: Callable[[], None]) -> None:
        try:
            loop()
        finally:
            self.client.close()

    def _unsettled(self) -> List[Context]:
        with self._changed:
            return [run for run in self._runs.values() if not run._settled]

    def _free(self) -> int:
        """Slots, less while outcomes wait: a worker that cannot record takes no more work."""
        return min(self.concurrency - self._running, 2 * self.concurrency - len(self._runs), 1000)

    def _fetch(self) -> None:
        pause = 0.1
        while not self._stopping.is_set():
            with self._changed:
                limit = self._free()
                if limit < 1:
                    self._changed.wait(1)
                    continue
            ask = {"queues": self.queues, "limit": limit, "lease_ms": self.lease_ms,
                   "wait_ms": self.wait_ms, "worker": self.name}
            asked_at = time.monotonic()
            try:
                # Never repeated by the call: a lost answer costs a lease, and the loop comes back.
                wait = self.wait_ms / 1000
                leases = self._poll(ask, wait + 10)
                pause = 0.1
                if not leases and time.monotonic() - asked_at < min(wait, 0.1):
                    self._stopping.wait(0.2)  # It does not wait for work, so we do.
                for lease in leases:
                    self._start(lease)
            except Exception as error:
                if not self._stopping.is_set():
                    log.warning("no jobs were reserved, trying again: %s", error)
                    after = getattr(error, "retry_after", None) or 0
                    self._stopping.wait(min(max(pause, after), _PAUSE) * random.uniform(0.5, 1))
                    pause = min(pause * 2, _PAUSE)

    def _poll(self, ask: Json, timeout: float) -> List[Json]:
        self._polling = self.client._own_connection()
        answer = self.client.call("POST", "/v1/reserve", ask, timeout=timeout, deadline=0)
        leases: List[Json] = answer["leases"]
        return leases

    def _start(self, lease: Json) -> None:
        run = Context(self.client, lease)
        handler = self.handlers.get(run.job["type"])
        with self._changed:
            self._runs[run._token] = run
        if self._stopping.is_set():  # An answer that came as it was hung up on.
            self._settle(run, "nack", kind="release", error="the worker shut down", delay_ms=0)
        elif handler is None:
            delay = min(60_000, 1000 << min(run.job.get("releases", 0), 6))
            why = f"no handler for the type {run.job['type']}"
            self._settle(run, "nack", kind="release", error=why, delay_ms=delay)
        else:
            with self._changed:
                self._running += 1
            try:
                threading.Thread(target=self._work, args=(run, handler), daemon=True).start()
            except RuntimeError as error:  # The system gives no more threads.
                with self._changed:
                    self._running -= 1
                self._settle(run, "nack", kind="release", error=str(error), delay_ms=1000)

    def _work(self, run: Context, handler: Handler) -> None:
        try:
            result = handler(run.payload, run)
            done = {} if result is None else {"result": json.loads(_dump(result))}
            self._settle(run, "ack", **done)
        except BaseException as error:
            asked = error if isinstance(error, Retry) else Retry()
            kind, delay, text = asked.kind, asked.delay_ms, _text(error)
            log.warning("job %s, %s: %s", run.job["id"], kind, text, exc_info=asked is not error)
            if kind == "retry" and run.why == "timeout":
                text = f"timed out after {run.job.get('timeout_ms')} ms: {text}"
            elif kind == "retry" and run.why in ("shutdown", "lease_lost"):
                kind, delay = "release", 0  # It was interrupted for no fault of its own.
            late = {} if delay is None else {"delay_ms": delay}
            self._settle(run, "nack", kind=kind, error=text, **late)
        finally:
            self.client.close()
            with self._changed:
                self._running -= 1
                self._changed.notify_all()

    def _settle(self, run: Context, path: str, **item: Any) -> None:
        """Records the first outcome of a run; what comes later is of nobody's interest."""
        with self._changed:
            if not run._settled:
                run._settled = True
                self._outcomes.append((path, {"token": run._token, **item}, run))
                self._changed.notify_all()

    def _record(self) -> None:
        """Sends outcomes, as many at once as have gathered while the last call was under way."""
        pause = 0.1
        while not self._ended.is_set():
            with self._changed:
                while not self._outcomes and not self._ended.is_set():
                    self._changed.wait(1)
                # A hundred results of the largest size still are a body that the server reads.
                batch, self._outcomes = self._outcomes[:100], self._outcomes[100:]
            again: List[Any] = []
            for path in ("ack", "nack"):
                again += self._send(path, [entry for entry in batch if entry[0] == path])
            with self._changed:
                for _, _, run in batch:
                    if all(run is not entry[2] for entry in again):
                        self._runs.pop(run._token, None)
                self._outcomes += again
                self._changed.notify_all()
            if again:
                self._ended.wait(pause * random.uniform(0.5, 1))
            pause = min(pause * 2, _PAUSE) if again else 0.1

    def _send(self, path: str, entries: List[Any]) -> List[Any]:
        """What is to be sent again: all that was not answered."""
        if not entries:
            return []
        try:
            body = {path + "s": [item for _, item, _ in entries]}
            answer = self.client.call("POST", f"/v1/{path}", body, deadline=0, timeout=10)
            for outcome, (_, item, run) in zip(answer["outcomes"], entries):
                if outcome["outcome"] in ("lease_lost", "not_found"):
                    log.warning("job %s: %s, its %s was not recorded", run.job["id"],
                                outcome["outcome"], path)
            return []
        except Exception as error:
            if getattr(error, "status", 0) not in (400, 413, 422):
                log.warning("%d outcomes are not recorded yet: %s", len(entries), error)
                return entries
            if len(entries) > 1:  # One of them is refused: tell it apart from the others.
                return [left for entry in entries for left in self._send(path, [entry])]
            _, item, run = entries[0]
            if path == "ack":
                text = f"the result could not be stored: {error}"[:8000]
                return [("nack", {"token": item["token"], "kind": "retry", "error": text}, run)]
            log.error("job %s: its outcome is refused: %s", run.job["id"], error)
            return []

    def _beat(self) -> None:
        """Keeps leases, and tells handlers to stop. No handler can keep this thread from it."""
        lease, due = self._lease, 0.0
        while not self._ended.wait(min(1.0, lease / 20)):
            with self._changed:
                runs = list(self._runs.values())
            now = time.monotonic()
            for run in runs:
                timeout = (run.job.get("timeout_ms") or float("inf")) / 1000
                if now > run._extended_at + 0.9 * lease:
                    run._cancel("lease_lost")  # Perhaps it is not, but nobody could tell us.
                if now > run._started_at + timeout:
                    run._cancel("timeout")
                if now > run._started_at + timeout + _GRACE:
                    error = f"timed out after {run.job['timeout_ms']} ms, and was given up"
                    self._settle(run, "nack", kind="retry", error=error)
            if now >= due:
                oldest = min((r._extended_at + 0.9 * lease - now for r in runs), default=lease)
                timeout = max(0.05, min(lease / 5, oldest)) if oldest > 0 else lease / 5
                if self._extend(runs, timeout):
                    due = now + lease / 3
                    self._show(timeout)

    def _extend(self, runs: List[Context], timeout: float) -> bool:
        now = time.monotonic()
        try:
            for some in (runs[i:i + 1000] for i in range(0, len(runs), 1000)):
                body = {"tokens": [run._token for run in some], "lease_ms": self.lease_ms}
                answer = self.client.call("POST", "/v1/extend", body, timeout=timeout, deadline=0)
                for outcome, run in zip(answer["outcomes"], some):
                    if outcome["outcome"] == "extended":
                        run._extended_at = now
                        if outcome.get("cancel_requested"):
                            run._cancel("cancel_requested")
                    elif outcome["outcome"] != "settling":  # That one is asked again next time.
                        run._cancel("lease_lost")
            return True
        except Exception as error:
            log.warning("leases are not extended yet: %s", error)
            return False

    def _show(self, timeout: float) -> None:
        """Presence: who looks at the workers sees this one. No job depends on it."""
        body = {"id": self._id, "name": self.name, "queues": list(self.queues),
                "types": sorted(self.handlers), "slots": self.concurrency,
                "running": self._running, "ttl_ms": self.lease_ms}
        try:
            self.client.call("POST", "/v1/beat", body, timeout=timeout, deadline=0)
        except Exception as error:
            log.info("this worker is not shown: %s", error)


def _job(job: Json, payload: Any) -> Json:
    if isinstance(payload, (bytes, bytearray)):
        job["payload_base64"] = base64.b64encode(payload).decode()
        job.pop("payload", None)
    elif payload is not None:
        job["payload"] = payload
    # Without a key, a repeated call would store the job twice.
    job.setdefault("idempotency_key", str(uuid.uuid4()))
    return job


def _dump(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _text(error: BaseException) -> str:
    """Never fails, and fits into JSON whatever the error says: else its job would be kept."""
    try:
        text = str(error) if isinstance(error, Retry) else f"{type(error).__name__}: {error}"
    except Exception:
        text = type(error).__name__
    return text[:8000].encode("utf-8", "replace").decode()


def _load(text: bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError:  # Python refuses to read integers of more than 4300 digits.
        return json.loads(text, parse_int=lambda n: int(n) if len(n) < 640 else Decimal(n))
