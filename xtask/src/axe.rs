use std::path::Path;

use crate::command_line::CommandLine;
use crate::error::{Error, Result};
use crate::steps::Steps;
use crate::workspace::Workspace;

/// What checks the pages of the dashboard for accessibility: a script of npm.
const PACKAGE: &str = "axe-core@4.14.1";
/// Tells tests where the script is.
pub(crate) const VARIABLE: &str = "QUEUEKIT_TEST_AXE";

/// Makes sure that tests find the script, and returns its path. It is installed into the target
/// directory, once. If that fails the summary says so, or, if the script is required, the run
/// fails.
pub(crate) fn provide(
    workspace: &Workspace,
    steps: &Steps,
    required: bool,
) -> Result<Option<String>> {
    let place = workspace.target_directory.join("xtask").join(PACKAGE.replace('@', "-"));
    match install(steps, &place) {
        Ok(script) => Ok(Some(script)),
        Err(error) if required => Err(error),
        Err(_) => {
            let remedy = format!("`npm install {PACKAGE}` failed; install npm");
            steps.not_checked("the accessibility of the dashboard", &remedy);
            Ok(None)
        }
    }
}

fn install(steps: &Steps, place: &Path) -> Result<String> {
    let script = place.join("node_modules/axe-core/axe.min.js");
    if !script.is_file() {
        let npm = CommandLine::new("npm").args(["install", "--no-save", "--no-audit", "--prefix"]);
        steps.run("install axe-core", &npm.arg(place.display().to_string()).arg(PACKAGE))?;
    }
    if script.is_file() {
        return Ok(script.display().to_string());
    }
    Err(Error::failed(format!("{PACKAGE} has no {}", script.display())))
}
