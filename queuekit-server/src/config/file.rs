//! `queuekit.toml`.

use std::net::IpAddr;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use ipnet::IpNet;
use queuekit::QueueName;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::dashboard::DashboardEntry;
use super::handlers::HandlersEntry;
use super::listen::{Host, Listen};
use super::nearest;
use crate::error::Usage;
use crate::web::HttpLimits;
use crate::web::keys::KeyEntry;

/// All settings of the file. It has no `Debug`, because the URL may hold a password.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct FileSettings {
    pub(crate) url: Option<String>,
    pub(crate) listen: Option<Listen>,
    pub(crate) hosts: Vec<Host>,
    pub(crate) access_log: bool,
    pub(crate) insecure_no_auth: bool,
    #[serde(deserialize_with = "proxies")]
    pub(crate) proxies: Vec<IpNet>,
    pub(crate) tls: Option<TlsEntry>,
    pub(crate) limits: LimitsEntry,
    pub(crate) concurrency: Option<NonZeroUsize>,
    pub(crate) quiet: Option<bool>,
    pub(crate) lease_ms: Option<NonZeroU64>,
    #[serde(deserialize_with = "queues")]
    pub(crate) queues: Vec<QueueName>,
    pub(crate) handlers: HandlersEntry,
    pub(crate) dashboard: DashboardEntry,
    pub(crate) keys: Vec<KeyEntry>,
}

/// `[tls]`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TlsEntry {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

/// `[limits]`
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct LimitsEntry {
    max_body_bytes: Option<NonZeroUsize>,
    max_buffered_bytes: Option<NonZeroUsize>,
    max_connections: Option<NonZeroUsize>,
    max_connections_per_address: Option<NonZeroUsize>,
    max_requests: Option<NonZeroUsize>,
    max_waiting: Option<NonZeroUsize>,
    max_streams: Option<NonZeroUsize>,
    max_streams_per_key: Option<NonZeroUsize>,
    max_queues_per_key: Option<NonZeroUsize>,
    max_schedules_per_key: Option<NonZeroUsize>,
    max_subscriptions_per_key: Option<NonZeroUsize>,
    max_subscriptions_per_event: Option<NonZeroUsize>,
    max_workers_per_key: Option<NonZeroUsize>,
    header_timeout_ms: Option<NonZeroU64>,
    body_timeout_ms: Option<NonZeroU64>,
}

impl FileSettings {
    /// Whether the file holds a secret. The digest of a key is none: the key has 256 random bits.
    pub(crate) fn holds_secret(&self) -> bool {
        let has_password = |url: &String| *url != queuekit::redacted(url);
        self.url.as_ref().is_some_and(has_password)
            || self.handlers.holds_secret()
            || self.dashboard.holds_secret()
    }

    /// # Errors
    /// A usage error with file and line, which repeats no value of the file.
    pub(crate) fn parse(path: &Path, text: &str) -> Result<Self> {
        toml::from_str(text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start).min(text.len());
            let line = 1 + text.as_bytes()[..start].iter().filter(|byte| **byte == b'\n').count();
            Usage::error(format!("{} line {line}: {}", path.display(), explain(error.message())))
        })
    }
}

impl LimitsEntry {
    /// # Errors
    /// If a body of the largest allowed size would never fit.
    pub(crate) fn limits(&self) -> Result<HttpLimits> {
        let default = HttpLimits::default();
        let number = |own: Option<NonZeroUsize>, default| own.map_or(default, NonZeroUsize::get);
        let time = |own: Option<NonZeroU64>, default| {
            own.map_or(default, |ms| Duration::from_millis(ms.get()))
        };
        let limits = HttpLimits {
            body_bytes: number(self.max_body_bytes, default.body_bytes),
            buffered_bytes: number(self.max_buffered_bytes, default.buffered_bytes),
            connections: number(self.max_connections, default.connections),
            connections_of_address: number(
                self.max_connections_per_address,
                default.connections_of_address,
            ),
            requests: number(self.max_requests, default.requests),
            waiting: number(self.max_waiting, default.waiting),
            streams: number(self.max_streams, default.streams),
            streams_of_key: number(self.max_streams_per_key, default.streams_of_key),
            queues_of_key: number(self.max_queues_per_key, default.queues_of_key),
            schedules_of_key: number(self.max_schedules_per_key, default.schedules_of_key),
            subscriptions_of_key: number(
                self.max_subscriptions_per_key,
                default.subscriptions_of_key,
            ),
            subscriptions_of_event: number(
                self.max_subscriptions_per_event,
                default.subscriptions_of_event,
            ),
            workers_of_key: number(self.max_workers_per_key, default.workers_of_key),
            header_timeout: time(self.header_timeout_ms, default.header_timeout),
            body_timeout: time(self.body_timeout_ms, default.body_timeout),
        };
        let HttpLimits { body_bytes: body, buffered_bytes: buffered, .. } = limits;
        if buffered < body {
            return Err(Usage::error(format!(
                "[limits]: max_buffered_bytes ({buffered}) is smaller than max_body_bytes \
                 ({body}), so a body of that size would never fit; raise the one or lower the other"
            )));
        }
        Ok(limits)
    }
}

/// The message of the parser without values of the file, which may be misplaced secrets, and with a
/// suggestion for a misspelled name.
fn explain(message: &str) -> String {
    if message.starts_with("invalid type: ") || message.starts_with("invalid value: ") {
        let (_, expected) = message.rsplit_once(", expected ").unwrap_or_default();
        return format!("this value must be {expected}");
    }
    let unknown = ["unknown field `", "unknown variant `"];
    let Some(rest) = unknown.iter().find_map(|start| message.strip_prefix(start)) else {
        return message.to_owned();
    };
    let (written, expected) = rest.split_once('`').unwrap_or_default();
    // Every other part is in backticks.
    let names: Vec<&str> = expected.split('`').skip(1).step_by(2).collect();
    match nearest(written, names.iter().copied()) {
        Some(name) => format!("`{written}` is unknown; did you mean `{name}`?"),
        None => format!("`{written}` is unknown; known are {}", names.join(", ")),
    }
}

/// Addresses, and networks.
fn proxies<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<IpNet>, D::Error> {
    let texts = Vec::<String>::deserialize(deserializer)?;
    let read = |text: &String| {
        let address = text.parse::<IpAddr>().map(IpNet::from);
        address.or_else(|_| text.parse()).map_err(|_| {
            D::Error::custom("proxies must be addresses, or networks such as 10.0.0.0/8")
        })
    };
    texts.iter().map(read).collect()
}

fn queues<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<QueueName>, D::Error> {
    let names = Vec::<String>::deserialize(deserializer)?;
    if names.is_empty() {
        let rule = "`queues` must name at least one queue; leave it out for `default`";
        return Err(serde::de::Error::custom(rule));
    }
    names.iter().map(|name| QueueName::new(name).map_err(serde::de::Error::custom)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handlers::BuiltIn;

    fn refused(text: &str) -> String {
        let parsed = FileSettings::parse("queuekit.toml".as_ref(), text);
        parsed.err().expect("it is refused").to_string()
    }

    #[test]
    fn every_setting_is_read() {
        let text = include_str!("../../tests/server/cli/data/queuekit.toml");
        let file = FileSettings::parse("queuekit.toml".as_ref(), text).unwrap();
        assert_eq!(file.url.as_deref(), Some("sqlite:///var/lib/queuekit/jobs.db"));
        assert_eq!((file.hosts.len(), file.queues.len(), file.keys.len()), (1, 2, 1));
        let limits = file.limits.limits().unwrap();
        assert_eq!(limits.body_bytes, 1_048_576);
        assert_eq!(limits.body_timeout, Duration::from_secs(5));
        assert_eq!(file.handlers.enabled, Some(vec![BuiltIn::Echo]));
    }

    #[test]
    fn an_unknown_name_is_refused_by_line_with_what_was_meant() {
        for (text, said) in [
            ("# a\nulr = 'x'", "queuekit.toml line 2: `ulr` is unknown; did you mean `url`?"),
            ("[limits]\nmax_body = 1", "line 2: `max_body` is unknown; known are max_body_bytes,"),
            ("[tls]\nkey = 'a'\ncert = 'b'", "line 3: `cert` is unknown; known are certificate"),
            ("[handlers]\nenabled = ['ecko']", "line 2: `ecko` is unknown; did you mean `echo`?"),
            ("queues = ['a b']", "line 1: queue must be"),
            ("listen = '8080'", "line 1: the address must be ADDRESS:PORT"),
            ("queues = []", "line 1: `queues` must name at least one"),
            ("concurrency = 0", "line 1: this value must be a nonzero"),
            (
                "[[keys]]\nid = 'a'\nscopes = ['read']\nsha256 = 'x'",
                "line 4: sha256 must be 64 hex",
            ),
            ("[[keys]]\nid = 'a'\nscopes = ['read']\nqueues = []", "line 4: an empty list"),
        ] {
            let error = refused(text);
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn s9_no_value_of_the_file_is_repeated() {
        for text in [
            "url = hunter2",
            "url = 'hunter2",
            "url = ['hunter2']",
            "concurrency = 'hunter2'",
            "ulr = 'hunter2'",
            "listen = 'hunter2'",
            "insecure_no_auth = 'hunter2, expected'",
            "[limits]\nmax_body_bytes = 'hunter2'",
            "url = 'a'\nurl = 'hunter2'",
            "[[keys]]\nid = 'a'\nsha256 = 'hunter2'\nscopes = ['read']",
        ] {
            let error = refused(text);
            assert!(!error.contains("hunter2"), "{error}");
        }
    }
}
