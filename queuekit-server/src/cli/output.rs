//! What a command answers, on stdout; what it says beside that, on stderr.

use std::fmt;
use std::io::{self, ErrorKind, Write};

use anyhow::{Context, Result};
use serde::Serialize;

use super::exit::Exit;

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
        let mut out = io::stdout().lock();
        let written = writeln!(out, "{text}").and_then(|()| out.flush());
        match written {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(OutputClosed.into()),
            written => written.context("stdout cannot be written to"),
        }
    }

    /// Writes a value as one line of JSON.
    pub(crate) fn json(&self, value: &impl Serialize) -> Result<()> {
        self.line(serde_json::to_string(value)?)
    }

    /// The same value for programs or, as text, for people.
    pub(crate) fn answer(&self, value: &impl Serialize, text: impl fmt::Display) -> Result<()> {
        if self.json { self.json(value) } else { self.line(text) }
    }
}

/// Says something beside the answer; whoever does not read it misses nothing.
pub(crate) fn remark(text: impl fmt::Display) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Tells why a command failed, with what caused it unless that was told already, or may repeat
/// what was wrong, such as a URL with its password.
pub(crate) fn complain(error: &anyhow::Error) {
    let mut text = format!("error: {error}");
    if Exit::of(error) == Exit::Usage {
        return remark(text);
    }
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    remark(text);
}

impl fmt::Display for OutputClosed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nobody reads the output any more")
    }
}

impl std::error::Error for OutputClosed {}
