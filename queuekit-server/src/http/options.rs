//! How the server is set up.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;

use super::keys::Keys;

/// Everything the server needs beside a store.
#[derive(Clone, Debug)]
pub(crate) struct HttpOptions {
    /// Where it listens; port 0 is any.
    pub(crate) listen: SocketAddr,
    /// Who gets in.
    pub(crate) keys: Keys,
    /// Listen beyond loopback though there is no key.
    pub(crate) insecure_no_auth: bool,
    /// Names under which a server without keys may be addressed, beside those of loopback; `*` is
    /// any.
    pub(crate) hosts: Vec<String>,
    /// Where many come from by one address: the bound on an address is not theirs.
    pub(crate) proxies: Vec<IpNet>,
    /// Encrypted connections.
    pub(crate) tls: Option<TlsFiles>,
    /// What one client may take.
    pub(crate) limits: HttpLimits,
    /// Whether each request is logged.
    pub(crate) access_log: bool,
}

impl HttpOptions {
    /// Whether somebody else could do everything, and nobody said that this is meant (S1).
    pub(crate) fn is_open_to_others(&self) -> bool {
        let is_guarded = !self.keys.is_empty() || self.insecure_no_auth;
        !is_guarded && !is_this_machine(self.listen.ip())
    }
}

/// Whether only this machine can reach the address: loopback, of IPv4 also as IPv6 writes it.
pub(crate) fn is_this_machine(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

/// The same of a host as URLs name it, without brackets: other names may be anywhere.
pub(crate) fn is_this_host(name: &str) -> bool {
    name.eq_ignore_ascii_case("localhost") || name.parse().is_ok_and(is_this_machine)
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
    /// Bodies and answers in memory at once, in all.
    pub(crate) buffered_bytes: usize,
    /// Open connections.
    pub(crate) connections: usize,
    /// Those of one address.
    pub(crate) connections_of_address: usize,
    /// Requests at work at once.
    pub(crate) requests: usize,
    /// Long polls at once.
    pub(crate) waiting: usize,
    /// Streams at once.
    pub(crate) streams: usize,
    /// Streams of one key at once.
    pub(crate) streams_of_key: usize,
    /// Queues that one key may create,
    pub(crate) queues_of_key: usize,
    /// schedules,
    pub(crate) schedules_of_key: usize,
    /// and subscriptions.
    pub(crate) subscriptions_of_key: usize,
    /// Live workers of one key.
    pub(crate) workers_of_key: usize,
    /// For the head of a request to come.
    pub(crate) header_timeout: Duration,
    /// For its body to come.
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
            workers_of_key: 1000,
            header_timeout: Duration::from_secs(15),
            body_timeout: Duration::from_secs(30),
        }
    }
}
