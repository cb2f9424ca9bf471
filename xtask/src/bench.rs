use crate::command_line::CommandLine;
use crate::error::Result;
use crate::steps::Steps;
use crate::workspace::Workspace;

/// Runs the benchmarks; `args` go to criterion, for example `-- enqueue --quick`.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let workspace = Workspace::load()?;
    // All benchmarks, but not the crate's own library: the harness cargo makes for it does not
    // understand what criterion does and would refuse the arguments.
    let mut command = CommandLine::cargo("bench --package queuekit-benches --bench *");
    if !args.is_empty() {
        command = command.arg("--").args(args);
    }
    Steps::new(&workspace.root).run("benchmarks", &command)
}
