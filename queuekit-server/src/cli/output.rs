//! Output of commands: the answer on stdout, everything else on stderr.

use std::fmt;
use std::io::{self, ErrorKind, Write};

use anyhow::{Context, Result};
use serde::Serialize;
use serde_json::value::RawValue;

use super::format::{escaped, printable};

/// How answers are printed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    /// As JSON, for programs.
    pub(crate) json: bool,
}

/// The reader has closed stdout, as after `| head`. This is not a failure of the command.
#[derive(Debug)]
pub(crate) struct OutputClosed;

impl Output {
    /// Writes one or more lines.
    pub(crate) fn line(&self, text: impl fmt::Display) -> Result<()> {
        // Colours are for terminals that support them; NO_COLOR and TERM are respected.
        let mut out = anstream::stdout().lock();
        written(writeln!(out, "{text}").and_then(|()| out.flush()))
    }

    /// Writes a value as one line of JSON.
    pub(crate) fn json(&self, value: &impl Serialize) -> Result<()> {
        self.raw(&serde_json::to_string(value)?)
    }

    /// Writes a line of JSON as it is, except that characters that nobody would see are escaped: it
    /// may end up on a terminal.
    pub(crate) fn raw(&self, line: &str) -> Result<()> {
        let mut out = io::stdout().lock();
        written(writeln!(out, "{}", escaped(line)).and_then(|()| out.flush()))
    }

    /// Writes an answer of the server as JSON, or formatted for people.
    pub(crate) fn forward(&self, json: &str, text: impl FnOnce() -> Result<String>) -> Result<()> {
        if self.json { self.raw(json) } else { self.line(text()?) }
    }

    /// Writes a line of JSON for each item, or a table of them for people.
    pub(crate) fn list(&self, items: &[Box<RawValue>], text: impl fmt::Display) -> Result<()> {
        if !self.json {
            return self.line(text);
        }
        items.iter().try_for_each(|item| self.raw(item.get()))
    }

    /// Writes a value as JSON for programs, or as text for people.
    pub(crate) fn answer(&self, value: &impl Serialize, text: impl fmt::Display) -> Result<()> {
        if self.json { self.json(value) } else { self.line(text) }
    }
}

fn written(result: io::Result<()>) -> Result<()> {
    match result {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(OutputClosed.into()),
        result => result.context("cannot write to stdout"),
    }
}

/// Writes a remark to stderr, and ignores errors: the answer is on stdout.
pub(crate) fn remark(text: impl fmt::Display) {
    let _ = writeln!(io::stderr(), "{}", printable(&text.to_string()));
}

/// An error with its causes, except those that its text contains already.
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
        f.write_str("the reader has closed the output")
    }
}

impl std::error::Error for OutputClosed {}
