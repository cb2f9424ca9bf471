"""Clients and workers of the queuekit job queue, over its HTTP API, for threads and asyncio."""

from . import errors, types
from .async_client import AsyncClient
from .client import Client
from .errors import Error
from .run import AsyncContext, Context, Fatal, Release, Retry, Undecodable
from .version import VERSION as __version__
from .worker import AsyncWorker, Worker

__all__ = ["AsyncClient", "AsyncContext", "AsyncWorker", "Client", "Context", "Error", "Fatal",
           "Release", "Retry", "Undecodable", "Worker", "__version__", "errors", "types"]
