// The types of index.js; what each thing does stands in the code.

export type Json = Record<string, any>;
export type Handler = (payload: any, ctx: Context) => unknown;
export type CallOptions = { timeoutMs?: number; deadlineMs?: number; signal?: AbortSignal };

export class QueuekitError extends Error {
  status: number;
  type: string;
  title: string;
  detail: string;
  problem: Json;
  retryAfterMs: number | undefined;
}

export class Client {
  url: string;
  timeoutMs: number;
  deadlineMs: number;
  constructor(options?: { url?: string; apiKey?: string; timeoutMs?: number; deadlineMs?: number });
  enqueue(kind: string, payload?: any, options?: Json): Promise<Json>;
  enqueueMany(jobs: Json[]): Promise<Json[]>;
  emit(type: string, data?: any, options?: Json): Promise<Json>;
  getJob(id: string): Promise<Json>;
  call(method: string, path: string, body?: Json, options?: CallOptions): Promise<any>;
}

export class Retry extends Error {
  kind: string;
  delayMs: number | undefined;
  constructor(why?: string, options?: { delayMs?: number });
}

export class Release extends Retry {}

export class Fatal extends Retry {}

export class Context {
  readonly job: Json;
  readonly why: "" | "cancel_requested" | "lease_lost" | "timeout" | "shutdown";
  readonly token: string;
  readonly signal: AbortSignal;
  readonly payload: any;
  report(fraction: number, message?: string, lines?: string[]): Promise<void>;
}

export class Worker {
  readonly id: string;
  readonly name: string;
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
  stop(): void;
  run(options?: { drainMs?: number; signals?: boolean }): Promise<void>;
}
