/**
 * Throws a `SyntaxError` if the text is not JSON.
 *
 * @param {string} text
 * @returns {any}
 */
export declare function load(text: string): any;
/**
 * Returns `undefined` for values without JSON; throws a `TypeError` if encoding fails.
 *
 * @param {any} value
 * @returns {string | undefined}
 */
export declare function dump(value: any): string | undefined;
