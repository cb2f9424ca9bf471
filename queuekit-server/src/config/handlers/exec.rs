//! Settings of the handler `exec`: the commands that jobs may run.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, anyhow};
use queuekit::jobs::Kind;
use serde::Deserialize;

use super::time;
use crate::config::Environment;
use crate::error::Usage;
use crate::handlers::exec::{Command, Exec};

const TIMEOUT: Duration = Duration::from_secs(300);

/// `[handlers.exec]`
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ExecEntry {
    commands: BTreeMap<CommandName, CommandEntry>,
}

/// The kind of a command's jobs: `exec.NAME`.
#[derive(PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
struct CommandName(Kind);

impl TryFrom<String> for CommandName {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let limit = "the name of a command must have letters, digits, `_`, `.`, `:` and `-` only";
        Kind::new(format!("exec.{name}")).map(Self).map_err(|_| limit.to_owned())
    }
}

/// `[handlers.exec.commands.NAME]`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CommandEntry {
    program: PathBuf,
    #[serde(default)]
    args: Vec<String>,
    /// Names of variables that are passed to the command.
    #[serde(default)]
    env: Vec<String>,
    cwd: Option<PathBuf>,
    timeout_ms: Option<NonZeroU64>,
    #[serde(default)]
    dead_exit_codes: BTreeSet<i32>,
}

/// A handler for each command.
pub(super) fn commands(
    entry: Option<&ExecEntry>,
    environment: &Environment,
    directory: &Path,
) -> Result<Vec<Exec>> {
    let commands = entry.map(|entry| &entry.commands).filter(|commands| !commands.is_empty());
    let commands = commands.ok_or_else(|| {
        Usage::error(
            "the handler `exec` is enabled, but has no command: add a table \
             [handlers.exec.commands.NAME] with `program`, or remove \"exec\" from `enabled`",
        )
    })?;
    commands.iter().map(|(name, entry)| exec(name, entry, environment, directory)).collect()
}

fn exec(
    CommandName(kind): &CommandName,
    entry: &CommandEntry,
    environment: &Environment,
    directory: &Path,
) -> Result<Exec> {
    let name = kind.as_str().trim_start_matches("exec.");
    let wrong = |what: String| Usage::error(format!("[handlers.exec.commands.{name}]: {what}"));
    let directory = std::path::absolute(directory.join("."))
        .map_err(|error| anyhow!("cannot find out the current directory: {error}"))?;
    // A bare name would be searched in a PATH that the command itself does not get.
    if entry.program.components().count() < 2 {
        return Err(wrong("`program` must be a path, such as /usr/bin/convert".to_owned()));
    }
    if entry.dead_exit_codes.contains(&0) || entry.dead_exit_codes.contains(&75) {
        let what = "`dead_exit_codes` must not contain 0 (success) or 75 (run again later)";
        return Err(wrong(what.to_owned()));
    }
    let variable =
        |name: &String| environment.get(name).map(|value| (name.clone(), value.to_owned()));
    let command = Command {
        program: directory.join(&entry.program),
        args: entry.args.clone(),
        environment: entry.env.iter().filter_map(variable).collect(),
        directory: entry.cwd.as_ref().map_or(directory.clone(), |cwd| directory.join(cwd)),
        timeout: time(entry.timeout_ms, TIMEOUT),
        dead_exit_codes: entry.dead_exit_codes.clone(),
    };
    Ok(Exec { kind: kind.clone(), command })
}
