/** Of this package, as in package.json. */
export declare const VERSION = "0.1.0";
