// The programs of README.md, word for word, over a real server: QUEUEKIT_SERVER=http://..

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";

const SERVER = process.env.QUEUEKIT_SERVER;
if (!SERVER) console.error("NOT RUN: README.md over a server. Set QUEUEKIT_SERVER to its URL.");

describe("readme", { skip: SERVER ? false : "QUEUEKIT_SERVER is not set" }, () => {
  test("each program does what it says", async (t) => {
    const here = fileURLToPath(new URL(".", import.meta.url));
    const readme = readFileSync(join(here, "README.md"), "utf8");
    const programs = new Map([...readme.matchAll(/```js\n\/\/ (\w+\.mjs)\n(.*?)```/gs)]
      .map(([, name, program]) => [name, program]));
    assert.deepEqual([...programs.keys()], ["worker.mjs", "enqueue.mjs"]);
    const folder = mkdtempSync(join(tmpdir(), "queuekit-"));
    t.after(() => rmSync(folder, { recursive: true }));
    mkdirSync(join(folder, "node_modules"));
    symlinkSync(here, join(folder, "node_modules", "queuekit-client"));
    const start = (name) => {
      writeFileSync(join(folder, name), programs.get(name));
      const child = spawn(process.execPath, [name], { cwd: folder });
      t.after(() => child.kill("SIGKILL"));
      return { child, said: text(child.stdout), exit: once(child, "exit") };
    };
    const [worker, enqueue] = [start("worker.mjs"), start("enqueue.mjs")];
    const lines = (await enqueue.said).trim().split("\n");
    assert.deepEqual(lines.slice(0, 2), ["{ greeting: 'Hello, Ada' }", "cancelled"]);
    assert.ok(lines.includes("greet cancelled { name: 'Zoe' }"), lines.join("\n"));
    assert.equal(lines.at(-1), "conflict");
    worker.child.kill("SIGTERM");
    assert.deepEqual([await enqueue.exit, await worker.exit], [[0, null], [0, null]]);
  });
});
