"""The errors of calls: a class for each code of docs/http.md."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, cast

from .types import Problem


class Error(Exception):
    """A call failed. `code` is the last part of the problem's `type`; `status` that of HTTP."""

    CODE: ClassVar[str] = ""

    def __init__(self, status: int, problem: Problem, retry_after: float | None = None) -> None:
        self.status, self.problem, self.retry_after = status, problem, retry_after
        self.code = code_of(problem)
        self.title = str(problem.get("title", ""))
        self.detail = str(problem.get("detail", ""))
        super().__init__(f"{status} {self.code}: {self.detail or self.title}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.status, self.problem, self.retry_after)


class Unreachable(Error):
    """No answer arrived (`status` 0). If `is_sent`, the server may have received the call."""

    CODE = "unreachable"
    is_sent = True


class NoJson(Error):
    """The answer is not JSON: perhaps a proxy sent it."""

    CODE = "no_json"


class BadRequest(Error):
    """The server could not read the request."""

    CODE = "bad_request"


class Unauthorized(Error):
    """No API key was sent, or a wrong or expired one."""

    CODE = "unauthorized"


class Forbidden(Error):
    """The API key does not allow this."""

    CODE = "forbidden"


class NotFound(Error):
    """There is no such job, queue or other object."""

    CODE = "not_found"


class MethodNotAllowed(Error):
    """The route does not have this method."""

    CODE = "method_not_allowed"


class Conflict(Error):
    """The job's state does not allow this, or another job has the id."""

    CODE = "conflict"


class TooManyQueues(Error):
    """The store has all the queues that it may have."""

    CODE = "too_many_queues"


class TooManyWorkers(Error):
    """The store lists all the workers that it may list."""

    CODE = "too_many_workers"


class QuotaExceeded(Error):
    """The API key has created as much as it may."""

    CODE = "quota_exceeded"


class TooLarge(Error):
    """The body or the batch is too large."""

    CODE = "too_large"


class UnsupportedMediaType(Error):
    """The server does not read bodies of this type."""

    CODE = "unsupported_media_type"


class Invalid(Error):
    """A field breaks a limit: see `field`, `limit` and `item` of the `problem`."""

    CODE = "invalid"


class QueueFull(Error):
    """The queue has `max_pending` pending jobs."""

    CODE = "queue_full"


class RateLimited(Error):
    """The API key has reached its rate, or its share of the server."""

    CODE = "rate_limited"


class Corrupt(Error):
    """A stored record cannot be read."""

    CODE = "corrupt"


class Internal(Error):
    """A bug of the server."""

    CODE = "internal"


class Unsupported(Error):
    """The store does not support this."""

    CODE = "unsupported"


class Unavailable(Error):
    """The server cannot reach its store. Nothing was changed."""

    CODE = "unavailable"


class StorageFull(Error):
    """The store has no room left. Nothing was changed."""

    CODE = "storage_full"


class Overloaded(Error):
    """The server has all the requests that it accepts at once. Nothing was changed."""

    CODE = "overloaded"


class Closed(Error):
    """The server is shutting down. Nothing was changed."""

    CODE = "closed"


class Indeterminate(Error):
    """The store did not answer: the call may have taken effect."""

    CODE = "indeterminate"


BY_CODE: Mapping[str, type[Error]] = {kind.CODE: kind for kind in Error.__subclasses__()}


def error_of(status: int, problem: object, retry_after: float | None = None) -> Error:
    """The error of the class that the problem's code names."""
    told = cast(Problem, problem if isinstance(problem, dict) else {})
    return BY_CODE.get(code_of(told), Error)(status, told, retry_after)


def code_of(problem: Problem) -> str:
    return str(problem.get("type", "")).rpartition(":")[2]
