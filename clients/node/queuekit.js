/**
 * A client and a worker of queuekit, over its HTTP API. One file, nothing but Node >= 18.
 *
 * A worker has three loops beside its handlers: `#fetch` asks for as many jobs as there are free
 * slots, `#beat` keeps the leases of what runs, and `#record` tells the server how it went.
 */

import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";

/** The longest pause between two tries: an outage is noticed to be over within it. */
const PAUSE_MS = 5000;
/** How long a run may go on after it timed out, before it is given up. */
const GRACE_MS = 10_000;
const RETRIED = [0, 429, 502, 503, 504];

/** @typedef {Record<string, any>} Json */
/** @typedef {(payload: any, ctx: Context) => any} Handler */

/** What the server refused, or that it cannot be reached (`status` 0, type `unreachable`). */
export class QueuekitError extends Error {
  /**
   * @param {number} status
   * @param {Json} problem
   * @param {number} [retryAfterMs]
   */
  constructor(status, problem, retryAfterMs) {
    const type = String(problem.type ?? "").replace(/^.*:/, "");
    super(`${status} ${type}: ${problem.detail ?? problem.title ?? ""}`);
    this.name = "QueuekitError";
    this.status = status;
    this.problem = problem;
    this.retryAfterMs = retryAfterMs;
    this.type = type;
    this.title = String(problem.title ?? "");
    this.detail = String(problem.detail ?? "");
  }
}

/** Thrown by a handler: this attempt failed; again after `delayMs`, or as the server says. */
export class Retry extends Error {
  kind = "retry";

  /**
   * @param {string} [why]
   * @param {{delayMs?: number}} [options]
   */
  constructor(why = "", { delayMs } = {}) {
    super(why);
    this.delayMs = delayMs;
  }
}

/** Thrown by a handler: not now; again after `delayMs`, and no attempt is spent. */
export class Release extends Retry {
  kind = "release";
}

/** Thrown by a handler: no attempt will help; the job is dead at once. */
export class Fatal extends Retry {
  kind = "fatal";
}

/** Talks to one server. */
export class Client {
  /** @type {Record<string, string>} Private, since who logs the client would log the key. */
  #headers = { accept: "application/json" };

  /**
   * `timeoutMs` is of one try, `deadlineMs` of a call with all its tries.
   *
   * @param {{url?: string, apiKey?: string, timeoutMs?: number, deadlineMs?: number}} [options]
   */
  constructor({ url, apiKey, timeoutMs = 30_000, deadlineMs = 30_000 } = {}) {
    const server = url || process.env.QUEUEKIT_SERVER || "http://127.0.0.1:8080";
    const key = apiKey || process.env.QUEUEKIT_API_KEY;
    if (!/^https?:$/.test(new URL(server).protocol)) {
      throw new TypeError(`${server} is no server: give http://HOST:PORT or https://..`);
    }
    this.url = server.replace(/\/+$/, "");
    this.timeoutMs = timeoutMs;
    this.deadlineMs = deadlineMs;
    if (key) this.#headers.authorization = `Bearer ${key}`;
  }

  /**
   * Stores a job; its `id`, and as `outcome` whether it is `created` or a `duplicate`.
   *
   * A payload of bytes (`Uint8Array`) is stored as it is, anything else as JSON; the option
   * `rawPayload` is JSON text that is sent as written. The other options are the fields of
   * docs/http.md: `queue`, `priority`, `delay_ms`, `idempotency_key`, .. The call is repeated
   * under one idempotency key, so a `duplicate` may be of an earlier try.
   *
   * @param {string} type
   * @param {any} [payload]
   * @param {Json} [options]
   * @returns {Promise<Json>}
   */
  async enqueue(type, payload, options = {}) {
    return this.call("POST", "/v1/jobs", jobText({ ...options, type, payload }));
  }

  /**
   * Stores up to 1,000 jobs in one step; an outcome for each, which may be `queue_full`.
   *
   * @param {Json[]} jobs
   * @returns {Promise<Json[]>}
   */
  async enqueueMany(jobs) {
    const text = `{"jobs":[${jobs.map(jobText).join(",")}]}`;
    try {
      return (await this.call("POST", "/v1/jobs", text)).outcomes;
    } catch (/** @type {any} */ error) {
      if (!error.problem?.outcomes) throw error;
      return error.problem.outcomes; // 429: every queue is full, and was until the deadline.
    }
  }

  /**
   * The job as it is now; a `QueuekitError` with status 404 if there is none.
   *
   * @param {string} id
   * @returns {Promise<Json>}
   */
  async getJob(id) {
    return this.call("GET", `/v1/jobs/${encodeURIComponent(id)}`);
  }

  /**
   * One request of the API, repeated while that helps. Only for what can be repeated.
   *
   * @param {string} method
   * @param {string} path
   * @param {string | Json} [body] A string is JSON already.
   * @param {CallOptions} [options]
   * @returns {Promise<any>}
   */
  async call(method, path, body, options) {
    const text = await this.callText(method, path, body, options);
    try {
      return text === "" ? undefined : JSON.parse(text);
    } catch {
      const detail = `${method} ${path} answered: ${text.slice(0, 200)}`;
      throw new QueuekitError(200, { type: "no_json", detail });
    }
  }

  /**
   * As `call`, for who reads the answer with a parser that spares large numbers.
   *
   * @param {string} method
   * @param {string} path
   * @param {string | Json} [body]
   * @param {CallOptions} [options]
   * @returns {Promise<string>}
   */
  async callText(method, path, body, options = {}) {
    const { timeoutMs = this.timeoutMs, deadlineMs = this.deadlineMs, signal } = options;
    const text = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
    const until = performance.now() + deadlineMs;
    for (let pause = 100; ; pause = Math.min(pause * 2, PAUSE_MS)) {
      try {
        return await this.#try(method, path, text, timeoutMs, signal);
      } catch (error) {
        if (!(error instanceof QueuekitError)) throw error;
        // Jitter: those who were refused together do not come back together.
        const after = (error.retryAfterMs ?? 0) * (1 + Math.random() / 5);
        const wait = Math.max(pause * Math.random(), after);
        if (!RETRIED.includes(error.status) || performance.now() + wait > until) throw error;
        await sleep(wait, undefined, { signal });
      }
    }
  }

  /**
   * @param {string} method
   * @param {string} path
   * @param {string | undefined} body
   * @param {number} timeoutMs
   * @param {AbortSignal} [signal]
   */
  async #try(method, path, body, timeoutMs, signal) {
    const hangUp = new AbortController();
    const stop = () => hangUp.abort(signal?.reason);
    const late = () => hangUp.abort(new Error(`no answer within ${Math.round(timeoutMs)} ms`));
    const timer = setTimeout(late, timeoutMs);
    signal?.addEventListener("abort", stop);
    if (signal?.aborted) stop();
    // Also without a body: it is by this type that the server tells us from a form of a page.
    const headers = { ...this.#headers };
    if (method !== "GET") headers["content-type"] = "application/json";
    let response, text;
    try {
      const options = { method, headers, body, signal: hangUp.signal };
      response = await fetch(this.url + path, { ...options, redirect: "manual" });
      text = await response.text();
    } catch (/** @type {any} */ error) {
      const why = error?.cause?.message || error?.cause?.code || error?.message || String(error);
      const detail = `${method} ${this.url}${path}: ${why}`;
      throw new QueuekitError(0, { type: "unreachable", detail });
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", stop);
    }
    if (response.ok) return text;
    const after = response.headers.get("retry-after") ?? "";
    const waitMs = /^\d+$/.test(after) ? Number(after) * 1000 : undefined;
    throw new QueuekitError(response.status, problemOf(text, response.statusText), waitMs);
  }
}

/** @typedef {{timeoutMs?: number, deadlineMs?: number, signal?: AbortSignal}} CallOptions */

/** The run of a job, for its handler. All fields of the job are in `job`. */
export class Context {
  #client;
  #controller = new AbortController();
  #raw;
  #token;

  /**
   * @param {Client} client
   * @param {Json} lease
   * @param {() => string | undefined} raw
   */
  constructor(client, lease, raw) {
    /** @type {Json} */
    this.job = lease.job;
    /** Why it was cancelled: `cancel_requested`, `lease_lost`, `timeout` or `shutdown`. */
    this.why = "";
    this.#client = client;
    this.#raw = raw;
    this.#token = String(lease.token);
    /** @internal */
    this._startedAt = performance.now();
    /** @internal */
    this._extendedAt = this._startedAt;
    /** @internal */
    this._settled = false;
  }

  /** Its lease: a secret, for routes that take one. */
  get token() {
    return this.#token;
  }

  /** Aborted when it should stop. Then throw something: to return says that the work is done. */
  get signal() {
    return this.#controller.signal;
  }

  /** Its payload: a value, or bytes (a `Buffer`) if they are no JSON. */
  get payload() {
    const encoded = this.job.payload_base64;
    return encoded === undefined ? this.job.payload : Buffer.from(encoded, "base64");
  }

  /** The JSON text of its payload as it was enqueued: `payload` has large numbers rounded. */
  get rawPayload() {
    return this.#raw();
  }

  /**
   * Shows how far it is. Whoever looks sees it; nothing else depends on it.
   *
   * @param {number} fraction
   * @param {string} [message]
   * @param {string[]} [lines]
   */
  async report(fraction, message = "", lines = []) {
    const report = { token: this.token, progress: { fraction, message }, lines };
    await this.#client.call("POST", "/v1/report", { reports: [report] });
  }

  /**
   * @internal
   * @param {string} why
   */
  _cancel(why) {
    if (this.signal.aborted) return;
    this.why = why;
    this.#controller.abort(new Error(`the run should stop: ${why}`));
  }
}

/** @typedef {{path: "ack" | "nack", item: Json, run: Context}} Outcome */

/** Runs jobs until SIGTERM, SIGINT or `stop()`. */
export class Worker {
  /** @type {Map<string, Context>} By token, until the outcome is recorded. */
  #runs = new Map();
  /** Handlers, given up ones included. */
  #running = 0;
  /** @type {Outcome[]} To be recorded. */
  #outcomes = [];
  #stopping = new AbortController();
  #forced = false;
  #ended = new AbortController();
  /** @type {Set<() => void>} */
  #waiting = new Set();

  /**
   * `queues` in the order they are served, or with weights; `handlers` by type of job. `log` gets
   * what goes wrong and is not the caller's to handle.
   *
   * @param {Client} client
   * @param {string[] | Record<string, number>} queues
   * @param {Record<string, Handler>} handlers
   * @param {{concurrency?: number, leaseMs?: number, waitMs?: number, name?: string,
   *   log?: (text: string) => void}} [options]
   */
  constructor(client, queues, handlers, options = {}) {
    this.client = client;
    this.queues = queues;
    this.handlers = new Map(Object.entries(handlers));
    this.concurrency = options.concurrency ?? 10;
    this.leaseMs = options.leaseMs ?? 30_000;
    this.waitMs = options.waitMs ?? 20_000;
    const host = hostname().replace(/[^A-Za-z0-9_.:-]|^[^A-Za-z0-9]+/g, "").slice(0, 80);
    this.name = options.name ?? `${host || "worker"}-${process.pid}`;
    this.id = `${this.name.slice(0, 90)}.${randomUUID()}`;
    this.log = options.log ?? ((text) => console.warn(`queuekit: ${text}`));
  }

  /** Ends `run`, in good order; the second call ends it without waiting for handlers. */
  stop() {
    this.#forced = this.#stopping.signal.aborted;
    this.#stopping.abort();
    this.#changed();
  }

  /**
   * Works, once. When stopped, waits up to `drainMs` for what runs, and releases the rest. SIGTERM
   * and SIGINT stop it, too, and a second one forces it.
   *
   * @param {{drainMs?: number, signals?: boolean}} [options]
   */
  async run({ drainMs = 25_000, signals = true } = {}) {
    const names = signals ? ["SIGINT", "SIGTERM"] : [];
    const onSignal = () => this.stop();
    for (const name of names) process.on(name, onSignal);
    try {
      const loops = [this.#record(), this.#beat()];
      await this.#fetch();
      const unsettled = () => [...this.#runs.values()].filter((run) => !run._settled);
      await this.#until(() => !unsettled().length || this.#forced, drainMs);
      for (const run of unsettled()) {
        run._cancel("shutdown");
        this.#release(run, "the worker shut down", 0);
      }
      const recorded = await this.#until(() => !this.#runs.size, this.#forced ? 2000 : 10_000);
      if (!recorded) this.log(`${this.#runs.size} outcomes were not recorded: their leases end`);
      this.#ended.abort();
      this.#changed();
      await Promise.all(loops);
    } finally {
      for (const name of names) process.off(name, onSignal);
    }
  }

  #changed() {
    for (const wake of [...this.#waiting]) wake();
  }

  /**
   * Waits until something has changed.
   *
   * @param {number} ms
   * @returns {Promise<void>}
   */
  #change(ms) {
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        this.#waiting.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, ms);
      this.#waiting.add(wake);
    });
  }

  /**
   * @param {() => boolean} done
   * @param {number} ms
   */
  async #until(done, ms) {
    const end = performance.now() + ms;
    while (!done() && performance.now() < end) {
      await this.#change(Math.min(1000, end - performance.now()));
    }
    return done();
  }

  async #fetch() {
    const { signal } = this.#stopping;
    let pause = 100;
    while (!signal.aborted) {
      // Less while outcomes wait: a worker that cannot record takes no more work.
      const room = 2 * this.concurrency - this.#runs.size;
      const limit = Math.min(this.concurrency - this.#running, room, 1000);
      if (limit < 1) {
        await this.#change(1000);
        continue;
      }
      const { queues, leaseMs: lease_ms, waitMs: wait_ms, name: worker } = this;
      const ask = { queues, limit, lease_ms, wait_ms, worker };
      const askedAt = performance.now();
      try {
        // Never repeated by the call: a lost answer costs a lease, and the loop comes back.
        const options = { timeoutMs: wait_ms + 10_000, deadlineMs: 0, signal };
        const text = await this.client.callText("POST", "/v1/reserve", ask, options);
        /** @type {Json[]} */
        const leases = JSON.parse(text).leases;
        pause = 100;
        /** @type {(string | undefined)[] | undefined} */
        let raw;
        const rawOf = (/** @type {number} */ i) => (raw ??= rawPayloads(text))[i];
        leases.forEach((lease, i) => this.#start(new Context(this.client, lease, () => rawOf(i))));
        if (!leases.length && performance.now() - askedAt < Math.min(wait_ms, 100)) {
          await this.#pause(200, signal); // It does not wait for work, so we do.
        }
      } catch (/** @type {any} */ error) {
        if (signal.aborted) break;
        this.log(`no jobs were reserved, trying again: ${error.message}`);
        const wait = Math.min(Math.max(pause, error.retryAfterMs ?? 0), PAUSE_MS);
        await this.#pause(wait * (0.5 + Math.random() / 2), signal);
        pause = Math.min(pause * 2, PAUSE_MS);
      }
    }
  }

  /**
   * @param {number} ms
   * @param {AbortSignal} signal
   */
  async #pause(ms, signal) {
    await sleep(ms, undefined, { signal }).catch(() => {});
  }

  /** @param {Context} run */
  #start(run) {
    this.#runs.set(run.token, run);
    const handler = this.handlers.get(run.job.type);
    if (this.#stopping.signal.aborted) {
      this.#release(run, "the worker shut down", 0);
    } else if (handler) {
      void this.#work(run, handler);
    } else {
      const delay = Math.min(60_000, 1000 * 2 ** (run.job.releases ?? 0));
      this.#release(run, `no handler for the type ${run.job.type}`, delay);
    }
  }

  /**
   * @param {Context} run
   * @param {Handler} handler
   */
  async #work(run, handler) {
    this.#running += 1;
    try {
      const result = JSON.stringify(await handler(run.payload, run));
      this.#settle(run, "ack", result === undefined ? {} : { result: JSON.parse(result) });
    } catch (error) {
      const asked = error instanceof Retry ? error : new Retry();
      let { kind, delayMs } = asked;
      let text = textOf(error);
      this.log(`job ${run.job.id}, ${kind}: ${text}`);
      if (kind === "retry" && run.why === "timeout") {
        text = `timed out after ${run.job.timeout_ms} ms: ${text}`;
      } else if (kind === "retry" && ["shutdown", "lease_lost"].includes(run.why)) {
        [kind, delayMs] = ["release", 0]; // It was interrupted for no fault of its own.
      }
      const late = delayMs === undefined ? {} : { delay_ms: delayMs };
      this.#settle(run, "nack", { kind, error: text, ...late });
    } finally {
      this.#running -= 1;
      this.#changed();
    }
  }

  /**
   * @param {Context} run
   * @param {string} error
   * @param {number} delay_ms
   */
  #release(run, error, delay_ms) {
    this.#settle(run, "nack", { kind: "release", error, delay_ms });
  }

  /**
   * Records the first outcome of a run; what comes later is of nobody's interest.
   *
   * @param {Context} run
   * @param {"ack" | "nack"} path
   * @param {Json} item
   */
  #settle(run, path, item) {
    if (run._settled) return;
    run._settled = true;
    this.#outcomes.push({ path, item: { token: run.token, ...item }, run });
    this.#changed();
  }

  /** Sends outcomes, as many at once as have gathered while the last call was under way. */
  async #record() {
    let pause = 100;
    while (!this.#ended.signal.aborted) {
      // A hundred results of the largest size still are a body that the server reads.
      const batch = this.#outcomes.splice(0, 100);
      if (!batch.length) {
        await this.#change(1000);
        continue;
      }
      const paths = /** @type {const} */ (["ack", "nack"]);
      const sent = paths.map((p) => this.#send(p, batch.filter(({ path }) => path === p)));
      const again = (await Promise.all(sent)).flat();
      const waiting = new Set(again.map(({ run }) => run));
      for (const { run } of batch) if (!waiting.has(run)) this.#runs.delete(run.token);
      this.#outcomes.push(...again);
      this.#changed();
      if (again.length) await this.#pause(pause * (0.5 + Math.random() / 2), this.#ended.signal);
      pause = again.length ? Math.min(pause * 2, PAUSE_MS) : 100;
    }
  }

  /**
   * What is to be sent again: all that was not answered.
   *
   * @param {"ack" | "nack"} path
   * @param {Outcome[]} entries
   * @returns {Promise<Outcome[]>}
   */
  async #send(path, entries) {
    if (!entries.length) return [];
    try {
      const body = { [`${path}s`]: entries.map(({ item }) => item) };
      const options = { timeoutMs: 10_000, deadlineMs: 0 };
      const { outcomes } = await this.client.call("POST", `/v1/${path}`, body, options);
      entries.forEach(({ run }, i) => {
        if (["lease_lost", "not_found"].includes(outcomes[i].outcome)) {
          this.log(`job ${run.job.id}: ${outcomes[i].outcome}, its ${path} was not recorded`);
        }
      });
      return [];
    } catch (/** @type {any} */ error) {
      if (![400, 413, 422].includes(error.status)) {
        this.log(`${entries.length} outcomes are not recorded yet: ${error.message}`);
        return entries;
      }
      if (entries.length > 1) { // One of them is refused: tell it apart from the others.
        return (await Promise.all(entries.map((entry) => this.#send(path, [entry])))).flat();
      }
      const [{ item, run }] = entries;
      if (path === "ack") {
        const text = `the result could not be stored: ${error.message}`;
        return [{ path: "nack", item: { token: item.token, kind: "retry", error: text }, run }];
      }
      this.log(`job ${run.job.id}: its outcome is refused: ${error.message}`);
      return [];
    }
  }

  /** Keeps leases, and tells handlers to stop. */
  async #beat() {
    const lease = this.leaseMs;
    let due = 0;
    while (!this.#ended.signal.aborted) {
      const now = performance.now();
      const runs = [...this.#runs.values()];
      for (const run of runs) {
        const timeout = run.job.timeout_ms || Infinity;
        // Perhaps it is not lost, but nobody could tell us.
        if (now > run._extendedAt + 0.9 * lease) run._cancel("lease_lost");
        if (now > run._startedAt + timeout) run._cancel("timeout");
        if (now > run._startedAt + timeout + GRACE_MS) {
          const error = `timed out after ${timeout} ms, and was given up`;
          this.#settle(run, "nack", { kind: "retry", error });
        }
      }
      if (now >= due) {
        const oldest = Math.min(lease, ...runs.map((r) => r._extendedAt + 0.9 * lease - now));
        const timeoutMs = oldest > 0 ? Math.max(50, Math.min(lease / 5, oldest)) : lease / 5;
        if (await this.#extend(runs, timeoutMs)) {
          due = now + lease / 3;
          await this.#show(timeoutMs);
        }
      }
      await this.#pause(Math.min(1000, lease / 20), this.#ended.signal);
    }
  }

  /**
   * @param {Context[]} runs
   * @param {number} timeoutMs
   */
  async #extend(runs, timeoutMs) {
    const now = performance.now();
    try {
      for (let i = 0; i < runs.length; i += 1000) {
        const some = runs.slice(i, i + 1000);
        const body = { tokens: some.map((run) => run.token), lease_ms: this.leaseMs };
        const options = { timeoutMs, deadlineMs: 0 };
        const { outcomes } = await this.client.call("POST", "/v1/extend", body, options);
        some.forEach((run, j) => {
          const { outcome, cancel_requested: cancel } = outcomes[j];
          if (outcome === "extended") {
            run._extendedAt = now;
            if (cancel) run._cancel("cancel_requested");
          } else if (outcome !== "settling") { // That one is asked again next time.
            run._cancel("lease_lost");
          }
        });
      }
      return true;
    } catch (/** @type {any} */ error) {
      this.log(`leases are not extended yet: ${error.message}`);
      return false;
    }
  }

  /**
   * Presence: who looks at the workers sees this one. No job depends on it.
   *
   * @param {number} timeoutMs
   */
  async #show(timeoutMs) {
    const queues = Array.isArray(this.queues) ? this.queues : Object.keys(this.queues);
    const { id, name, concurrency: slots, leaseMs: ttl_ms } = this;
    const types = [...this.handlers.keys()].sort();
    const body = { id, name, queues, types, slots, running: this.#running, ttl_ms };
    await this.client.call("POST", "/v1/beat", body, { timeoutMs, deadlineMs: 0 }).catch(() => {});
  }
}

/**
 * @param {Json} job
 * @returns {string}
 */
function jobText({ payload, rawPayload, ...job }) {
  if (payload instanceof Uint8Array) {
    job.payload_base64 = Buffer.from(payload).toString("base64");
  } else if (rawPayload === undefined && payload !== undefined) {
    job.payload = payload;
  }
  // Without a key, a repeated call would store the job twice.
  const text = JSON.stringify({ ...job, idempotency_key: job.idempotency_key ?? randomUUID() });
  if (rawPayload === undefined) return text;
  JSON.parse(rawPayload); // Else it could break out of its field.
  return `{"payload":${rawPayload},${text.slice(1)}`;
}

/**
 * @param {string} text
 * @param {string} title
 * @returns {Json}
 */
function problemOf(text, title) {
  try {
    const problem = JSON.parse(text);
    if (problem && typeof problem === "object") return problem;
  } catch {
    // A proxy answered, or nobody we know.
  }
  return { title, detail: text.slice(0, 200) };
}

/**
 * Never fails, and is Unicode whatever the error says: else its job would be kept.
 *
 * @param {unknown} error
 */
function textOf(error) {
  try {
    const text = error instanceof Retry ? error.message : String(error);
    return Buffer.from(text.slice(0, 8000)).toString();
  } catch {
    return "it threw something that has no text";
  }
}

/**
 * The text of the payload of each lease in an answer, since `JSON.parse` rounds large numbers.
 *
 * Looks at nothing but strings, brackets and commas: the text has been parsed already.
 *
 * @param {string} text
 */
export function rawPayloads(text) {
  const JOB = 4; // {"leases":[{"job":{"payload": ..
  /** @type {(string | undefined)[]} */
  const found = [];
  /** @type {string | undefined} */
  let payload;
  let depth = 0;
  let start = -1;
  for (let at = 0; at < text.length; at += 1) {
    const c = text[at];
    if (c === '"') {
      const from = at;
      for (at += 1; text[at] !== '"'; at += 1) if (text[at] === "\\") at += 1;
      if (depth === JOB && start < 0 && text.slice(from, at + 1) === '"payload"') {
        const colon = /\s*:/y;
        colon.lastIndex = at + 1;
        if (colon.test(text)) start = colon.lastIndex;
      }
    } else if (c === "{" || c === "[") {
      depth += 1;
    } else if (c === "}" || c === "]" || c === ",") {
      if (depth === JOB && start >= 0) {
        payload = text.slice(start, at).trim();
        start = -1;
      }
      if (depth === JOB && c === "}") {
        found.push(payload);
        payload = undefined;
      }
      if (c !== ",") depth -= 1;
    }
  }
  return found;
}
