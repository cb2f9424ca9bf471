// A client and a worker of the queuekit job queue, over its HTTP API.

export { Client } from "./client.js";
export * as errors from "./errors.js";
export { QueuekitError } from "./errors.js";
export { Context, Fatal, Release, Retry, Undecodable } from "./run.js";
export { Worker } from "./worker.js";

/** @typedef {import("./client.js").CallOptions} CallOptions */
/** @typedef {import("./run.js").Why} Why */
/** @typedef {import("./types.js").Ack} Ack */
/** @typedef {import("./types.js").CancelOutcome} CancelOutcome */
/** @typedef {import("./types.js").Checkpoint} Checkpoint */
/** @typedef {import("./types.js").Checkpoints} Checkpoints */
/** @typedef {import("./types.js").EmitOutcome} EmitOutcome */
/** @typedef {import("./types.js").EnqueueOutcome} EnqueueOutcome */
/** @typedef {import("./types.js").Enqueued} Enqueued */
/** @typedef {import("./types.js").ErrorGroup} ErrorGroup */
/** @typedef {import("./types.js").EventOptions} EventOptions */
/** @typedef {import("./types.js").Filter} Filter */
/** @typedef {import("./types.js").Job} Job */
/** @typedef {import("./types.js").JobOptions} JobOptions */
/** @typedef {import("./types.js").JobPage} JobPage */
/** @typedef {import("./types.js").Lease} Lease */
/** @typedef {import("./types.js").LeasedJob} LeasedJob */
/** @typedef {import("./types.js").Nack} Nack */
/** @typedef {import("./types.js").NewCheckpoint} NewCheckpoint */
/** @typedef {import("./types.js").NewJob} NewJob */
/** @typedef {import("./types.js").Outcome} Outcome */
/** @typedef {import("./types.js").Problem} Problem */
/** @typedef {import("./types.js").Queue} Queue */
/** @typedef {import("./types.js").Queues} Queues */
/** @typedef {import("./types.js").Report} Report */
/** @typedef {import("./types.js").Reserved} Reserved */
/** @typedef {import("./types.js").State} State */
/** @typedef {import("./types.js").Status} Status */

/**
 * @template [P=any], [R=unknown]
 * @typedef {import("./run.js").Handler<P, R>} Handler
 */
