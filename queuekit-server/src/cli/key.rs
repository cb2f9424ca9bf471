//! `queuekit key`

use std::str::FromStr;

use anyhow::{Context as _, Result};
use clap::{Args, Subcommand};
use queuekit::store::{Clock, SystemClock};
use serde::Serialize;

use super::context::Context;
use super::exit::Exit;
use super::output::remark;
use crate::error::Usage;
use crate::grammar::Instant;
use crate::web::glob::Glob;
use crate::web::keys::{KeyEntry, NewKey, Scope};

/// Create API keys for the HTTP API
#[derive(Subcommand, Debug)]
pub(crate) enum Key {
    New(New),
}

/// Create an API key, and print it once, with its entry for queuekit.toml
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct New {
    /// Name of the key, shown in logs: letters, digits and -
    #[arg(long, default_value = "key")]
    id: Id,
    /// What the key allows: read, enqueue, work, manage, admin; may be repeated
    #[arg(long = "scope", value_name = "SCOPE,..", value_delimiter = ',')]
    #[arg(default_values = ["read", "enqueue"])]
    scopes: Vec<Scope>,
    /// Queues that the key is for; * matches any text; may be repeated [default: all]
    #[arg(long = "queue", value_name = "GLOB")]
    queues: Vec<Glob>,
    /// Kinds of jobs that the key is for; may be repeated [default: all]
    #[arg(long = "kind", value_name = "GLOB")]
    kinds: Vec<Glob>,
    /// When the key expires: RFC 3339, or a duration from now, such as 90d [default: never]
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

/// As `queuekit.toml` has it.
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
                "--expires must be in the future: this key would never be accepted",
            ));
        }
        let NewKey { secret, mut entry } =
            NewKey::draw(&id, new.scopes).context("cannot get random bytes from the system")?;
        entry.queues = new.queues;
        entry.kinds = new.kinds;
        entry.expires = new.expires.map(|Instant(at)| at);
        if context.output.json {
            context.output.json(&Answer { key: &secret, entry: &entry })?;
            return Ok(Exit::Success);
        }
        remark("The key. It is shown only once and stored nowhere:");
        context.output.line(&secret)?;
        remark("\nAdd these lines to queuekit.toml of the server, and send it SIGHUP:");
        context.output.line(toml::to_string(&Lines { keys: [entry] })?.trim_end())?;
        Ok(Exit::Success)
    }
}

impl FromStr for Id {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let valid = |c: char| c.is_ascii_alphanumeric() || c == '-';
        if text.is_empty() || text.len() > 32 || !text.chars().all(valid) {
            return Err("the name must have 1 to 32 letters, digits and -".to_owned());
        }
        Ok(Self(text.to_owned()))
    }
}
