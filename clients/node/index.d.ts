// The types of index.js.

export type Json = Record<string, any>;
export type Handler = (payload: any, ctx: Context) => unknown;
export type CallOptions = { timeoutMs?: number; deadlineMs?: number; signal?: AbortSignal };

/** The server refused a call, or was unreachable (`status` 0, type `unreachable`). */
export class QueuekitError extends Error {
  status: number;
  type: string;
  title: string;
  detail: string;
  problem: Json;
  retryAfterMs: number | undefined;
}

/** Talks to one server. */
export class Client {
  url: string;
  timeoutMs: number;
  deadlineMs: number;
  /** `timeoutMs` limits one try, `deadlineMs` a call with all its tries. */
  constructor(options?: { url?: string; apiKey?: string; timeoutMs?: number; deadlineMs?: number });
  /** Stores a job. Returns its `id`, and an `outcome`: `created` or `duplicate`. */
  enqueue(kind: string, payload?: any, options?: Json): Promise<Json>;
  /** Stores up to 1,000 jobs in one step. Returns an outcome for each: check for `queue_full`. */
  enqueueMany(jobs: Json[]): Promise<Json[]>;
  /** Stores an event for all consumers of its type. */
  emit(type: string, data?: any, options?: Json): Promise<Json>;
  /** Returns the job as it is now; throws a `QueuekitError` with status 404 if it is gone. */
  getJob(id: string): Promise<Json>;
  /** Returns the job once it has ended; `undefined` after `timeoutMs`. */
  wait(id: string, timeoutMs: number, options?: { signal?: AbortSignal }): Promise<Json | undefined>;
  /** Makes a request, and retries it while that can help: it must be safe to repeat. */
  call(method: string, path: string, body?: Json, options?: CallOptions): Promise<any>;
}

/** Thrown by a handler: this attempt failed; `delayMs` overrides the retry policy. */
export class Retry extends Error {
  kind: string;
  delayMs: number | undefined;
  constructor(why?: string, options?: { delayMs?: number });
}

/** Thrown by a handler to run again after `delayMs`; no attempt is spent. */
export class Release extends Retry {}

/** Thrown by a handler if no retry can help: the job is dead-lettered at once. */
export class Fatal extends Retry {}

/** The run of a job, as its handler sees it. */
export class Context {
  /** The fields of the leased job. */
  readonly job: Json;
  /** Why the run was asked to stop. */
  readonly why: "" | "cancel_requested" | "lease_lost" | "timeout" | "shutdown";
  /** The token of the lease: a secret. */
  readonly token: string;
  /** Aborted when the run should stop. Then throw: returning means that the work is done. */
  readonly signal: AbortSignal;
  readonly payload: any;
  /** Reports progress. */
  report(fraction: number, message?: string, lines?: string[]): Promise<void>;
}

/** Runs jobs until SIGTERM, SIGINT or `stop()`. */
export class Worker {
  readonly id: string;
  readonly name: string;
  /** `queues` in the order in which they are served, or with weights; `handlers` by kind. */
  constructor(
    client: Client,
    queues: string[] | Record<string, number>,
    handlers: Record<string, Handler>,
    options?: {
      concurrency?: number;
      leaseMs?: number;
      waitMs?: number;
      name?: string;
      log?: (text: string) => void;
    },
  );
  /** Drains the worker; a second call ends it without waiting for handlers. */
  stop(): void;
  /** Works until it is stopped, then waits up to `drainMs` for running jobs. Call it once. */
  run(options?: { drainMs?: number; signals?: boolean }): Promise<void>;
}
