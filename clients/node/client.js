// Makes the calls of the API; repeats a call while that is safe and can help.

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

import { errorOf, QueuekitError, Unreachable } from "./errors.js";
import { dump, load } from "./json.js";
import { traceHeaders } from "./trace.js";

/**
 * @import { Ack, CancelOutcome, Checkpoints, EmitOutcome, Enqueued, EnqueueOutcome, ErrorGroup,
 *   EventOptions, Filter, Job, JobOptions, JobPage, Nack, NewCheckpoint, NewJob, Outcome,
 *   PageFilter, Queue, Queues, Report, Reserved } from "./types.js"
 */

/**
 * `timeoutMs` limits one try, `deadlineMs` a call with all its tries. `isRepeatable`: a second
 * request has no other effect than one, so it may be sent after a lost answer.
 *
 * @typedef {object} CallOptions
 * @property {number} [timeoutMs]
 * @property {number} [deadlineMs]
 * @property {AbortSignal} [signal]
 * @property {boolean} [isRepeatable]
 */

/** The longest pause between two tries, and so the delay after an outage ends. */
const PAUSE_MS = 5000;
/** The wait of one call: short enough for proxies before the server. */
const WAIT_MS = 20_000;
const ENDED = ["completed", "dead", "cancelled"];
const RETRIED = [0, 429, 502, 503, 504];
/** Codes of errors after which a call has surely changed nothing. */
const UNCHANGED = [
  "queue_full", "rate_limited", "unavailable", "storage_full", "overloaded", "closed",
];
/** Errors of `fetch` before a connection is open. */
const UNSENT = [
  "ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
];
/** Routes whose calls carry the current span. */
const STORES = ["/v1/jobs", "/v1/events"];

/** Talks to one server. */
export class Client {
  /**
   * Private, so that logging the client does not log the key.
   *
   * @type {Record<string, string>}
   */
  #headers = { accept: "application/json", "content-type": "application/json" };

  /**
   * `timeoutMs` limits one try, `deadlineMs` a call with all its tries.
   *
   * @param {{ url?: string, apiKey?: string, timeoutMs?: number, deadlineMs?: number }} [options]
   */
  constructor({ url, apiKey, timeoutMs = 30_000, deadlineMs = 30_000 } = {}) {
    const server = url || process.env.QUEUEKIT_SERVER || "http://127.0.0.1:8080";
    const key = apiKey || process.env.QUEUEKIT_API_KEY;
    if (!/^https?:$/.test(new URL(server).protocol)) {
      throw new TypeError(`${server} is no server: give http://HOST:PORT or https://..`);
    }
    if (key) this.#headers.authorization = `Bearer ${key}`;
    this.url = server.replace(/\/+$/, "");
    this.timeoutMs = timeoutMs;
    this.deadlineMs = deadlineMs;
  }

  /**
   * Stores a job. A payload of bytes (`Uint8Array`) is stored as it is, anything else as JSON.
   *
   * The call is repeated under one idempotency key, so a `duplicate` may be of an earlier try.
   *
   * @param {string} kind
   * @param {any} [payload]
   * @param {JobOptions} [options]
   * @returns {Promise<Enqueued>}
   */
  enqueue(kind, payload, options = {}) {
    return this.#post("/v1/jobs", keyed("payload", { ...options, kind, payload }));
  }

  /**
   * Stores up to 1,000 jobs in one step. Returns an outcome for each: check for `queue_full`.
   *
   * @param {readonly NewJob[]} jobs
   * @returns {Promise<EnqueueOutcome[]>}
   */
  async enqueueMany(jobs) {
    try {
      const body = { jobs: jobs.map((job) => keyed("payload", { ...job })) };
      return (await this.#post("/v1/jobs", body)).outcomes;
    } catch (error) {
      if (!(error instanceof QueuekitError && error.problem.outcomes)) throw error;
      return error.problem.outcomes; // 429: every queue was still full at the deadline.
    }
  }

  /**
   * Stores an event for all consumers of its type. Repeats the call as `enqueue` does.
   *
   * @param {string} type
   * @param {any} [data]
   * @param {EventOptions} [options]
   * @returns {Promise<EmitOutcome>}
   */
  emit(type, data, options = {}) {
    return this.#post("/v1/events", keyed("data", { ...options, type, data }));
  }

  /**
   * Returns the job as it is now; throws `NotFound` if it does not exist.
   *
   * @param {string} id
   * @returns {Promise<Job>}
   */
  getJob(id) {
    return this.call("GET", jobPath(id));
  }

  /**
   * Returns the job once it is completed, dead or cancelled; `undefined` after `timeoutMs`. Throws
   * `NotFound` if the job does not exist, or was deleted meanwhile.
   *
   * @param {string} id
   * @param {number} timeoutMs
   * @param {{ signal?: AbortSignal }} [options]
   * @returns {Promise<Job | undefined>}
   */
  async wait(id, timeoutMs, { signal } = {}) {
    const until = performance.now() + timeoutMs;
    for (;;) {
      const leftMs = Math.max(until - performance.now(), 0);
      const waitMs = Math.floor(Math.min(leftMs, WAIT_MS));
      const deadlineMs = Math.max(this.deadlineMs, leftMs);
      const options = { timeoutMs: this.timeoutMs + waitMs, deadlineMs, signal };
      const path = `${jobPath(id)}?wait_ms=${waitMs}`;
      const job = await this.call("GET", path, undefined, options);
      if (ENDED.includes(job.status)) return job;
      if (leftMs <= WAIT_MS) return undefined;
    }
  }

  /**
   * Yields all jobs that match, page by page; `limit` is the size of a page.
   *
   * @param {Filter} [filter]
   * @returns {AsyncGenerator<Job, void, undefined>}
   */
  async * listJobs(filter = {}) {
    /** @type {string | undefined} */
    let cursor;
    do {
      const page = await this.listJobsPage({ ...filter, cursor });
      yield* page.jobs;
      cursor = page.cursor;
    } while (cursor !== undefined);
  }

  /**
   * Returns one page. It may be short or empty and still have a `cursor` to the next.
   *
   * @param {PageFilter} [filter]
   * @returns {Promise<JobPage>}
   */
  listJobsPage(filter = {}) {
    return this.call("GET", `/v1/jobs${query(filter)}`);
  }

  /**
   * Cancels a job. `requested`: it is running, and its worker is asked to stop.
   *
   * @param {string} id
   * @returns {Promise<CancelOutcome>}
   */
  async cancel(id) {
    return (await this.#post(`${jobPath(id)}/cancel`)).outcome;
  }

  /**
   * Brings a dead or cancelled job back; throws `Conflict` if it is neither. With `fresh` all of
   * its steps run again.
   *
   * @param {string} id
   * @param {{ fresh?: boolean }} [options]
   * @returns {Promise<void>}
   */
  async retry(id, { fresh } = {}) {
    // A repeated retry could bring the job back twice, if it has died again between the two.
    await this.call("POST", `${jobPath(id)}/retry`, fresh ? { fresh } : undefined);
  }

  /**
   * Yields all queues by name, page by page; `limit` is the size of a page.
   *
   * @param {{ limit?: number }} [options]
   * @returns {AsyncGenerator<Queue, void, undefined>}
   */
  async * listQueues({ limit } = {}) {
    /** @type {string | undefined} */
    let after;
    do {
      const page = await this.call("GET", `/v1/queues${query({ after, limit })}`);
      yield* page.queues;
      after = page.after;
    } while (after !== undefined);
  }

  /**
   * @param {string} name
   * @returns {Promise<Queue>}
   */
  getQueue(name) {
    return this.call("GET", `/v1/queues/${encodeURIComponent(name)}`);
  }

  /**
   * Returns groups of errors that look alike, the most recent first.
   *
   * @param {{ queue?: string, limit?: number }} [options]
   * @returns {Promise<ErrorGroup[]>}
   */
  async listErrors({ queue, limit } = {}) {
    return (await this.call("GET", `/v1/errors${query({ queue, limit })}`)).groups;
  }

  /**
   * Leases up to `limit` jobs; waits up to `wait_ms` for one. A `Worker` does all this.
   *
   * @param {{ queues: Queues, worker: string, limit?: number, lease_ms?: number,
   *   wait_ms?: number }} ask
   * @param {CallOptions} [options]
   * @returns {Promise<Reserved>}
   */
  reserve(ask, options = {}) {
    const timeoutMs = (options.timeoutMs ?? this.timeoutMs) + (ask.wait_ms ?? 0);
    // A repeat could lease more jobs than were asked for.
    return this.call("POST", "/v1/reserve", ask, { ...options, timeoutMs });
  }

  /**
   * Records that runs succeeded.
   *
   * @param {readonly Ack[]} acks
   * @param {CallOptions} [options]
   * @returns {Promise<Outcome[]>}
   */
  async ack(acks, options) {
    const items = acks.map((ack) => withBytes("result", { ...ack }));
    return (await this.#post("/v1/ack", { acks: items }, options)).outcomes;
  }

  /**
   * Records that runs failed, or were released or cancelled.
   *
   * @param {readonly Nack[]} nacks
   * @param {CallOptions} [options]
   * @returns {Promise<Outcome[]>}
   */
  async nack(nacks, options) {
    return (await this.#post("/v1/nack", { nacks }, options)).outcomes;
  }

  /**
   * Extends leases. `cancel_requested` of an outcome asks that run to stop.
   *
   * @param {readonly string[]} tokens
   * @param {number} leaseMs
   * @param {CallOptions} [options]
   * @returns {Promise<Outcome[]>}
   */
  async extend(tokens, leaseMs, options) {
    return (await this.#post("/v1/extend", { tokens, lease_ms: leaseMs }, options)).outcomes;
  }

  /**
   * Stores progress and log lines of runs.
   *
   * @param {readonly Report[]} reports
   * @returns {Promise<Outcome[]>}
   */
  async report(reports) {
    // A repeated report would store its lines twice.
    const isRepeatable = !reports.some(({ lines }) => lines?.length);
    return (await this.call("POST", "/v1/report", { reports }, { isRepeatable })).outcomes;
  }

  /**
   * Stores the result of a step. The `Context` of a worker does all this.
   *
   * @param {NewCheckpoint} step
   * @returns {Promise<Outcome>}
   */
  putCheckpoint(step) {
    return this.#post("/v1/checkpoint", withBytes("result", { ...step }));
  }

  /**
   * Reads the results of the steps of the job that is leased.
   *
   * @param {string} token
   * @returns {Promise<Checkpoints>}
   */
  checkpoints(token) {
    return this.#post("/v1/checkpoints", { token });
  }

  /**
   * Makes any call. Repeats it if it is not a POST, or is said to be repeatable.
   *
   * @param {string} method
   * @param {string} path
   * @param {any} [body]
   * @param {CallOptions} [options]
   * @returns {Promise<any>}
   */
  async call(method, path, body, options = {}) {
    const { timeoutMs = this.timeoutMs, deadlineMs = this.deadlineMs, signal } = options;
    const { isRepeatable = method.toUpperCase() !== "POST" } = options;
    const [text, until] = [dump(body), performance.now() + deadlineMs];
    const headers = STORES.includes(path) ? { ...this.#headers, ...traceHeaders() } : this.#headers;
    for (let pause = 100; ; pause = Math.min(pause * 2, PAUSE_MS)) {
      try {
        return await this.#try(method, path, text, headers, timeoutMs, signal);
      } catch (error) {
        if (!(error instanceof QueuekitError)) throw error;
        // Jitter: clients that were refused together do not retry together.
        const after = (error.retryAfterMs ?? 0) * (1 + Math.random() / 5);
        const wait = Math.max(pause * Math.random(), after);
        if (!canHelp(error, isRepeatable) || performance.now() + wait > until) throw error;
        await sleep(wait, undefined, { signal });
      }
    }
  }

  /**
   * @param {string} path
   * @param {any} [body]
   * @param {CallOptions} [options]
   */
  #post(path, body, options) {
    return this.call("POST", path, body, { ...options, isRepeatable: true });
  }

  /**
   * @param {string} method
   * @param {string} path
   * @param {string | undefined} body
   * @param {Record<string, string>} headers
   * @param {number} timeoutMs
   * @param {AbortSignal} [signal]
   */
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
    } catch (/** @type {any} */ error) {
      const why = late.aborted ? `no answer within ${Math.ceil(timeoutMs)} ms`
        : error?.cause?.message || error?.cause?.code || error?.message || String(error);
      const detail = `${method} ${this.url}${path}: ${why}`;
      const unreachable = new Unreachable(0, { type: "unreachable", detail });
      unreachable.isSent = !UNSENT.includes(error?.cause?.code);
      throw unreachable;
    } finally {
      signal?.removeEventListener("abort", stop);
    }
    let [isOk, answer] = [response.ok, /** @type {any} */ (undefined)];
    try {
      answer = text === "" ? undefined : load(text);
    } catch { // Not a queuekit server: perhaps a proxy answered.
      const detail = `${path} answered ${text.slice(0, 200)}`;
      [isOk, answer] = [false, { type: "no_json", detail }];
    }
    if (isOk) return answer;
    const after = response.headers.get("retry-after") ?? "";
    const waitMs = /^\d+$/.test(after) ? Number(after) * 1000 : undefined;
    throw errorOf(response.status, answer ?? { title: response.statusText }, waitMs);
  }
}

/**
 * @param {QueuekitError} error
 * @param {boolean} isRepeatable
 */
function canHelp(error, isRepeatable) {
  if (isRepeatable) return RETRIED.includes(error.status);
  if (error instanceof Unreachable) return !error.isSent;
  return UNCHANGED.includes(error.code);
}

/** @param {string} id */
function jobPath(id) {
  return `/v1/jobs/${encodeURIComponent(id)}`;
}

/** @param {object} parameters */
function query(parameters) {
  const given = Object.entries(parameters).filter(([, value]) => value != null);
  const pairs = given.map(([name, value]) => [name, asText(value)]);
  return pairs.length ? `?${new URLSearchParams(pairs)}` : "";
}

/** @param {any} value */
function asText(value) {
  return value instanceof Date ? value.toISOString() : String(value);
}

/**
 * The item to store, always with a key: else a repeated call would store it twice.
 *
 * @param {string} field
 * @param {Record<string, any>} item
 */
function keyed(field, item) {
  return { idempotency_key: randomUUID(), ...withBytes(field, item) };
}

/**
 * The item, with the bytes of this field as base64.
 *
 * @param {string} field
 * @param {Record<string, any>} item
 */
function withBytes(field, { [field]: value, ...item }) {
  const encoded = value instanceof Uint8Array
    ? { [`${field}_base64`]: Buffer.from(value).toString("base64") }
    : { [field]: value };
  return { ...item, ...encoded };
}
