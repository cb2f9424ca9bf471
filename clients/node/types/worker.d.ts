import type { Client } from "./client.js";
import type { Handler } from "./run.js";
import type { Queues } from "./types.js";
/** Runs jobs until SIGTERM, SIGINT or `stop()`. */
export declare class Worker {
    #private;
    client: Client;
    queues: Queues;
    concurrency: number;
    leaseMs: number;
    waitMs: number;
    handlers: Map<string, Handler>;
    name: string;
    id: string;
    log: (text: string) => void;
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
    constructor(client: Client, queues: Queues, handlers: Record<string, Handler>, options?: {
        concurrency?: number;
        leaseMs?: number;
        waitMs?: number;
        name?: string;
        log?: (text: string) => void;
    });
    /** Ends `run` gracefully; a second call ends it without waiting for handlers. */
    stop(): void;
    /**
     * Works until it is stopped; call it once. Then it waits up to `drainMs` for running jobs, and
     * releases the rest. SIGTERM and SIGINT stop it too; after a second one it does not wait.
     *
     * @param {{ drainMs?: number, signals?: boolean }} [options]
     * @returns {Promise<void>}
     */
    run({ drainMs, signals }?: {
        drainMs?: number;
        signals?: boolean;
    }): Promise<void>;
}
