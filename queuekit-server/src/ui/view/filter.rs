//! The filter of a list: the terms of the command line, each a pill that can be removed.

use askama::Template;

use super::{Count, parts};

/// The filter above a list of jobs.
#[derive(Clone, Debug, Template)]
#[template(path = "parts/filter.html")]
pub(crate) struct FilterBar {
    /// Where the form goes, with the prefix.
    pub(crate) url: String,
    /// The filter as it is written on the command line.
    pub(crate) text: String,
    pub(crate) pills: Vec<Pill>,
    /// What was typed and is no filter; mostly empty. The form sends `q`, the terms in force, and
    /// `add`, what is typed; the server answers with the address of both together.
    pub(crate) typed: String,
    /// Why the text is not a filter.
    pub(crate) error: Option<String>,
    pub(crate) tabs: Vec<Tab>,
    /// The command that lists the same.
    pub(crate) cli: String,
    /// Addresses of common filters, with the prefix, and their names.
    pub(crate) common: Vec<(String, &'static str)>,
}

/// A term of the filter.
#[derive(Clone, Debug)]
pub(crate) struct Pill {
    pub(crate) name: String,
    pub(crate) value: String,
    /// The same list without the term.
    pub(crate) without: String,
}

/// A status to choose.
#[derive(Clone, Debug)]
pub(crate) struct Tab {
    /// `all`, or a status.
    pub(crate) status: &'static str,
    pub(crate) url: String,
    /// Only if it is known without a scan.
    pub(crate) count: Option<Count>,
    pub(crate) is_current: bool,
}

parts!(FilterBar);

/// Names of filters with an example each, for the list of suggestions.
pub(crate) const NAMES: [(&str, &str); 12] = [
    ("queue:", "in this queue"),
    ("status:", "dead, failed, ready, scheduled, ..."),
    ("kind:", "of this kind"),
    ("key:", "with this partition key"),
    ("worker:", "held, or last held, by this worker"),
    ("error:", "whose error contains this text"),
    ("id:", "whose id begins with these digits"),
    ("meta.", "NAME:VALUE in its metadata"),
    ("payload.", "PATH:VALUE in its payload"),
    ("older:", "enqueued before, such as 1h"),
    ("newer:", "enqueued since, such as 2d"),
    ("ended:", "ended before, such as 1h"),
];

impl Pill {
    /// One that is only shown.
    pub(crate) fn fixed(name: &str, value: &str) -> Self {
        Self { name: name.to_owned(), value: value.to_owned(), without: String::new() }
    }
}

impl FilterBar {
    pub(crate) const fn names(&self) -> &'static [(&'static str, &'static str)] {
        &NAMES
    }
}
