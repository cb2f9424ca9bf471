use crate::error::Result;
use crate::registries;
use crate::steps::Steps;
use crate::workspace::Workspace;

/// What checks the pages of the dashboard for accessibility: a script of npm.
const PACKAGE: &str = "axe-core@4.14.1";
const SCRIPT: &str = "axe-core/axe.min.js";
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
    match registries::npm(workspace, steps, &[PACKAGE], SCRIPT) {
        Ok(modules) => Ok(Some(modules.join(SCRIPT).display().to_string())),
        Err(error) if required => Err(error),
        Err(_) => {
            let remedy = format!("`npm install {PACKAGE}` failed; install npm");
            steps.not_checked("the accessibility of the dashboard", &remedy);
            Ok(None)
        }
    }
}
