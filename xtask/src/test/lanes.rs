use std::num::NonZero;
use std::thread;

use super::part::Part;
use super::programs::Program;

/// Modules whose tests wait most of the time: for leases of workers, for servers that come back,
/// for processes. By program.
const WAITING: &[(&str, &[&str])] = &[
    ("memory", &["worker::"]),
    ("suite", &["servers::", "proxy::"]),
    ("sqlite", &["worker::", "locks::"]),
    ("postgres", &["worker::", "faults::", "close::", "search_hints::"]),
    (
        "redis",
        &[
            "worker::",
            "sentinel::",
            "cluster::",
            "faults::",
            "close::",
            "wakeups::",
            "replicas::",
            "tls::",
            "calls::",
        ],
    ),
    ("server", &["handlers::", "cli::", "http::limits::", "traces::", "browser::"]),
    ("conformance", &["worker::"]),
];

/// What repeats over other means what the daily run has once, by program: only a long run has it.
/// Behind a pooler each statement of the store is still run daily by the other modules, and so is
/// each SQL function for other database crates by tests of its own. In a Redis
/// Cluster so are calls over several queues; what is about one queue runs on one node.
const LONG: &[(&str, &[&str])] = &[
    ("mistakes", &["the_compiler_says_what_is_wrong"]),
    (
        "postgres",
        &[
            "by_sql::every_case::",
            "pooler::pooled::after_expiry",
            "pooler::pooled::answer_bytes",
            "pooler::pooled::batches",
            "pooler::pooled::event_retention",
            "pooler::pooled::events",
            "pooler::pooled::fence::",
            "pooler::pooled::fence_matrix",
            "pooler::pooled::figures",
            "pooler::pooled::flush",
            "pooler::pooled::history",
            "pooler::pooled::idempotency",
            "pooler::pooled::limits",
            "pooler::pooled::listing",
            "pooler::pooled::nack",
            "pooler::pooled::never_happens",
            "pooler::pooled::order",
            "pooler::pooled::pagination",
            "pooler::pooled::partition_key_slots::",
            "pooler::pooled::partition_keys",
            "pooler::pooled::queue_full",
            "pooler::pooled::queue_isolation",
            "pooler::pooled::queues::",
            "pooler::pooled::reclaim",
            "pooler::pooled::reserve",
            "pooler::pooled::retention",
            "pooler::pooled::search",
            "pooler::pooled::states",
            "pooler::pooled::time::",
            "pooler::pooled::time_bounds",
            "pooler::pooled::transitions",
            "pooler::pooled::upkeep_bounds",
            "pooler::pooled::why",
        ],
    ),
    (
        "redis",
        &[
            "cluster_contract::every_case::answer_bytes",
            "cluster_contract::every_case::dead_letter",
            "cluster_contract::every_case::event_clocks",
            "cluster_contract::every_case::fence_matrix",
            "cluster_contract::every_case::history",
            "cluster_contract::every_case::idempotency",
            "cluster_contract::every_case::nack",
            "cluster_contract::every_case::order",
            "cluster_contract::every_case::partition_key_slots::",
            "cluster_contract::every_case::queue_full",
            "cluster_contract::every_case::reclaim",
            "cluster_contract::every_case::search",
            "cluster_contract::every_case::states",
            "cluster_contract::every_case::time::",
            "cluster_contract::every_case::time_bounds",
            "cluster_contract::every_case::transitions",
            "cluster_contract::every_case::upkeep_bounds",
        ],
    ),
    (
        "server",
        &[
            "browser::pages::whole_matrix::",
            "commands::init::built::",
            "http::flood::with_a_server::",
            "http::schemathesis::over_sqlite::",
            "over_other_stores::",
        ],
    ),
];

/// Harnesses that take the most time and that one-line changes seldom break: a run of what a change
/// can break does without, and says so.
const HARNESSES: &[(&str, &[&str])] = &[
    ("postgres", &["kill::", "scale::", "plans::", "deadlocks::", "partition::", "pooler::"]),
    ("redis", &["kill::", "scale::", "damage::", "cluster_contract::", "partition::"]),
];

/// How much of the tests a run has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// What a change can break, without [`HARNESSES`].
    Changed,
    /// All but [`LONG`].
    Daily,
    Everything,
}

impl Extent {
    /// Whether such a run has any test of a program.
    fn has(self, program: &Program) -> bool {
        self == Self::Everything || !program.target.starts_with("--bench ")
    }

    /// The modules of a program that such a run leaves out.
    pub(crate) fn leaves_out(self, program: &Program) -> Vec<&'static str> {
        let tables: &[_] = match self {
            Self::Changed => &[HARNESSES, LONG],
            Self::Daily => &[LONG],
            Self::Everything => &[],
        };
        tables.iter().flat_map(|table| modules(table, program)).copied().collect()
    }
}

/// This number of tests that wait takes the place of one that computes.
const WAITERS_PER_CORE: usize = 8;

/// Programs whose tests wait for their server or their disk half of the time, though not for a
/// clock.
const TWICE: [&str; 5] = ["conformance", "postgres", "redis", "server", "sqlite"];

/// Those that take the longest, in this order: begun first, none is left alone at the end.
const LONGEST: [&str; 6] = ["postgres", "redis", "server", "sqlite", "suite", "conformance"];

/// The parts of a run. Those that wait run beside the rest, so that the machine has something to do
/// meanwhile; who is done with them helps with the rest.
#[derive(Debug, Default)]
pub(crate) struct Lanes<'p> {
    pub busy: Vec<Part<'p>>,
    pub waiting: Vec<Part<'p>>,
}

impl<'p> Lanes<'p> {
    /// Every test of these programs, once, but those that such a run leaves out.
    pub(crate) fn of(programs: &'p [Program], extent: Extent) -> Self {
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        let mut lanes = Self::default();
        let mut programs: Vec<&Program> = programs.iter().filter(|p| extent.has(p)).collect();
        programs.sort_by_key(|program| {
            LONGEST.iter().position(|name| *name == program.name()).unwrap_or(LONGEST.len())
        });
        for program in programs {
            let waiting = modules(WAITING, program);
            // What one of them picks the other skips, by the same words.
            let left = extent.leaves_out(program);
            let skipped = |modules: &[&'static str]| -> Vec<&'static str> {
                modules.iter().flat_map(|module| ["--skip", *module]).collect()
            };
            let skips = [skipped(waiting), skipped(&left)].concat();
            let threads = if TWICE.contains(&program.name()) { 2 * cores } else { cores };
            lanes.busy.push(Part::new(program, "", threads, skips));
            if !waiting.is_empty() {
                let threads = cores * WAITERS_PER_CORE;
                let picks = [waiting.to_vec(), skipped(&left)].concat();
                lanes.waiting.push(Part::new(program, ", what waits", threads, picks));
            }
        }
        lanes
    }
}

type Modules = &'static [&'static str];

fn modules(table: &[(&str, Modules)], program: &Program) -> Modules {
    table.iter().find(|(name, _)| *name == program.name()).map_or(&[], |(_, modules)| modules)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(target: &str) -> Program {
        Program {
            package: "queuekit-integration-tests".to_owned(),
            target: target.to_owned(),
            executable: "postgres".into(),
            directory: ".".into(),
        }
    }

    #[test]
    fn what_the_one_lane_picks_the_other_skips() {
        let programs = [program("--test memory")];
        let lanes = Lanes::of(&programs, Extent::Daily);
        let words = |part: &Part<'_>| part.args().join(" ");
        assert!(words(&lanes.busy[0]).starts_with("--skip worker::"));
        assert!(words(&lanes.waiting[0]).starts_with("worker::"));
    }

    #[test]
    fn the_longest_begin_first() {
        let programs =
            ["units", "redis", "postgres"].map(|name| program(&format!("--test {name}")));
        let lanes = Lanes::of(&programs, Extent::Daily);
        let skips: Vec<String> = lanes.busy.iter().map(|part| part.args().join(" ")).collect();
        assert!(skips[0].contains("--skip search_hints::"), "{skips:?}");
        assert!(skips[1].contains("--skip sentinel::"), "{skips:?}");
    }

    #[test]
    fn what_a_run_leaves_out_is_in_neither_lane() {
        let programs = [program("--test server")];
        let lanes = Lanes::of(&programs, Extent::Daily);
        for part in lanes.busy.iter().chain(&lanes.waiting) {
            let words = part.args().join(" ");
            assert!(words.contains("--skip browser::pages::whole_matrix::"), "{words}");
        }
    }

    #[test]
    fn a_run_of_what_changed_names_the_harnesses_it_leaves_out() {
        let [postgres, core] = [program("--test postgres"), program("--lib")];
        assert_eq!(Extent::Changed.leaves_out(&postgres)[0], "kill::");
        assert!(!Extent::Daily.leaves_out(&postgres).contains(&"kill::"));
        assert_eq!(Extent::Changed.leaves_out(&core), [""; 0]);
        assert_eq!(Extent::Everything.leaves_out(&postgres), [""; 0]);
    }

    #[test]
    fn a_program_that_never_waits_is_one_part() {
        let programs = [program("--lib")];
        let lanes = Lanes::of(&programs, Extent::Daily);
        assert_eq!((lanes.busy.len(), lanes.waiting.len()), (1, 0));
    }

    #[test]
    fn benchmarks_run_in_long_runs_only() {
        let programs = [program("--bench redis")];
        let busy = |extent| Lanes::of(&programs, extent).busy.len();
        assert_eq!([Extent::Changed, Extent::Daily, Extent::Everything].map(busy), [0, 0, 1]);
    }
}
