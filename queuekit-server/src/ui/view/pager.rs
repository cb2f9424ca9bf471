//! Links to the pages beside this one, and what was looked at.

use askama::Template;

use super::parts;

/// Where the list of a page continues.
#[derive(Clone, Debug, Default, Template)]
#[template(path = "parts/pager.html")]
pub(crate) struct Pager {
    /// `50 of 10,000+ jobs`
    pub(crate) shown: String,
    /// How many were looked at to find them, if many more: `examined 12,000`.
    pub(crate) examined: Option<String>,
    /// Address of the newer page, with the prefix.
    pub(crate) newer: Option<String>,
    pub(crate) older: Option<String>,
}

parts!(Pager);
