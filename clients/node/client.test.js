// Calls of the client, to a fake server.

import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";

import { BUSY, FakeServer, PROBLEM } from "./fake_server.js";
import { Client, errors, QueuekitError } from "./index.js";
import { dump, load } from "./json.js";

let fake, client;
beforeEach(async () => {
  fake = await new FakeServer().open();
  client = new Client({ url: fake.url, apiKey: "qk_secret", deadlineMs: 5000 });
});
afterEach(() => fake.close());

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
    const problem = { type, title: "Invalid", detail: "`kind` is empty", field: "kind" };
    fake.script["/v1/jobs"] = [[422, {}, problem]];
    const error = await client.enqueue("").catch((e) => e);
    assert.ok(error instanceof errors.Invalid && error instanceof QueuekitError);
    assert.deepEqual([error.status, error.code, error.title], [422, "invalid", "Invalid"]);
    assert.equal(error.problem.field, "kind");
    assert.equal(error.message, "422 invalid: `kind` is empty");
    assert.equal(fake.calls.length, 1);
  });

  test("nobody there is an error that names the address", async () => {
    const nobody = new Client({ url: fake.url, deadlineMs: 300 });
    fake.close();
    const error = await nobody.getJob("x").catch((e) => e);
    assert.deepEqual([error.status, error.code], [0, "unreachable"]);
    assert.ok(error.message.includes(`${fake.url}/v1/jobs/x`), error.message);
  });

  test("every job of a batch has a key", async () => {
    const raw = new Uint8Array([255]);
    await client.enqueueMany([{ kind: "a", payload: raw }, { kind: "b", idempotency_key: "k" }]);
    const [a, b] = fake.bodies("/v1/jobs")[0].jobs;
    assert.deepEqual([a.payload_base64, b.idempotency_key], ["/w==", "k"]);
    assert.ok(!("payload" in a) && a.idempotency_key);
  });

  test("a batch that no queue takes is answered per job", async () => {
    const outcomes = [{ outcome: "queue_full", retry_after_ms: 60_000 }];
    fake.script["/v1/jobs"] = [[429, { "retry-after": "60" }, { outcomes }]];
    assert.deepEqual(await client.enqueueMany([{ kind: "a" }]), outcomes);
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

  test("a listing follows the cursor to the last page", async () => {
    const first = "/v1/jobs?queue=q&status=dead%2Cfailed&created_from=2026-11-27T00%3A00%3A00.000Z";
    fake.script[first] = [[200, {}, { jobs: [{ id: "1" }, { id: "2" }], cursor: "a b" }]];
    fake.script[`${first}&cursor=a+b`] = [[200, {}, { jobs: [{ id: "3" }] }]];
    const filter = { queue: "q", status: ["dead", "failed"], created_from: new Date("2026-11-27") };
    const ids = [];
    for await (const { id } of client.listJobs(filter)) ids.push(id);
    assert.deepEqual(ids, ["1", "2", "3"]);
  });

  test("a call that is unsafe to repeat is made again only if nothing changed", async () => {
    const path = "/v1/jobs/1/retry";
    const indeterminate = [503, {}, { type: "urn:queuekit:problem:indeterminate" }];
    for (const fault of ["lost", indeterminate, [502, {}, "<html>"]]) {
      fake.script[path] = [fault];
      await assert.rejects(client.retry("1"), QueuekitError);
    }
    assert.equal(fake.bodies(path).length, 3);
    fake.script[path] = [BUSY];
    await client.retry("1");
    assert.equal(fake.bodies(path).length, 5);
  });

  test("a POST of call is repeated only if it is said to be repeatable", async () => {
    fake.script["/v1/x"] = ["lost", "lost"];
    const error = await client.call("POST", "/v1/x", {}).catch((e) => e);
    assert.ok(error instanceof errors.Unreachable && error.isSent);
    await client.call("POST", "/v1/x", {}, { isRepeatable: true });
    assert.equal(fake.calls.length, 3);
  });

  test("calls share a connection", async () => {
    for (let i = 0; i < 10; i += 1) await client.getJob("1");
    assert.ok(fake.connections < 5, `${fake.connections}`); // `fetch` may open some to spare.
  });

  test("a late answer ends the try, and a signal ends the call", async () => {
    fake.script["/v1/jobs/1"] = ["late", "late"];
    const options = { timeoutMs: 100, deadlineMs: 0 };
    const late = client.call("GET", "/v1/jobs/1", undefined, options);
    await assert.rejects(late, /no answer within 100 ms/);
    const signal = AbortSignal.timeout(100);
    const began = performance.now();
    await assert.rejects(client.call("GET", "/v1/jobs/1", undefined, { signal }));
    assert.ok(performance.now() - began < 900);
  });

  test("an answer that is no JSON is an error that shows it", async () => {
    fake.script["/v1/jobs/1"] = [[200, {}, "<html>"]];
    const error = await client.getJob("1").catch((e) => e);
    assert.ok(error instanceof errors.NoJson);
    assert.match(error.message, /<html>/);
  });
});
