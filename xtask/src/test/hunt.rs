use std::collections::BTreeMap;
use std::hint;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::lanes::{Extent, Lanes};
use super::programs::Program;
use super::{Build, Environment, Options, TARGETS, programs, run_lanes};
use crate::error::{Error, Result};
use crate::steps::Steps;
use crate::workspace::Workspace;

/// A hunt for tests that fail now and then: each test program is run this often.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hunt {
    pub rounds: usize,
    /// The number of busy threads that take time from the tests meanwhile.
    pub beside: usize,
}

/// Fails if a test failed in any round, and says how often each did.
pub(super) fn run(
    workspace: &Workspace,
    steps: &Steps,
    options: &Options,
    hunt: Hunt,
) -> Result<()> {
    let environment = Environment::new(workspace, steps, options)?;
    let mut programs =
        programs::build(&Build::new(steps), "build the tests", targets(workspace, &options.only))?;
    let is_wanted = |of: &Program| options.only.iter().any(|name| name == of.name());
    programs.retain(|of| options.only.is_empty() || is_wanted(of));
    let extent = if options.long { Extent::Everything } else { Extent::Daily };
    let lanes = Lanes::of(&programs, extent);
    let mut failures = BTreeMap::new();
    beside(hunt.beside, || {
        for round in 1..=hunt.rounds {
            println!("\n==> round {round} of {}", hunt.rounds);
            // The output of each round stays.
            let environment = environment.of_round(round)?;
            let (report, _) = run_lanes(steps, &environment, &lanes, |_| Ok(()));
            count(&mut failures, report.failed);
        }
        Ok(())
    })?;
    verdict(steps, hunt.rounds, &failures)
}

/// What cargo has to build: all, or what these programs are called.
fn targets<'n>(workspace: &Workspace, only: &'n [String]) -> Vec<&'n str> {
    if only.is_empty() {
        return TARGETS.to_vec();
    }
    let target = |name: &'n String| match workspace.find(name) {
        Ok(_) => vec!["--lib"],
        // Cargo names those that there are, if it is none of them.
        Err(_) => vec!["--test", name],
    };
    only.iter().flat_map(target).collect()
}

fn count(failures: &mut BTreeMap<String, usize>, failed: Vec<String>) {
    for test in failed {
        *failures.entry(test).or_default() += 1;
    }
}

fn verdict(steps: &Steps, rounds: usize, failures: &BTreeMap<String, usize>) -> Result<()> {
    let lines: Vec<String> = failures
        .iter()
        .map(|(test, times)| format!("failed {times} of {rounds} times: {test}"))
        .collect();
    steps.tell(format!("{rounds} rounds: {} tests failed at least once", lines.len()));
    lines.iter().for_each(|line| steps.tell(line.clone()));
    if lines.is_empty() { Ok(()) } else { Err(Error::failed(lines.join("\n"))) }
}

/// Does something while as many threads compute nothing.
fn beside<T>(threads: usize, does: impl FnOnce() -> T) -> T {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let stops = Stops(&is_over);
        for _ in 0..threads {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    hint::spin_loop();
                }
            });
        }
        let done = does();
        drop(stops);
        done
    })
}

/// Ends the busy threads, also after a panic: else the scope would wait for them for ever.
struct Stops<'a>(&'a AtomicBool);

impl Drop for Stops<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_test_that_failed_once_fails_the_hunt_and_is_told_with_its_count() {
        let steps = Steps::new(Path::new("."));
        let mut failures = BTreeMap::new();
        assert_eq!(verdict(&steps, 3, &failures), Ok(()));
        for failed in [vec!["redis: a", "redis: b"], vec![], vec!["redis: a"]] {
            count(&mut failures, failed.into_iter().map(str::to_owned).collect());
        }
        let error = verdict(&steps, 3, &failures).unwrap_err().to_string();
        assert_eq!(error, "failed 2 of 3 times: redis: a\nfailed 1 of 3 times: redis: b");
    }

    #[test]
    fn only_what_is_asked_for_is_built() {
        let workspace = Workspace::load().unwrap();
        let only = ["sqlite", "queuekit-core"].map(str::to_owned);
        assert_eq!(targets(&workspace, &only), ["--test", "sqlite", "--lib"]);
        assert_eq!(targets(&workspace, &[]), TARGETS);
    }

    #[test]
    fn the_load_ends_with_what_it_is_beside() {
        assert_eq!(beside(2, || 7), 7);
        assert!(std::panic::catch_unwind(|| beside(1, || panic!("on purpose"))).is_err());
    }
}
