import type { Client } from "./client.js";
import type { LeasedJob } from "./types.js";
export declare class Steps {
    #private;
    /**
     * @param {Client} client
     * @param {string} token
     * @param {LeasedJob} job
     */
    constructor(client: Client, token: string, { lease_seq: seq }: LeasedJob);
    /**
     * @param {string} name
     * @param {() => any} step
     * @returns {Promise<any>}
     */
    run(name: string, step: () => any): Promise<any>;
    /**
     * @param {string} name
     * @returns {Promise<any>}
     */
    find(name: string): Promise<any>;
}
