//! What this server is.

use askama::Template;

use super::{Facts, Shell};

/// The page `/ui/about`.
#[derive(Clone, Debug, Template)]
#[template(path = "about.html")]
pub(crate) struct About {
    pub(crate) shell: Shell,
    pub(crate) facts: Facts,
    /// What the store can do beyond the basic operations: name, and whether it can.
    pub(crate) capabilities: Vec<(String, bool)>,
    /// Name, version and licence of what is in the page.
    pub(crate) vendored: Vec<(&'static str, &'static str, &'static str)>,
}
