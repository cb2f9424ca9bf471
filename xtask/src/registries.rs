//! Programs and files of PyPI and npm, installed below the target directory, once.

use std::path::PathBuf;

use crate::command_line::CommandLine;
use crate::error::{Error, Result};
use crate::steps::Steps;
use crate::workspace::Workspace;

/// Installs `package`, such as `mypy==2.4.1`, and returns the directory that has its program.
pub(crate) fn pip(
    workspace: &Workspace,
    steps: &Steps,
    package: &str,
    program: &str,
) -> Result<PathBuf> {
    let place = workspace.target_directory.join("xtask").join(package.replace("==", "-"));
    let programs = place.join("bin");
    if !programs.join(program).is_file() {
        let home = place.display().to_string();
        let venv = CommandLine::new("python3").args(["-m", "venv", "--clear", &home]);
        steps.run(&format!("a place for {program}"), &venv)?;
        let pip = CommandLine::new(programs.join("pip").display().to_string());
        let install = pip.args(["install", "--quiet", package]);
        steps.run(&format!("install {program}"), &install)?;
    }
    if programs.join(program).is_file() {
        return Ok(programs);
    }
    Err(Error::failed(format!("{package} has no program {program} in {}", programs.display())))
}

/// Installs `packages`, such as `axe-core@4.14.1`, in a place named after the first. Returns the
/// folder `node_modules` that has them, and in it `file`.
pub(crate) fn npm(
    workspace: &Workspace,
    steps: &Steps,
    packages: &[&str],
    file: &str,
) -> Result<PathBuf> {
    let name = packages.join(" ");
    let place = packages.first().map_or_else(String::new, |first| first.replace('@', "-"));
    let place = workspace.target_directory.join("xtask").join(place);
    let modules = place.join("node_modules");
    if !modules.join(file).is_file() {
        let npm = CommandLine::new("npm").args(["install", "--no-save", "--no-audit", "--prefix"]);
        let install = npm.arg(place.display().to_string()).args(packages.iter().copied());
        steps.run(&format!("install {name}"), &install)?;
    }
    if modules.join(file).is_file() {
        return Ok(modules);
    }
    Err(Error::failed(format!("{name} has no {file} in {}", modules.display())))
}
