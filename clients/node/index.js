// A client and a worker of the queuekit job queue, over its HTTP API.

export { Client, QueuekitError } from "./client.js";
export { Context, Fatal, Release, Retry } from "./run.js";
export { Worker } from "./worker.js";
