"""Values as JSON and back, of any depth and with integers of any size."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from datetime import datetime, timezone
from decimal import Decimal
from typing import Any


def dump(value: object) -> bytes:
    """Encodes a value as JSON; raises `ValueError` or `TypeError` if it cannot be."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def with_bytes(field: str, item: Mapping[str, Any]) -> dict[str, Any]:
    """The item, with the bytes of this field as base64, and without it if it is `None`."""
    rest = dict(item)
    value = rest.pop(field, None)
    if isinstance(value, (bytes, bytearray, memoryview)):
        rest[field + "_base64"] = base64.b64encode(value).decode()
    elif value is not None:
        rest[field] = value
    return rest


def utc(at: str | float | datetime) -> str:
    """A time as the API has it. A `datetime` must say its zone."""
    if isinstance(at, str):
        return at
    if isinstance(at, datetime):
        if at.tzinfo is None:
            raise ValueError(f"{at!r} has no time zone: add tzinfo=timezone.utc, or its zone")
        at = at.timestamp()
    text = datetime.fromtimestamp(at, timezone.utc).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


def load(text: bytes) -> Any:
    """Raises `ValueError` if the text is not JSON."""
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
    opened: list[list[Any]] = [[]]  # An object, too, is a list until it ends: key, value, ..
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
