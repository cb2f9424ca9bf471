// Calls with their types: `npm run types` checks them with `tsc --strict`.

import { Client, Context, errors, Fatal, Worker } from "queuekit-client";
import type { Handler, Job, Outcome, Status } from "queuekit-client";

/** Compiles only if the two types are the same. */
type Same<A, B> =
  (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : never;
const same = <A, B>(_: Same<A, B>) => {};

export async function enqueue(client: Client) {
  const options = { queue: "q", metadata: { a: "b" }, run_at: new Date() };
  const job = await client.enqueue("email", { to: "ada" }, { ...options, priority: "high" });
  same<typeof job.outcome, "created" | "duplicate">(true);
  // @ts-expect-error: there is no such option
  await client.enqueue("email", null, { nonsense: 1 });
  // @ts-expect-error: there is no such priority
  await client.enqueue("email", null, { priority: "urgent" });
  const [first] = await client.enqueueMany([{ kind: "t" }, { kind: "u", delay_ms: 5 }]);
  same<typeof first.id, string | undefined>(true);
}

export async function read(client: Client) {
  const job = await client.wait("id", 1500);
  if (job) {
    same<typeof job.status, Status>(true);
    same<typeof job.reason, string | undefined>(true);
    // @ts-expect-error: there is no such field
    void job.nonsense;
  }
  for await (const one of client.listJobs({ status: ["dead", "pending"], recent: true })) {
    same<typeof one, Job>(true);
  }
  // @ts-expect-error: there is no such status
  client.listJobs({ status: "done" });
  const outcome = await client.cancel("id");
  same<typeof outcome, "cancelled" | "requested" | "already_done">(true);
  try {
    await client.retry("id", { fresh: true });
  } catch (error) {
    if (error instanceof errors.Conflict) same<typeof error.retryAfterMs, number | undefined>(true);
  }
}

export async function lease(client: Client) {
  const { leases } = await client.reserve({ queues: { a: 3, b: 1 }, worker: "w", limit: 2 });
  const outcomes = await client.ack(leases.map(({ token }) => ({ token, result: 1 })));
  same<typeof outcomes, Outcome[]>(true);
}

const email: Handler<{ to: string }> = async (payload, ctx: Context) => {
  await ctx.report(0.5, payload.to);
  const receipt = await ctx.checkpoint("charge", async () => ({ receipt: 7 }));
  same<typeof receipt, { receipt: number }>(true);
  if (ctx.signal.aborted) throw new Fatal(ctx.why);
  return { attempts: ctx.job.attempts };
};

export const work = (client: Client) =>
  new Worker(client, ["q"], { email, other: () => 1 }, { concurrency: 5 }).run({ drainMs: 100 });
// @ts-expect-error: a handler is a function
export const wrong = (client: Client) => new Worker(client, ["q"], { email: 1 });
