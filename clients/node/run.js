// One run of a job: what its handler is given, what it can throw, and what is told of it.

import { dump } from "./json.js";

/** Thrown by a handler: this attempt failed; again after `delayMs`, or as the server says. */
export class Retry extends Error {
  kind = "retry";

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

/** The run of a job, for its handler. What it needs of the job is in `job`. */
export class Context {
  #client;
  #controller = new AbortController();
  /** A secret, for routes that take one. */
  #token;

  constructor(client, { token, job }) {
    this.job = job;
    /** Why it was cancelled: `cancel_requested`, `lease_lost`, `timeout` or `shutdown`. */
    this.why = "";
    this.#client = client;
    this.#token = token;
    this.extendedAt = performance.now();
    this.endsAt = this.extendedAt + (job.timeout_ms || Infinity);
    this.settled = false;
  }

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

  /** Shows how far it is. Whoever looks sees it; nothing else depends on it. */
  async report(fraction, message = "", lines = []) {
    const report = { token: this.token, progress: { fraction, message }, lines };
    await this.#client.call("POST", "/v1/report", { reports: [report] });
  }

  cancel(why) {
    if (this.signal.aborted) return;
    this.why = why;
    this.#controller.abort(new Error(`the run should stop: ${why}`));
  }
}

/** Runs the handler; what is to be told of it. Only nacks have a `kind`. */
export async function outcome(run, handler, log) {
  const { id, type, releases = 0, timeout_ms: timeout } = run.job;
  try {
    if (!handler) {
      const delayMs = Math.min(60_000, 1000 * 2 ** releases);
      throw new Release(`no handler for the type ${type}`, { delayMs });
    }
    const result = await handler(run.payload, run);
    return dump(result) === undefined ? {} : { result };
  } catch (error) {
    let { kind, delayMs } = error instanceof Retry ? error : new Retry();
    let text = textOf(error);
    log(`job ${id}, ${kind}: ${text}`);
    if (kind === "retry" && run.why === "timeout") {
      text = `timed out after ${timeout} ms: ${text}`;
    } else if (kind === "retry" && ["shutdown", "lease_lost"].includes(run.why)) {
      [kind, delayMs] = ["release", 0]; // It was interrupted for no fault of its own.
    }
    return { kind, error: text, delay_ms: delayMs };
  }
}

/** Never fails, and is Unicode whatever the error says: else its job would be kept. */
function textOf(error) {
  try {
    const text = error instanceof Retry ? error.message : String(error);
    return Buffer.from(text.slice(0, 8000)).toString();
  } catch {
    return "it threw something that has no text";
  }
}
