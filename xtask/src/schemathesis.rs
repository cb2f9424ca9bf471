use std::env;

use crate::error::Result;
use crate::registries;
use crate::steps::Steps;
use crate::workspace::Workspace;

/// What compares the server with its description: a program of PyPI.
const PACKAGE: &str = "schemathesis==4.32.5";
const PROGRAM: &str = "schemathesis";

/// Makes sure that tests find the program, and returns the path in which they look. A program that
/// is not in the path is installed into the target directory, once. If that fails the summary says
/// so, or, if the program is required, the run fails.
pub(crate) fn provide(
    workspace: &Workspace,
    steps: &Steps,
    required: bool,
) -> Result<Option<String>> {
    let path = env::var("PATH").unwrap_or_default();
    if env::split_paths(&path).any(|place| place.join(PROGRAM).is_file()) {
        return Ok(Some(path));
    }
    match registries::pip(workspace, steps, PACKAGE, PROGRAM) {
        Ok(programs) => Ok(Some(format!("{}:{path}", programs.display()))),
        Err(error) if required => Err(error),
        Err(_) => {
            let remedy = format!("`pip install {PACKAGE}` failed; install it into the path");
            steps.not_checked("the server against its OpenAPI description", &remedy);
            Ok(None)
        }
    }
}
