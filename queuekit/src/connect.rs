//! From a URL to a client.

use queuekit_core::memory::MemoryStore;
use queuekit_core::{Client, Error, ErrorKind, Result};

use crate::store_url::StoreUrl;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Opens the store of this URL.
///
/// | URL | store |
/// |---|---|
/// | `memory:` | a new store in this process, feature `memory`; gone when its last client is |
///
/// Stores for `sqlite:`, `postgres:` and `redis:` are on their way; today these are refused.
///
/// # Errors
/// `Invalid` if this is not a URL of a store; `Unsupported` if this build cannot open it, with
/// what to change. An error never tells the URL's password.
///
#[cfg_attr(feature = "memory", doc = "```")]
#[cfg_attr(not(feature = "memory"), doc = "```ignore")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> queuekit::Result<()> {
/// let client = queuekit::connect("memory:").await?;
/// assert!(client.backend().list_queues().await?.is_empty());
///
/// let error = queuekit::connect("mysql://localhost").await.unwrap_err();
/// assert!(error.to_string().contains("memory:, sqlite:, postgres:, redis:"));
/// # Ok(())
/// # }
/// ```
pub async fn connect(url: &str) -> Result<Client> {
    open(url).map_err(|error| error.during("connect"))
}

fn open(url: &str) -> Result<Client> {
    let url = StoreUrl::parse(url)?;
    let opened = match url.scheme.to_ascii_lowercase().as_str() {
        "memory" if cfg!(feature = "memory") => open_memory(url),
        "memory" => Err(feature_is_off("memory")),
        "sqlite" => Err(to_come("SQLite")),
        "postgres" | "postgresql" => Err(to_come("Postgres")),
        "redis" | "rediss" => Err(to_come("Redis")),
        // Without the rest: where the scheme is wrong, anything may be a password.
        _ => return Err(unknown_scheme(url.scheme)),
    };
    opened.map_err(|error| error.on(url))
}

fn open_memory(url: StoreUrl<'_>) -> Result<Client> {
    if matches!(url.rest, "" | "//") {
        return Ok(Client::new(MemoryStore::new()));
    }
    let limit = "memory: alone: each call opens a store of its own, which has no name";
    Err(Error::invalid("url", limit, "something after the colon"))
}

fn unknown_scheme(scheme: &str) -> Error {
    let limit = "of a known scheme: memory:, sqlite:, postgres:, redis:";
    Error::invalid("url", limit, format!("{scheme}:"))
}

fn feature_is_off(feature: &str) -> Error {
    let message = format!(
        "this build of queuekit lacks the feature `{feature}`; enable it in Cargo.toml: \
         queuekit = {{ version = \"{VERSION}\", features = [\"{feature}\"] }}"
    );
    Error::new(ErrorKind::Unsupported, message)
}

fn to_come(store: &str) -> Error {
    let has = if cfg!(feature = "memory") {
        "this build opens memory: only"
    } else {
        "this build opens no store; the feature `memory` adds memory:"
    };
    let message = format!("queuekit {VERSION} has no {store} store yet; {has}");
    Error::new(ErrorKind::Unsupported, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(url: &str) -> (String, String) {
        let error = open(url).unwrap_err();
        (error.kind().as_str().to_owned(), error.to_string())
    }

    #[test]
    fn memory_opens_in_any_case_and_only_without_a_name() {
        for url in ["memory:", "memory://", "MEMORY:"] {
            assert_eq!(open(url).is_ok(), cfg!(feature = "memory"), "{url}");
        }
        for url in ["memory:jobs", "memory:///jobs", "memory://u:hunter2@jobs", "memory: "] {
            let (kind, text) = refused(url);
            let wanted = if cfg!(feature = "memory") { "invalid" } else { "unsupported" };
            assert_eq!(kind, wanted, "{text}");
            assert!(!text.contains("hunter2"), "{text}");
        }
    }

    #[test]
    fn what_is_no_url_is_invalid_and_not_repeated() {
        let no_urls = [
            "",
            " ",
            ":",
            "hunter2",
            "jobs.db",
            "://hunter2",
            ":hunter2",
            " memory:",
            "1memory:",
            "user=a password=hunter2",
            "user=a password=x:hunter2",
            "/var/lib/jobs:hunter2",
        ];
        for url in no_urls {
            let (kind, text) = refused(url);
            assert_eq!(kind, "invalid", "{url:?}");
            assert!(text.contains("memory:") && !text.contains("hunter2"), "{text}");
        }
    }

    #[test]
    fn an_unknown_scheme_is_invalid_and_the_known_ones_are_listed() {
        for url in ["mysql://ada:hunter2@db", "memori:", "ada:hunter2@db", "sqlite3:x", "c:\\jobs"]
        {
            let (kind, text) = refused(url);
            assert_eq!(kind, "invalid", "{text}");
            assert!(text.contains("memory:, sqlite:, postgres:, redis:"), "{text}");
            assert!(!text.contains("hunter2"), "{text}");
        }
    }

    #[test]
    fn a_store_to_come_is_unsupported_and_says_what_there_is() {
        let urls = [
            ("sqlite://jobs.db", "no SQLite store yet"),
            ("postgres://ada:hunter2@db/jobs", "no Postgres store yet"),
            ("PostgreSQL://db", "no Postgres store yet"),
            ("redis://:hunter2@cache", "no Redis store yet"),
            ("rediss://cache?password=hunter2", "no Redis store yet"),
        ];
        for (url, wanted) in urls {
            let (kind, text) = refused(url);
            assert_eq!(kind, "unsupported", "{text}");
            assert!(text.contains(wanted) && text.contains("memory:"), "{text}");
            assert!(!text.contains("hunter2"), "{text}");
        }
    }

    #[test]
    fn a_feature_that_is_off_is_named_with_its_cargo_line() {
        let text = feature_is_off("memory").to_string();
        assert!(text.contains("lacks the feature `memory`"), "{text}");
        assert!(text.contains("features = [\"memory\"]"), "{text}");
        assert_eq!(open("memory:").is_err(), !cfg!(feature = "memory"));
    }
}
