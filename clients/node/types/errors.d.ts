/** A call failed. `code` is the last part of the problem's `type`; `status` that of HTTP. */
export declare class QueuekitError extends Error {
    status: number;
    code: string;
    title: string;
    detail: string;
    problem: Partial<import("./types.js").Problem>;
    retryAfterMs: number | undefined;
    /**
     * @param {number} status
     * @param {Partial<import("./types.js").Problem>} problem
     * @param {number} [retryAfterMs]
     */
    constructor(status: number, problem: Partial<import("./types.js").Problem>, retryAfterMs?: number);
}
/** No answer arrived (`status` 0). If `isSent`, the server may have received the call. */
export declare class Unreachable extends QueuekitError {
    isSent: boolean;
}
/** The answer is not JSON: perhaps a proxy sent it. */
export declare class NoJson extends QueuekitError {
}
/** The server could not read the request. */
export declare class BadRequest extends QueuekitError {
}
/** No API key was sent, or a wrong or expired one. */
export declare class Unauthorized extends QueuekitError {
}
/** The API key does not allow this. */
export declare class Forbidden extends QueuekitError {
}
/** There is no such job, queue or other object. */
export declare class NotFound extends QueuekitError {
}
/** The route does not have this method. */
export declare class MethodNotAllowed extends QueuekitError {
}
/** The job's state does not allow this, or another job has the id. */
export declare class Conflict extends QueuekitError {
}
/** The store has all the queues that it may have. */
export declare class TooManyQueues extends QueuekitError {
}
/** The store lists all the workers that it may list. */
export declare class TooManyWorkers extends QueuekitError {
}
/** The API key has created as much as it may. */
export declare class QuotaExceeded extends QueuekitError {
}
/** The body or the batch is too large. */
export declare class TooLarge extends QueuekitError {
}
/** The server does not read bodies of this type. */
export declare class UnsupportedMediaType extends QueuekitError {
}
/** A field breaks a limit: see `field`, `limit` and `item` of the `problem`. */
export declare class Invalid extends QueuekitError {
}
/** The queue has `max_pending` pending jobs. */
export declare class QueueFull extends QueuekitError {
}
/** The API key has reached its rate, or its share of the server. */
export declare class RateLimited extends QueuekitError {
}
/** A stored record cannot be read. */
export declare class Corrupt extends QueuekitError {
}
/** A bug of the server. */
export declare class Internal extends QueuekitError {
}
/** The store does not support this. */
export declare class Unsupported extends QueuekitError {
}
/** The server cannot reach its store. Nothing was changed. */
export declare class Unavailable extends QueuekitError {
}
/** The store has no room left. Nothing was changed. */
export declare class StorageFull extends QueuekitError {
}
/** The server has all the requests that it accepts at once. Nothing was changed. */
export declare class Overloaded extends QueuekitError {
}
/** The server is shutting down. Nothing was changed. */
export declare class Closed extends QueuekitError {
}
/** The store did not answer: the call may have taken effect. */
export declare class Indeterminate extends QueuekitError {
}
/** The class of each code. @type {ReadonlyMap<string, typeof QueuekitError>} */
export declare const BY_CODE: ReadonlyMap<string, typeof QueuekitError>;
/**
 * The error of the class that the problem's code names.
 *
 * @param {number} status
 * @param {any} answer
 * @param {number} [retryAfterMs]
 */
export declare function errorOf(status: number, answer: any, retryAfterMs?: number): QueuekitError;
