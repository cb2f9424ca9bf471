// Enqueues jobs and makes all other calls; repeats a call while a retry can help.

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

import { dump, load } from "./json.js";
import { traceHeaders } from "./trace.js";

/** The longest pause between two tries, and so the delay after an outage ends. */
const PAUSE_MS = 5000;
/** The wait of one call: short enough for proxies before the server. */
const WAIT_MS = 20_000;
const ENDED = ["completed", "dead", "cancelled"];
const RETRIED = [0, 429, 502, 503, 504];
/** Routes whose calls carry the current span. */
const STORES = ["/v1/jobs", "/v1/events"];

/** The server refused a call, or was unreachable (`status` 0, type `unreachable`). */
export class QueuekitError extends Error {
  constructor(status, problem, retryAfterMs) {
    const type = String(problem.type ?? "").replace(/^.*:/, "");
    super(`${status} ${type}: ${problem.detail ?? problem.title ?? ""}`);
    this.name = "QueuekitError";
    Object.assign(this, { status, type, problem, retryAfterMs });
    this.title = String(problem.title ?? "");
    this.detail = String(problem.detail ?? "");
  }
}

/** Talks to one server. */
export class Client {
  /** Private, so that logging the client does not log the key. */
  #headers = { accept: "application/json", "content-type": "application/json" };

  /** `timeoutMs` limits one try, `deadlineMs` a call with all its tries. */
  constructor({ url, apiKey, timeoutMs = 30_000, deadlineMs = 30_000 } = {}) {
    const server = url || process.env.QUEUEKIT_SERVER || "http://127.0.0.1:8080";
    const key = apiKey || process.env.QUEUEKIT_API_KEY;
    if (!/^https?:$/.test(new URL(server).protocol)) {
      throw new TypeError(`${server} is no server: give http://HOST:PORT or https://..`);
    }
    if (key) this.#headers.authorization = `Bearer ${key}`;
    Object.assign(this, { url: server.replace(/\/+$/, ""), timeoutMs, deadlineMs });
  }

  /**
   * Stores a job. Returns its `id`, and an `outcome`: `created` or `duplicate`.
   *
   * A payload of bytes (`Uint8Array`) is stored as it is, anything else as JSON. The options are
   * the fields of docs/http.md: `queue`, `priority`, `delay_ms`, `idempotency_key`, .. The call is
   * repeated under one idempotency key, so a `duplicate` may be of an earlier try.
   */
  enqueue(kind, payload, options = {}) {
    return this.call("POST", "/v1/jobs", keyed("payload", { ...options, kind, payload }));
  }

  /** Stores up to 1,000 jobs in one step. Returns an outcome for each: check for `queue_full`. */
  async enqueueMany(jobs) {
    try {
      const body = { jobs: jobs.map((job) => keyed("payload", job)) };
      return (await this.call("POST", "/v1/jobs", body)).outcomes;
    } catch (error) {
      if (!error.problem?.outcomes) throw error;
      return error.problem.outcomes; // 429: every queue was still full at the deadline.
    }
  }

  /** Stores an event for all consumers of its type. Repeats the call as `enqueue` does. */
  emit(type, data, options = {}) {
    return this.call("POST", "/v1/events", keyed("data", { ...options, type, data }));
  }

  /** Returns the job as it is now; throws a `QueuekitError` with status 404 if it is gone. */
  getJob(id) {
    return this.call("GET", `/v1/jobs/${encodeURIComponent(id)}`);
  }

  /**
   * Returns the job once it is completed, dead or cancelled; `undefined` after `timeoutMs`. Throws a
   * `QueuekitError` with status 404 if the job does not exist, or was deleted meanwhile.
   */
  async wait(id, timeoutMs, { signal } = {}) {
    const until = performance.now() + timeoutMs;
    for (;;) {
      const leftMs = Math.max(until - performance.now(), 0);
      const waitMs = Math.floor(Math.min(leftMs, WAIT_MS));
      const options = { timeoutMs: this.timeoutMs + waitMs, signal };
      options.deadlineMs = Math.max(this.deadlineMs, leftMs);
      const path = `/v1/jobs/${encodeURIComponent(id)}?wait_ms=${waitMs}`;
      const job = await this.call("GET", path, undefined, options);
      if (ENDED.includes(job.status)) return job;
      if (leftMs <= WAIT_MS) return undefined;
    }
  }

  /** Makes one request, and retries it while that can help: it must be safe to repeat. */
  async call(method, path, body, options = {}) {
    const { timeoutMs = this.timeoutMs, deadlineMs = this.deadlineMs, signal } = options;
    const [text, until] = [dump(body), performance.now() + deadlineMs];
    const headers = STORES.includes(path) ? { ...this.#headers, ...traceHeaders() } : this.#headers;
    for (let pause = 100; ; pause = Math.min(pause * 2, PAUSE_MS)) {
      try {
        return await this.#try(method, path, text, headers, timeoutMs, signal);
      } catch (error) {
        // Jitter: clients that were refused together do not retry together.
        const after = (error.retryAfterMs ?? 0) * (1 + Math.random() / 5);
        const wait = Math.max(pause * Math.random(), after);
        if (!RETRIED.includes(error.status) || performance.now() + wait > until) throw error;
        await sleep(wait, undefined, { signal });
      }
    }
  }

  async #try(method, path, body, headers, timeoutMs, signal) {
    const late = AbortSignal.timeout(Math.ceil(timeoutMs));
    const hangUp = new AbortController();
    const stop = () => hangUp.abort();
    for (const end of [late, signal]) end?.addEventListener("abort", stop);
    if (signal?.aborted) stop();
    let response, text;
    try {
      // Also without a body: this type shows the server that the request is no web form.
      const options = { method, headers, body, signal: hangUp.signal };
      response = await fetch(this.url + path, { ...options, redirect: "manual" });
      text = await response.text();
    } catch (error) {
      const why = late.aborted ? `no answer within ${Math.ceil(timeoutMs)} ms`
        : error?.cause?.message || error?.cause?.code || error?.message || String(error);
      const detail = `${method} ${this.url}${path}: ${why}`;
      throw new QueuekitError(0, { type: "unreachable", detail });
    } finally {
      signal?.removeEventListener("abort", stop);
    }
    let [isOk, answer] = [response.ok, undefined];
    try {
      answer = text === "" ? undefined : load(text);
    } catch { // Not a queuekit server: perhaps a proxy answered.
      const detail = `${path} answered ${text.slice(0, 200)}`;
      [isOk, answer] = [false, { type: "no_json", detail }];
    }
    if (isOk) return answer;
    const after = response.headers.get("retry-after") ?? "";
    const waitMs = /^\d+$/.test(after) ? Number(after) * 1000 : undefined;
    throw new QueuekitError(response.status, answer ?? { title: response.statusText }, waitMs);
  }
}

/** The item to store, always with a key: else a repeated call would store it twice. */
function keyed(field, { [field]: value, ...item }) {
  const encoded = value instanceof Uint8Array
    ? { [`${field}_base64`]: Buffer.from(value).toString("base64") }
    : { [field]: value };
  return { idempotency_key: randomUUID(), ...item, ...encoded };
}
