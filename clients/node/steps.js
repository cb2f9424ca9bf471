// The steps of one run: what this run and earlier ones have done.

import { dump, load } from "./json.js";

/**
 * @import { Client } from "./client.js"
 * @import { LeasedJob } from "./types.js"
 */

/** @type {Record<string, string>} */
const REFUSED = {
  conflict: "has another result",
  full: "does not fit: a job has at most 64 steps, and 1 MiB of results",
};

export class Steps {
  #client;
  #token;
  /** @type {Map<string, any>} */
  #results = new Map();
  /** @type {Set<string>} */
  #running = new Set();
  /** @type {Promise<void> | undefined} */
  #reading;

  /**
   * @param {Client} client
   * @param {string} token
   * @param {LeasedJob} job
   */
  constructor(client, token, { lease_seq: seq = 1 }) {
    this.#client = client;
    this.#token = token;
    if (seq <= 1) this.#reading = Promise.resolve(); // The first run of a job finds none.
  }

  /**
   * @param {string} name
   * @param {() => any} step
   * @returns {Promise<any>}
   */
  async run(name, step) {
    await this.#read();
    if (this.#results.has(name)) return this.#results.get(name);
    if (this.#running.has(name)) {
      throw new Error(`the step "${name}" is running already in this run`);
    }
    this.#running.add(name);
    try {
      const result = await step();
      await this.#put(name, result);
      // As later runs will read it.
      const kept = result instanceof Uint8Array ? Buffer.from(result)
        : load(dump(result) ?? "null");
      this.#results.set(name, kept);
      return kept;
    } finally {
      this.#running.delete(name);
    }
  }

  /**
   * @param {string} name
   * @returns {Promise<any>}
   */
  async find(name) {
    await this.#read();
    return this.#results.get(name);
  }

  /** Reads what earlier runs have stored, once; again if that failed. */
  #read() {
    this.#reading ??= this.#readNow().catch((error) => {
      this.#reading = undefined;
      throw error;
    });
    return this.#reading;
  }

  async #readNow() {
    const { outcome, checkpoints } = await this.#client.checkpoints(this.#token);
    if (outcome !== "held") {
      throw new Error("the steps cannot be read: another worker has the job");
    }
    for (const { name, result, result_base64: encoded } of checkpoints) {
      this.#results.set(name, encoded === undefined ? result : Buffer.from(encoded, "base64"));
    }
  }

  /**
   * @param {string} name
   * @param {any} result
   */
  async #put(name, result) {
    const { outcome } = await this.#client.putCheckpoint({ token: this.#token, name, result });
    if (outcome === "stored") return;
    const why = REFUSED[outcome] ?? "was not stored: another worker has the job";
    throw new Error(`the step "${name}" ${why}`);
  }
}
