// The worker, over a fake server.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { afterEach, beforeEach, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { BUSY, FakeServer, PROBLEM } from "./fake_server.js";
import { Client, Fatal, Release, Retry, Undecodable, Worker } from "./index.js";
import { UndecodableKinds } from "./undecodable.js";

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

  test("s6: a payload that is nested too deep costs only its own job", async () => {
    const depth = 100_000;
    const lease = (token, payload) =>
      `{"token":"${token}","job":{"id":"${token}","kind":"t","payload":${payload}}}`;
    const deep = `${"[".repeat(depth)}12345678901234567890${"]".repeat(depth)}`;
    const leases = `{"leases":[${lease(0, deep)},${lease(1, 12345678901234567890n)}]}`;
    fake.script["/v1/reserve"] = [[200, {}, leases]];
    start({ t: (payload) => payload });
    await fake.waitFor(() => acks().length && nacks().length);
    assert.deepEqual([acks()[0].token, acks().length], ["1", 1]);
    assert.deepEqual([nacks()[0].token, nacks()[0].kind, nacks().length], ["0", "retry", 1]);
  });

  test("errors decide what becomes of the job", async () => {
    const errors = {
      plain: new TypeError("no\ud800"),
      later: new Retry("busy", { delayMs: 5 }),
      "not now": new Release("nap", { delayMs: 7 }),
      never: new Fatal("bad"),
      "not read": new Undecodable("no name"),
      odd: Object.create(null),
    };
    for (const name of Object.keys(errors)) fake.lease(name, { payload: `"${name}"` });
    start({ t: (payload) => { throw errors[payload]; } });
    await fake.waitFor(() => nacks().length === 6);
    const of = (token) => nacks().find((nack) => nack.token === token);
    const expected = [
      { token: "plain", kind: "retry", error: "TypeError: no\ufffd" },
      { token: "later", kind: "retry", error: "busy", delay_ms: 5 },
      { token: "not now", kind: "release", error: "nap", delay_ms: 7, cause: "snooze" },
      { token: "never", kind: "fatal", error: "bad" },
      { token: "not read", kind: "release", error: "no name", cause: "undecodable" },
      { token: "odd", kind: "retry", error: "it threw something that has no text" },
    ];
    assert.deepEqual(expected.map(({ token }) => of(token)), expected);
  });

  test("beats name the kinds that it cannot read", async () => {
    ["1", "2"].forEach((token) => fake.lease(token));
    start({ t: () => { throw new Undecodable("no name"); } }, { leaseMs: 1000 });
    const said = () => fake.bodies("/v1/beat").at(-1)?.undecodable ?? [];
    await fake.waitFor(() => said()[0]?.times === 2);
    const [{ kind, error, first, last }] = said();
    assert.deepEqual([kind, error], ["t", "no name"]);
    assert.ok(first <= last);
  });

  test("of many kinds that it cannot read, beats name the latest", (t) => {
    t.mock.timers.enable({ apis: ["Date"], now: 1_800_000_000_000 });
    const kinds = new UndecodableKinds();
    for (let number = 0; number < 11; number++) kinds.add(`t${number}`, "no name");
    kinds.add("t1", "no number");
    const lately = kinds.lately().map(({ kind, times }) => [kind, times]);
    const others = Array.from({ length: 9 }, (_, number) => [`t${number + 2}`, 1]);
    assert.deepEqual(lately, [...others, ["t1", 2]]);
    t.mock.timers.tick(2 * 3_600_000);
    assert.deepEqual(kinds.lately(), []);
  });

  test("a result that is no JSON fails the attempt", async () => {
    fake.lease("1");
    const circle = {};
    circle.self = circle;
    start({ t: () => circle });
    await fake.waitFor(() => nacks().length);
    assert.match(nacks()[0].error, /circular/);
  });

  test("a kind without handler is released for longer each time", async () => {
    [0, 3, 50].forEach((releases, i) => fake.lease(`${i}`, { kind: "toString", releases }));
    start({ t: () => {} });
    await fake.waitFor(() => nacks().length === 3);
    assert.ok(nacks().every(({ kind, cause }) => kind === "release" && cause === "unknown_kind"));
    assert.deepEqual(nacks().map(({ delay_ms }) => delay_ms), [1000, 8000, 60_000]);
  });

  test("a lease is extended while its handler runs", async () => {
    fake.lease("1");
    start({ t: () => fake.waitFor(() => fake.bodies("/v1/extend").length >= 3) });
    await fake.waitFor(() => acks().length);
    const [{ kinds, slots, queues }] = fake.bodies("/v1/beat");
    assert.deepEqual([kinds, slots, queues], [["t"], 4, ["q"]]);
  });

  test("a worker of many kinds says that there are more", async () => {
    start(Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`t${n}`, () => {}])));
    await fake.waitFor(() => fake.bodies("/v1/beat").length);
    const [beat] = fake.bodies("/v1/beat");
    assert.deepEqual([beat.kinds.length, beat.more_kinds], [100, true]);
    assert.deepEqual([beat.queues, beat.more_queues], [["q"], false]);
  });

  async function stoppedBy(outcome, leaseMs = 2000) {
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

  /** Gives an order with the next beat, and answers the beat that says that it is obeyed. */
  async function order(seq, orders) {
    const obeyed = () => fake.bodies("/v1/beat").find((beat) => beat.obeyed === seq);
    fake.script["/v1/beat"] = [[200, {}, { orders: { seq, ...orders } }]];
    await fake.waitFor(obeyed);
    return obeyed();
  }

  test("it tells what runs", async () => {
    let end;
    fake.lease("1");
    start({ t: () => new Promise((resolve) => { end = resolve; }) });
    const told = () => fake.bodies("/v1/beat").find(({ jobs }) => jobs.length);
    await fake.waitFor(told);
    const { jobs: [{ id, kind, since }], pid, started_at: startedAt } = told();
    assert.deepEqual([id, kind, pid], ["job-1", "t", process.pid]);
    assert.ok(startedAt <= since);
    end();
  });

  test("it obeys orders", async () => {
    start({ t: () => "done" }, { waitMs: 20_000, leaseMs: 600 });
    await fake.waitFor(() => fake.bodies("/v1/reserve").length);
    assert.equal((await order(7, { mode: "quiet", slots: 2 })).slots, 2);
    const reserves = fake.bodies("/v1/reserve").length;
    fake.lease("1");
    const beats = fake.bodies("/v1/beat").length;
    await fake.waitFor(() => fake.bodies("/v1/beat").length >= beats + 2);
    assert.equal(fake.bodies("/v1/reserve").length, reserves, "it takes no more");
    assert.equal((await order(8, { mode: "resume", slots: 9 })).slots, 4, "it began with four");
    await fake.waitFor(() => acks().length);
    await order(9, { mode: "stop" });
    await ended;
    assert.equal(fake.calls.at(-1).path, `/v1/workers/${worker.id}`);
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
