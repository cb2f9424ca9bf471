import type { LeasedJob } from "./types.js";
import type { Item } from "./run.js";
/** The current span, for a request that stores jobs: the server adds it to them. */
export declare function traceHeaders(): Record<string, string>;
/**
 * Runs a job in a span: a child of the one that enqueued it, and linked to it. `run` returns what
 * to record.
 *
 * @param {LeasedJob} job
 * @param {() => Promise<Item>} run
 * @returns {Promise<Item>}
 */
export declare function inSpan(job: LeasedJob, run: () => Promise<Item>): Promise<Item>;
