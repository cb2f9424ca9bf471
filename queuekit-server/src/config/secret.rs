//! A text that is shown nowhere whole.

use std::fmt;

use anyhow::Result;

use super::plain_text::refuse_silent_plain_text;

/// The URL of a store: Debug and Display leave out what may be secret.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct StoreAddress(String);

impl StoreAddress {
    pub(crate) fn new(url: String) -> Self {
        Self(url)
    }

    /// For whoever connects.
    ///
    /// # Errors
    /// If it does not say whether what crosses a network is encrypted.
    pub(crate) fn to_open(&self) -> Result<&str> {
        refuse_silent_plain_text(&self.0)?;
        Ok(&self.0)
    }

    /// The same store, of which nothing is created that is not there: for whoever only looks. Of
    /// SQLite alone does opening create anything.
    pub(crate) fn only_looking(&self) -> Self {
        let is_sqlite = self.0.get(..7).is_some_and(|start| start.eq_ignore_ascii_case("sqlite:"));
        let (_, settings) = self.0.split_once('?').unwrap_or_default();
        if !is_sqlite || settings.split('&').any(|setting| setting.starts_with("create=")) {
            return self.clone();
        }
        let joint = if self.0.contains('?') { '&' } else { '?' };
        Self(format!("{}{joint}create=nothing", self.0))
    }
}

impl fmt::Display for StoreAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&queuekit::redacted(&self.0))
    }
}

impl fmt::Debug for StoreAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s9_debug_and_display_tell_no_secret() {
        let address = StoreAddress::new("postgres://ada:hunter2@db/jobs?password=hunter3".into());
        let shown = format!("{address} {address:?}");
        assert_eq!(shown, "postgres://***@db/jobs?*** postgres://***@db/jobs?***");
    }

    #[test]
    fn who_only_looks_creates_no_file() {
        for (url, looking) in [
            ("sqlite://a.db", "sqlite://a.db?create=nothing"),
            ("SQLite://a.db?synchronous=normal", "SQLite://a.db?synchronous=normal&create=nothing"),
            ("sqlite://a.db?create=tables", "sqlite://a.db?create=tables"),
            ("postgres://localhost/jobs", "postgres://localhost/jobs"),
            ("", ""),
        ] {
            assert_eq!(StoreAddress::new(url.into()).only_looking().to_open().unwrap(), looking);
        }
    }
}
