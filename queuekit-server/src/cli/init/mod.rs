//! `queuekit init`

mod dependency;
mod project;

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use serde_json::json;

use super::context::Context;
use super::exit::Exit;
use dependency::Dependency;
use project::{Name, Project, Store};

/// Write a small application with a job, its handler and tests
#[derive(Args, Debug)]
#[command(after_help = AFTER)]
pub(crate) struct Init {
    /// Directory to write to; created if it does not exist
    #[arg(value_name = "DIRECTORY", default_value = ".")]
    directory: PathBuf,
    /// Name of the package [default: the name of the directory]
    #[arg(long)]
    name: Option<Name>,
    /// Store of the application; to change it later, change its feature in Cargo.toml and its URL
    #[arg(long, default_value = "sqlite")]
    store: Store,
    /// Clone of the repository of queuekit to depend on [default: `queuekit` next to DIRECTORY]
    #[arg(long, value_name = "CLONE", conflicts_with = "git")]
    path: Option<PathBuf>,
    /// URL of a Git repository of queuekit to depend on
    #[arg(long, value_name = "URL")]
    git: Option<String>,
}

const AFTER: &str = "\
Writes Cargo.toml, src/main.rs, src/greet.rs, README.md, .gitignore and queuekit.toml, and
overwrites none of them. queuekit is not on crates.io yet, so the application depends on a clone or
a Git repository. To change that later, edit the line `queuekit` in Cargo.toml.

Examples:
  queuekit init shop
  queuekit init shop --store postgres --path ~/src/queuekit
  queuekit init shop --git https://git.example.com/queuekit.git";

impl Init {
    pub(crate) fn run(self, context: &Context) -> Result<Exit> {
        let directory = self.directory.as_path();
        let name = self.name.map_or_else(|| Name::of(directory), Ok)?;
        let dependency = match (self.path, self.git) {
            (Some(clone), _) => Dependency::on_clone(&clone)?,
            (None, Some(url)) => Dependency::Git(url),
            (None, None) => Dependency::next_to(directory)?,
        };
        let project = Project { name, store: self.store, dependency };
        let written = project.write(directory)?;
        let next = next_steps(directory, self.store);
        let answer = json!({ "directory": directory, "written": written });
        let list: String = written.iter().map(|path| format!("  {path}\n")).collect();
        let text = format!("Written to {}:\n{list}\n{next}", directory.display());
        context.output.answer(&answer, text)?;
        Ok(Exit::Success)
    }
}

/// The commands that follow, each with what it does.
fn next_steps(directory: &Path, store: Store) -> String {
    let enter = (directory != Path::new(".")).then(|| format!("cd {}", directory.display()));
    let steps = enter.iter().map(|enter| (enter.as_str(), String::new()));
    let steps = steps.chain([
        ("cargo test", "runs the handler in memory".to_owned()),
        ("cargo run -- enqueue Ada", format!("stores a job in {}", store.url())),
        ("cargo run -- work", "runs it, and waits for more until Ctrl-C".to_owned()),
    ]);
    let lines: Vec<String> = steps
        .map(|(command, what)| format!("  {command:<26}{what}").trim_end().to_owned())
        .collect();
    format!("Next, as README.md says:\n{}", lines.join("\n"))
}
