//! The place of stores that are in a Postgres server.

use crate::harness::{Place, Result};

/// The statement that describes the server and its settings for the session.
pub(crate) const DESCRIBE: &str = "SELECT format(
    'PostgreSQL %s fsync=%s synchronous_commit=%s shared_buffers=%s max_wal_size=%s',
    current_setting('server_version'), current_setting('fsync'),
    current_setting('synchronous_commit'), current_setting('shared_buffers'),
    current_setting('max_wal_size'))";

/// An empty database. The caller of the program creates and drops it, so that a program needs no
/// rights on the server.
pub(crate) struct Database(String);

impl Database {
    pub(crate) fn url(&self) -> &str {
        &self.0
    }
}

impl Place for Database {
    const OPTION: &'static str = "--url";

    /// The second would find the tables of the first, and what vacuum is at work on in them.
    const SERVES_MANY: bool = false;

    const MEASURED: &'static [(&'static str, usize)] = &[
        ("drain", 50_000),
        ("enqueue8", 20_000),
        ("enqueue16", 20_000),
        ("bulk", 50_000),
        ("idle", 200),
    ];

    fn prepare(given: &str, _name: &str) -> Result<Self> {
        Ok(Self(given.to_owned()))
    }
}
