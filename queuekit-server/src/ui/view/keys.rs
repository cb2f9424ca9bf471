//! The API keys of the server, as they are configured. Their secrets are stored nowhere.

use askama::Template;

use super::{Count, Shell, When};

/// The page `/ui/keys`.
#[derive(Clone, Debug, Template)]
#[template(path = "keys.html")]
pub(crate) struct KeysPage {
    pub(crate) shell: Shell,
    pub(crate) rows: Vec<KeyRow>,
}

/// A key.
#[derive(Clone, Debug)]
pub(crate) struct KeyRow {
    pub(crate) id: String,
    pub(crate) is_yours: bool,
    pub(crate) scopes: Vec<&'static str>,
    /// Globs of queues; empty for all.
    pub(crate) queues: Vec<String>,
    pub(crate) kinds: Vec<String>,
    pub(crate) per_second: Option<Count>,
    pub(crate) expires: Option<When>,
    pub(crate) is_expired: bool,
    /// Since the server started.
    pub(crate) last_used: Option<When>,
}
