// JSON that keeps large integers: those that a number would round are `bigint`s.

import { randomUUID } from "node:crypto";

/** Marks an integer while it is text. Random, so that no input can contain it. */
const MARK = `${randomUUID()}:`;
const MARKED = new RegExp(`"${MARK}(-?\\d+)"`, "g");
const TEXT_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/**
 * Throws a `SyntaxError` if the text is not JSON.
 *
 * @param {string} text
 * @returns {any}
 */
export function load(text) {
  if (!/\d{16}/.test(text)) return JSON.parse(text);
  const isRounded = (/** @type {string} */ token) =>
    /^-?\d+$/.test(token) && !Number.isSafeInteger(Number(token));
  const mark = (/** @type {string} */ token) => (isRounded(token) ? `"${MARK}${token}"` : token);
  return unmarked(JSON.parse(text.replace(TEXT_OR_NUMBER, mark)));
}

/**
 * With a list of what is left instead of recursion: the value may be nested very deep.
 *
 * @param {any} value
 */
function unmarked(value) {
  const root = [value];
  for (const left = [/** @type {any} */ (root)]; left.length;) {
    const parent = left.pop();
    for (const [key, item] of Object.entries(parent)) {
      if (isMarked(item)) parent[key] = BigInt(item.slice(MARK.length));
      else if (item !== null && typeof item === "object") left.push(item);
    }
  }
  return root[0];
}

/**
 * Returns `undefined` for values without JSON; throws a `TypeError` if encoding fails.
 *
 * @param {any} value
 * @returns {string | undefined}
 */
export function dump(value) {
  const mark = (/** @type {string} */ _, /** @type {any} */ part) =>
    (typeof part === "bigint" ? MARK + part : part);
  return JSON.stringify(value, mark)?.replace(MARKED, "$1");
}

/** @param {any} value */
function isMarked(value) {
  return typeof value === "string" && value.startsWith(MARK);
}
