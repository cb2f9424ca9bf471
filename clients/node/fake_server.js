// A server for tests that answers as scripted: also late, wrongly or not at all.

import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

export const PROBLEM = { type: "urn:queuekit:problem:overloaded", detail: "later" };
/** An answer of a `script` that is asked for again. */
export const BUSY = [503, { "retry-after": "0" }, PROBLEM];

/**
 * Leases `jobs` once each and accepts every outcome, unless `script` says something else.
 *
 * `script` maps a path to answers that are used up first: `[status, headers, body]`, or the name
 * of a fault: `reset` closes the connection unread, `lost` closes it after the effect,
 * `late` answers after a second.
 */
export class FakeServer {
  jobs = []; // JSON texts of leases.
  script = {};
  calls = [];
  outcomes = {}; // The outcome for each item, by path.
  connections = 0;

  async open() {
    this.server = createServer((request, response) => this.#answer(request, response));
    this.server.on("connection", () => { this.connections += 1; });
    await new Promise((resolve) => this.server.listen(0, "127.0.0.1", resolve));
    this.url = `http://127.0.0.1:${this.server.address().port}`;
    return this;
  }

  async #answer(request, response) {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    const body = text ? JSON.parse(text) : {};
    const { url: path, headers } = request;
    this.calls.push({ path, body, text, headers, at: performance.now() });
    let told = this.script[path]?.shift();
    if (told === "late") {
      await sleep(1000);
      told = undefined;
    }
    if (typeof told === "string") {
      if (told === "lost") await this.#plain(path, body, response);
      request.socket.destroy();
      return;
    }
    const [status, more, answer] = told ?? [200, {}, await this.#plain(path, body, response)];
    response.writeHead(status, more);
    response.end(typeof answer === "string" ? answer : JSON.stringify(answer));
  }

  async #plain(path, body, response) {
    if (path === "/v1/reserve") {
      const until = performance.now() + body.wait_ms;
      while (!this.jobs.length && performance.now() < until && !response.closed) await sleep(10);
      const taken = response.closed ? [] : this.jobs.splice(0, body.limit);
      return `{"leases":[${taken.join(",")}],"more":false}`;
    }
    if (path === "/v1/jobs" && !body.jobs) return { id: "1", outcome: "created", job: body };
    if (path === "/v1/checkpoint") return { outcome: "stored" };
    const items = body.jobs ?? body.acks ?? body.nacks ?? body.tokens ?? [];
    const usual = { "/v1/ack": "acked", "/v1/nack": "retrying", "/v1/extend": "extended" };
    const answer = this.outcomes[path] ?? { outcome: usual[path] ?? "created" };
    return { outcomes: items.map(() => answer) };
  }

  /** `payload` is JSON text. */
  lease(token, { payload = "null", ...job } = {}) {
    const rest = JSON.stringify({ id: `job-${token}`, kind: "t", releases: 0, ...job });
    this.jobs.push(`{"token":"${token}","job":{"payload": ${payload} ,${rest.slice(1)}}`);
  }

  bodies(path) {
    return this.calls.filter((call) => call.path === path).map((call) => call.body);
  }

  /** All items that were sent to this path, in any batch. */
  items(path, field) {
    return this.bodies(path).flatMap((body) => body[field]);
  }

  async waitFor(done, ms = 10_000) {
    const until = performance.now() + ms;
    while (!done()) {
      if (performance.now() > until) {
        const seen = JSON.stringify(this.calls.map(({ path, body }) => [path, body]));
        throw new Error(`it did not come to that in ${ms} ms; calls: ${seen}`);
      }
      await sleep(10);
    }
  }

  close() {
    this.server.close();
    this.server.closeAllConnections();
  }
}
