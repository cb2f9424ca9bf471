//! The login page, and pages for refused and missing things.

use askama::Template;

use super::Shell;

/// The page `/ui/login`.
#[derive(Clone, Debug, Template)]
#[template(path = "login.html")]
pub(crate) struct Login {
    pub(crate) base: String,
    pub(crate) csrf: String,
    pub(crate) environment: Option<String>,
    pub(crate) version: String,
    /// Where to go afterwards, without the prefix.
    pub(crate) next: String,
    /// Why the last try failed.
    pub(crate) error: Option<String>,
}

/// A page that says why another is not shown.
#[derive(Clone, Debug, Template)]
#[template(path = "problem.html")]
pub(crate) struct Problem {
    pub(crate) shell: Shell,
    /// 403, 404, 503, ..
    pub(crate) code: u16,
    /// `There is no job 01a2…`
    pub(crate) title: String,
    /// What to do.
    pub(crate) detail: String,
    /// Whether a script loads the page again when the store is back.
    pub(crate) heals: bool,
    /// Address with the prefix, and text.
    pub(crate) links: Vec<(String, &'static str)>,
}
