"""A client and a worker of the queuekit job queue, over its HTTP API."""

from .client import Client, Error
from .run import Context, Fatal, Release, Retry
from .worker import Worker

__all__ = ["Client", "Context", "Error", "Fatal", "Release", "Retry", "Worker"]
