import type { Client } from "./client.js";
import type { Lease, LeasedJob, NackKind, ReleaseCause } from "./types.js";
export type Why = "" | "cancel_requested" | "lease_lost" | "timeout" | "shutdown";
export type Handler<P = any, R = unknown> = (payload: P, ctx: Context) => R | Promise<R>;
export type Item = {
    result?: any;
    kind?: NackKind;
    error?: string;
    delay_ms?: number;
    cause?: ReleaseCause;
};
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
export declare class Retry extends Error {
    delayMs: number | undefined;
    /** @type {NackKind} */
    kind: NackKind;
    /**
     * @param {string} [why]
     * @param {{ delayMs?: number }} [options]
     */
    constructor(why?: string, { delayMs }?: {
        delayMs?: number;
    });
}
/** Thrown by a handler to run again after `delayMs`; no attempt is spent. */
export declare class Release extends Retry {
    /** @type {NackKind} */
    kind: NackKind;
    /** @type {ReleaseCause} */
    cause: ReleaseCause;
}
/**
 * Thrown by a handler that cannot read its payload: a worker that can gets the job; no attempt is
 * spent. The server says when it runs again, and ends it after 7 days.
 */
export declare class Undecodable extends Release {
    /** @type {ReleaseCause} */
    cause: ReleaseCause;
}
/** Thrown by a handler if no retry can help: the job is dead-lettered at once. */
export declare class Fatal extends Retry {
    /** @type {NackKind} */
    kind: NackKind;
}
/** The run of a job, as its handler sees it. `job` has the fields of the leased job. */
export declare class Context {
    #private;
    /** @type {LeasedJob} */
    job: LeasedJob;
    /**
     * Why it should stop, if it should.
     *
     * @type {Why}
     */
    why: Why;
    startedAt: Date;
    extendedAt: number;
    endsAt: number;
    settled: boolean;
    /**
     * @param {Client} client
     * @param {Lease} lease
     */
    constructor(client: Client, { token, job }: Lease);
    get token(): string;
    /** Aborted when the run should stop. Then throw: returning means that the work is done. */
    get signal(): AbortSignal;
    /**
     * The payload: a value, or a `Buffer` of bytes if it is not JSON.
     *
     * @returns {any}
     */
    get payload(): any;
    /**
     * Reports progress, for people who look at the job.
     *
     * @param {number} fraction
     * @param {string} [message]
     * @param {readonly string[]} [lines]
     * @returns {Promise<void>}
     */
    report(fraction: number, message?: string, lines?: readonly string[]): Promise<void>;
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
    checkpoint<T>(name: string, step: () => T | Promise<T>): Promise<T>;
    /**
     * Returns what a step has returned, or `undefined` if it was not done.
     *
     * @param {string} name
     * @returns {Promise<any>}
     */
    findCheckpoint(name: string): Promise<any>;
    /**
     * Asks the handler to stop.
     *
     * @param {Why} why
     */
    cancel(why: Why): void;
}
/**
 * Runs the handler in a span. Returns what to record.
 *
 * @param {Context} run
 * @param {Handler | undefined} handler
 * @param {(text: string) => void} log
 * @returns {Promise<Item>}
 */
export declare function runOnce(run: Context, handler: Handler | undefined, log: (text: string) => void): Promise<Item>;
