//! The settings of a store.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use queuekit_core::{Error, Limits, Result};
use redis::{ConnectionInfo, IntoConnectionInfo};

use crate::address::Address;
use crate::tls;

/// How to open a store: a server and the settings.
#[derive(Clone)]
#[must_use]
pub struct RedisConfig {
    /// The server, or one of several: the others differ from it in the address only.
    pub(crate) server: ConnectionInfo,
    pub(crate) found: Found,
    pub(crate) root_certificates: Option<PathBuf>,
    pub(crate) prefix: String,
    pub(crate) op_timeout: Duration,
    pub(crate) wait_replicas: Option<(u32, Duration)>,
    pub(crate) migrate: bool,
    pub(crate) allow_volatile: bool,
    pub(crate) limits: Limits,
    pub(crate) test_clock: Option<TestClock>,
}

/// How the servers are found.
#[derive(Clone)]
pub(crate) enum Found {
    Here,
    /// The server is a node of a Cluster; these are further ones.
    Cluster(Vec<Address>),
    /// These sentinels know where the master of this name is.
    Sentinels {
        sentinels: Vec<ConnectionInfo>,
        master: String,
    },
}

/// A clock for tests, instead of the server's.
#[derive(Clone)]
pub(crate) struct TestClock {
    pub(crate) lua: String,
    pub(crate) key: String,
}

impl RedisConfig {
    /// A store on this server, with the default settings.
    ///
    /// # Errors
    /// `Invalid` if the address cannot be read, or if it turns off the check of the certificate.
    pub fn new(server: impl IntoConnectionInfo) -> Result<Self> {
        let server = server.into_connection_info().map_err(|error| {
            // No error contains the text of the URL: it may have a password.
            let limit = "redis://USER:PASSWORD@HOST:PORT/DATABASE?setting=value";
            let why = error.detail().map(ToOwned::to_owned);
            Error::invalid("url", limit, why.as_deref().unwrap_or("something else"))
        })?;
        tls::check(server.addr())?;
        Ok(Self {
            server,
            found: Found::Here,
            root_certificates: None,
            prefix: "qk".to_owned(),
            op_timeout: Duration::from_secs(10),
            wait_replicas: None,
            migrate: true,
            allow_volatile: false,
            limits: Limits::default(),
            test_clock: None,
        })
    }

    /// The prefix of all keys of the store (default `qk`).
    ///
    /// # Errors
    /// `Invalid` unless it is 1 to 64 letters, digits, `_`, `-` and `.`.
    pub fn prefix(mut self, prefix: &str) -> Result<Self> {
        let inner = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        if prefix.is_empty() || prefix.len() > 64 || !prefix.chars().all(inner) {
            let limit = "1 to 64 letters, digits, _, - and .";
            return Err(Error::invalid("prefix", limit, format!("{prefix:?}")));
        }
        prefix.clone_into(&mut self.prefix);
        Ok(self)
    }

    /// A PEM file with the certificates of the authorities to trust for `rediss:` (default the
    /// system's). The server's certificate must be valid now, and issued for this host.
    pub fn root_certificates(mut self, file: impl AsRef<Path>) -> Self {
        self.root_certificates = Some(file.as_ref().to_owned());
        self
    }

    /// How long a call may take, with all its retries (default 10 s).
    pub fn op_timeout(mut self, timeout: Duration) -> Self {
        self.op_timeout = timeout.min(Duration::from_secs(24 * 3600));
        self
    }

    /// Answers a call that stored jobs only when this many replicas have them too, or fails with
    /// `Indeterminate` after this time (default: does not wait for replicas).
    pub fn wait_replicas(mut self, replicas: u32, timeout: Duration) -> Self {
        self.wait_replicas = (replicas > 0).then_some((replicas, timeout));
        self
    }

    /// Whether opening creates the store if there is none (default true).
    pub fn migrate(mut self, migrate: bool) -> Self {
        self.migrate = migrate;
        self
    }

    /// Whether to accept a server that may lose stored data: one without an append-only file, with
    /// an eviction policy, or a replica (default false).
    pub fn allow_volatile(mut self, allow: bool) -> Self {
        self.allow_volatile = allow;
        self
    }

    /// The limits the store applies.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The prefix of all keys, for tests that look at them.
    #[doc(hidden)]
    pub fn prefix_for_tests(&self) -> &str {
        &self.prefix
    }

    /// Replaces the server's clock, for tests of stores only: this Lua is put before every script
    /// and redefines the answer of `TIME`. Each script gets the key as a further argument; in a
    /// Cluster, where no script can read a key of another slot, it gets the key's value.
    #[doc(hidden)]
    pub fn clock_for_tests(mut self, lua: &str, key: &str) -> Self {
        self.test_clock = Some(TestClock { lua: lua.to_owned(), key: key.to_owned() });
        self
    }
}

impl fmt::Debug for RedisConfig {
    /// Hides user and password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisConfig")
            .field("server", &self.server.addr().to_string())
            .field("database", &self.server.redis_settings().db())
            .field("prefix", &self.prefix)
            .field("op_timeout", &self.op_timeout)
            .finish_non_exhaustive()
    }
}
