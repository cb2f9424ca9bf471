// Steps of handlers, over a fake server.

import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";

import { FakeServer } from "./fake_server.js";
import { Client, Worker } from "./index.js";

const HELD = {
  outcome: "held",
  now: "2026-11-23T15:40:27.310Z",
  checkpoints: [
    { name: "charge", at: "2026-11-23T15:40:26.904Z", result: { receipt: 7 } },
    { name: "raw", at: "2026-11-23T15:40:26.905Z", result_base64: "/wA=" },
    { name: "none", at: "2026-11-23T15:40:26.906Z", result: null },
  ],
};

let fake, worker, ended;
beforeEach(async () => { fake = await new FakeServer().open(); });
afterEach(async () => {
  worker.stop();
  await ended;
  fake.close();
});

/** What is recorded of the runs of these leases. */
async function run(handler, leases = [{}]) {
  leases.forEach((job, i) => fake.lease(`${i}`, job));
  const client = new Client({ url: fake.url, deadlineMs: 5000 });
  const options = { concurrency: 1, waitMs: 500, log: () => {} };
  worker = new Worker(client, ["q"], { t: (_, ctx) => handler(ctx) }, options);
  ended = worker.run({ signals: false });
  const items = () => [...fake.items("/v1/ack", "acks"), ...fake.items("/v1/nack", "nacks")];
  await fake.waitFor(() => items().length === leases.length);
  return items();
}

const stored = () => fake.bodies("/v1/checkpoint");

describe("steps", () => {
  test("a step is stored once, and its result is what later runs will read", async () => {
    const [{ result }] = await run(async (ctx) => {
      const one = await ctx.checkpoint("one", async () => ({ at: new Date(0), no: undefined }));
      const big = await ctx.checkpoint("big", () => 2n ** 80n);
      return [one, await ctx.checkpoint("one", () => "again"), big === 2n ** 80n];
    });
    const one = { at: "1970-01-01T00:00:00.000Z" };
    assert.deepEqual(result, [one, one, true]);
    assert.deepEqual(stored().map(({ name }) => name), ["one", "big"]);
    assert.deepEqual(fake.bodies("/v1/checkpoints"), [], "the first run finds none");
  });

  test("steps of earlier runs are read once and not run again", async () => {
    fake.script["/v1/checkpoints"] = [[200, {}, HELD]];
    const [{ result }] = await run(async (ctx) => {
      const names = ["charge", "none", "new"];
      const steps = await Promise.all(names.map((name) => ctx.checkpoint(name, () => "ran")));
      const raw = await ctx.findCheckpoint("raw");
      return [...steps, raw.toString("hex"), await ctx.findCheckpoint("other") === undefined];
    }, [{ lease_seq: 2 }]);
    assert.deepEqual(result, [{ receipt: 7 }, null, "ran", "ff00", true]);
    assert.deepEqual(stored(), [{ token: "0", name: "new", result: "ran" }]);
    assert.deepEqual(fake.bodies("/v1/checkpoints"), [{ token: "0" }]);
  });

  test("a step of nothing is stored, and bytes stay bytes", async () => {
    const [{ result }] = await run(async (ctx) => {
      const nothing = await ctx.checkpoint("nothing", () => {});
      const raw = await ctx.checkpoint("raw", () => new Uint8Array([255]));
      return [nothing, raw.toString("hex")];
    });
    assert.deepEqual(result, [null, "ff"]);
    assert.deepEqual(stored(), [
      { token: "0", name: "nothing" }, { token: "0", name: "raw", result_base64: "/w==" },
    ]);
  });

  test("a step that is not stored fails the attempt", async () => {
    const wanted = {
      conflict: /another result/, full: /at most 64/,
      lease_lost: /another worker/, not_found: /another worker/,
    };
    const words = Object.keys(wanted);
    fake.script["/v1/checkpoint"] = words.map((outcome) => [200, {}, { outcome }]);
    const nacks = await run((ctx) => ctx.checkpoint("a", () => 1), words.map(() => ({})));
    nacks.forEach(({ error }, i) => assert.match(error, wanted[words[i]]));
  });

  test("steps under a lost lease are not run", async () => {
    fake.script["/v1/checkpoints"] = [[200, {}, { outcome: "lease_lost", checkpoints: [] }]];
    const [nack] = await run((ctx) => ctx.checkpoint("a", () => 1), [{ lease_seq: 2 }]);
    assert.match(nack.error, /another worker/);
    assert.deepEqual(stored(), []);
  });

  test("a step is not begun within itself, and one that failed may begin again", async () => {
    const [{ result }] = await run(async (ctx) => {
      const inner = () => ctx.checkpoint("a", () => 1);
      const refused = await ctx.checkpoint("a", inner).catch((error) => error.message);
      return [refused, await ctx.checkpoint("a", () => 2)];
    });
    assert.deepEqual(result, ['the step "a" is running already in this run', 2]);
  });
});
