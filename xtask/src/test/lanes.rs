use std::num::NonZero;
use std::thread;

use super::part::Part;
use super::programs::Program;

/// Modules whose tests wait most of the time: for leases of workers, for servers that come back,
/// for processes. By program.
const WAITING: &[(&str, &[&str])] = &[
    ("suite", &["worker::", "servers::", "proxy::"]),
    ("sqlite", &["worker::", "locks::", "kill::"]),
    ("postgres", &["worker::", "faults::", "close::", "hints::", "kill::", "outbox::"]),
    ("redis", &["worker::", "sentinel::", "cluster::", "faults::", "close::", "wakeups::"]),
    ("server", &["handlers::", "cli::", "http::limits::"]),
];

/// So many tests that wait fit where one that computes does.
const WAITERS_PER_CORE: usize = 8;

/// The two halves of a run. They run beside each other, so that the machine has something to do
/// while tests wait; each takes its parts in turn.
#[derive(Debug, Default)]
pub(crate) struct Lanes<'p> {
    pub busy: Vec<Part<'p>>,
    pub waiting: Vec<Part<'p>>,
}

impl<'p> Lanes<'p> {
    /// Every test of these programs, once.
    pub(crate) fn of(programs: &'p [Program]) -> Self {
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        let mut lanes = Self::default();
        for program in programs {
            let modules = WAITING.iter().find(|(name, _)| *name == program.name());
            let modules = modules.map_or(&[][..], |(_, modules)| *modules);
            // What one of them picks the other skips, by the same words.
            let skips = modules.iter().flat_map(|module| ["--skip", module]);
            lanes.busy.push(Part::new(program, "", cores, skips));
            if !modules.is_empty() {
                let threads = cores * WAITERS_PER_CORE;
                lanes.waiting.push(Part::new(program, ", what waits", threads, modules.to_vec()));
            }
        }
        lanes
    }
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
        let programs = [program("--test suite")];
        let lanes = Lanes::of(&programs);
        let words = |part: &Part<'_>| part.args().join(" ");
        assert!(words(&lanes.busy[0]).starts_with("--skip worker:: --skip servers::"));
        assert!(words(&lanes.waiting[0]).starts_with("worker:: servers::"));
    }

    #[test]
    fn a_program_that_never_waits_is_one_part() {
        let programs = [program("--lib")];
        let lanes = Lanes::of(&programs);
        assert_eq!((lanes.busy.len(), lanes.waiting.len()), (1, 0));
    }
}
