//! The place of queues that are in a Redis server.

use crate::harness::{Place, Result};

/// A server, under a separate prefix. The caller of the program sets it up.
pub(crate) struct RedisServer {
    url: String,
    prefix: String,
}

impl RedisServer {
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn prefix(&self) -> &str {
        &self.prefix
    }
}

impl Place for RedisServer {
    const OPTION: &'static str = "--url";

    const SERVES_MANY: bool = true;

    const MEASURED: &'static [(&'static str, usize)] = &[
        ("drain", 50_000),
        ("enqueue64", 100_000),
        ("enqueue16", 50_000),
        ("bulk", 50_000),
        ("idle", 200),
    ];

    fn prepare(given: &str, name: &str) -> Result<Self> {
        Ok(Self { url: given.to_owned(), prefix: format!("{name}-{}", std::process::id()) })
    }
}
