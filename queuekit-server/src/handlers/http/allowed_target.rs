//! Targets that the configuration allows for webhooks, besides public addresses.

use std::net::IpAddr;

use ipnet::IpNet;
use serde::Deserialize;

/// A host by name, whatever its address, or a network; with the allowed ports.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct AllowedTarget {
    site: Site,
    ports: Ports,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Site {
    Name(String),
    Network(IpNet),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ports {
    /// The default ports.
    Usual,
    One(u16),
    All,
}

const RULE: &str = "write a host name, an address, or a network such as 10.0.0.0/8, possibly with \
                    a port: hooks.internal:8443, [fd00::1]:8443, or :* for all";

impl AllowedTarget {
    /// Whether this matches a host with this name and address, on any port.
    pub(super) fn is_at(&self, host: &str, address: IpAddr) -> bool {
        match &self.site {
            Site::Name(name) => name == host,
            Site::Network(network) => network.contains(&address),
        }
    }

    /// Whether all ports are allowed.
    pub(crate) fn has_all_ports(&self) -> bool {
        self.ports == Ports::All
    }

    pub(super) fn has_port(&self, port: u16, usual: &[u16]) -> bool {
        match self.ports {
            Ports::Usual => usual.contains(&port),
            Ports::One(one) => one == port,
            Ports::All => true,
        }
    }
}

impl TryFrom<String> for AllowedTarget {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        // An IPv6 address contains colons.
        if let Some(site) = network(&text) {
            return Ok(Self { site, ports: Ports::Usual });
        }
        let (site, ports) = match text.rsplit_once(':') {
            Some((site, "*")) => (site, Ports::All),
            Some((site, port)) => {
                let port = port.parse().ok().filter(|port| *port > 0);
                (site, Ports::One(port.ok_or(RULE)?))
            }
            None => (&*text, Ports::Usual),
        };
        let is_bare_v6 = site.contains(':') && !site.starts_with('[');
        let site = network(site).filter(|_| !is_bare_v6).or_else(|| name(site)).ok_or(RULE)?;
        Ok(Self { site, ports })
    }
}

fn network(text: &str) -> Option<Site> {
    let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let network = inner.parse().or_else(|_| inner.parse::<IpAddr>().map(IpNet::from));
    network.ok().map(Site::Network)
}

fn name(text: &str) -> Option<Site> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
    let name = text.trim_end_matches('.');
    (!name.is_empty() && name.chars().all(is_name)).then(|| Site::Name(name.to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(text: &str) -> Result<AllowedTarget, &'static str> {
        AllowedTarget::try_from(text.to_owned())
    }

    #[test]
    fn a_place_is_a_name_an_address_or_a_network_and_may_have_a_port() {
        let network = |text: &str| Site::Network(text.parse().unwrap());
        for (text, site, ports) in [
            ("Hooks.Internal.", Site::Name("hooks.internal".into()), Ports::Usual),
            ("hooks.internal:8443", Site::Name("hooks.internal".into()), Ports::One(8443)),
            ("hooks.internal:*", Site::Name("hooks.internal".into()), Ports::All),
            ("10.1.2.3", network("10.1.2.3/32"), Ports::Usual),
            ("10.1.2.3:80", network("10.1.2.3/32"), Ports::One(80)),
            ("10.0.0.0/8:*", network("10.0.0.0/8"), Ports::All),
            ("::1", network("::1/128"), Ports::Usual),
            ("[::1]", network("::1/128"), Ports::Usual),
            ("[::1]:8080", network("::1/128"), Ports::One(8080)),
            ("fd00::/8", network("fd00::/8"), Ports::Usual),
            ("[fd00::/8]:443", network("fd00::/8"), Ports::One(443)),
        ] {
            assert_eq!(place(text), Ok(AllowedTarget { site, ports }), "{text}");
        }
    }

    #[test]
    fn what_is_no_place_is_refused() {
        for wrong in [
            "",
            ".",
            ":80",
            "https://a.example",
            "a.example:",
            "a.example:0",
            "a.example:65536",
            "a.example:80:80",
            "a.example:http",
            "10.0.0.0/33",
            "a/8",
            "*.a.example",
            "fd00::/8:443",
            "[::1",
            "::1]:80",
            "[a.example]:80",
        ] {
            assert_eq!(place(wrong), Err(RULE), "{wrong}");
        }
    }
}
