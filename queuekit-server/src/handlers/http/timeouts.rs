//! How long a request may take.

use std::time::Duration;

/// How long a receiver may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timeouts {
    /// Time to connect, TLS included.
    pub(crate) connect: Duration,
    /// Time without any data on a connection.
    pub(crate) read: Duration,
    /// Time for the whole request, redirects included.
    pub(crate) whole: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { connect: seconds(5), read: seconds(10), whole: seconds(30) }
    }
}
