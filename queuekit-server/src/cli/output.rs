//! What a command answers, on stdout; what it says beside that, on stderr.

use std::fmt;
use std::io::{self, ErrorKind, IsTerminal, Write};

use anyhow::{Context, Result};
use serde::Serialize;
use serde_json::value::RawValue;

use super::exit::Exit;
use super::shown::{escaped, printable};

/// Where answers go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    /// In JSON, for programs.
    pub(crate) json: bool,
}

/// Nobody reads any more, as after `| head`: no fault of the command.
#[derive(Debug)]
pub(crate) struct OutputClosed;

impl Output {
    /// Writes a line, or several.
    pub(crate) fn line(&self, text: impl fmt::Display) -> Result<()> {
        // Colours are for terminals that want them: NO_COLOR and TERM are obeyed.
        let mut out = anstream::stdout().lock();
        written(writeln!(out, "{text}").and_then(|()| out.flush()))
    }

    /// Writes a value as one line of JSON.
    pub(crate) fn json(&self, value: &impl Serialize) -> Result<()> {
        self.raw(&serde_json::to_string(value)?)
    }

    /// Writes a line of JSON as it is, byte for byte: for programs. On a terminal letters that
    /// would steer it are escaped.
    pub(crate) fn raw(&self, line: &str) -> Result<()> {
        let mut out = io::stdout().lock();
        let escaped = out.is_terminal().then(|| escaped(line));
        let line = escaped.as_deref().unwrap_or(line);
        written(writeln!(out, "{line}").and_then(|()| out.flush()))
    }

    /// Writes what came as JSON, byte for byte, or the same for people.
    pub(crate) fn forward(&self, json: &str, text: impl FnOnce() -> Result<String>) -> Result<()> {
        if self.json { self.raw(json) } else { self.line(text()?) }
    }

    /// Writes a line of JSON for each, or all of them for people.
    pub(crate) fn list(&self, items: &[Box<RawValue>], text: impl fmt::Display) -> Result<()> {
        if !self.json {
            return self.line(text);
        }
        items.iter().try_for_each(|item| self.raw(item.get()))
    }

    /// The same value for programs or, as text, for people.
    pub(crate) fn answer(&self, value: &impl Serialize, text: impl fmt::Display) -> Result<()> {
        if self.json { self.json(value) } else { self.line(text) }
    }
}

fn written(result: io::Result<()>) -> Result<()> {
    match result {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(OutputClosed.into()),
        result => result.context("stdout cannot be written to"),
    }
}

/// Says something beside the answer; whoever does not read it misses nothing.
pub(crate) fn remark(text: impl fmt::Display) {
    let _ = writeln!(io::stderr(), "{}", printable(&text.to_string()));
}

/// Tells why a command failed, with what caused it unless that was told already, or may repeat
/// what was wrong, such as a URL with its password.
pub(crate) fn complain(error: &anyhow::Error) {
    if Exit::of(error) == Exit::Usage {
        return remark(format_args!("error: {error}"));
    }
    remark(format_args!("error: {}", with_causes(error.as_ref())));
}

/// What went wrong, with what caused it unless that was told already.
pub(crate) fn with_causes(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    for cause in causes.map(ToString::to_string) {
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

impl fmt::Display for OutputClosed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nobody reads the output any more")
    }
}

impl std::error::Error for OutputClosed {}
