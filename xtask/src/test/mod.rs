//! `cargo xtask test`: every test, or those that a change can break.

mod build;
mod changed;
mod git;
mod hunt;
mod lanes;
mod options;
mod part;
mod programs;
mod report;

use std::env;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

pub(crate) use build::Build;
pub(crate) use hunt::Hunt;
use lanes::{Extent, Lanes};
pub(crate) use options::Options;
use part::Part;
use report::Report;

use crate::command_line::CommandLine;
use crate::error::{Error, Result};
use crate::steps::{Steps, all};
use crate::workspace::Workspace;
use crate::{axe, examples, schemathesis, servers};

/// Tells tests that have a short and a long tier to run the long one.
const LONG_TIER: &str = "QUEUEKIT_TEST_LONG";
/// All that has tests in it: what cargo takes if no target is named. A named one, such as `--lib`,
/// would be that of every crate, and so include a library whose tests are elsewhere.
const TARGETS: &[&str] = &[];
/// Benchmarks are built where code is linted. They run once each, to show that they work, in a long
/// run only.
const BENCHMARKS: &[&str] = &["--bench", "*"];
/// The first seed of the model's sequences.
const SEED: &str = "QUEUEKIT_TEST_SEED";
/// Tells tests that start an example where it was built.
const EXAMPLES: &str = "QUEUEKIT_TEST_EXAMPLES";

/// The one command of the README: whatever can fail is run.
pub(crate) fn run(options: &Options) -> Result<()> {
    let workspace = Workspace::load()?;
    let steps = Steps::new(&workspace.root);
    match (&options.changed, options.hunt) {
        (_, Some(hunt)) => hunt::run(&workspace, &steps, options, hunt),
        (Some(since), None) => changed::run(&workspace, &steps, options, since),
        (None, None) => run_steps(&workspace, &steps, options, |_, _| Ok(())),
    }
}

/// Runs the test programs again and again, as part of a longer run.
pub(crate) fn hunt_flakes(workspace: &Workspace, steps: &Steps, hunt: Hunt) -> Result<()> {
    let options = Options { complete: true, ..Options::default() };
    hunt::run(workspace, steps, &options, hunt)
}

/// The same steps as part of a longer run, so that `ci` cannot drift away from `test`. `beside` is
/// done while tests wait, before those that keep the machine busy; so are the doctests, and the
/// check of the examples.
pub(crate) fn run_steps(
    workspace: &Workspace,
    steps: &Steps,
    options: &Options,
    beside: impl FnOnce(&Steps, &Build<'_>) -> Result<()>,
) -> Result<()> {
    let environment = Environment::new(workspace, steps, options)?;
    let build = if options.lint { Build::linting(steps)? } else { Build::new(steps) };
    let mut programs = programs::build(&build, "build the tests", TARGETS.iter().copied())?;
    if options.long || options.lint {
        let benchmarks = BENCHMARKS.iter().copied();
        programs.extend(programs::build(&build, "build the benchmarks", benchmarks)?);
    }
    examples::build(&build)?;
    let extent = if options.long { Extent::Everything } else { Extent::Daily };
    let lanes = Lanes::of(&programs, extent);
    // The programs leave the doctests out.
    let doctests = CommandLine::cargo("test --workspace --all-features --doc");
    let doctests = build.by_driver(environment.of(doctests));
    let (report, tests) = run_lanes(steps, &environment, &lanes, |steps| {
        let beside = beside(steps, &build);
        let examples = examples::check_for_users(workspace, steps);
        all([beside, examples, steps.run("doctests", &doctests)])
    });
    report.lines().into_iter().for_each(|line| steps.tell(line));
    all([build.lints(), tests, examples::run(workspace, steps)])
}

/// The variables that tests get, and where their output goes.
#[derive(Debug)]
pub(crate) struct Environment {
    pub variables: Vec<(&'static str, String)>,
    pub logs: PathBuf,
}

impl Environment {
    fn new(workspace: &Workspace, steps: &Steps, options: &Options) -> Result<Self> {
        let logs = directory(workspace.target_directory.join("xtask/tests"))?;
        let examples = examples::directory(workspace).display().to_string();
        let mut required = servers::provide(steps, options.install, options.complete)?;
        let mut variables = vec![(EXAMPLES, examples)];
        if let Some(path) = schemathesis::provide(workspace, steps, options.complete)? {
            required.push_str(",schemathesis");
            variables.push(("PATH", path));
        }
        if let Some(script) = axe::provide(workspace, steps, options.complete)? {
            required.push_str(",axe-core");
            variables.push((axe::VARIABLE, script));
        }
        variables.push((servers::REQUIRE, required));
        if let Some(seed) = seed(steps).filter(|_| env::var_os(SEED).is_none()) {
            steps.tell(format!("sequences of the model: {SEED}={seed}"));
            variables.push((SEED, seed));
        }
        if options.long {
            variables.push((LONG_TIER, "1".to_owned()));
        }
        Ok(Self { variables, logs })
    }

    /// The same, with a place of its own for the output.
    fn of_round(&self, round: usize) -> Result<Self> {
        let logs = directory(self.logs.join(format!("round-{round}")))?;
        Ok(Self { variables: self.variables.clone(), logs })
    }

    fn of(&self, command: CommandLine) -> CommandLine {
        self.variables.iter().fold(command, |command, (name, value)| command.env(name, value))
    }
}

fn directory(path: PathBuf) -> Result<PathBuf> {
    fs::create_dir_all(&path)
        .map_err(|error| Error::failed(format!("cannot make {}: {error}", path.display())))?;
    Ok(path)
}

/// A number of the commit: each tries sequences of its own, and repeats them.
fn seed(steps: &Steps) -> Option<String> {
    let commit = git::output(steps, &["rev-parse", "HEAD"]).ok()?;
    u32::from_str_radix(commit.get(..7)?, 16).ok().map(|seed| seed.to_string())
}

fn run_lanes(
    steps: &Steps,
    environment: &Environment,
    lanes: &Lanes<'_>,
    beside: impl FnOnce(&Steps) -> Result<()>,
) -> (Report, Result<()>) {
    let total = Mutex::new(Report::default());
    let run = |part: &Part<'_>| {
        let (report, outcome) = part.run(steps, environment);
        total.lock().unwrap_or_else(PoisonError::into_inner).add(report);
        outcome
    };
    println!("\n==> the tests, in two lanes; output in {}", environment.logs.display());
    let next = AtomicUsize::new(0);
    let take = || lanes.busy.get(next.fetch_add(1, Ordering::Relaxed));
    let rest = || all(std::iter::from_fn(take).map(run));
    let outcome = thread::scope(|scope| {
        let waiting = scope.spawn(|| all([all(lanes.waiting.iter().map(run)), rest()]));
        let beside = beside(steps);
        let busy = rest();
        let waiting = waiting.join().unwrap_or_else(|_| Err(Error::failed("a lane panicked")));
        all([beside, busy, waiting])
    });
    (total.into_inner().unwrap_or_else(PoisonError::into_inner), outcome)
}
