//! The rules of the contract, and where the rules are tested that no case can test on every store.

/// Every rule that this suite answers for, in order.
pub const RULES: &[&str] = &[
    "R0.1", "R0.2", "R0.3", "R0.4", //
    "R1.1", "R1.2", "R1.3", "R1.4", "R1.5", "R1.6", //
    "R2.1", "R2.2", "R2.3", "R2.4", "R2.5", "R2.6", "R2.7", "R2.8", "R2.9", "R2.10", //
    "R3.1", "R3.2", "R3.3", "R3.4", "R3.5", "R3.6", "R3.7", "R3.8", "R3.9", //
    "R4.1", "R4.2", "R4.3", "R4.4", "R4.5", "R4.6", "R4.7", "R4.8", //
    "R5.1", "R5.2", "R5.3", "R5.4", "R5.5", "R5.6", "R5.7", "R5.8", "R5.9", "R5.10", //
    "R6.1", "R6.2", "R6.3", "R6.4", "R6.5", "R6.6", "R6.7", "R6.8", "R6.9", //
    "R7.1", "R7.2", "R7.3", "R7.4", "R7.5", //
    "R8.1", "R8.2", "R8.3", "R8.4", "R8.5", "R8.6", "R8.7", "R8.8", "R8.9", "R8.10",
    "R8.11", //
    "R9.1", "R9.2", "R9.3", "R9.4", //
    "R10.1", "R10.2", "R10.3", "R10.4", //
    "R11.1", "R11.2", "R11.3", //
    "R12",   //
    "R13.1", "R13.2", "R13.3", "R13.4", "R13.5", "R13.6", "R13.7", "R13.8", //
    "R13.10", "R13.11", "R13.12", //
    "R14.1", "R14.2", "R14.3", "R14.4", "R14.5", "R14.6", "R14.7", //
    "R15.1", "R15.2", "R15.3", "R15.4", "R15.5", "R15.6", "R15.7",  //
    "R16.10", //
];

/// Where the rules are, by the number before the point.
const CHAPTERS: [&str; 17] = [
    "r0-general",
    "r1-states",
    "r2-enqueue",
    "r3-ack-and-the-fence",
    "r4-nack",
    "r5-reserve",
    "r6-operating-on-jobs-and-queues",
    "r7-order",
    "r8-reads",
    "r9-time",
    "r10-errors-and-close",
    "r11-durability",
    "r12-limits",
    "r13-worker",
    "r14-events",
    "r15-schedules",
    "r16-limits",
];

/// The address of a rule's chapter in the repository of queuekit.
pub(crate) fn place(rule: &str) -> String {
    let number = rule.trim_start_matches('R').split('.').next().unwrap_or_default();
    let chapter = number.parse().ok().and_then(|number: usize| CHAPTERS.get(number));
    format!("docs/semantics.md#{}", chapter.unwrap_or(&""))
}

/// Shown by the worker suite, `src/worker`, over every store.
const WORKER: &str = "a worker over the store keeps it: `src/worker`";

/// Rules, or parts of rules, that are shown elsewhere, and why; `tests/` is in `integration-tests`.
pub const STORE_RULES: &[(&str, &str)] = &[
    (
        "R2.9",
        "Postgres and SQLite only: enqueue inside the caller's transaction is inherent on them; \
         `tests/sqlite/transactions.rs`, `tests/postgres/transactions.rs`",
    ),
    (
        "R2.10",
        "the lock timeout of items that wait for a foreign transaction: Postgres and SQLite; \
         `tests/sqlite/merging.rs`, `tests/postgres/merging.rs`",
    ),
    (
        "R3.7",
        "the outcome Settling needs an ack inside an open transaction: Postgres and SQLite; \
         `tests/postgres/settling.rs`",
    ),
    (
        "R5.10",
        "leases that are returned though another queue failed: stores that ask queue by queue",
    ),
    (
        "R5.9",
        "a benchmark, and per store a case that bounds rows, buffers or commands examined: \
         black-box and on memory only time could be measured; `queuekit-sqlite/src/cost.rs`",
    ),
    (
        "R10.2",
        "the faults are of Postgres, Redis and SQLite: SQLSTATEs, error replies, SQLITE_BUSY; \
         `tests/sqlite/locks.rs`, `tests/sqlite/storage_full.rs`, `tests/postgres/faults.rs`, \
         `tests/postgres/lost_replies.rs`",
    ),
    (
        "R11.2",
        "refusals at opening name settings of Redis and Postgres; here only the schema's version; \
         `tests/postgres/migrations.rs`",
    ),
    (
        "R11.3",
        "needs a store that loses its tail: a Redis that is given an earlier append-only file, \
         `tests/redis/lossy.rs`, and an SQLite file without the last syncs, \
         `tests/sqlite/power_loss.rs`",
    ),
    ("R13.1", WORKER),
    ("R13.2", WORKER),
    ("R13.3", WORKER),
    ("R13.4", WORKER),
    ("R13.5", WORKER),
    ("R13.11", WORKER),
    ("R13.12", WORKER),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_chapter_is_in_the_contract() {
        let contract = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/semantics.md");
        let contract = std::fs::read_to_string(contract).unwrap();
        let headings = contract.lines().filter_map(|line| line.strip_prefix("## R"));
        let anchors =
            headings.map(|heading| format!("r{}", heading.to_lowercase().replace(' ', "-")));
        assert_eq!(anchors.collect::<Vec<_>>(), CHAPTERS);
        assert_eq!(place("R12"), "docs/semantics.md#r12-limits");
    }
}
