export { Client } from "./client.js";
export * as errors from "./errors.js";
export { QueuekitError } from "./errors.js";
export { Context, Fatal, Release, Retry, Undecodable } from "./run.js";
export { Worker } from "./worker.js";
export type CallOptions = import("./client.js").CallOptions;
export type Why = import("./run.js").Why;
export type Ack = import("./types.js").Ack;
export type CancelOutcome = import("./types.js").CancelOutcome;
export type Checkpoint = import("./types.js").Checkpoint;
export type Checkpoints = import("./types.js").Checkpoints;
export type EmitOutcome = import("./types.js").EmitOutcome;
export type EnqueueOutcome = import("./types.js").EnqueueOutcome;
export type Enqueued = import("./types.js").Enqueued;
export type ErrorGroup = import("./types.js").ErrorGroup;
export type EventOptions = import("./types.js").EventOptions;
export type Filter = import("./types.js").Filter;
export type Job = import("./types.js").Job;
export type JobOptions = import("./types.js").JobOptions;
export type JobPage = import("./types.js").JobPage;
export type Lease = import("./types.js").Lease;
export type LeasedJob = import("./types.js").LeasedJob;
export type Nack = import("./types.js").Nack;
export type NewCheckpoint = import("./types.js").NewCheckpoint;
export type NewJob = import("./types.js").NewJob;
export type Outcome = import("./types.js").Outcome;
export type Problem = import("./types.js").Problem;
export type Queue = import("./types.js").Queue;
export type Queues = import("./types.js").Queues;
export type Report = import("./types.js").Report;
export type Reserved = import("./types.js").Reserved;
export type State = import("./types.js").State;
export type Status = import("./types.js").Status;
export type Handler<P = any, R = unknown> = import("./run.js").Handler<P, R>;
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
