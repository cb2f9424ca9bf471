"""The steps of one run: what this run and earlier ones have done."""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .encoding import dump, load
from .types import Checkpoints, LeasedJob, NewCheckpoint, Outcome

_REFUSED = {
    "conflict": "has another result",
    "full": "does not fit: a job has at most 64 steps, and 1 MiB of results",
}


class Steps:
    """The results by name; the threads of a handler may use them at once."""

    def __init__(self, job: LeasedJob) -> None:
        self._lock = threading.Lock()
        self._running: set[str] = set()
        self.results: dict[str, Any] = {}
        self.is_read = job.get("lease_seq", 1) <= 1  # The first run of a job finds none.

    def read(self, answer: Checkpoints) -> None:
        """Takes what earlier runs have stored."""
        if answer["outcome"] != "held":
            raise RuntimeError("the steps cannot be read: another worker has the job")
        for stored in answer["checkpoints"]:
            encoded = stored.get("result_base64")
            result = stored.get("result") if encoded is None else base64.b64decode(encoded)
            self.results.setdefault(stored["name"], result)
        self.is_read = True

    @contextmanager
    def one_at_a_time(self, name: str) -> Iterator[None]:
        """Raises if the step runs already and has no result yet."""
        if name in self.results:
            yield
            return
        with self._lock:
            if name in self._running:
                raise RuntimeError(f"the step {name!r} is running already in this run")
            self._running.add(name)
        try:
            yield
        finally:
            self._running.discard(name)

    def keep(self, new: NewCheckpoint, outcome: Outcome) -> None:
        """Keeps the result of a step as later runs will read it."""
        word, name, result = outcome["outcome"], new["name"], new.get("result")
        if word == "stored":
            if isinstance(result, (bytes, bytearray, memoryview)):
                self.results[name] = bytes(result)
            else:
                self.results[name] = load(dump(result))
        else:
            why = _REFUSED.get(word, "was not stored: another worker has the job")
            raise RuntimeError(f"the step {name!r} {why}")
