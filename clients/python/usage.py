"""Calls with their types, for type checkers: `mypy` and `pyright` in this folder."""

import asyncio
from collections.abc import Iterator
from datetime import datetime, timezone
from typing import Any, assert_type

from queuekit import (AsyncClient, AsyncContext, AsyncWorker, Client, Context, Fatal, Worker,
                      errors, types)


def enqueue(client: Client) -> None:
    job = client.enqueue("email", {"to": "ada"}, queue="q", priority="high", metadata={"a": "b"},
                         run_at=datetime.now(timezone.utc))
    assert_type(job["id"], str)
    client.enqueue("email", nonsense=1)  # type: ignore[call-arg] # pyright: ignore
    client.enqueue("email", priority="urgent")  # type: ignore[arg-type] # pyright: ignore
    outcomes = client.enqueue_many([{"kind": "t"}, {"kind": "u", "delay_ms": 5}])
    assert_type(outcomes[0].get("id"), str | None)


def read(client: Client) -> None:
    if job := client.wait("id", timeout=1.5):
        assert_type(job["status"], types.Status)
        assert_type(job.get("reason"), str | None)
        job["nonsense"]  # type: ignore[typeddict-item] # pyright: ignore
    assert_type(client.list_jobs(status=["dead", "pending"], recent=True), Iterator[types.Job])
    client.list_jobs(status="done")  # type: ignore[arg-type] # pyright: ignore
    assert_type(client.cancel("id"), types.CancelOutcome)
    try:
        client.retry("id", fresh=True)
    except errors.Conflict as error:
        assert_type(error.retry_after, float | None)
    assert_type(client.get_queue("q")["counts"]["ready"]["value"], int)


def lease(client: Client) -> None:
    for lease in client.reserve({"a": 3, "b": 1}, "w", limit=2)["leases"]:
        assert_type(lease["job"]["lease_seq"], int)
        assert_type(client.ack([{"token": lease["token"]}]), list[types.Outcome])


def handler(payload: Any, ctx: Context) -> object:
    assert_type(ctx.checkpoint("step", lambda: 1), int)
    raise Fatal(str(ctx.job["attempts"]))


async def coroutine(payload: Any, ctx: AsyncContext) -> int:
    await ctx.report(0.5)

    async def step() -> str:
        return "done"

    assert_type(await ctx.checkpoint("step", step), str)
    return 1


async def work() -> None:
    async with AsyncClient() as client:
        assert_type(await client.get_job("id"), types.Job)
        async for job in client.list_jobs(queue="q"):
            assert_type(job, types.Job)
        await AsyncWorker(client, ["q"], {"t": coroutine}).run()
        AsyncWorker(client, ["q"], {"t": handler})  # type: ignore[dict-item] # pyright: ignore


if __name__ == "__main__":
    Worker(Client(), ["q"], {"t": handler}).run()
    asyncio.run(work())
