// One run of a job: what its handler gets, what it can throw, and how it is recorded.

import { dump } from "./json.js";
import { Steps } from "./steps.js";
import { inSpan } from "./trace.js";

/**
 * @import { Client } from "./client.js"
 * @import { Lease, LeasedJob, NackKind, ReleaseCause } from "./types.js"
 */

/** @typedef {"" | "cancel_requested" | "lease_lost" | "timeout" | "shutdown"} Why */

/**
 * Runs a job; what it returns is the job's result.
 *
 * @template [P=any], [R=unknown]
 * @typedef {(payload: P, ctx: Context) => R | Promise<R>} Handler
 */

/**
 * What is recorded of a run: only nacks have a `kind`.
 *
 * @typedef {{ result?: any, kind?: NackKind, error?: string, delay_ms?: number,
 *   cause?: ReleaseCause }} Item
 */

/** Thrown by a handler: this attempt failed; `delayMs` overrides the retry policy. */
export class Retry extends Error {
  /** @type {NackKind} */
  kind = "retry";

  /**
   * @param {string} [why]
   * @param {{ delayMs?: number }} [options]
   */
  constructor(why = "", { delayMs } = {}) {
    super(why);
    this.delayMs = delayMs;
  }
}

/** Thrown by a handler to run again after `delayMs`; no attempt is spent. */
export class Release extends Retry {
  /** @type {NackKind} */
  kind = "release";
  /** @type {ReleaseCause} */
  cause = "snooze";
}

/**
 * Thrown by a handler that cannot read its payload: a worker that can gets the job; no attempt is
 * spent. The server says when it runs again, and ends it after 7 days.
 */
export class Undecodable extends Release {
  /** @type {ReleaseCause} */
  cause = "undecodable";
}

/** Thrown by a handler if no retry can help: the job is dead-lettered at once. */
export class Fatal extends Retry {
  /** @type {NackKind} */
  kind = "fatal";
}

/** The run of a job, as its handler sees it. `job` has the fields of the leased job. */
export class Context {
  #client;
  #controller = new AbortController();
  /** The lease's token, a secret, for routes that take one. */
  #token;
  #steps;

  /**
   * @param {Client} client
   * @param {Lease} lease
   */
  constructor(client, { token, job }) {
    /** @type {LeasedJob} */
    this.job = job;
    /**
     * Why it should stop, if it should.
     *
     * @type {Why}
     */
    this.why = "";
    this.#client = client;
    this.#token = token;
    this.startedAt = new Date();
    this.extendedAt = performance.now();
    this.endsAt = this.extendedAt + (job.timeout_ms || Infinity);
    this.settled = false;
    this.#steps = new Steps(client, token, job);
  }

  get token() {
    return this.#token;
  }

  /** Aborted when the run should stop. Then throw: returning means that the work is done. */
  get signal() {
    return this.#controller.signal;
  }

  /**
   * The payload: a value, or a `Buffer` of bytes if it is not JSON.
   *
   * @returns {any}
   */
  get payload() {
    const encoded = this.job.payload_base64;
    return encoded === undefined ? this.job.payload : Buffer.from(encoded, "base64");
  }

  /**
   * Reports progress, for people who look at the job.
   *
   * @param {number} fraction
   * @param {string} [message]
   * @param {readonly string[]} [lines]
   * @returns {Promise<void>}
   */
  async report(fraction, message = "", lines = []) {
    await this.#client.report([{ token: this.token, progress: { fraction, message }, lines }]);
  }

  /**
   * Runs a step once for all runs of the job: if it was done, returns what it returned then.
   *
   * The result is stored before this returns: as JSON, or as it is if it is bytes (`Uint8Array`).
   *
   * @template T
   * @param {string} name
   * @param {() => T | Promise<T>} step
   * @returns {Promise<T>}
   */
  checkpoint(name, step) {
    return this.#steps.run(name, step);
  }

  /**
   * Returns what a step has returned, or `undefined` if it was not done.
   *
   * @param {string} name
   * @returns {Promise<any>}
   */
  findCheckpoint(name) {
    return this.#steps.find(name);
  }

  /**
   * Asks the handler to stop.
   *
   * @param {Why} why
   */
  cancel(why) {
    if (this.signal.aborted) return;
    this.why = why;
    this.#controller.abort(new Error(`the run should stop: ${why}`));
  }
}

/**
 * Runs the handler in a span. Returns what to record.
 *
 * @param {Context} run
 * @param {Handler | undefined} handler
 * @param {(text: string) => void} log
 * @returns {Promise<Item>}
 */
export function runOnce(run, handler, log) {
  return inSpan(run.job, () => handle(run, handler, log));
}

/**
 * @param {Context} run
 * @param {Handler | undefined} handler
 * @param {(text: string) => void} log
 * @returns {Promise<Item>}
 */
async function handle(run, handler, log) {
  const { id, kind, releases = 0, timeout_ms: timeout } = run.job;
  try {
    if (!handler) {
      const delayMs = Math.min(60_000, 1000 * 2 ** releases);
      const release = new Release(`no handler for the kind ${kind}`, { delayMs });
      throw Object.assign(release, { cause: "unknown_kind" });
    }
    const result = await handler(run.payload, run);
    return result instanceof Uint8Array || dump(result) !== undefined ? { result } : {};
  } catch (error) {
    let { kind, delayMs, cause } = error instanceof Release ? error : withoutCause(error);
    let text = textOf(error);
    log(`job ${id}, ${kind}: ${text}`);
    if (kind === "retry" && run.why === "timeout") {
      text = `timed out after ${timeout} ms: ${text}`;
    } else if (kind === "retry" && ["shutdown", "lease_lost"].includes(run.why)) {
      [kind, delayMs] = ["release", 0]; // It was interrupted, not at fault.
      cause = run.why === "shutdown" ? "shutdown" : undefined;
    }
    return { kind, error: text, delay_ms: delayMs, cause };
  }
}

/**
 * What an error other than a release asks for; its `cause` is that of JavaScript's errors.
 *
 * @param {unknown} error
 * @returns {{ kind: NackKind, delayMs?: number, cause?: ReleaseCause }}
 */
function withoutCause(error) {
  const { kind, delayMs } = error instanceof Retry ? error : new Retry();
  return { kind, delayMs };
}

/**
 * The error as text. Never fails and is valid Unicode: else no nack could be sent.
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
