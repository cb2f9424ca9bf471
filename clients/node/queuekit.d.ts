/**
 * A client and a worker of queuekit, over its HTTP API. One file, nothing but Node >= 18.
 *
 * A worker has three loops beside its handlers: `#fetch` asks for as many jobs as there are free
 * slots, `#beat` keeps the leases of what runs, and `#record` tells the server how it went.
 */
export type Json = Record<string, any>;
export type Handler = (payload: any, ctx: Context) => any;
/** @typedef {Record<string, any>} Json */
/** @typedef {(payload: any, ctx: Context) => any} Handler */
/** What the server refused, or that it cannot be reached (`status` 0, type `unreachable`). */
export declare class QueuekitError extends Error {
    status: number;
    problem: Json;
    retryAfterMs: number | undefined;
    type: string;
    title: string;
    detail: string;
    /**
     * @param {number} status
     * @param {Json} problem
     * @param {number} [retryAfterMs]
     */
    constructor(status: number, problem: Json, retryAfterMs?: number);
}
/** Thrown by a handler: this attempt failed; again after `delayMs`, or as the server says. */
export declare class Retry extends Error {
    delayMs: number | undefined;
    kind: string;
    /**
     * @param {string} [why]
     * @param {{delayMs?: number}} [options]
     */
    constructor(why?: string, { delayMs }?: {
        delayMs?: number;
    });
}
/** Thrown by a handler: not now; again after `delayMs`, and no attempt is spent. */
export declare class Release extends Retry {
    kind: string;
}
/** Thrown by a handler: no attempt will help; the job is dead at once. */
export declare class Fatal extends Retry {
    kind: string;
}
/** Talks to one server. */
export declare class Client {
    #private;
    url: string;
    timeoutMs: number;
    deadlineMs: number;
    /**
     * `timeoutMs` is of one try, `deadlineMs` of a call with all its tries.
     *
     * @param {{url?: string, apiKey?: string, timeoutMs?: number, deadlineMs?: number}} [options]
     */
    constructor({ url, apiKey, timeoutMs, deadlineMs }?: {
        url?: string;
        apiKey?: string;
        timeoutMs?: number;
        deadlineMs?: number;
    });
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
    enqueue(type: string, payload?: any, options?: Json): Promise<Json>;
    /**
     * Stores up to 1,000 jobs in one step; an outcome for each, which may be `queue_full`.
     *
     * @param {Json[]} jobs
     * @returns {Promise<Json[]>}
     */
    enqueueMany(jobs: Json[]): Promise<Json[]>;
    /**
     * The job as it is now; a `QueuekitError` with status 404 if there is none.
     *
     * @param {string} id
     * @returns {Promise<Json>}
     */
    getJob(id: string): Promise<Json>;
    /**
     * One request of the API, repeated while that helps. Only for what can be repeated.
     *
     * @param {string} method
     * @param {string} path
     * @param {string | Json} [body] A string is JSON already.
     * @param {CallOptions} [options]
     * @returns {Promise<any>}
     */
    call(method: string, path: string, body?: string | Json, options?: CallOptions): Promise<any>;
    /**
     * As `call`, for who reads the answer with a parser that spares large numbers.
     *
     * @param {string} method
     * @param {string} path
     * @param {string | Json} [body]
     * @param {CallOptions} [options]
     * @returns {Promise<string>}
     */
    callText(method: string, path: string, body?: string | Json, options?: CallOptions): Promise<string>;
}
export type CallOptions = {
    timeoutMs?: number;
    deadlineMs?: number;
    signal?: AbortSignal;
};
/** @typedef {{timeoutMs?: number, deadlineMs?: number, signal?: AbortSignal}} CallOptions */
/** The run of a job, for its handler. All fields of the job are in `job`. */
export declare class Context {
    #private;
    /** @type {Json} */
    job: Json;
    /** Why it was cancelled: `cancel_requested`, `lease_lost`, `timeout` or `shutdown`. */
    why: string;
    /** @internal */
    _startedAt: number;
    /** @internal */
    _extendedAt: number;
    /** @internal */
    _settled: boolean;
    /**
     * @param {Client} client
     * @param {Json} lease
     * @param {() => string | undefined} raw
     */
    constructor(client: Client, lease: Json, raw: () => string | undefined);
    /** Its lease: a secret, for routes that take one. */
    get token(): string;
    /** Aborted when it should stop. Then throw something: to return says that the work is done. */
    get signal(): AbortSignal;
    /** Its payload: a value, or bytes (a `Buffer`) if they are no JSON. */
    get payload(): any;
    /** The JSON text of its payload as it was enqueued: `payload` has large numbers rounded. */
    get rawPayload(): string | undefined;
    /**
     * Shows how far it is. Whoever looks sees it; nothing else depends on it.
     *
     * @param {number} fraction
     * @param {string} [message]
     * @param {string[]} [lines]
     */
    report(fraction: number, message?: string, lines?: string[]): Promise<void>;
}
export type Outcome = {
    path: "ack" | "nack";
    item: Json;
    run: Context;
};
/** @typedef {{path: "ack" | "nack", item: Json, run: Context}} Outcome */
/** Runs jobs until SIGTERM, SIGINT or `stop()`. */
export declare class Worker {
    #private;
    client: Client;
    queues: string[] | Record<string, number>;
    handlers: Map<string, Handler>;
    concurrency: number;
    leaseMs: number;
    waitMs: number;
    name: string;
    id: string;
    log: (text: string) => void;
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
    constructor(client: Client, queues: string[] | Record<string, number>, handlers: Record<string, Handler>, options?: {
        concurrency?: number;
        leaseMs?: number;
        waitMs?: number;
        name?: string;
        log?: (text: string) => void;
    });
    /** Ends `run`, in good order; the second call ends it without waiting for handlers. */
    stop(): void;
    /**
     * Works, once. When stopped, waits up to `drainMs` for what runs, and releases the rest. SIGTERM
     * and SIGINT stop it, too, and a second one forces it.
     *
     * @param {{drainMs?: number, signals?: boolean}} [options]
     */
    run({ drainMs, signals }?: {
        drainMs?: number;
        signals?: boolean;
    }): Promise<void>;
}
/**
 * The text of the payload of each lease in an answer, since `JSON.parse` rounds large numbers.
 *
 * Looks at nothing but strings, brackets and commas: the text has been parsed already.
 *
 * @param {string} text
 */
export declare function rawPayloads(text: string): (string | undefined)[];
