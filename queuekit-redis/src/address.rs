//! Addresses of servers.

use std::fmt;

use redis::{ConnectionAddr, ConnectionInfo};

/// A host and a port, as nodes of a Cluster and sentinels name them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Address {
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl Address {
    pub(crate) fn new(host: impl Into<String>, port: u16) -> Self {
        Self { host: host.into(), port }
    }

    /// The address of a server; none if it is not reached by network.
    pub(crate) fn of(server: &ConnectionInfo) -> Option<Self> {
        match server.addr() {
            ConnectionAddr::Tcp(host, port) | ConnectionAddr::TcpTls { host, port, .. } => {
                Some(Self::new(host, *port))
            }
            _ => None,
        }
    }

    /// Reads `HOST:PORT`. Without a host it is that of `teller`, which names itself in this way.
    pub(crate) fn told(text: &str, teller: &Self) -> Option<Self> {
        let (host, port) = text.rsplit_once(':')?;
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let host = if host.is_empty() { &teller.host } else { host };
        Some(Self::new(host, port.parse().ok()?))
    }

    /// How to connect to this address, with all other settings of `server`.
    pub(crate) fn like(&self, server: &ConnectionInfo) -> ConnectionInfo {
        let (host, port) = (self.host.clone(), self.port);
        let address = match server.addr() {
            ConnectionAddr::TcpTls { insecure, tls_params, .. } => ConnectionAddr::TcpTls {
                host,
                port,
                insecure: *insecure,
                tls_params: tls_params.clone(),
            },
            _ => ConnectionAddr::Tcp(host, port),
        };
        server.clone().set_addr(address)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_without_a_host_is_of_the_host_that_tells_it() {
        let teller = Address::new("one", 7000);
        assert_eq!(Address::told("two:7001", &teller), Some(Address::new("two", 7001)));
        assert_eq!(Address::told(":7001", &teller), Some(Address::new("one", 7001)));
        assert_eq!(Address::told("fe80::1:7001", &teller), Some(Address::new("fe80::1", 7001)));
        assert_eq!(Address::told("two", &teller), None);
    }
}
