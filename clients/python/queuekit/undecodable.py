"""The kinds whose payloads a worker could not read lately, which its beats name."""

from __future__ import annotations

import time

from .encoding import utc
from .types import UndecodableKind

KINDS = 10  # A beat names at most this many, those of the latest such payloads.
CHARS = 255  # Of an error; the server keeps this many bytes.
FORGOTTEN = 2 * 3600.0  # A released job is offered again within an hour.


class UndecodableKinds:
    def __init__(self) -> None:
        self._kinds: dict[str, UndecodableKind] = {}  # By kind, the latest last.

    def add(self, kind: str, error: str) -> None:
        """A job of this kind is released for a worker that can read it."""
        now = utc(time.time())
        said = self._kinds.pop(kind, None)
        times, first = (said["times"], said["first"]) if said else (0, now)
        while len(self._kinds) >= KINDS:
            del self._kinds[next(iter(self._kinds))]
        self._kinds[kind] = {"kind": kind, "times": times + 1, "first": first, "last": now,
                             "error": error[:CHARS]}

    def lately(self) -> list[UndecodableKind]:
        oldest = utc(time.time() - FORGOTTEN)
        self._kinds = {kind: said for kind, said in self._kinds.items() if said["last"] > oldest}
        return list(self._kinds.values())
