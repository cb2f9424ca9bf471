import type { Ack, CancelOutcome, Checkpoints, EmitOutcome, Enqueued, EnqueueOutcome, ErrorGroup, EventOptions, Filter, Job, JobOptions, JobPage, Nack, NewCheckpoint, NewJob, Outcome, PageFilter, Queue, Queues, Report, Reserved } from "./types.js";
export type CallOptions = {
    timeoutMs?: number;
    deadlineMs?: number;
    signal?: AbortSignal;
    isRepeatable?: boolean;
};
/** Talks to one server. */
export declare class Client {
    #private;
    url: string;
    timeoutMs: number;
    deadlineMs: number;
    /**
     * `timeoutMs` limits one try, `deadlineMs` a call with all its tries.
     *
     * @param {{ url?: string, apiKey?: string, timeoutMs?: number, deadlineMs?: number }} [options]
     */
    constructor({ url, apiKey, timeoutMs, deadlineMs }?: {
        url?: string;
        apiKey?: string;
        timeoutMs?: number;
        deadlineMs?: number;
    });
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
    enqueue(kind: string, payload?: any, options?: JobOptions): Promise<Enqueued>;
    /**
     * Stores up to 1,000 jobs in one step. Returns an outcome for each: check for `queue_full`.
     *
     * @param {readonly NewJob[]} jobs
     * @returns {Promise<EnqueueOutcome[]>}
     */
    enqueueMany(jobs: readonly NewJob[]): Promise<EnqueueOutcome[]>;
    /**
     * Stores an event for all consumers of its type. Repeats the call as `enqueue` does.
     *
     * @param {string} type
     * @param {any} [data]
     * @param {EventOptions} [options]
     * @returns {Promise<EmitOutcome>}
     */
    emit(type: string, data?: any, options?: EventOptions): Promise<EmitOutcome>;
    /**
     * Returns the job as it is now; throws `NotFound` if it does not exist.
     *
     * @param {string} id
     * @returns {Promise<Job>}
     */
    getJob(id: string): Promise<Job>;
    /**
     * Returns the job once it is completed, dead or cancelled; `undefined` after `timeoutMs`. Throws
     * `NotFound` if the job does not exist, or was deleted meanwhile.
     *
     * @param {string} id
     * @param {number} timeoutMs
     * @param {{ signal?: AbortSignal }} [options]
     * @returns {Promise<Job | undefined>}
     */
    wait(id: string, timeoutMs: number, { signal }?: {
        signal?: AbortSignal;
    }): Promise<Job | undefined>;
    /**
     * Yields all jobs that match, page by page; `limit` is the size of a page.
     *
     * @param {Filter} [filter]
     * @returns {AsyncGenerator<Job, void, undefined>}
     */
    listJobs(filter?: Filter): AsyncGenerator<Job, void, undefined>;
    /**
     * Returns one page. It may be short or empty and still have a `cursor` to the next.
     *
     * @param {PageFilter} [filter]
     * @returns {Promise<JobPage>}
     */
    listJobsPage(filter?: PageFilter): Promise<JobPage>;
    /**
     * Cancels a job. `requested`: it is running, and its worker is asked to stop.
     *
     * @param {string} id
     * @returns {Promise<CancelOutcome>}
     */
    cancel(id: string): Promise<CancelOutcome>;
    /**
     * Brings a dead or cancelled job back; throws `Conflict` if it is neither. With `fresh` all of
     * its steps run again.
     *
     * @param {string} id
     * @param {{ fresh?: boolean }} [options]
     * @returns {Promise<void>}
     */
    retry(id: string, { fresh }?: {
        fresh?: boolean;
    }): Promise<void>;
    /**
     * Yields all queues by name, page by page; `limit` is the size of a page.
     *
     * @param {{ limit?: number }} [options]
     * @returns {AsyncGenerator<Queue, void, undefined>}
     */
    listQueues({ limit }?: {
        limit?: number;
    }): AsyncGenerator<Queue, void, undefined>;
    /**
     * @param {string} name
     * @returns {Promise<Queue>}
     */
    getQueue(name: string): Promise<Queue>;
    /**
     * Returns groups of errors that look alike, the most recent first.
     *
     * @param {{ queue?: string, limit?: number }} [options]
     * @returns {Promise<ErrorGroup[]>}
     */
    listErrors({ queue, limit }?: {
        queue?: string;
        limit?: number;
    }): Promise<ErrorGroup[]>;
    /**
     * Leases up to `limit` jobs; waits up to `wait_ms` for one. A `Worker` does all this.
     *
     * @param {{ queues: Queues, worker: string, limit?: number, lease_ms?: number,
     *   wait_ms?: number }} ask
     * @param {CallOptions} [options]
     * @returns {Promise<Reserved>}
     */
    reserve(ask: {
        queues: Queues;
        worker: string;
        limit?: number;
        lease_ms?: number;
        wait_ms?: number;
    }, options?: CallOptions): Promise<Reserved>;
    /**
     * Records that runs succeeded.
     *
     * @param {readonly Ack[]} acks
     * @param {CallOptions} [options]
     * @returns {Promise<Outcome[]>}
     */
    ack(acks: readonly Ack[], options?: CallOptions): Promise<Outcome[]>;
    /**
     * Records that runs failed, or were released or cancelled.
     *
     * @param {readonly Nack[]} nacks
     * @param {CallOptions} [options]
     * @returns {Promise<Outcome[]>}
     */
    nack(nacks: readonly Nack[], options?: CallOptions): Promise<Outcome[]>;
    /**
     * Extends leases. `cancel_requested` of an outcome asks that run to stop.
     *
     * @param {readonly string[]} tokens
     * @param {number} leaseMs
     * @param {CallOptions} [options]
     * @returns {Promise<Outcome[]>}
     */
    extend(tokens: readonly string[], leaseMs: number, options?: CallOptions): Promise<Outcome[]>;
    /**
     * Stores progress and log lines of runs.
     *
     * @param {readonly Report[]} reports
     * @returns {Promise<Outcome[]>}
     */
    report(reports: readonly Report[]): Promise<Outcome[]>;
    /**
     * Stores the result of a step. The `Context` of a worker does all this.
     *
     * @param {NewCheckpoint} step
     * @returns {Promise<Outcome>}
     */
    putCheckpoint(step: NewCheckpoint): Promise<Outcome>;
    /**
     * Reads the results of the steps of the job that is leased.
     *
     * @param {string} token
     * @returns {Promise<Checkpoints>}
     */
    checkpoints(token: string): Promise<Checkpoints>;
    /**
     * Makes any call. Repeats it if it is not a POST, or is said to be repeatable.
     *
     * @param {string} method
     * @param {string} path
     * @param {any} [body]
     * @param {CallOptions} [options]
     * @returns {Promise<any>}
     */
    call(method: string, path: string, body?: any, options?: CallOptions): Promise<any>;
}
