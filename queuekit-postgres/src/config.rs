//! The settings of a store.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use queuekit_core::{Error, Limits, Result};

/// How to open a store: a server and the settings.
#[derive(Clone)]
#[must_use]
pub struct PostgresConfig {
    pub(crate) server: tokio_postgres::Config,
    pub(crate) tls: Tls,
    pub(crate) root_certificates: Option<PathBuf>,
    pub(crate) schema: Schema,
    pub(crate) prepared: Prepared,
    pub(crate) listen: Listen,
    pub(crate) settle: SettleDurability,
    pub(crate) pool_size: usize,
    pub(crate) op_timeout: Duration,
    pub(crate) statement_timeout: Duration,
    pub(crate) lock_timeout: Duration,
    pub(crate) replan_after: Duration,
    pub(crate) migrate: bool,
    pub(crate) allow_volatile: bool,
    pub(crate) limits: Limits,
}

/// How connections are encrypted, as libpq's `sslmode`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Tls {
    /// Not at all.
    Disable,
    /// If the server offers it; its certificate is not checked.
    #[default]
    Prefer,
    /// Always; the server's certificate is not checked.
    Require,
    /// Always; the certificate must be valid now, signed by a known authority, and issued for this
    /// host.
    VerifyFull,
}

/// Whether statements are prepared once per connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Prepared {
    /// They are: connections are the store's own.
    #[default]
    Auto,
    /// They are not, and no connection keeps a setting: for a pooler that gives each transaction
    /// another connection, as PgBouncer in transaction mode does.
    Off,
}

/// Where notifications come from.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Listen {
    /// The same server; behind a pooler ([`Prepared::Off`]) nowhere.
    #[default]
    Auto,
    /// This server: the one itself, past the pooler.
    At(Box<tokio_postgres::Config>),
    /// Nowhere: workers poll.
    Off,
}

/// When a reserve, an ack or a nack is on disk. Enqueues are always at the database's own
/// setting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SettleDurability {
    /// As the database has it.
    #[default]
    Database,
    /// Some time later: if the server dies, up to the last second of them may be undone, and
    /// their jobs run again.
    Relaxed,
}

/// A schema's name: it needs no quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Schema(String);

impl PostgresConfig {
    /// A store on this server, with the default settings.
    pub fn new(server: tokio_postgres::Config) -> Self {
        Self {
            server,
            tls: Tls::default(),
            root_certificates: None,
            schema: Schema("queuekit".to_owned()),
            prepared: Prepared::default(),
            listen: Listen::default(),
            settle: SettleDurability::default(),
            pool_size: 8,
            op_timeout: Duration::from_secs(10),
            statement_timeout: Duration::from_secs(10),
            lock_timeout: Duration::from_millis(100),
            replan_after: Duration::from_millis(100),
            migrate: true,
            allow_volatile: false,
            limits: Limits::default(),
        }
    }

    /// How connections are encrypted (default [`Tls::Prefer`]).
    pub fn tls(mut self, tls: Tls) -> Self {
        self.tls = tls;
        self
    }

    /// A PEM file with the certificates of the authorities to trust (default the system's).
    pub fn root_certificates(mut self, file: impl AsRef<Path>) -> Self {
        self.root_certificates = Some(file.as_ref().to_owned());
        self
    }

    /// The schema of the store's tables (default `queuekit`).
    ///
    /// # Errors
    /// `Invalid` unless it is a lower-case name of letters, digits and `_`, at most 48 long.
    pub fn schema(mut self, name: &str) -> Result<Self> {
        self.schema = Schema::new(name)?;
        Ok(self)
    }

    /// Whether statements are prepared (default [`Prepared::Auto`]).
    pub fn prepared(mut self, prepared: Prepared) -> Self {
        self.prepared = prepared;
        self
    }

    /// Where notifications come from (default [`Listen::Auto`]).
    pub fn listen(mut self, listen: Listen) -> Self {
        self.listen = listen;
        self
    }

    /// When a reserve, an ack or a nack is on disk (default [`SettleDurability::Database`]).
    pub fn settle(mut self, durability: SettleDurability) -> Self {
        self.settle = durability;
        self
    }

    /// Most connections for calls (default 8, at least 1). One more is kept for heartbeats, and
    /// one for notifications.
    pub fn pool_size(mut self, connections: usize) -> Self {
        self.pool_size = connections.max(1);
        self
    }

    /// How long a call may take, with all its retries (default 10 s).
    pub fn op_timeout(mut self, timeout: Duration) -> Self {
        self.op_timeout = timeout.min(Duration::from_secs(24 * 3600));
        self
    }

    /// How long one statement may take (default 10 s).
    pub fn statement_timeout(mut self, timeout: Duration) -> Self {
        self.statement_timeout = timeout;
        self
    }

    /// How long a statement waits for a row that another open transaction holds, such as one with
    /// the same idempotency key (default 100 ms). After that the call releases its locks and its
    /// connection and tries again, until `op_timeout` is over.
    pub fn lock_timeout(mut self, timeout: Duration) -> Self {
        self.lock_timeout = timeout;
        self
    }

    /// For tests: how slow a call is before its connection makes its plans anew (default 100 ms).
    #[doc(hidden)]
    pub fn replan_after(mut self, time: Duration) -> Self {
        self.replan_after = time;
        self
    }

    /// Whether opening brings an older schema up to date (default true).
    pub fn migrate(mut self, migrate: bool) -> Self {
        self.migrate = migrate;
        self
    }

    /// Whether to accept a server that may lose stored data, because fsync is off or it is in
    /// recovery, and a database that takes no writes (default false).
    pub fn allow_volatile(mut self, allow: bool) -> Self {
        self.allow_volatile = allow;
        self
    }

    /// The limits the store applies.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }
}

impl fmt::Debug for PostgresConfig {
    /// Uses the driver's own form, which hides the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresConfig")
            .field("server", &self.server)
            .field("tls", &self.tls)
            .field("schema", &self.schema.0)
            .field("prepared", &self.prepared)
            .field("listen", &self.listen)
            .field("settle", &self.settle)
            .field("pool_size", &self.pool_size)
            .finish_non_exhaustive()
    }
}

impl Schema {
    pub(crate) fn new(name: &str) -> Result<Self> {
        let limit = "a lower-case name of letters, digits and _, at most 48 long, not pg_..";
        let first = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_');
        let rest = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if first && name.chars().all(rest) && name.len() <= 48 && !name.starts_with("pg_") {
            return Ok(Self(name.to_owned()));
        }
        Err(Error::invalid("schema", limit, format!("{name:?}")))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Rewrites SQL for the schema `queuekit` to use this schema.
    pub(crate) fn apply(&self, sql: &str) -> String {
        sql.replace("queuekit.", &format!("{}.", self.0))
            .replace("'queuekit'", &format!("'{}'", self.0))
            .replace("EXISTS queuekit;", &format!("EXISTS {};", self.0))
    }

    /// The number that separates this schema's advisory locks from those of other schemas in the
    /// database.
    pub(crate) fn lock_class(&self) -> i32 {
        // FNV-1a: any spread will do, and it must never change.
        let hash = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(16_777_619);
        self.0.bytes().fold(2_166_136_261, hash).cast_signed()
    }
}
