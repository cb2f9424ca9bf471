// Traces: with OpenTelemetry, jobs carry the current span, and runs continue its trace.

/** Undefined if it is not installed: it is optional. */
// @ts-ignore
const otel = /** @type {any} */ (await import("@opentelemetry/api").catch(() => undefined));

/**
 * @import { LeasedJob } from "./types.js"
 * @import { Item } from "./run.js"
 */

/** @type {Record<string, string>} */
const OUTCOMES = { "": "completed", retry: "failed", fatal: "dead", release: "released" };

/** The current span, for a request that stores jobs: the server adds it to them. */
export function traceHeaders() {
  /** @type {Record<string, string>} */
  const carrier = {};
  otel?.propagation.inject(otel.context.active(), carrier);
  return named(carrier);
}

/**
 * Runs a job in a span: a child of the one that enqueued it, and linked to it. `run` returns what
 * to record.
 *
 * @param {LeasedJob} job
 * @param {() => Promise<Item>} run
 * @returns {Promise<Item>}
 */
export async function inSpan(job, run) {
  if (!otel) return run();
  const sender = otel.propagation.extract(otel.ROOT_CONTEXT, named(job.metadata ?? {}));
  const linked = otel.trace.getSpanContext(sender);
  const options = {
    kind: otel.SpanKind.CONSUMER,
    links: linked ? [{ context: linked }] : [],
    attributes: {
      "messaging.system": "queuekit",
      "messaging.operation.type": "process",
      "messaging.destination.name": job.queue,
      "messaging.message.id": job.id,
      "queuekit.kind": job.kind,
      "queuekit.attempt": job.attempts,
    },
  };
  const span = otel.trace.getTracer("queuekit").startSpan(`process ${job.queue}`, options, sender);
  try {
    const item = await otel.context.with(otel.trace.setSpan(sender, span), run);
    span.setAttribute("queuekit.outcome", OUTCOMES[item.kind ?? ""]);
    // Not the error: it may repeat the payload.
    const failed = ["retry", "fatal"].includes(item.kind ?? "");
    if (failed) span.setStatus({ code: otel.SpanStatusCode.ERROR });
    return item;
  } finally {
    span.end();
  }
}

/**
 * @param {Record<string, string>} carrier
 * @returns {Record<string, string>}
 */
function named({ traceparent, tracestate }) {
  if (!traceparent) return {};
  return tracestate ? { traceparent, tracestate } : { traceparent };
}

