//! Output of commands: the answer on stdout, everything else on stderr.

use std::fmt;
use std::io::{self, ErrorKind, Write};

use anyhow::{Context, Result};
use serde::Serialize;
use serde_json::value::RawValue;

use super::format::{escaped, printable};
use crate::unseen;

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
    /// Writes one or more lines. Of what would steer a terminal, only colours are written as they
    /// are: names and texts are those of others.
    pub(crate) fn line(&self, text: impl fmt::Display) -> Result<()> {
        // Colours are for terminals that support them; NO_COLOR and TERM are respected.
        let mut out = anstream::stdout().lock();
        let text = harmless(&text.to_string());
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
    pub(crate) fn forward(
        &self,
        json: &RawValue,
        text: impl FnOnce() -> Result<String>,
    ) -> Result<()> {
        if self.json { self.raw(json.get()) } else { self.line(text()?) }
    }

    /// Writes a line of JSON for each item, or a table of them for people.
    pub(crate) fn list(&self, items: &[impl Serialize], text: impl fmt::Display) -> Result<()> {
        if !self.json {
            return self.line(text);
        }
        items.iter().try_for_each(|item| self.json(item))
    }

    /// Writes a value as JSON for programs, or as text for people.
    pub(crate) fn answer(&self, value: &impl Serialize, text: impl fmt::Display) -> Result<()> {
        if self.json { self.json(value) } else { self.line(text) }
    }
}

/// The text with an escape for each character that nobody would see, except ends of lines, tabs and
/// colours.
fn harmless(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let length = colour(rest).unwrap_or(letter.len_utf8());
        let (first, others) = rest.split_at(length);
        if length > 1 && letter == ESCAPE || "\n\t".contains(letter) || !unseen::is_unseen(letter) {
            shown.push_str(first);
        } else {
            shown.push_str(&unseen::escaped(letter));
        }
        rest = others;
    }
    shown
}

const ESCAPE: char = '\u{1b}';

/// The length of the change of colour with which a text begins: `ESC [ 1 ; 31 m`.
fn colour(text: &str) -> Option<usize> {
    let numbers = text.strip_prefix(ESCAPE)?.strip_prefix('[')?;
    let end = numbers.find(|letter: char| !letter.is_ascii_digit() && letter != ';')?;
    numbers[end..].starts_with('m').then_some(2 + end + 1)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s6_of_what_steers_a_terminal_only_colours_are_written() {
        for text in ["plain", "two\nlines\tand a tab", "\u{1b}[1;31mred\u{1b}[0m", "é 漢"] {
            assert_eq!(harmless(text), text);
        }
        let title = "\u{1b}]0;owned\u{7}";
        assert_eq!(harmless(title), r"\u001b]0;owned\u0007");
        assert_eq!(harmless("\u{1b}[2J\r\u{9b}1A\u{202e}"), r"\u001b[2J\u000d\u009b1A\u202e");
        assert_eq!(harmless("\u{1b}[31"), r"\u001b[31");
    }
}
