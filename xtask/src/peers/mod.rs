mod database;
mod options;
mod output;
mod place;
mod postgres;
mod redis;
mod server;
mod start;
mod store;
mod table;

use std::path::{Path, PathBuf};

use crate::command_line::CommandLine;
use crate::error::Result;
use crate::steps::Steps;
use crate::workspace::Workspace;

pub(crate) use options::Options;
pub(crate) use output::output;
pub(crate) use place::Place;
pub(crate) use store::Store;
use table::{Measurement, Table};

/// Measures our store beside other queues on the same and prints the medians.
///
/// The programs take turns, measurement by measurement: whatever else the machine does meanwhile
/// meets all of them. Ours is a program like the others, with the same arguments.
pub(crate) fn run(options: &Options) -> Result<()> {
    let workspace = Workspace::load()?;
    let programs = build(&workspace, options.store)?;
    let place = Place::prepare(options, &workspace.target_directory)?;
    let mut table = Table::default();
    for round in 1..=options.rounds {
        println!("\nround {round} of {}", options.rounds);
        for what in options.measured() {
            for program in &programs {
                table.add(measure(&workspace, &place, program, what, &[])?);
            }
        }
        for alone in options.alone() {
            let measurement =
                measure(&workspace, &place, &programs[0], alone.what, alone.settings)?;
            table.add(measurement.named(alone.name));
        }
    }
    println!("\n{table}");
    Ok(())
}

fn measure(
    workspace: &Workspace,
    place: &Place,
    program: &Path,
    what: &str,
    settings: &[&str],
) -> Result<Measurement> {
    let fresh = place.fresh()?;
    let program = CommandLine::new(program.to_string_lossy());
    let command = program.args(fresh.args()).args(["--only", what]);
    let command = settings.iter().fold(command, |command, set| command.args(["--set", set]));
    let line = output(&workspace.root, &command)?;
    print!("{line}");
    Measurement::parse(&line)
}

/// Builds all programs and tells where they are, ours first.
fn build(workspace: &Workspace, store: Store) -> Result<Vec<PathBuf>> {
    let steps = Steps::new(&workspace.root);
    let ours = store.ours();
    let build = CommandLine::cargo("build --release --package queuekit-benches --bin").arg(ours);
    steps.run("queuekit", &build)?;
    let mut programs = vec![program(&workspace.target_directory, ours)];
    let target_directory = workspace.target_directory.join("peers");
    for peer in store.peers() {
        let build = CommandLine::cargo("build --release --locked --manifest-path")
            .arg(format!("benches/peers/{peer}/Cargo.toml"))
            .arg("--target-dir")
            .arg(target_directory.to_string_lossy());
        steps.run(peer, &build)?;
        programs.push(program(&target_directory, &format!("queuekit-peer-{peer}")));
    }
    Ok(programs)
}

pub(crate) fn program(target_directory: &Path, name: &str) -> PathBuf {
    target_directory.join("release").join(name).with_extension(std::env::consts::EXE_EXTENSION)
}
