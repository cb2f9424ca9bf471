//! Names with their values, and jobs as dots.

use askama::Template;

use super::{Mark, When, parts};

/// What is known about something.
#[derive(Clone, Debug, Template)]
#[template(path = "parts/facts.html")]
pub(crate) struct Facts {
    pub(crate) items: Vec<Fact>,
}

/// A name with its value.
#[derive(Clone, Debug)]
pub(crate) struct Fact {
    pub(crate) name: &'static str,
    pub(crate) value: FactValue,
}

/// How a fact is shown.
#[derive(Clone, Debug)]
pub(crate) enum FactValue {
    Text(String),
    /// Can be copied.
    Code(String),
    /// Text, and an address with the prefix.
    Link(String, String),
    Time(When),
}

/// The last jobs of something, oldest first.
#[derive(Clone, Debug, Default, Template)]
#[template(path = "parts/dots.html")]
pub(crate) struct Dots {
    pub(crate) items: Vec<Dot>,
}

/// A job as a dot.
#[derive(Clone, Debug)]
pub(crate) struct Dot {
    pub(crate) mark: Mark,
    pub(crate) url: String,
    /// `completed in 2.1s, 4m ago`
    pub(crate) label: String,
}

parts!(Facts, Dots);
