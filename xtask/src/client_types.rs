use std::fs;

use crate::command_line::CommandLine;
use crate::error::Result;
use crate::registries;
use crate::steps::{Steps, all};
use crate::workspace::Workspace;

/// What checks the types of the Python client.
const MYPY: &str = "mypy==2.4.1";
/// What checks the types of the Node client and writes them, and the types of the oldest Node that
/// the client supports.
const TYPESCRIPT: [&str; 2] = ["typescript@7.0.2", "@types/node@18.19.130"];

/// The types of the clients are those of their code, and programs that use them compile.
pub(crate) fn check(workspace: &Workspace, steps: &Steps) -> Result<()> {
    all([python(workspace, steps), node(workspace, steps)])
}

fn python(workspace: &Workspace, steps: &Steps) -> Result<()> {
    let Ok(programs) = registries::pip(workspace, steps, MYPY, "mypy") else {
        let remedy = format!("`pip install {MYPY}` failed");
        steps.not_checked("the types of the Python client", &remedy);
        return Ok(());
    };
    let cache = workspace.target_directory.join("xtask/mypy-cache").display().to_string();
    let mypy = CommandLine::new(programs.join("mypy").display().to_string())
        .args(["--strict", "--cache-dir", &cache])
        .args(["clients/python/queuekit", "clients/python/usage.py"]);
    steps.run("types of the Python client", &mypy.yielding())
}

fn node(workspace: &Workspace, steps: &Steps) -> Result<()> {
    let Ok(modules) = registries::npm(workspace, steps, &TYPESCRIPT, ".bin/tsc") else {
        let remedy = format!("`npm install {}` failed", TYPESCRIPT.join(" "));
        steps.not_checked("the types of the Node client", &remedy);
        return Ok(());
    };
    let written = workspace.target_directory.join("xtask/client-types");
    // Files of an earlier run would count as written.
    drop(fs::remove_dir_all(&written));
    let written = written.display().to_string();
    let roots = modules.join("@types").display().to_string();
    let tsc = |project: &str| {
        let tsc = CommandLine::new(modules.join(".bin/tsc").display().to_string());
        tsc.args(["--typeRoots", &roots, "--project", project]).yielding()
    };
    let write = tsc("clients/node").args(["--outDir", &written]);
    let same = CommandLine::new("diff").args(["-r", "clients/node/types", &written]);
    all([
        steps.run("types of the Node client", &write),
        steps.run("types of the Node client are up to date: `npm run types`", &same),
        steps.run("a program with the Node client", &tsc("clients/node/usage")),
    ])
}
