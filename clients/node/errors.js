// The errors of calls: a class for each code of docs/http.md.

/** A call failed. `code` is the last part of the problem's `type`; `status` that of HTTP. */
export class QueuekitError extends Error {
  /**
   * @param {number} status
   * @param {Partial<import("./types.js").Problem>} problem
   * @param {number} [retryAfterMs]
   */
  constructor(status, problem, retryAfterMs) {
    const code = codeOf(problem);
    super(`${status} ${code}: ${problem.detail ?? problem.title ?? ""}`);
    this.name = new.target.name;
    this.status = status;
    this.code = code;
    this.title = String(problem.title ?? "");
    this.detail = String(problem.detail ?? "");
    this.problem = problem;
    this.retryAfterMs = retryAfterMs;
  }
}

/** No answer arrived (`status` 0). If `isSent`, the server may have received the call. */
export class Unreachable extends QueuekitError {
  isSent = true;
}

/** The answer is not JSON: perhaps a proxy sent it. */
export class NoJson extends QueuekitError {}
/** The server could not read the request. */
export class BadRequest extends QueuekitError {}
/** No API key was sent, or a wrong or expired one. */
export class Unauthorized extends QueuekitError {}
/** The API key does not allow this. */
export class Forbidden extends QueuekitError {}
/** There is no such job, queue or other object. */
export class NotFound extends QueuekitError {}
/** The route does not have this method. */
export class MethodNotAllowed extends QueuekitError {}
/** The job's state does not allow this, or another job has the id. */
export class Conflict extends QueuekitError {}
/** The store has all the queues that it may have. */
export class TooManyQueues extends QueuekitError {}
/** The store lists all the workers that it may list. */
export class TooManyWorkers extends QueuekitError {}
/** The API key has created as much as it may. */
export class QuotaExceeded extends QueuekitError {}
/** The body or the batch is too large. */
export class TooLarge extends QueuekitError {}
/** The server does not read bodies of this type. */
export class UnsupportedMediaType extends QueuekitError {}
/** A field breaks a limit: see `field`, `limit` and `item` of the `problem`. */
export class Invalid extends QueuekitError {}
/** The queue has `max_pending` pending jobs. */
export class QueueFull extends QueuekitError {}
/** The API key has reached its rate, or its share of the server. */
export class RateLimited extends QueuekitError {}
/** A stored record cannot be read. */
export class Corrupt extends QueuekitError {}
/** A bug of the server. */
export class Internal extends QueuekitError {}
/** The store does not support this. */
export class Unsupported extends QueuekitError {}
/** The server cannot reach its store. Nothing was changed. */
export class Unavailable extends QueuekitError {}
/** The store has no room left. Nothing was changed. */
export class StorageFull extends QueuekitError {}
/** The server has all the requests that it accepts at once. Nothing was changed. */
export class Overloaded extends QueuekitError {}
/** The server is shutting down. Nothing was changed. */
export class Closed extends QueuekitError {}
/** The store did not answer: the call may have taken effect. */
export class Indeterminate extends QueuekitError {}

/** The class of each code. @type {ReadonlyMap<string, typeof QueuekitError>} */
export const BY_CODE = new Map(Object.entries({
  unreachable: Unreachable,
  no_json: NoJson,
  bad_request: BadRequest,
  unauthorized: Unauthorized,
  forbidden: Forbidden,
  not_found: NotFound,
  method_not_allowed: MethodNotAllowed,
  conflict: Conflict,
  too_many_queues: TooManyQueues,
  too_many_workers: TooManyWorkers,
  quota_exceeded: QuotaExceeded,
  too_large: TooLarge,
  unsupported_media_type: UnsupportedMediaType,
  invalid: Invalid,
  queue_full: QueueFull,
  rate_limited: RateLimited,
  corrupt: Corrupt,
  internal: Internal,
  unsupported: Unsupported,
  unavailable: Unavailable,
  storage_full: StorageFull,
  overloaded: Overloaded,
  closed: Closed,
  indeterminate: Indeterminate,
}));

/**
 * The error of the class that the problem's code names.
 *
 * @param {number} status
 * @param {any} answer
 * @param {number} [retryAfterMs]
 */
export function errorOf(status, answer, retryAfterMs) {
  const problem = answer !== null && typeof answer === "object" ? answer : {};
  return new (BY_CODE.get(codeOf(problem)) ?? QueuekitError)(status, problem, retryAfterMs);
}

/** @param {Partial<import("./types.js").Problem>} problem */
function codeOf(problem) {
  return String(problem.type ?? "").replace(/^.*:/, "");
}
