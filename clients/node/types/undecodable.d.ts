import type { UndecodableKind } from "./types.js";
export declare class UndecodableKinds {
    #private;
    /**
     * A job of this kind is released for a worker that can read it.
     *
     * @param {string} kind
     * @param {string} error
     */
    add(kind: string, error: string): void;
    /** @returns {UndecodableKind[]} */
    lately(): UndecodableKind[];
}
