//! Options of the dashboard.

use std::fmt;
use std::str::FromStr;

use serde::Deserialize;

use super::glob::Glob;

/// Where the dashboard is, and what it shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct DashboardOptions {
    /// What a proxy puts in front of its paths.
    pub(crate) base_path: BasePath,
    /// The name of the environment, for a banner.
    pub(crate) environment: Option<String>,
    /// Jobs whose contents are hidden.
    pub(crate) redact: Vec<Redaction>,
    /// Signs sessions; without it, each process draws one.
    pub(crate) session_secret: Option<SessionSecret>,
    /// Whether browsers send cookies over TLS only.
    pub(crate) secure_cookies: bool,
}

/// The beginning of all paths: empty, or such as `/queuekit`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct BasePath(String);

/// Jobs whose payload and result are hidden.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Redaction {
    #[serde(default = "Glob::any")]
    queue: Glob,
    #[serde(default = "Glob::any")]
    kind: Glob,
}

/// A secret of at least 32 bytes. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct SessionSecret(String);

/// The queues of consumers begin with this.
const CONSUMERS: &str = "event.";
/// What the paths of the server itself begin with, so that no base path may.
const OWN: [&str; 8] =
    ["createJob", "docs", "healthz", "metrics", "openapi.json", "readyz", "ui", "v1"];
/// Longest base path.
const PATH_BYTES: usize = 128;
/// Fewest bytes of a secret.
const SECRET_BYTES: usize = 32;

impl BasePath {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl Redaction {
    /// Whether the contents of such a job are hidden.
    pub(crate) fn hides(&self, queue: &str, kind: &str) -> bool {
        self.queue.matches(queue) && self.kind.matches(kind)
    }

    /// Whether the data of an event of this type is hidden: any consumer's queue may get it, so a
    /// rule for one of these queues hides it from the event log, too.
    pub(crate) fn hides_event(&self, kind: &str) -> bool {
        let prefix = self.queue.prefix();
        let may_be_a_consumer = match self.queue.is_name() {
            true => prefix.starts_with(CONSUMERS),
            false => prefix.starts_with(CONSUMERS) || CONSUMERS.starts_with(prefix),
        };
        may_be_a_consumer && self.kind.matches(kind)
    }
}

impl SessionSecret {
    pub(crate) fn bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl FromStr for BasePath {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let path = text.strip_suffix('/').unwrap_or(text);
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        let is_segment =
            |segment: &str| !matches!(segment, "" | "." | "..") && segment.bytes().all(is_plain);
        let segments = path.strip_prefix('/').map(|rest| rest.split('/').all(is_segment));
        if path.split('/').nth(1).is_some_and(|first| OWN.contains(&first)) {
            return Err("the base path must not begin with a path of the server itself, such as \
                        /ui, /v1 or /metrics");
        }
        match path.is_empty() || (segments == Some(true) && path.len() <= PATH_BYTES) {
            true => Ok(Self(path.to_owned())),
            false => Err("the base path must be such as /queuekit or /ops/jobs: at most 128 \
                          letters, digits, `-`, `.`, `_`, `~`, and `/` before each part"),
        }
    }
}

impl FromStr for SessionSecret {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let secret = text.trim();
        match secret.len() >= SECRET_BYTES {
            true => Ok(Self(secret.to_owned())),
            false => Err("the session secret must have at least 32 bytes, such as from \
                          `openssl rand -base64 32`"),
        }
    }
}

impl fmt::Debug for SessionSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SessionSecret")
    }
}

impl TryFrom<String> for BasePath {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl TryFrom<String> for SessionSecret {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_path_is_plain_and_ends_without_a_slash() {
        for (text, path) in [
            ("", ""),
            ("/", ""),
            ("/a", "/a"),
            ("/a/", "/a"),
            ("/a/ui", "/a/ui"),
            ("/a.b/c_d-e~", "/a.b/c_d-e~"),
        ] {
            assert_eq!(text.parse::<BasePath>().unwrap().as_str(), path);
        }
        let long = format!("/{}", "a".repeat(PATH_BYTES));
        for wrong in [
            "/ui",
            "/ui/",
            "/v1/jobs",
            "/metrics",
            "a",
            "//a",
            "/a//b",
            "/..",
            "/a/./b",
            "/a b",
            "/a?b",
            "/a%2f",
            "//evil.example",
            &long,
        ] {
            assert!(wrong.parse::<BasePath>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn s9_a_rule_for_the_queue_of_a_consumer_hides_the_data_of_events_too() {
        let hides = |rule: &str| toml::from_str::<Redaction>(rule).unwrap().hides_event("paid");
        for rule in ["kind = 'paid'", "queue = '*'", "queue = 'event.*'", "queue = 'event.books'"] {
            assert!(hides(rule), "{rule}");
        }
        assert!(hides("queue = 'ev*'\nkind = 'p*'"));
        for rule in ["kind = 'other'", "queue = 'pay.*'", "queue = 'event'", "queue = 'events.*'"] {
            assert!(!hides(rule), "{rule}");
        }
    }

    #[test]
    fn s9_a_session_secret_is_long_and_not_shown() {
        let secret = "0123456789abcdef0123456789abcdef";
        let read = secret.parse::<SessionSecret>().unwrap();
        assert!(!format!("{read:?}").contains("0123"));
        assert!(secret[1..].parse::<SessionSecret>().is_err());
    }
}
