// `node --test` in this folder. The last tests need a server: QUEUEKIT_SERVER=http://..

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { afterEach, beforeEach, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { FakeServer } from "./fake_server.js";
import { Client, Fatal, QueuekitError, Release, Retry, Worker } from "./index.js";
import { dump, load } from "./json.js";

const PROBLEM = { type: "urn:queuekit:problem:overloaded", detail: "later" };
const BUSY = [503, { "retry-after": "0" }, PROBLEM];

let fake, client, worker, ended;
beforeEach(async () => {
  fake = await new FakeServer().open();
  client = new Client({ url: fake.url, apiKey: "qk_secret", deadlineMs: 5000 });
  worker = undefined;
});
afterEach(async () => {
  if (worker) await finish();
  fake.close();
});

function start(handlers, { drainMs = 5000, ...options } = {}) {
  const defaults = { concurrency: 4, leaseMs: 1000, waitMs: 500, name: "w", log: () => {} };
  worker = new Worker(client, ["q"], handlers, { ...defaults, ...options });
  ended = worker.run({ drainMs, signals: false });
}

async function finish() {
  worker.stop();
  await ended;
  worker = undefined;
}

const acks = () => fake.items("/v1/ack", "acks");
const nacks = () => fake.items("/v1/nack", "nacks");
const cancelled = (ctx) => once(ctx.signal, "abort");

describe("client", () => {
  test("a busy server is asked again under the same idempotency key", async () => {
    fake.script["/v1/jobs"] = [BUSY, [201, {}, { id: "7", outcome: "created" }]];
    assert.equal((await client.enqueue("t", 1, { queue: "q" })).id, "7");
    const [first, second] = fake.bodies("/v1/jobs");
    assert.deepEqual(first, second);
    assert.equal(first.idempotency_key.length, 36);
  });

  test("calls have keys of their own and send the API key", async () => {
    await client.enqueue("t");
    await client.enqueue("t", null, { idempotency_key: "mine" });
    const [a, b] = fake.bodies("/v1/jobs").map((body) => body.idempotency_key);
    assert.notEqual(a, b);
    assert.equal(b, "mine");
    assert.equal(fake.calls[0].headers.authorization, "Bearer qk_secret");
  });

  test("a lost answer is asked for again under the same key", async () => {
    fake.script["/v1/jobs"] = ["lost", "reset"];
    assert.equal((await client.enqueue("t")).outcome, "created");
    const keys = new Set(fake.bodies("/v1/jobs").map((body) => body.idempotency_key));
    assert.deepEqual([fake.calls.length, keys.size], [3, 1]);
  });

  test("Retry-After is waited for", async () => {
    fake.script["/v1/jobs"] = [[429, { "retry-after": "1" }, PROBLEM]];
    await client.enqueue("t");
    const [first, second] = fake.calls;
    assert.ok(second.at - first.at >= 995);
  });

  test("a wait beyond the deadline is an error at once", async () => {
    fake.script["/v1/jobs"] = [[429, { "retry-after": "60" }, PROBLEM]];
    await assert.rejects(client.enqueue("t"), { status: 429, retryAfterMs: 60_000 });
  });

  test("what is refused is not repeated and says why", async () => {
    const type = "urn:queuekit:problem:invalid";
    const problem = { type, title: "Invalid", detail: "`type` is empty", field: "type" };
    fake.script["/v1/jobs"] = [[422, {}, problem]];
    const error = await client.enqueue("").catch((e) => e);
    assert.ok(error instanceof QueuekitError);
    assert.deepEqual([error.status, error.type, error.title], [422, "invalid", "Invalid"]);
    assert.equal(error.problem.field, "type");
    assert.equal(error.message, "422 invalid: `type` is empty");
    assert.equal(fake.calls.length, 1);
  });

  test("nobody there is an error that names the address", async () => {
    const nobody = new Client({ url: fake.url, deadlineMs: 300 });
    fake.close();
    const error = await nobody.getJob("x").catch((e) => e);
    assert.deepEqual([error.status, error.type], [0, "unreachable"]);
    assert.ok(error.message.includes(`${fake.url}/v1/jobs/x`), error.message);
  });

  test("every job of a batch has a key", async () => {
    const raw = new Uint8Array([255]);
    await client.enqueueMany([{ type: "a", payload: raw }, { type: "b", idempotency_key: "k" }]);
    const [a, b] = fake.bodies("/v1/jobs")[0].jobs;
    assert.deepEqual([a.payload_base64, b.idempotency_key], ["/w==", "k"]);
    assert.ok(!("payload" in a) && a.idempotency_key);
  });

  test("a batch that no queue takes is answered per job", async () => {
    const outcomes = [{ outcome: "queue_full", retry_after_ms: 60_000 }];
    fake.script["/v1/jobs"] = [[429, { "retry-after": "60" }, { outcomes }]];
    assert.deepEqual(await client.enqueueMany([{ type: "a" }]), outcomes);
  });

  test("an event is emitted under one key", async () => {
    fake.script["/v1/events"] = [BUSY, [201, {}, { id: "7", outcome: "emitted" }]];
    assert.equal((await client.emit("order.paid", { n: 1 })).outcome, "emitted");
    const [first, second] = fake.bodies("/v1/events");
    assert.deepEqual([first, first.data], [second, { n: 1 }]);
    assert.ok(first.idempotency_key);
  });

  test("large integers pass unchanged, and nothing else is touched", async () => {
    const text = '{"n":12345678901234567890,"s":"12345678901234567890 \\" 9","f":[0.1234567890123'
      + '456789,9007199254740991,-9007199254740993,12345678901234567890e2]}';
    const value = load(text);
    assert.deepEqual([value.n, value.f[1], value.f[2]],
      [12345678901234567890n, Number.MAX_SAFE_INTEGER, -9007199254740993n]);
    assert.equal(value.s, '12345678901234567890 " 9');
    assert.deepEqual([typeof value.f[0], typeof value.f[3]], ["number", "number"]);
    assert.equal(dump({ n: value.n, s: "1", list: [2n] }),
      '{"n":12345678901234567890,"s":"1","list":[2]}');
    assert.throws(() => load("[12345678901234567890"), SyntaxError);
    await client.enqueue("t", value.n);
    assert.match(fake.calls[0].text, /"payload":12345678901234567890}/);
  });
});

describe("worker", () => {
  test("a returned value is the result, and no more is reserved than there are slots", async () => {
    for (let i = 0; i < 20; i += 1) fake.lease(`${i}`, { payload: `${i}` });
    start({ t: async (payload) => ({ double: payload * 2 }) });
    await fake.waitFor(() => acks().length === 20);
    const third = acks().find(({ token }) => token === "3");
    assert.deepEqual(third, { token: "3", result: { double: 6 } });
    assert.ok(fake.bodies("/v1/reserve").every(({ limit }) => limit <= 4));
  });

  test("a payload is a value with its large integers, or bytes", async () => {
    fake.lease("0", { payload: '{"n": 12345678901234567890}' });
    fake.lease("1", { payload_base64: "/w==" });
    const seen = {};
    start({ t: (payload, ctx) => { seen[ctx.token] = payload; return payload.n; } });
    await fake.waitFor(() => acks().length === 2);
    assert.deepEqual(seen[0], { n: 12345678901234567890n });
    assert.match(fake.calls.map(({ text }) => text).join(), /"result":12345678901234567890}/);
  });

  test("errors decide what becomes of the job", async () => {
    const errors = {
      plain: new TypeError("no\ud800"),
      later: new Retry("busy", { delayMs: 5 }),
      "not now": new Release("nap", { delayMs: 7 }),
      never: new Fatal("bad"),
      odd: Object.create(null),
    };
    for (const name of Object.keys(errors)) fake.lease(name, { payload: `"${name}"` });
    start({ t: (payload) => { throw errors[payload]; } });
    await fake.waitFor(() => nacks().length === 5);
    const of = (token) => nacks().find((nack) => nack.token === token);
    const expected = [
      { token: "plain", kind: "retry", error: "TypeError: no\ufffd" },
      { token: "later", kind: "retry", error: "busy", delay_ms: 5 },
      { token: "not now", kind: "release", error: "nap", delay_ms: 7 },
      { token: "never", kind: "fatal", error: "bad" },
      { token: "odd", kind: "retry", error: "it threw something that has no text" },
    ];
    assert.deepEqual(expected.map(({ token }) => of(token)), expected);
  });

  test("a result that is no JSON fails the attempt", async () => {
    fake.lease("1");
    const circle = {};
    circle.self = circle;
    start({ t: () => circle });
    await fake.waitFor(() => nacks().length);
    assert.match(nacks()[0].error, /circular/);
  });

  test("a type without handler is released for longer each time", async () => {
    [0, 3, 50].forEach((releases, i) => fake.lease(`${i}`, { type: "toString", releases }));
    start({ t: () => {} });
    await fake.waitFor(() => nacks().length === 3);
    assert.ok(nacks().every(({ kind }) => kind === "release"));
    assert.deepEqual(nacks().map(({ delay_ms }) => delay_ms), [1000, 8000, 60_000]);
  });

  test("a lease is extended while its handler runs", async () => {
    fake.lease("1");
    start({ t: () => fake.waitFor(() => fake.bodies("/v1/extend").length >= 3) });
    await fake.waitFor(() => acks().length);
    const [{ types, slots, queues }] = fake.bodies("/v1/beat");
    assert.deepEqual([types, slots, queues], [["t"], 4, ["q"]]);
  });

  test("a worker of many types says that there are more", async () => {
    start(Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`t${n}`, () => {}])));
    await fake.waitFor(() => fake.bodies("/v1/beat").length);
    const [beat] = fake.bodies("/v1/beat");
    assert.deepEqual([beat.types.length, beat.more_types], [100, true]);
    assert.deepEqual([beat.queues, beat.more_queues], [["q"], false]);
  });

  async function stoppedBy(outcome, leaseMs = 5000) {
    let why;
    fake.outcomes["/v1/extend"] = outcome;
    fake.lease("1");
    start({ t: async (_, ctx) => {
      await cancelled(ctx);
      why = ctx.why;
      ctx.signal.throwIfAborted();
    } }, { leaseMs });
    await fake.waitFor(() => nacks().length);
    return why;
  }

  test("a lost lease stops its handler and ends no worker", async () => {
    assert.equal(await stoppedBy({ outcome: "lease_lost" }), "lease_lost");
    fake.lease("2");
    await fake.waitFor(() => nacks().length === 2);
  });

  test("a requested cancel stops its handler", async () => {
    const outcome = { outcome: "extended", cancel_requested: true };
    assert.equal(await stoppedBy(outcome), "cancel_requested");
  });

  test("a lease that cannot be extended stops its handler before it ends", async () => {
    fake.script["/v1/extend"] = Array(1000).fill(BUSY);
    const began = performance.now();
    assert.equal(await stoppedBy({}, 1000), "lease_lost");
    assert.ok(performance.now() - began < 3000);
    assert.equal(nacks()[0].kind, "release");
  });

  test("a run that times out is told to stop", async () => {
    fake.lease("1", { timeout_ms: 300 });
    const handler = async (_, ctx) => { await cancelled(ctx); throw new Error(ctx.why); };
    start({ t: handler }, { leaseMs: 5000 });
    await fake.waitFor(() => nacks().length);
    assert.equal(nacks()[0].error, "timed out after 300 ms: Error: timeout");
  });

  test("an ack is repeated until it is answered", async () => {
    fake.script["/v1/ack"] = [BUSY, "lost", "reset", [401, {}, {}]];
    fake.lease("1");
    start({ t: () => 5 });
    await fake.waitFor(() => acks().length === 5);
    assert.deepEqual(acks(), Array(5).fill({ token: "1", result: 5 }));
  });

  test("a result that the server refuses fails its job and no other", async () => {
    const refuse = [422, {}, { ...PROBLEM, detail: "too large" }];
    fake.script["/v1/ack"] = [refuse];
    fake.lease("1");
    fake.lease("2");
    start({ t: () => 1 });
    await fake.waitFor(() => nacks().length && acks().length === 2);
    assert.equal(nacks().length, 1);
    assert.match(nacks()[0].error, /the result could not be stored: 422/);
  });

  test("outages end without a restart", async () => {
    fake.script["/v1/reserve"] = [BUSY, "reset", [500, {}, "<html>"], [200, {}, "["]];
    fake.lease("1");
    start({ t: () => {} });
    await fake.waitFor(() => acks().length);
  });

  test("its last word takes it off the list", async () => {
    start({ t: () => {} });
    await fake.waitFor(() => fake.bodies("/v1/beat").length);
    const { id } = worker;
    await finish();
    assert.equal(fake.calls.at(-1).path, `/v1/workers/${id}`);
  });

  test("it waits when stopped for what runs", async () => {
    let running = false;
    fake.lease("1");
    start({ t: async () => { running = true; await sleep(500); return "done"; } },
      { waitMs: 20_000 });
    await fake.waitFor(() => running);
    const began = performance.now();
    await finish();
    assert.ok(performance.now() - began < 3000, "the long poll is hung up on");
    assert.deepEqual(acks(), [{ token: "1", result: "done" }]);
  });

  test("it releases what goes on too long", async () => {
    let running = false, why;
    fake.lease("1");
    const handler = async (_, ctx) => { running = true; await cancelled(ctx); why = ctx.why; };
    start({ t: handler }, { drainMs: 200 });
    await fake.waitFor(() => running);
    await finish();
    assert.deepEqual(nacks().map(({ token, kind }) => [token, kind]), [["1", "release"]]);
    assert.equal(why, "shutdown");
  });

  test("signals stop it, and the second forces", async () => {
    const script = `
      import { Client, Worker } from "./index.js";
      const client = new Client({ url: process.argv[1] });
      const t = () => new Promise((resolve) => setTimeout(resolve, 60_000));
      await new Worker(client, ["q"], { t }).run({ drainMs: 50_000 });
      process.exit(0);`;
    fake.lease("1");
    const args = ["--input-type=module", "-e", script, fake.url];
    const child = spawn(process.execPath, args, { cwd: new URL(".", import.meta.url) });
    const exit = once(child, "exit");
    await fake.waitFor(() => fake.bodies("/v1/reserve").length >= 2);
    child.kill("SIGTERM");
    await sleep(700);
    assert.equal(child.exitCode, null, "it waits for its handler");
    child.kill("SIGTERM");
    assert.deepEqual(await exit, [0, null]);
    assert.deepEqual(nacks().map(({ kind }) => kind), ["release"]);
  });
});

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
      await server.call("POST", `/v1/jobs/${ctx.job.id}/cancel`);
      await stopped;
      ctx.signal.throwIfAborted();
    };
    await work({ long }, async () => (await status(id)) === "cancelled");
  });

  test("a repeated enqueue is a duplicate", async () => {
    const job = { queue, idempotency_key: "once" };
    const [a, b] = [await server.enqueue("t", 1, job), await server.enqueue("t", 1, job)];
    assert.deepEqual([a.outcome, b.outcome, a.id], ["created", "duplicate", b.id]);
    const outcomes = await server.enqueueMany([{ type: "t", payload: 1, ...job },
      { type: "t", queue }]);
    assert.deepEqual(outcomes.map(({ outcome }) => outcome), ["duplicate", "created"]);
  });

  test("a repeated event is a duplicate", async () => {
    const emit = () => server.emit("node.tried", new Uint8Array([255]), { idempotency_key: queue });
    assert.deepEqual([(await emit()).outcome, (await emit()).outcome], ["emitted", "duplicate"]);
  });

  test("what is refused says why", async () => {
    await assert.rejects(server.enqueue("t", 1, { nonsense: 1 }), { status: 422 });
    await assert.rejects(server.getJob(randomUUID()), { status: 404 });
    await assert.rejects(server.enqueue("t", "x".repeat(17 << 20)), { status: 413 });
  });
});
