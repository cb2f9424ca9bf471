"""One run of a job: what its handler is given, what it can raise, and what is told of it."""

from __future__ import annotations

import base64
import logging
import threading
import time
from typing import Any, Callable, Mapping, Optional, Sequence

from .client import Client, Json, dump

log = logging.getLogger("queuekit")


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


class Context:
    """The run of a job, for its handler. What it needs of the job is in `job`."""

    def __init__(self, client: Client, lease: Json):
        self.job: Json = lease["job"]
        self.cancelled = threading.Event()
        """Stop, and raise something: to return is to say that the work is done."""
        self.why = ""
        """Why it was cancelled: `cancel_requested`, `lease_lost`, `timeout` or `shutdown`."""
        self._client, self.token = client, str(lease["token"])
        self.extended_at = time.monotonic()
        self.ends_at = self.extended_at + (self.job.get("timeout_ms") or float("inf")) / 1000
        self.settled = False

    @property
    def payload(self) -> Any:
        """Its payload: a value, or bytes if they are no JSON."""
        encoded = self.job.get("payload_base64")
        return self.job.get("payload") if encoded is None else base64.b64decode(encoded)

    def report(self, fraction: float, message: str = "", lines: Sequence[str] = ()) -> None:
        """Shows how far it is. Whoever looks sees it; nothing else depends on it."""
        report = {"token": self.token, "progress": {"fraction": fraction, "message": message}}
        self._client.call("POST", "/v1/report", {"reports": [{**report, "lines": list(lines)}]})

    def cancel(self, why: str) -> None:
        if not self.cancelled.is_set():
            self.why = why
            self.cancelled.set()


Handler = Callable[[Any, Context], Any]


def outcome(run: Context, handlers: Mapping[str, Handler]) -> Json:
    """Runs the handler; what is to be told of it. Only nacks have a `kind`."""
    type = run.job["type"]
    try:
        if type not in handlers:
            later = min(60_000, 1000 << min(run.job.get("releases", 0), 6))
            raise Release(f"no handler for the type {type}", later)
        result = handlers[type](run.payload, run)
        dump(result)
        return {} if result is None else {"result": result}
    except BaseException as error:
        asked = error if isinstance(error, Retry) else Retry()
        kind, delay, text = asked.kind, asked.delay_ms, _text(error)
        log.warning("job %s, %s: %s", run.job["id"], kind, text, exc_info=asked is not error)
        if kind == "retry" and run.why == "timeout":
            text = f"timed out after {run.job.get('timeout_ms')} ms: {text}"
        elif kind == "retry" and run.why in ("shutdown", "lease_lost"):
            kind, delay = "release", 0  # It was interrupted for no fault of its own.
        return {"kind": kind, "error": text, **({} if delay is None else {"delay_ms": delay})}


def _text(error: BaseException) -> str:
    """Never fails, and fits into JSON whatever the error says: else its job would be kept."""
    try:
        text = str(error) if isinstance(error, Retry) else f"{type(error).__name__}: {error}"
    except Exception:
        text = type(error).__name__
    return text[:8000].encode("utf-8", "replace").decode()
