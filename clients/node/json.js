// JSON that keeps large integers: those that a number would round are `bigint`s.

import { randomUUID } from "node:crypto";

/** What marks an integer while it is a text: nobody can guess it. */
const MARK = `${randomUUID()}:`;
const MARKED = new RegExp(`"${MARK}(-?\\d+)"`, "g");
const TEXT_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** A `SyntaxError` if it is no JSON. */
export function load(text) {
  if (!/\d{16}/.test(text)) return JSON.parse(text);
  const isRounded = (token) => /^-?\d+$/.test(token) && !Number.isSafeInteger(Number(token));
  const mark = (token) => (isRounded(token) ? `"${MARK}${token}"` : token);
  const unmark = (_, value) => (isMarked(value) ? BigInt(value.slice(MARK.length)) : value);
  return JSON.parse(text.replace(TEXT_OR_NUMBER, mark), unmark);
}

/** `undefined` for what has no JSON; a `TypeError` for what cannot have. */
export function dump(value) {
  const mark = (_, part) => (typeof part === "bigint" ? MARK + part : part);
  return JSON.stringify(value, mark)?.replace(MARKED, "$1");
}

function isMarked(value) {
  return typeof value === "string" && value.startsWith(MARK);
}
