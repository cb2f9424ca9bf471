"""One HTTP/1.1 connection of asyncio. The standard library has none, and parses its headers."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import io
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import SplitResult


_BAD = (EOFError, ValueError, asyncio.LimitOverrunError, http.client.HTTPException)


@dataclass(frozen=True)
class Answer:
    status: int
    reason: str
    headers: Mapping[str, str]
    text: bytes


class Connection:
    """Sends one request at a time. A failed or interrupted `exchange` must be followed by
    `close`: the rest of its answer must not be read as the next."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter,
                 host: str) -> None:
        self._reader, self._writer, self._host = reader, writer, host
        self._is_kept = True

    @classmethod
    async def open(cls, server: SplitResult) -> Connection:
        is_https = server.scheme == "https"
        port = server.port or (443 if is_https else 80)
        reader, writer = await asyncio.open_connection(server.hostname, port,
                                                       ssl=is_https or None)
        return cls(reader, writer, server.netloc.rpartition("@")[2])

    @property
    def is_open(self) -> bool:
        """Whether another request can be sent."""
        return self._is_kept and not self._reader.at_eof() and not self._writer.is_closing()

    def close(self) -> None:
        self._is_kept = False
        with contextlib.suppress(RuntimeError):  # Its event loop has ended.
            self._writer.close()

    async def exchange(self, method: str, path: str, headers: Mapping[str, str],
                       body: bytes | None) -> Answer:
        told = {"Host": self._host, "Accept-Encoding": "identity", **headers}
        if body is not None or method in ("POST", "PUT", "PATCH"):
            told["Content-Length"] = str(len(body or b""))
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {text}" for name, text in told.items())]
        self._writer.write("\r\n".join([*lines, "\r\n"]).encode("latin-1") + (body or b""))
        await self._writer.drain()
        try:
            return await self._answer()
        except _BAD as error:
            why = error if str(error) and not isinstance(error, EOFError) else "no answer"
            raise ConnectionError(f"the server sent no whole answer: {why}") from error

    async def _answer(self) -> Answer:
        version, status, reason, fields = await self._head()
        while status < 200:  # The answer follows.
            version, status, reason, fields = await self._head()
        headers = http.client.parse_headers(io.BytesIO(fields))
        closes = headers.get("Connection", "").lower() == "close" or version == "HTTP/1.0"
        text = await self._body(status, headers)
        self._is_kept = self._is_kept and not closes
        return Answer(status, reason, {name.lower(): told for name, told in headers.items()}, text)

    async def _head(self) -> tuple[str, int, str, bytes]:
        head = await self._reader.readuntil(b"\r\n\r\n")
        first, _, fields = head.partition(b"\r\n")
        version, _, line = first.decode("latin-1").partition(" ")
        code, _, reason = line.partition(" ")
        if not version.startswith("HTTP/1.") or not code.isdigit():
            raise ValueError("its first line is not that of HTTP/1.1")
        return version, int(code), reason, fields

    async def _body(self, status: int, headers: http.client.HTTPMessage) -> bytes:
        if status in (204, 304):
            return b""
        if headers.get("Transfer-Encoding", "").lower() == "chunked":
            return await self._chunks()
        length = headers.get("Content-Length")
        if length is not None:
            return await self._reader.readexactly(int(length))
        self._is_kept = False
        return await self._reader.read()

    async def _chunks(self) -> bytes:
        chunks: list[bytes] = []
        while True:
            line = await self._reader.readuntil(b"\r\n")
            size = int(line.partition(b";")[0], 16)
            if size == 0:
                break
            chunks.append(await self._reader.readexactly(size))
            await self._reader.readexactly(2)
        while await self._reader.readuntil(b"\r\n") != b"\r\n":
            pass  # A trailer.
        return b"".join(chunks)
