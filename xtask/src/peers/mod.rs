mod options;
mod table;

use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::command_line::CommandLine;
use crate::error::{Error, Result};
use crate::steps::Steps;
use crate::workspace::Workspace;

pub(crate) use options::Options;
use table::{Measurement, Table};

/// Other queues on SQLite. Each is a package outside of the workspace: two crates that link SQLite
/// cannot be built together, and nobody who works on this project should have to build them.
const PEERS: &[&str] = &["riverqueue", "effectum"];

/// What every program measures, see `benches/peers/harness.rs`.
pub(crate) const MEASURED: &[&str] = &["drain", "enqueue64", "enqueue1", "bulk"];

/// Measures our store on SQLite beside other queues and prints the medians.
///
/// The programs take turns, measurement by measurement: whatever else the machine does meanwhile
/// meets all of them.
pub(crate) fn run(options: &Options) -> Result<()> {
    let workspace = Workspace::load()?;
    let programs = build(&workspace)?;
    let directory = match &options.directory {
        Some(directory) => directory.clone(),
        // On a disk, which the system's directory for such files need not be.
        None => workspace.target_directory.join("peers/data").to_string_lossy().into_owned(),
    };
    let mut table = Table::default();
    for round in 1..=options.rounds {
        println!("\nround {round} of {}", options.rounds);
        for what in options.measured() {
            for program in &programs {
                let program = CommandLine::new(program.to_string_lossy());
                let command = program.args(["--dir", &directory, "--only", what]);
                let line = output(&workspace.root, &command)?;
                print!("{line}");
                table.add(Measurement::parse(&line)?);
            }
        }
    }
    println!("\n{table}");
    Ok(())
}

/// Builds all programs and tells where they are, ours first.
fn build(workspace: &Workspace) -> Result<Vec<PathBuf>> {
    let mut steps = Steps::new(&workspace.root);
    let ours = "build --release --package queuekit-benches --bin sqlite_peer";
    steps.run("queuekit", &CommandLine::cargo(ours))?;
    let mut programs = vec![program(&workspace.target_directory, "sqlite_peer")];
    let target_directory = workspace.target_directory.join("peers");
    for peer in PEERS {
        let build = CommandLine::cargo("build --release --locked --manifest-path")
            .arg(format!("benches/peers/{peer}/Cargo.toml"))
            .arg("--target-dir")
            .arg(target_directory.to_string_lossy());
        steps.run(peer, &build)?;
        programs.push(program(&target_directory, &format!("queuekit-peer-{peer}")));
    }
    Ok(programs)
}

fn program(target_directory: &Path, name: &str) -> PathBuf {
    target_directory.join("release").join(name).with_extension(std::env::consts::EXE_EXTENSION)
}

/// What the command prints; what it complains of goes to the terminal.
fn output(root: &Path, command: &CommandLine) -> Result<String> {
    let failed = |what: String| Error::failed(format!("{what}\nto repeat it:\n  {command}"));
    let output = command.to_command(root).stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| failed(format!("could not be run: {error}")))?;
    if !output.status.success() {
        return Err(failed(output.status.to_string()));
    }
    String::from_utf8(output.stdout).map_err(|error| failed(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_peer_has_a_package_that_the_workspace_leaves_out() {
        let workspace = Workspace::load().unwrap();
        for peer in PEERS {
            let package = workspace.root.join("benches/peers").join(peer);
            assert!(package.join("Cargo.toml").exists(), "{peer}");
            assert!(package.join("Cargo.lock").exists(), "{peer}");
            assert!(workspace.find(&format!("queuekit-peer-{peer}")).is_err(), "{peer}");
        }
    }

    #[test]
    fn a_program_that_fails_is_an_error_with_the_command_to_repeat() {
        let command = CommandLine::new("no-such-program-anywhere").arg("--dir");
        let error = output(Path::new("."), &command).unwrap_err().to_string();
        assert!(error.ends_with("no-such-program-anywhere --dir"), "{error}");
    }
}
