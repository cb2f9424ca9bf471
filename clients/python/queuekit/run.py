"""One run of a job: what its handler gets, what it can raise, and how it is recorded."""

from __future__ import annotations

import base64
import logging
import threading
import time
from typing import Any, Callable, Mapping, Optional, Sequence

from . import trace
from .client import Client, Json, dump

log = logging.getLogger("queuekit")


class Retry(Exception):
    """Raised by a handler: this attempt failed; `delay_ms` overrides the retry policy."""

    kind = "retry"

    def __init__(self, why: str = "", delay_ms: Optional[int] = None):
        super().__init__(why)
        self.delay_ms = delay_ms
        self.cause = ""


class Release(Retry):
    """Raised by a handler to run again after `delay_ms`; no attempt is spent."""

    kind = "release"

    def __init__(self, why: str = "", delay_ms: Optional[int] = None, cause: str = "snooze"):
        super().__init__(why, delay_ms)
        self.cause = cause


class Fatal(Retry):
    """Raised by a handler if no retry can help: the job is dead-lettered at once."""

    kind = "fatal"


class Context:
    """The run of a job, as its handler sees it. `job` has the fields of the leased job."""

    def __init__(self, client: Client, lease: Json):
        self.job: Json = lease["job"]
        self.cancelled = threading.Event()
        """Set when the run should stop. Then raise: returning means that the work is done."""
        self.why = ""
        """Why it was cancelled: `cancel_requested`, `lease_lost`, `timeout` or `shutdown`."""
        self._client, self.token = client, str(lease["token"])
        self.started_at, self.extended_at = time.time(), time.monotonic()
        self.ends_at = self.extended_at + (self.job.get("timeout_ms") or float("inf")) / 1000
        self.settled = False

    @property
    def payload(self) -> Any:
        """The payload: a value, or bytes if it is not JSON."""
        encoded = self.job.get("payload_base64")
        return self.job.get("payload") if encoded is None else base64.b64decode(encoded)

    def report(self, fraction: float, message: str = "", lines: Sequence[str] = ()) -> None:
        """Reports progress, for people who look at the job."""
        report = {"token": self.token, "progress": {"fraction": fraction, "message": message}}
        self._client.call("POST", "/v1/report", {"reports": [{**report, "lines": list(lines)}]})

    def cancel(self, why: str) -> None:
        if not self.cancelled.is_set():
            self.why = why
            self.cancelled.set()


Handler = Callable[[Any, Context], Any]


def run_once(run: Context, handlers: Mapping[str, Handler]) -> Json:
    """Runs the handler in a span. Returns what to record: only nacks have a `kind`."""
    with trace.run(run.job) as span:
        item = _handle(run, handlers)
        trace.end(span, item)
        return item


def _handle(run: Context, handlers: Mapping[str, Handler]) -> Json:
    kind = run.job["kind"]
    try:
        if kind not in handlers:
            later = min(60_000, 1000 << min(run.job.get("releases", 0), 6))
            raise Release(f"no handler for the kind {kind}", later, "unknown_kind")
        result = handlers[kind](run.payload, run)
        dump(result)
        return {} if result is None else {"result": result}
    except BaseException as error:
        asked = error if isinstance(error, Retry) else Retry()
        ended, delay, text, cause = asked.kind, asked.delay_ms, _text(error), asked.cause
        log.warning("job %s, %s: %s", run.job["id"], ended, text, exc_info=asked is not error)
        if ended == "retry" and run.why == "timeout":
            text = f"timed out after {run.job.get('timeout_ms')} ms: {text}"
        elif ended == "retry" and run.why in ("shutdown", "lease_lost"):
            ended, delay = "release", 0  # It was interrupted, not at fault.
            cause = "shutdown" if run.why == "shutdown" else ""
        more = {"delay_ms": delay, "cause": cause or None}
        told = {name: value for name, value in more.items() if value is not None}
        return {"kind": ended, "error": text, **told}


def _text(error: BaseException) -> str:
    """The error as text. Never fails and always fits into JSON: else no nack could be sent."""
    try:
        text = str(error) if isinstance(error, Retry) else f"{type(error).__name__}: {error}"
    except Exception:
        text = type(error).__name__
    return text[:8000].encode("utf-8", "replace").decode()
