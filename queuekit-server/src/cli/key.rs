//! `queuekit key`

use std::str::FromStr;

use anyhow::{Context as _, Result};
use clap::{Args, Subcommand};
use queuekit::{Clock, SystemClock};
use serde::Serialize;

use super::context::Context;
use super::exit::Exit;
use super::output::remark;
use super::quantity::Instant;
use crate::cli::Usage;
use crate::http::glob::Glob;
use crate::http::keys::{KeyEntry, NewKey, Scope};

/// Keys for the HTTP API
#[derive(Subcommand, Debug)]
pub(crate) enum Key {
    New(New),
}

/// Make a key: print it once, and the lines of queuekit.toml that let it in
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct New {
    /// What it is called, in logs too: letters, digits and -
    #[arg(long, default_value = "key")]
    id: Id,
    /// What it opens: read, enqueue, work, manage, admin; may be repeated
    #[arg(long = "scope", value_name = "SCOPE,..", value_delimiter = ',')]
    #[arg(default_values = ["read", "enqueue"])]
    scopes: Vec<Scope>,
    /// The queues it is for, * stands for any text; may be repeated [default: all]
    #[arg(long = "queue", value_name = "GLOB")]
    queues: Vec<Glob>,
    /// The types of jobs it is for; may be repeated [default: all]
    #[arg(long = "type", value_name = "GLOB")]
    types: Vec<Glob>,
    /// When it ends: RFC 3339, or a duration from now, as 90d [default: never]
    #[arg(long, value_name = "TIME")]
    expires: Option<Instant>,
}

const EXAMPLES: &str = "\
Examples:
  queuekit key new --id shop --scope enqueue --queue 'shop.*'
  queuekit key new --id mailer --scope work --queue emails --expires 90d
  queuekit key new --id ops --scope admin --json";

/// The name of a key.
#[derive(Clone, Debug)]
struct Id(String);

/// As it stands in `queuekit.toml`.
#[derive(Serialize)]
struct Lines {
    keys: [KeyEntry; 1],
}

/// As JSON.
#[derive(Serialize)]
struct Answer<'a> {
    key: &'a str,
    entry: &'a KeyEntry,
}

impl Key {
    pub(crate) fn run(self, context: &Context) -> Result<Exit> {
        let Self::New(new) = self;
        let Id(id) = new.id;
        let now = SystemClock::default().now().as_millis();
        if new.expires.is_some_and(|Instant(at)| at.as_millisecond() <= now) {
            return Err(Usage::error(
                "--expires must be later than now: this key would open nothing",
            ));
        }
        let NewKey { secret, mut entry } =
            NewKey::draw(&id, new.scopes).context("the system gave no random bytes")?;
        entry.queues = new.queues;
        entry.types = new.types;
        entry.expires = new.expires.map(|Instant(at)| at);
        if context.output.json {
            context.output.json(&Answer { key: &secret, entry: &entry })?;
            return Ok(Exit::Success);
        }
        remark("The key, which is shown now and stored nowhere:");
        context.output.line(&secret)?;
        remark("\nWhat lets it in, for queuekit.toml of the server, which reads it at SIGHUP too:");
        context.output.line(toml::to_string(&Lines { keys: [entry] })?.trim_end())?;
        Ok(Exit::Success)
    }
}

impl FromStr for Id {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let valid = |c: char| c.is_ascii_alphanumeric() || c == '-';
        if text.is_empty() || text.len() > 32 || !text.chars().all(valid) {
            return Err("1 to 32 letters, digits and -".to_owned());
        }
        Ok(Self(text.to_owned()))
    }
}
