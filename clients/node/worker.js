// Working: `run` reserves jobs, each is run and settled by itself, `#beat` keeps the leases.

import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";

import { Context, runOnce } from "./run.js";
import { UndecodableKinds } from "./undecodable.js";
import { VERSION } from "./version.js";

/**
 * @import { Client } from "./client.js"
 * @import { Handler, Item } from "./run.js"
 * @import { Beat, Orders, Queues } from "./types.js"
 */

/** At the end, how long to wait until the worker is off the server's list. */
const LAST_MS = 2000;

/** A beat names at most this many queues and kinds, and says if there are more. */
const NAMES = 100;

/** The longest time between two beats: an order reaches the worker with the next. */
const BEAT_MS = 10_000;

/** A beat names at most this many running jobs, those that run the longest. */
const JOBS = 100;

/** How long the lease of a run is kept after it timed out. */
const GRACE_MS = 10_000;

/** Runs jobs until SIGTERM, SIGINT or `stop()`. */
export class Worker {
  /**
   * The slots in use: runs by token, until their outcome is recorded.
   *
   * @type {Map<string, Context>}
   */
  #runs = new Map();
  #stopping = new AbortController();
  #forced = false;
  #ended = new AbortController();
  #changed = new AbortController();
  /** Ends the long poll. */
  #polling = new AbortController();
  /** As it was ordered. */
  #isQuiet = false;
  #slots;
  #obeyed = 0;
  #startedAt = new Date();
  #undecodable = new UndecodableKinds();

  /**
   * `queues` in the order they are served, or with weights; `handlers` by kind of job. `log` gets
   * errors that the caller does not have to handle.
   *
   * @param {Client} client
   * @param {Queues} queues
   * @param {Record<string, Handler>} handlers
   * @param {{ concurrency?: number, leaseMs?: number, waitMs?: number, name?: string,
   *   log?: (text: string) => void }} [options]
   */
  constructor(client, queues, handlers, options = {}) {
    const { concurrency = 10, leaseMs = 30_000, waitMs = 20_000 } = options;
    if (!(concurrency >= 1 && concurrency <= 1000)) {
      throw new RangeError(`concurrency is ${concurrency}: give 1 to 1000, or run more workers`);
    }
    this.client = client;
    this.queues = queues;
    this.concurrency = concurrency;
    this.leaseMs = leaseMs;
    this.waitMs = waitMs;
    this.#slots = concurrency;
    this.handlers = new Map(Object.entries(handlers));
    const host = hostname().replace(/[^A-Za-z0-9_.:-]|^[^A-Za-z0-9]+/g, "").slice(0, 80);
    this.name = options.name ?? `${host || "worker"}-${process.pid}`;
    this.id = `${this.name.slice(0, 90)}.${randomUUID()}`;
    this.log = options.log ?? ((/** @type {string} */ text) => console.warn(`queuekit: ${text}`));
  }

  /** Ends `run` gracefully; a second call ends it without waiting for handlers. */
  stop() {
    this.#forced = this.#stopping.signal.aborted;
    this.#stopping.abort();
    this.#polling.abort();
    this.#changed.abort();
  }

  /**
   * Works until it is stopped; call it once. Then it waits up to `drainMs` for running jobs, and
   * releases the rest. SIGTERM and SIGINT stop it too; after a second one it does not wait.
   *
   * @param {{ drainMs?: number, signals?: boolean }} [options]
   * @returns {Promise<void>}
   */
  async run({ drainMs = 25_000, signals = true } = {}) {
    const names = signals ? ["SIGINT", "SIGTERM"] : [];
    const onSignal = () => this.stop();
    for (const name of names) process.on(name, onSignal);
    const beating = this.#beat();
    try {
      while (!this.#stopping.signal.aborted) {
        const hasRoom = () => !this.#isQuiet && this.#runs.size < this.#slots;
        if (await this.#until(hasRoom, 1000)) await this.#reserve();
      }
      await this.#drain(drainMs);
    } finally {
      this.#ended.abort();
      await beating;
      for (const name of names) process.off(name, onSignal);
    }
  }

  /**
   * Whether it happened in time.
   *
   * @param {() => boolean} done
   * @param {number} ms
   */
  async #until(done, ms) {
    const end = performance.now() + ms;
    while (!done() && performance.now() < end) {
      this.#changed = new AbortController();
      await pause(end - performance.now(), this.#changed.signal);
    }
    return done();
  }

  async #reserve() {
    const { queues, leaseMs: lease_ms, waitMs: wait_ms, id: worker } = this;
    const limit = this.#slots - this.#runs.size;
    const { signal } = this.#stopping;
    if (signal.aborted) return;
    this.#polling = new AbortController();
    try {
      const options = { timeoutMs: 10_000, signal: this.#polling.signal };
      const ask = { queues, limit, lease_ms, wait_ms, worker };
      const { leases } = await this.client.reserve(ask, options);
      for (const lease of leases) void this.#work(new Context(this.client, lease));
      // A server that is stopping answers at once.
      if (!leases.length) await pause(100, signal);
    } catch (/** @type {any} */ error) {
      if (this.#polling.signal.aborted) return;
      this.log(`no jobs were reserved, trying again: ${error.message}`);
      await pause(1000 * (0.5 + Math.random() / 2), signal);
    }
  }

  /** @param {Context} run */
  async #work(run) {
    this.#runs.set(run.token, run);
    const item = await runOnce(run, this.handlers.get(run.job.kind), this.log);
    if (!run.settled) { // Otherwise the run was given up.
      run.settled = true;
      if (item.cause === "undecodable") this.#undecodable.add(run.job.kind, item.error ?? "");
      await this.#settle(run, item);
    }
    this.#runs.delete(run.token);
    this.#changed.abort();
  }

  /**
   * Records the outcome; repeats the call until the server has answered.
   *
   * @param {Context} run
   * @param {Item} item
   */
  async #settle(run, item) {
    while (!this.#ended.signal.aborted) {
      const path = item.kind ? "nack" : "ack";
      const items = [{ token: run.token, ...item }];
      try {
        const options = { timeoutMs: 10_000, signal: this.#ended.signal };
        const [{ outcome }] = await this.client[path](items, options);
        if (outcome === "lease_lost" || outcome === "not_found") {
          this.log(`job ${run.job.id}: ${outcome}, its ${path} was not recorded`);
        }
        return;
      } catch (/** @type {any} */ error) {
        this.log(`job ${run.job.id}: its ${path} is not recorded: ${error.message}`);
        if (![400, 413, 422].includes(error.status)) { // Also a proxy may answer so.
          await pause(1000 * (0.5 + Math.random() / 2), this.#ended.signal);
        } else if (path === "ack") {
          item = { kind: "retry", error: `the result could not be stored: ${error.message}` };
        } else {
          return;
        }
      }
    }
  }

  /** Extends leases, and cancels runs that should stop. */
  async #beat() {
    const lease = this.leaseMs;
    for (let [extendAt, beatAt] = [0, 0]; !this.#ended.signal.aborted;) {
      const now = performance.now();
      const runs = [...this.#runs.values()].filter((run) => now < run.endsAt + GRACE_MS);
      for (const run of runs) {
        // The lease may still hold, but the server has not confirmed it.
        if (now > run.extendedAt + 0.9 * lease) run.cancel("lease_lost");
        if (now > run.endsAt) run.cancel("timeout");
      }
      if (now >= Math.min(extendAt, beatAt)) {
        const left = Math.min(lease, ...runs.map((r) => r.extendedAt + 0.9 * lease - now));
        const timeoutMs = left > 0 ? Math.max(50, Math.min(lease / 5, left)) : lease / 5;
        try {
          if (now >= extendAt) {
            if (runs.length) await this.#extend(runs, timeoutMs);
            extendAt = now + lease / 3;
          }
          if (now >= beatAt) {
            beatAt = now + Math.min(lease / 3, BEAT_MS);
            // Twice, so that the list shows at once that it has obeyed.
            if (this.#obey(await this.#show(timeoutMs))) await this.#show(timeoutMs);
          }
        } catch (/** @type {any} */ error) {
          this.log(`leases are not extended yet, or not shown: ${error.message}`);
        }
      }
      await pause(Math.min(1000, lease / 20), this.#ended.signal);
    }
    // Here, so that no beat follows it. If it fails, the entry expires.
    const options = { timeoutMs: LAST_MS, deadlineMs: 0 };
    await this.client.call("DELETE", `/v1/workers/${this.id}`, undefined, options).catch(() => {});
  }

  /**
   * @param {Context[]} runs
   * @param {number} timeoutMs
   */
  async #extend(runs, timeoutMs) {
    const now = performance.now();
    const tokens = runs.map((run) => run.token);
    const options = { timeoutMs, deadlineMs: 0 };
    const outcomes = await this.client.extend(tokens, this.leaseMs, options);
    runs.forEach((run, i) => {
      const { outcome: kept, cancel_requested: cancel } = outcomes[i];
      if (kept === "extended") {
        run.extendedAt = now;
        if (cancel) run.cancel("cancel_requested");
      } else if (kept === "settling") { // No other worker can get the job meanwhile.
        run.extendedAt = now;
      } else if (kept !== "unknown") { // The next extend asks again.
        run.cancel("lease_lost");
      }
    });
  }

  /**
   * Announces this worker in the list of workers; returns its orders. No job depends on it.
   *
   * @param {number} timeoutMs
   * @returns {Promise<Orders | undefined>}
   */
  async #show(timeoutMs) {
    const queues = this.queues instanceof Array ? this.queues : Object.keys(this.queues);
    const { id, name, leaseMs: ttl_ms } = this;
    const runs = [...this.#runs.values()];
    const kinds = [...this.handlers.keys()].sort();
    const named = {
      queues: queues.slice(0, NAMES),
      more_queues: queues.length > NAMES,
      kinds: kinds.slice(0, NAMES),
      more_kinds: kinds.length > NAMES,
    };
    const about = {
      host: hostname(),
      pid: process.pid,
      version: `queuekit-node ${VERSION}`,
      started_at: this.#startedAt.toISOString(),
      // They are in the order of their start.
      jobs: runs.slice(0, JOBS)
        .map(({ job: { id, kind }, startedAt }) => ({ id, kind, since: startedAt.toISOString() })),
      undecodable: this.#undecodable.lately(),
    };
    const orders = { slots: this.#slots, obeyed: this.#obeyed };
    /** @type {Beat} */
    const body = { id, name, ...named, ...about, ...orders, running: runs.length, ttl_ms };
    const answer = await this.client.call("POST", "/v1/beat", body, { timeoutMs, deadlineMs: 0 });
    return answer?.orders;
  }

  /**
   * Obeys orders that are new; returns whether there were any.
   *
   * @param {Orders | undefined} orders
   */
  #obey(orders) {
    if (!orders || orders.seq <= this.#obeyed) return false;
    const { seq, mode, slots } = orders;
    if (slots) this.#slots = Math.min(slots, this.concurrency);
    if (mode === "quiet" || mode === "resume") this.#isQuiet = mode === "quiet";
    if (this.#isQuiet) this.#polling.abort();
    if (mode === "stop" && !this.#stopping.signal.aborted) this.stop();
    this.#obeyed = seq;
    this.#changed.abort();
    return true;
  }

  /** @param {number} ms */
  async #drain(ms) {
    await this.#until(() => !this.#runs.size || this.#forced, ms);
    const last = this.#forced ? 2000 : 10_000;
    const left = [...this.#runs.values()].filter((run) => !run.settled);
    /** @type {Item} */
    const release = {
      kind: "release", error: "the worker shut down", delay_ms: 0, cause: "shutdown",
    };
    const nacks = left.map((run) => ({ token: run.token, ...release }));
    for (const run of left) {
      run.settled = true;
      run.cancel("shutdown");
      this.#runs.delete(run.token);
    }
    const options = { timeoutMs: last, deadlineMs: last };
    const released = nacks.length ? this.client.nack(nacks, options) : undefined;
    await Promise.resolve(released).catch((error) => {
      this.log(`${left.length} jobs were not released, their leases run out: ${error.message}`);
    });
    const recorded = await this.#until(() => !this.#runs.size, last);
    if (!recorded) this.log(`${this.#runs.size} outcomes were not recorded: their leases run out`);
  }
}

/**
 * @param {number} ms
 * @param {AbortSignal} signal
 */
async function pause(ms, signal) {
  await sleep(Math.max(ms, 1), undefined, { signal }).catch(() => {});
}
