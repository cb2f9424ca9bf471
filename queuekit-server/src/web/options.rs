//! Options of the server.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;

use super::DashboardOptions;
use super::keys::Keys;
use crate::loopback::is_this_machine;

/// Everything that the server needs besides a store.
#[derive(Clone, Debug)]
pub(crate) struct HttpOptions {
    /// Where to listen; port 0: any free port.
    pub(crate) listen: SocketAddr,
    /// The API keys.
    pub(crate) keys: Keys,
    /// Listen beyond loopback without a key.
    pub(crate) insecure_no_auth: bool,
    /// Names under which a server without keys may be addressed, besides those of loopback; `*`:
    /// any.
    pub(crate) hosts: Vec<String>,
    /// Proxies, through which many clients connect: the limit per address does not apply.
    pub(crate) proxies: Vec<IpNet>,
    /// Certificate and key, if connections are encrypted.
    pub(crate) tls: Option<TlsFiles>,
    /// What clients may use.
    pub(crate) limits: HttpLimits,
    /// Whether to log each request.
    pub(crate) access_log: bool,
    /// The dashboard, unless it is off.
    pub(crate) dashboard: Option<DashboardOptions>,
}

impl HttpOptions {
    /// Whether browsers reach this server over HTTPS only: it speaks TLS, or its settings say that
    /// a proxy does.
    pub(crate) fn is_https(&self) -> bool {
        let dashboard = self.dashboard.as_ref();
        self.tls.is_some() || dashboard.is_some_and(|dashboard| dashboard.secure_cookies)
    }

    /// Whether other machines could do everything, without `insecure_no_auth` (S1).
    pub(crate) fn is_open_to_others(&self) -> bool {
        let is_guarded = !self.keys.is_empty() || self.insecure_no_auth;
        !is_guarded && !is_this_machine(self.listen.ip())
    }
}

/// A certificate chain and its key, as PEM.
#[derive(Clone, Debug)]
pub(crate) struct TlsFiles {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

/// Limits of time and size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HttpLimits {
    /// Largest body.
    pub(crate) body_bytes: usize,
    /// Memory for all bodies and answers together.
    pub(crate) buffered_bytes: usize,
    /// Open connections.
    pub(crate) connections: usize,
    /// Open connections of one address.
    pub(crate) connections_of_address: usize,
    /// Requests in progress.
    pub(crate) requests: usize,
    /// Long polls in progress.
    pub(crate) waiting: usize,
    /// Open streams.
    pub(crate) streams: usize,
    /// Open streams of one key.
    pub(crate) streams_of_key: usize,
    /// Queues that one key may create,
    pub(crate) queues_of_key: usize,
    /// schedules,
    pub(crate) schedules_of_key: usize,
    /// and subscriptions.
    pub(crate) subscriptions_of_key: usize,
    /// Subscriptions of one key that may want the same event.
    pub(crate) subscriptions_of_event: usize,
    /// Live workers of one key.
    pub(crate) workers_of_key: usize,
    /// Time to receive the head of a request.
    pub(crate) header_timeout: Duration,
    /// Time to receive the body of a request.
    pub(crate) body_timeout: Duration,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            body_bytes: 16 * 1024 * 1024,
            buffered_bytes: 256 * 1024 * 1024,
            connections: 4096,
            connections_of_address: 256,
            requests: 1024,
            waiting: 1024,
            streams: 256,
            streams_of_key: 16,
            queues_of_key: 1000,
            schedules_of_key: 1000,
            subscriptions_of_key: 100,
            subscriptions_of_event: 10,
            workers_of_key: 1000,
            header_timeout: Duration::from_secs(15),
            body_timeout: Duration::from_secs(30),
        }
    }
}
