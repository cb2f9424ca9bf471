// Client and worker, over a real server: QUEUEKIT_SERVER=http://..

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { Client, errors, Fatal, Worker } from "./index.js";

async function all(items) {
  const list = [];
  for await (const item of items) list.push(item);
  return list;
}

const cancelled = (ctx) => once(ctx.signal, "abort");

const SERVER = process.env.QUEUEKIT_SERVER;
if (!SERVER) console.error("NOT RUN: the tests against a server. Set QUEUEKIT_SERVER to its URL.");

describe("server", { skip: SERVER ? false : "QUEUEKIT_SERVER is not set" }, () => {
  const queue = `node-${randomUUID()}`;
  const server = new Client();

  async function work(handlers, until) {
    const options = { leaseMs: 3000, waitMs: 1000, log: () => {} };
    const one = new Worker(server, [queue], handlers, options);
    const done = one.run({ drainMs: 5000, signals: false });
    const limit = performance.now() + 20_000;
    let came = false;
    while (!(came = await until()) && performance.now() < limit) await sleep(50);
    one.stop();
    await done;
    assert.ok(came, "it did not come to that in 20 s");
    const { workers } = await server.call("GET", "/v1/workers");
    assert.ok(!workers.some(({ id }) => id === one.id), "it has ended");
  }
  const status = async (id) => (await server.getJob(id)).status;

  test("a job is enqueued, worked and read, its numbers unharmed", async () => {
    const { id } = await server.enqueue("next", { n: 2n ** 80n }, { queue });
    await work({ next: ({ n }) => n + 1n }, async () => (await status(id)) === "completed");
    assert.equal((await server.getJob(id)).result, 2n ** 80n + 1n);
  });

  test("waiting ends with the job or the time", async () => {
    const { id } = await server.enqueue("next", { n: 2 }, { queue });
    assert.equal(await server.wait(id, 50), undefined);
    const waiting = server.wait(id, 20_000);
    await work({ next: ({ n }) => n + 1 }, async () => (await status(id)) === "completed");
    const ended = await waiting;
    assert.deepEqual([ended.status, ended.result], ["completed", 3]);
    await assert.rejects(server.wait(randomUUID(), 20_000), { status: 404 });
  });

  test("bytes and a fatal error", async () => {
    const { id } = await server.enqueue("raw", new Uint8Array([255, 0]), { queue });
    const raw = async (payload, ctx) => {
      await ctx.report(0.5, "half", ["a line"]);
      throw new Fatal(payload.toString("hex"));
    };
    await work({ raw }, async () => (await status(id)) === "dead");
    const job = await server.getJob(id);
    assert.deepEqual([job.reason, job.progress.fraction], ["ff00", 0.5]);
  });

  test("a cancelled run ends cancelled", async () => {
    const { id } = await server.enqueue("long", null, { queue });
    const long = async (_, ctx) => {
      const stopped = cancelled(ctx);
      await server.cancel(ctx.job.id);
      await stopped;
      ctx.signal.throwIfAborted();
    };
    await work({ long }, async () => (await status(id)) === "cancelled");
  });

  test("a repeated enqueue is a duplicate", async () => {
    const job = { queue, idempotency_key: "once" };
    const [a, b] = [await server.enqueue("t", 1, job), await server.enqueue("t", 1, job)];
    assert.deepEqual([a.outcome, b.outcome, a.id], ["created", "duplicate", b.id]);
    const outcomes = await server.enqueueMany([{ kind: "t", payload: 1, ...job },
      { kind: "t", queue }]);
    assert.deepEqual(outcomes.map(({ outcome }) => outcome), ["duplicate", "created"]);
  });

  test("a repeated event is a duplicate", async () => {
    const emit = () => server.emit("node.tried", new Uint8Array([255]), { idempotency_key: queue });
    assert.deepEqual([(await emit()).outcome, (await emit()).outcome], ["emitted", "duplicate"]);
  });

  test("what is refused says why", async () => {
    await assert.rejects(server.enqueue("t", 1, { nonsense: 1 }), errors.Invalid);
    await assert.rejects(server.getJob(randomUUID()), errors.NotFound);
    await assert.rejects(server.enqueue("t", "x".repeat(17 << 20)), errors.TooLarge);
  });

  test("jobs are listed page by page, cancelled and retried", async () => {
    const own = `${queue}-list`;
    const outcomes = await server.enqueueMany([1, 2, 3, 4, 5].map((n) =>
      ({ kind: "t", queue: own, payload: { n }, metadata: { tenant: n > 2 ? "b" : "a" } })));
    const ids = outcomes.map(({ id }) => id).sort();
    const pending = { queue: own, status: "pending", limit: 2 };
    const listed = await all(server.listJobs(pending));
    assert.deepEqual(listed.map(({ id }) => id).sort(), ids);
    assert.equal((await server.listJobsPage(pending)).jobs.length, 2);
    assert.equal(await server.cancel(ids[0]), "cancelled");
    assert.equal(await server.cancel(ids[0]), "already_done");
    const cancelledJobs = await all(server.listJobs({ queue: own, status: ["cancelled", "dead"] }));
    assert.deepEqual(cancelledJobs.map(({ id }) => id), [ids[0]]);
    const soon = new Date(Date.now() + 3_600_000);
    const filter = { queue: own, payload: "n:2", metadata: "tenant:a", created_to: soon };
    const second = await all(server.listJobs(filter));
    assert.deepEqual(second.map(({ payload }) => payload), [{ n: 2 }]);
    await server.retry(ids[0]);
    assert.equal(await status(ids[0]), "ready");
    await assert.rejects(server.retry(ids[0]), errors.Conflict);
  });

  test("leases are reserved, extended, reported, acked and nacked", async () => {
    const own = `${queue}-lease`;
    for (const n of [1, 2]) await server.enqueue("t", n, { queue: own });
    const ask = { queues: { [own]: 3 }, worker: "w", limit: 2, lease_ms: 5000 };
    const { leases } = await server.reserve(ask);
    const [a, b] = leases.map(({ token }) => token);
    const extended = await server.extend([a, b], 5000);
    assert.deepEqual(extended.map(({ outcome }) => outcome), ["extended", "extended"]);
    assert.equal((await server.report([{ token: a, lines: ["a line"] }]))[0].outcome, "reported");
    const result = new Uint8Array([255]);
    assert.equal((await server.ack([{ token: a, result }]))[0].outcome, "acked");
    const [dead] = await server.nack([{ token: b, kind: "fatal", error: "no address 7" }]);
    assert.equal(dead.outcome, "dead");
    assert.equal((await server.getJob(leases[0].job.id)).result_base64, "/w==");
    assert.equal((await server.getQueue(own)).totals.dead, 1);
    const [group] = await server.listErrors({ queue: own });
    assert.deepEqual([group.kind, group.deaths], ["t", 1]);
    const queues = await all(server.listQueues({ limit: 2 }));
    assert.ok(queues.some(({ name }) => name === own));
  });
});
