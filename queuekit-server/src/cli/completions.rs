//! `queuekit completions` and `queuekit man`

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::Args;
use clap_complete::Shell;
use serde_json::json;

use super::context::Context;
use super::exit::Exit;

/// Print a completion script for a shell
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Completions {
    /// Name of the shell
    shell: Shell,
}

const EXAMPLES: &str = "\
Examples:
  queuekit completions bash > /etc/bash_completion.d/queuekit
  queuekit completions zsh > ~/.zfunc/_queuekit
  queuekit completions fish > ~/.config/fish/completions/queuekit.fish";

/// Write manual pages, one for each command
#[derive(Args, Debug)]
pub(crate) struct Man {
    /// Directory to write to, such as /usr/local/share/man/man1; created if it does not exist
    #[arg(value_name = "DIRECTORY")]
    directory: PathBuf,
}

impl Completions {
    pub(crate) fn run(self, context: &Context, mut command: clap::Command) -> Result<Exit> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, "queuekit", &mut script);
        let script = String::from_utf8(script).context("the script is not UTF-8")?;
        context.output.line(script.trim_end())?;
        Ok(Exit::Success)
    }
}

impl Man {
    pub(crate) fn run(self, context: &Context, mut command: clap::Command) -> Result<Exit> {
        command.build();
        let mut pages = Vec::new();
        std::fs::create_dir_all(&self.directory)
            .and_then(|()| write(&self.directory, &command, &mut pages))
            .with_context(|| format!("{} cannot be written to", self.directory.display()))?;
        for page in pages.iter().map(|page| page.display().to_string()) {
            context.output.answer(&json!({ "page": page }), &page)?;
        }
        Ok(Exit::Success)
    }
}

/// `queuekit.1`, `queuekit-job.1`, `queuekit-job-list.1`, ..
fn write(
    directory: &std::path::Path,
    command: &clap::Command,
    pages: &mut Vec<PathBuf>,
) -> std::io::Result<()> {
    let page = clap_mangen::Man::new(command.clone());
    let path = directory.join(page.get_filename());
    // Guard: what is behind a link is elsewhere, where nobody asked for pages.
    if path.symlink_metadata().is_ok_and(|found| found.is_symlink()) {
        let message = format!("{} is a symbolic link; remove it", path.display());
        return Err(std::io::Error::other(message));
    }
    let mut file = std::fs::File::create(&path)?;
    page.render(&mut file)?;
    file.flush()?;
    pages.push(path);
    for command in command.get_subcommands().filter(|command| command.get_name() != "help") {
        write(directory, command, pages)?;
    }
    Ok(())
}
