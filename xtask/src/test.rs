use crate::command_line::CommandLine;
use crate::error::Result;
use crate::examples;
use crate::steps::Steps;
use crate::workspace::Workspace;

/// Tells tests that have a short and a long tier to run the long one.
const LONG_TIER: &str = "QUEUEKIT_TEST_LONG";

/// The one command of the README: whatever can fail is run.
pub(crate) fn run(long: bool) -> Result<()> {
    let workspace = Workspace::load()?;
    run_steps(&workspace, &mut Steps::new(&workspace.root), long)
}

/// The same steps as part of a longer run, so that `ci` cannot drift away from `test`.
pub(crate) fn run_steps(workspace: &Workspace, steps: &mut Steps, long: bool) -> Result<()> {
    let tier = |command: CommandLine| {
        if long { command.env(LONG_TIER, "1") } else { command }
    };
    // Two commands, because `--all-targets` leaves the doctests out.
    let targets = CommandLine::cargo("test --workspace --all-features --all-targets");
    steps.run("tests", &tier(targets))?;
    let doctests = CommandLine::cargo("test --workspace --all-features --doc");
    steps.run("doctests", &tier(doctests))?;
    examples::run(workspace, steps)
}
