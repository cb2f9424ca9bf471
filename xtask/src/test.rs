use crate::command_line::CommandLine;
use crate::error::{Error, Result};
use crate::steps::Steps;
use crate::workspace::Workspace;
use crate::{examples, servers};

/// Tells tests that have a short and a long tier to run the long one.
const LONG_TIER: &str = "QUEUEKIT_TEST_LONG";

/// The one command of the README: whatever can fail is run.
pub(crate) fn run(options: Options) -> Result<()> {
    let workspace = Workspace::load()?;
    run_steps(&workspace, &mut Steps::new(&workspace.root), options)
}

/// How they are run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// The long harnesses at their full numbers.
    pub long: bool,
    /// What is missing is installed by way of sudo.
    pub install: bool,
}

impl Options {
    pub(crate) fn parse(args: &[&str]) -> Result<Self> {
        let mut options = Self::default();
        for arg in args {
            let option = match *arg {
                "--long" => &mut options.long,
                "--install" => &mut options.install,
                _ => return Err(Error::Usage(format!("test: unexpected `{arg}`"))),
            };
            if std::mem::replace(option, true) {
                return Err(Error::Usage(format!("test: `{arg}` is there twice")));
            }
        }
        Ok(options)
    }
}

/// The same steps as part of a longer run, so that `ci` cannot drift away from `test`.
pub(crate) fn run_steps(workspace: &Workspace, steps: &mut Steps, options: Options) -> Result<()> {
    let required = servers::provide(steps, options.install)?;
    let tier = |command: CommandLine| {
        let command = command.env(servers::REQUIRE, &required);
        if options.long { command.env(LONG_TIER, "1") } else { command }
    };
    // Two commands, because `--all-targets` leaves the doctests out.
    let targets = CommandLine::cargo("test --workspace --all-features --all-targets");
    steps.run("tests", &tier(targets))?;
    let doctests = CommandLine::cargo("test --workspace --all-features --doc");
    steps.run("doctests", &tier(doctests))?;
    examples::run(workspace, steps)
}
