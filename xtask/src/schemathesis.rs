use std::env;
use std::path::{Path, PathBuf};

use crate::command_line::CommandLine;
use crate::error::{Error, Result};
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
    let place = workspace.target_directory.join("xtask").join(PACKAGE.replace("==", "-"));
    match install(steps, &place) {
        Ok(programs) => Ok(Some(format!("{}:{path}", programs.display()))),
        Err(error) if required => Err(error),
        Err(_) => {
            let remedy = format!("`pip install {PACKAGE}` failed; install it into the path");
            steps.not_checked("the server against its OpenAPI description", &remedy);
            Ok(None)
        }
    }
}

/// Returns the directory that has the program.
fn install(steps: &Steps, place: &Path) -> Result<PathBuf> {
    let programs = place.join("bin");
    if !programs.join(PROGRAM).is_file() {
        let home = place.display().to_string();
        let venv = CommandLine::new("python3").args(["-m", "venv", "--clear", &home]);
        steps.run("a place for schemathesis", &venv)?;
        let pip = CommandLine::new(programs.join("pip").display().to_string());
        steps.run("install schemathesis", &pip.args(["install", "--quiet", PACKAGE]))?;
    }
    if programs.join(PROGRAM).is_file() {
        return Ok(programs);
    }
    Err(Error::failed(format!("{PACKAGE} has no program {PROGRAM} in {}", programs.display())))
}
