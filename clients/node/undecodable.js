// The kinds whose payloads a worker could not read lately, which its beats name.

/** @import { UndecodableKind } from "./types.js" */

/** A beat names at most this many, those of the latest such payloads. */
const KINDS = 10;
/** Of an error; the server keeps 255 bytes. */
const CHARS = 255;
/** A released job is offered again within an hour. */
const FORGOTTEN_MS = 2 * 3_600_000;

export class UndecodableKinds {
  /** @type {Map<string, UndecodableKind>} By kind, the latest last. */
  #kinds = new Map();

  /**
   * A job of this kind is released for a worker that can read it.
   *
   * @param {string} kind
   * @param {string} error
   */
  add(kind, error) {
    const last = new Date().toISOString();
    const { times, first } = this.#kinds.get(kind) ?? { times: 0, first: last };
    this.#kinds.delete(kind);
    this.#kinds.set(kind, { kind, times: times + 1, first, last, error: error.slice(0, CHARS) });
    for (const oldest of [...this.#kinds.keys()].slice(0, -KINDS)) this.#kinds.delete(oldest);
  }

  /** @returns {UndecodableKind[]} */
  lately() {
    const oldest = new Date(Date.now() - FORGOTTEN_MS).toISOString();
    for (const { kind, last } of this.#kinds.values()) {
      if (last <= oldest) this.#kinds.delete(kind);
    }
    return [...this.#kinds.values()];
  }
}
