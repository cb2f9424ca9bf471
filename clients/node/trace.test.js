// Traces, with a stand-in for OpenTelemetry and without any.

import assert from "node:assert/strict";
import {
  cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";

import { FakeServer } from "./fake_server.js";
import { Client } from "./index.js";

const HERE = fileURLToPath(new URL(".", import.meta.url));

const SPAN = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/** As much of OpenTelemetry as the client uses. A context is the `traceparent`, or a span. */
const STUB = `
export const spans = [];
let current;
export const ROOT_CONTEXT = undefined;
export const SpanKind = { CONSUMER: 4 };
export const SpanStatusCode = { ERROR: 2 };
export const context = {
  active: () => current,
  with: async (next, run) => {
    current = next;
    try { return await run(); } finally { current = undefined; }
  },
};
export const propagation = {
  inject: (_, carrier) => Object.assign(carrier, {
    traceparent: "${SPAN}", tracestate: "a=b", baggage: "secret=1",
  }),
  extract: (_, carrier) => carrier.traceparent,
};
export const trace = {
  getSpanContext: (context) => context,
  setSpan: (_, span) => span,
  getTracer: () => ({
    startSpan(name, options, parent) {
      const span = { name, ...options, parent };
      span.setAttribute = (key, value) => { span.attributes[key] = value; };
      span.setStatus = (status) => { span.status = status; };
      span.end = () => spans.push(span);
      return span;
    },
  }),
};
`;

let fake, folder, traced, otel;
beforeEach(async () => {
  fake = await new FakeServer().open();
  folder = mkdtempSync(join(tmpdir(), "queuekit-"));
  const api = join(folder, "node_modules", "@opentelemetry", "api");
  mkdirSync(api, { recursive: true });
  writeFileSync(join(api, "package.json"), '{"type": "module", "exports": "./index.js"}');
  writeFileSync(join(api, "index.js"), STUB);
  writeFileSync(join(folder, "package.json"), '{"type": "module"}');
  const sources = readdirSync(HERE).filter((file) => file.endsWith(".js"));
  for (const file of sources) cpSync(join(HERE, file), join(folder, file));
  traced = await import(pathToFileURL(join(folder, "index.js")));
  otel = await import(pathToFileURL(join(api, "index.js")));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
  return fake.close();
});

describe("traces", () => {
  test("calls that store jobs carry the current span and no baggage", async () => {
    const client = new traced.Client({ url: fake.url });
    await client.enqueue("t");
    await client.enqueueMany([{ kind: "t" }]);
    await client.call("POST", "/v1/ack", { acks: [] });
    const [one, many, other] = fake.calls.map(({ headers }) => headers);
    for (const headers of [one, many]) {
      assert.deepEqual([headers.traceparent, headers.tracestate], [SPAN, "a=b"]);
      assert.equal(headers.baggage, undefined);
    }
    assert.equal(other.traceparent, undefined);
  });

  test("a run is a span that continues that of its job", async () => {
    const seen = [];
    const handler = (payload) => {
      seen.push(otel.context.active().name);
      if (payload === "bad") throw new traced.Retry("hunter2");
    };
    const client = new traced.Client({ url: fake.url });
    const options = { concurrency: 1, waitMs: 500, log: () => {} };
    const worker = new traced.Worker(client, ["q"], { t: handler }, options);
    const job = { queue: "q", kind: "t", attempts: 1, releases: 0 };
    const good = { ...job, id: "1", payload: "good", metadata: { traceparent: SPAN } };
    const bad = { ...job, id: "2", payload: "bad" };
    for (const [token, job] of [["a", good], ["b", bad]]) {
      fake.jobs.push(JSON.stringify({ token, job }));
    }
    const running = worker.run({ signals: false });
    await fake.waitFor(() => otel.spans.length === 2);
    worker.stop();
    await running;
    const [first, second] = otel.spans;
    assert.deepEqual(seen, ["process q", "process q"]);
    assert.deepEqual([first.parent, first.links], [SPAN, [{ context: SPAN }]]);
    assert.equal(first.attributes["messaging.message.id"], "1");
    assert.deepEqual([first.attributes["queuekit.outcome"], first.status], ["completed", undefined]);
    assert.deepEqual([second.parent, second.links], [undefined, []]);
    assert.deepEqual([second.attributes["queuekit.outcome"], second.status.code], ["failed", 2]);
    assert.ok(!JSON.stringify(otel.spans).includes("hunter2"));
  });

  test("without OpenTelemetry a job carries the span that its caller names", async () => {
    const client = new Client({ url: fake.url });
    await client.enqueue("t", 1, { metadata: { traceparent: SPAN } });
    assert.deepEqual(fake.bodies("/v1/jobs")[0].metadata, { traceparent: SPAN });
    assert.equal(fake.calls[0].headers.traceparent, undefined);
  });
});
