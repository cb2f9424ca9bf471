//! The URL of a store, and how to name it without telling its password.

use std::fmt;

use queuekit_core::{Error, Result};

/// What a URL is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Store {
    Memory,
    Sqlite,
    Postgres,
    Redis,
}

/// A URL split at its first colon. Displayed without userinfo and query: both can hold secrets.
/// The path of an SQLite file is shown as it is: there is no userinfo in front of it.
#[derive(Clone, Copy)]
pub(crate) struct StoreUrl<'a> {
    pub(crate) scheme: &'a str,
    pub(crate) rest: &'a str,
}

impl<'a> StoreUrl<'a> {
    /// Splits it; the text itself is not repeated in the error, because without a scheme any part
    /// of it may be a password.
    pub(crate) fn parse(url: &'a str) -> Result<Self> {
        let malformed = |got: &str| {
            let limit = "a store's URL, such as sqlite://jobs.db";
            Error::invalid("url", limit, got)
        };
        if url.is_empty() {
            return Err(malformed("an empty text"));
        }
        let Some((scheme, rest)) = url.split_once(':') else {
            return Err(malformed("a text without a colon"));
        };
        if !is_scheme(scheme) {
            return Err(malformed("a text that does not begin with a scheme"));
        }
        Ok(Self { scheme, rest })
    }

    /// The kind of the store, by the scheme in any case; none if the scheme is unknown.
    pub(crate) fn store(&self) -> Option<Store> {
        match self.scheme.to_ascii_lowercase().as_str() {
            "memory" => Some(Store::Memory),
            "sqlite" => Some(Store::Sqlite),
            "postgres" | "postgresql" => Some(Store::Postgres),
            "redis" | "redis-cluster" | "redis-sentinel" | "rediss" | "rediss-cluster"
            | "rediss-sentinel" => Some(Store::Redis),
            _ => None,
        }
    }
}

/// As RFC 3986 has it.
fn is_scheme(text: &str) -> bool {
    let inner = |c: u8| c.is_ascii_alphanumeric() || b"+-.".contains(&c);
    text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.bytes().all(inner)
}

impl fmt::Display for StoreUrl<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scheme, rest } = self;
        let (slashes, rest) = match rest.strip_prefix("//") {
            Some(rest) => ("//", rest),
            None => ("", *rest),
        };
        if scheme.eq_ignore_ascii_case("sqlite") {
            let (path, query) = rest.split_once('?').map_or((rest, ""), |(path, _)| (path, "?***"));
            return write!(f, "{scheme}:{slashes}{}{query}", path.escape_debug());
        }
        let (place, query) = match rest.split_once(['?', '#']) {
            Some((place, query)) => (place, Some(query)),
            None => (rest, None),
        };
        // An @ this late means that ? or # was part of a password that nobody escaped.
        if query.is_some_and(|query| query.contains('@')) {
            return write!(f, "{scheme}:{slashes}***");
        }
        let (userinfo, place) = match place.rsplit_once('@') {
            Some((_, place)) => ("***@", place),
            None => ("", place),
        };
        let query = if query.is_some() { "?***" } else { "" };
        let place = place.escape_debug();
        write!(f, "{scheme}:{slashes}{userinfo}{place}{query}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(url: &str) -> String {
        StoreUrl::parse(url).unwrap().to_string()
    }

    #[test]
    fn a_url_without_secrets_is_shown_as_it_is() {
        for url in ["memory:", "sqlite://jobs.db", "redis://localhost:6379/0"] {
            assert_eq!(shown(url), url);
        }
    }

    #[test]
    fn the_path_of_a_file_is_shown_and_its_settings_are_not() {
        for url in ["sqlite://me@work/jobs.db", "sqlite:///var/a#1@2.db", "SQLite:a:b@c.db"] {
            assert_eq!(shown(url), url);
        }
        assert_eq!(shown("sqlite://me@work/jobs.db?key=a@b"), "sqlite://me@work/jobs.db?***");
        assert_eq!(shown("sqlite://jobs\n.db"), "sqlite://jobs\\n.db");
        assert_eq!(shown("sqlite3://me:pw@work/jobs.db"), "sqlite3://***@work/jobs.db");
    }

    #[test]
    fn userinfo_and_query_are_hidden() {
        assert_eq!(shown("postgres://u:pw@db:5432/jobs"), "postgres://***@db:5432/jobs");
        assert_eq!(shown("redis://:pw@cache"), "redis://***@cache");
        assert_eq!(shown("postgres://db/jobs?password=pw"), "postgres://db/jobs?***");
        assert_eq!(shown("postgres:u:pw@db"), "postgres:***@db");
    }

    #[test]
    fn a_password_that_nobody_escaped_is_hidden_too() {
        for password in ["p@ss", "pa/ss", "pa?ss", "pa#ss", "p:a@s/s?w#d", "pa ss", "pa\nss"] {
            for tail in ["db/jobs", "db/jobs?sslmode=require", "db?user=a@b&password=secret"] {
                let shown = shown(&format!("postgres://ada:secret{password}@{tail}"));
                assert!(!shown.contains("secret") && !shown.contains("ss"), "{shown}");
            }
        }
    }
}
