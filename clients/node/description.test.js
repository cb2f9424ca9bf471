// The types have the fields and values of the server's OpenAPI description.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";

import { BY_CODE } from "./errors.js";
import { VERSION } from "./version.js";

const SERVER = process.env.QUEUEKIT_SERVER;
if (!SERVER) console.error("NOT RUN: the types against a server. Set QUEUEKIT_SERVER to its URL.");

/** The type of each schema, where the two have other names. */
const NAMES = {
  Released: "Release", Mark: "Undecodable", NewProgress: "ProgressGiven", JobPage: "Jobs",
  QueuePage: "Queues", Mode: "OrderedMode",
};
const read = (path) => readFileSync(new URL(path, import.meta.url), "utf8");
const names = (map) => [...map].sort();

describe("description", { skip: SERVER ? false : "QUEUEKIT_SERVER is not set" }, async () => {
  const openapi = SERVER ? await (await fetch(`${SERVER}/openapi.json`)).json() : undefined;
  const schemas = openapi?.components.schemas;
  const { interfaces, literals } = parse(read("./types.ts"));
  const fields = (name) => names(Object.keys(interfaces[name]));

  test("each type has the fields of its schema, and the same ones are optional", () => {
    const others = ["JobOptions", "EventOptions", "EnqueueOutcome", "EmitOutcome", "Filter",
      "PageFilter"];
    const same = Object.keys(interfaces).filter((name) => !others.includes(name));
    assert.ok(same.length > 25, "the types were parsed");
    for (const name of same) {
      const { properties, required = [] } = schemas[NAMES[name] ?? name];
      // New jobs and acks take bytes in place of base64.
      const takesBytes = ["NewJob", "Ack", "NewCheckpoint"].includes(name);
      const isGiven = (field) => !(takesBytes && field.endsWith("_base64"));
      assert.deepEqual(fields(name), names(Object.keys(properties).filter(isGiven)), name);
      const needed = fields(name).filter((field) => !interfaces[name][field].isOptional);
      assert.deepEqual(needed, names(required), name);
    }
  });

  test("outcomes of new jobs and events have the fields and values of their schemas", () => {
    for (const name of ["EnqueueOutcome", "EmitOutcome"]) {
      const forms = schemas[name].oneOf;
      const has = new Set(forms.flatMap(({ properties }) => Object.keys(properties)));
      assert.deepEqual(fields(name), names(has));
      const values = forms.map(({ properties }) => properties.outcome.enum[0]);
      assert.deepEqual(names(texts(interfaces[name].outcome.type)), names(values));
    }
  });

  test("options and filters have the fields of events and the parameters of a listing", () => {
    const { type, data, data_base64: raw, ...options } = schemas.NewEvent.properties;
    assert.ok(type && data && raw);
    assert.deepEqual(fields("EventOptions"), names(Object.keys(options)));
    const { parameters } = openapi.paths["/v1/jobs"].get;
    assert.deepEqual(fields("PageFilter"), names(parameters.map(({ name }) => name)));
  });

  test("literals have the values of their schemas", () => {
    for (const name of ["Status", "State", "NackKind", "ReleaseCause", "Mode", "KeyOnWait",
      "KeyOnDead", "Order"]) {
      const { enum: values } = schemas[NAMES[name] ?? name];
      assert.deepEqual(names(texts(literals[name])), names(values), name);
    }
  });
});

test("there is a class for each code of the docs", () => {
  const rows = read("../../docs/http.md").matchAll(/^\| [45]\d\d \| `(\w+)` \|/gm);
  const codes = new Set([...rows].map(([, code]) => code));
  assert.deepEqual(names(BY_CODE.keys()), names([...codes, "unreachable", "no_json"]));
});

test("the version is that of the package", () => {
  assert.equal(VERSION, JSON.parse(read("./package.json")).version);
});

/** The fields of each interface of types.ts, with those that it inherits, and the other types. */
function parse(text) {
  const [interfaces, literals] = [{}, {}];
  const shapes = /^export interface (\w+)(?: extends (\w+))? \{\n(.*?)^\}/gms;
  for (const [, name, base, body] of text.matchAll(shapes)) {
    const own = [...body.matchAll(/^ {2}(\w+)(\?)?: (.*?);$/gms)].map(([, field, mark, type]) =>
      [field, { isOptional: mark === "?", type }]);
    interfaces[name] = { ...interfaces[base], ...Object.fromEntries(own) };
  }
  for (const [, name, type] of text.matchAll(/^export type (\w+) = (.*?);$/gms)) {
    literals[name] = type;
  }
  return { interfaces, literals };
}

function texts(type) {
  return [...type.matchAll(/"(\w+)"/g)].map(([, value]) => value);
}
