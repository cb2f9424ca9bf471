//! The URL of a store, which is shown only without its secrets.

use std::fmt;

use anyhow::Result;

use super::plain_text::refuse_silent_plain_text;

/// The URL of a store. `Debug` and `Display` leave out what may be secret.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct StoreAddress(String);

impl StoreAddress {
    pub(crate) fn new(url: String) -> Self {
        Self(url)
    }

    /// The whole URL, to connect.
    ///
    /// # Errors
    /// If the URL does not say whether connections over a network are encrypted.
    pub(crate) fn to_open(&self) -> Result<&str> {
        refuse_silent_plain_text(&self.0)?;
        Ok(&self.0)
    }

    /// The same store, opened without creating anything and without updating its schema.
    pub(crate) fn only_looking(&self) -> Self {
        let existing = if self.is_sqlite() { self.with("create=nothing") } else { self.clone() };
        existing.not_migrating()
    }

    /// The same store, opened without updating its schema; a new SQLite file is still created.
    pub(crate) fn not_migrating(&self) -> Self {
        self.migrates("off")
    }

    /// The same store, opened with an update of its schema, whatever the URL says.
    pub(crate) fn migrating(&self) -> Self {
        self.migrates("on")
    }

    /// Which store it is, such as `postgres`.
    pub(crate) fn scheme(&self) -> &str {
        self.0.split(':').next().unwrap_or_default()
    }

    pub(crate) fn is_sqlite(&self) -> bool {
        self.0.get(..7).is_some_and(|start| start.eq_ignore_ascii_case("sqlite:"))
    }

    fn migrates(&self, value: &str) -> Self {
        let is_memory = self.0.get(..7).is_some_and(|all| all.eq_ignore_ascii_case("memory:"));
        if is_memory || self.0.is_empty() {
            return self.clone();
        }
        self.with(&format!("migrate={value}"))
    }

    /// The URL with one more setting, which overrides one of the same name.
    fn with(&self, setting: &str) -> Self {
        let joint = if self.0.contains('?') { '&' } else { '?' };
        Self(format!("{}{joint}{setting}", self.0))
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
    fn who_only_looks_makes_and_migrates_nothing() {
        for (url, looking) in [
            ("sqlite://a.db", "sqlite://a.db?create=nothing&migrate=off"),
            ("SQLite://a.db?migrate=on", "SQLite://a.db?migrate=on&create=nothing&migrate=off"),
            ("postgres://localhost/jobs", "postgres://localhost/jobs?migrate=off"),
            ("redis://localhost/0?prefix=a", "redis://localhost/0?prefix=a&migrate=off"),
            ("memory:", "memory:"),
            ("", ""),
        ] {
            assert_eq!(StoreAddress::new(url.into()).only_looking().to_open().unwrap(), looking);
        }
    }
}
