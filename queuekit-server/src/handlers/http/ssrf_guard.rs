//! Decides which addresses a job may reach (S8): callers choose the URL, and must not reach what
//! only this machine can reach.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use ipnet::{Ipv4Net, Ipv6Net};

use super::allowed_target::AllowedTarget;
use super::target::Target;

/// Admits public addresses, and targets that the configuration allows.
#[derive(Debug)]
pub(crate) struct Guard {
    /// Targets that are allowed besides public addresses.
    pub(crate) allowed: Vec<AllowedTarget>,
    /// Ports that are allowed unless a target names its own.
    pub(crate) ports: Vec<u16>,
    /// Whether public addresses may be reached in plain text.
    pub(crate) insecure_http: bool,
}

/// The ports of HTTP. Services on other ports often trust every client that can reach them.
pub(crate) const PORTS: [u16; 2] = [80, 443];

impl Guard {
    /// The addresses of a target that may be connected to.
    ///
    /// # Errors
    /// If there is none. The error does not contain addresses, which the caller may not know.
    pub(super) fn admit(
        &self,
        target: &Target,
        found: Vec<SocketAddr>,
    ) -> Result<Vec<SocketAddr>, String> {
        let (host, port) = (target.host(), target.port());
        let places =
            |address: IpAddr| self.allowed.iter().filter(move |place| place.is_at(host, address));
        let opened =
            |address: IpAddr| places(address).any(|place| place.has_port(port, &self.ports));
        if found.is_empty() {
            return Err(format!("{target} has no address"));
        }
        let mut left = found;
        // In three steps, so that the error names the one setting that is missing.
        left.retain(|found| is_public(found.ip()) || places(found.ip()).next().is_some());
        if left.is_empty() {
            return Err(format!(
                "{target} is not at a public address: to allow it, add the host or its network to \
                 `allow` of [handlers.http]"
            ));
        }
        let usual = self.ports.contains(&port);
        left.retain(|found| opened(found.ip()) || (usual && is_public(found.ip())));
        if left.is_empty() {
            return Err(format!(
                "{target} uses port {port}, which is not allowed: add the host with this port to \
                 `allow` of [handlers.http], or the port to `ports`"
            ));
        }
        left.retain(|found| target.is_encrypted() || self.insecure_http || opened(found.ip()));
        if left.is_empty() {
            return Err(format!(
                "{target} is not encrypted: use https://, or add the host to `allow` of \
                 [handlers.http], or set `insecure_http`"
            ));
        }
        Ok(left)
    }
}

/// Whether an address is public, so that this machine reaches nothing there that others do not.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => !SPECIAL_V4.iter().any(|network| network.contains(&address)),
        // Others are mapped, compatible, translated (NAT64), local, multicast, or unassigned.
        IpAddr::V6(address) => {
            GLOBAL_V6.contains(&address)
                && !SPECIAL_V6.iter().any(|network| network.contains(&address))
        }
    }
}

/// IANA's registry of special-purpose addresses, and addresses of cloud providers.
const SPECIAL_V4: [Ipv4Net; 16] = [
    v4([0, 0, 0, 0], 8),        // this network
    v4([10, 0, 0, 0], 8),       // private
    v4([100, 64, 0, 0], 10),    // shared, behind a carrier's NAT; metadata of Alibaba
    v4([127, 0, 0, 0], 8),      // loopback
    v4([168, 63, 129, 16], 32), // the host of a machine in Azure
    v4([169, 254, 0, 0], 16),   // link-local; metadata of most clouds
    v4([172, 16, 0, 0], 12),    // private
    v4([192, 0, 0, 0], 24),     // protocol assignments; metadata of Oracle
    v4([192, 0, 2, 0], 24),     // documentation
    v4([192, 88, 99, 0], 24),   // relays of 6to4
    v4([192, 168, 0, 0], 16),   // private
    v4([198, 18, 0, 0], 15),    // benchmarks
    v4([198, 51, 100, 0], 24),  // documentation
    v4([203, 0, 113, 0], 24),   // documentation
    v4([224, 0, 0, 0], 4),      // multicast
    v4([240, 0, 0, 0], 4),      // reserved, broadcast
];

const GLOBAL_V6: Ipv6Net = v6([0x2000, 0], 3);

const SPECIAL_V6: [Ipv6Net; 4] = [
    v6([0x2001, 0], 23),     // protocol assignments, among them Teredo
    v6([0x2001, 0xdb8], 32), // documentation
    v6([0x2002, 0], 16),     // 6to4: an address of IPv4 within
    v6([0x3fff, 0], 20),     // documentation
];

const fn v4([a, b, c, d]: [u8; 4], length: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), length)
}

const fn v6([a, b]: [u16; 2], length: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, 0, 0, 0, 0, 0, 0), length)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of each special network of IPv4.
    const CLOSED_V4: &str = "
        0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.100.100.200
        100.127.255.254 127.0.0.1 127.1.2.3 168.63.129.16 169.254.169.254
        169.254.170.2 172.16.0.1 172.31.255.255 192.0.0.192 192.0.2.1
        192.88.99.1 192.168.0.1 198.18.0.1 198.19.255.255 198.51.100.1
        203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255
    ";

    /// Loopback and others in other words.
    const CLOSED_WORDS: &str = "
        2130706433 0x7f000001 0x7f.1 0177.0.0.1 017700000001 127.1 0
        2852039166 0xa9fea9fe 0xa9.0xfe.0xa9.0xfe 169.254.43518 10.1
        127.0.0.1. %31%32%37.0.0.1 ①②⑦.0.0.1 127。0。0。1
    ";

    /// Unspecified, loopback, mapped, compatible, NAT64, local NAT64, discard, Teredo, ORCHID,
    /// documentation, 6to4, unique-local, metadata, link- and site-local, multicast, unassigned.
    const CLOSED_V6: &str = "
        [::] [::1] [::ffff:127.0.0.1] [::ffff:7f00:1] [::ffff:8.8.8.8]
        [::127.0.0.1] [::8.8.8.8] [::ffff:0:127.0.0.1] [64:ff9b::7f00:1]
        [64:ff9b::8.8.8.8] [64:ff9b:1::a00:1] [100::1]
        [2001::1] [2001:0:7f00:1::] [2001:20::1] [2001:db8::1] [2002:7f00:1::]
        [2002:a9fe:a9fe::] [3fff::1] [fc00::1] [fd00:ec2::254] [fe80::1]
        [febf::1] [fec0::1] [ff02::1] [ff0e::1] [4000::1] [5f00::1]
    ";

    /// Public ones, many of them beside a special network.
    const OPEN: &str = "
        1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0
        126.255.255.255 128.0.0.0 168.63.129.15 168.63.129.17 169.253.255.255
        169.255.0.0 172.15.255.255 172.32.0.0 192.0.1.0 192.167.255.255
        192.169.0.0 198.17.255.255 198.20.0.0 223.255.255.255
        [2606:4700:4700::1111] [2001:200::1] [2001:db7::1] [2003::1]
        [2a00:1450::1]
    ";

    fn admits(guard: &Guard, url: &str, found: &[&str]) -> Result<usize, String> {
        let target = Target::parse(url).unwrap();
        let found: Vec<SocketAddr> = match target.address() {
            Some(address) => vec![address],
            None => found.iter().map(|ip| (ip.parse::<IpAddr>().unwrap(), 443).into()).collect(),
        };
        guard.admit(&target, found).map(|admitted| admitted.len())
    }

    fn allowing(places: &[&str], insecure_http: bool) -> Guard {
        let place = |text: &&str| AllowedTarget::try_from((*text).to_owned()).unwrap();
        let allowed = places.iter().map(place).collect();
        Guard { allowed, ports: PORTS.into(), insecure_http }
    }

    #[test]
    fn s8_no_address_that_is_not_public_is_admitted_however_it_is_written() {
        let guard = allowing(&[], true);
        for host in
            [CLOSED_V4, CLOSED_WORDS, CLOSED_V6].iter().flat_map(|all| all.split_whitespace())
        {
            let error = admits(&guard, &format!("https://{host}/"), &[]).expect_err(host);
            assert!(error.contains("not at a public address"), "{host}: {error}");
        }
    }

    #[test]
    fn s8_public_addresses_are_admitted_up_to_the_edge_of_each_network() {
        let guard = allowing(&[], false);
        for host in OPEN.split_whitespace() {
            assert_eq!(admits(&guard, &format!("https://{host}/"), &[]), Ok(1), "{host}");
        }
    }

    #[test]
    fn s8_of_the_addresses_of_a_name_only_the_public_ones_are_left() {
        let guard = allowing(&[], false);
        let found = ["127.0.0.1", "1.1.1.1", "::1", "2606:4700::1"];
        assert_eq!(admits(&guard, "https://a.example", &found), Ok(2));
        assert!(admits(&guard, "https://a.example", &found[..1]).is_err());
        assert!(admits(&guard, "https://a.example", &[]).unwrap_err().contains("no address"));
    }

    #[test]
    fn s8_what_the_configuration_names_is_open_and_nothing_beside_it() {
        let guard =
            allowing(&["Hooks.Internal", "10.1.0.0/16", "192.168.7.7:8080", "fd00::/8"], false);
        for (url, found) in [
            ("https://hooks.internal", "127.0.0.1"),
            ("https://HOOKS.internal.", "127.0.0.1"),
            ("http://hooks.internal", "127.0.0.1"),
            ("https://other.internal", "10.1.2.3"),
            ("http://192.168.7.7:8080", ""),
            ("http://[fd12::1]/", ""),
        ] {
            assert_eq!(admits(&guard, url, &[found]), Ok(1), "{url}");
        }
        for (url, found) in [
            ("https://other.internal", "127.0.0.1"),
            ("https://hooks.internal.evil.example", "127.0.0.1"),
            ("https://xhooks.internal", "127.0.0.1"),
            ("https://other.internal", "10.2.0.1"),
            ("https://192.168.7.8", ""),
            ("https://[::ffff:10.1.2.3]", ""),
        ] {
            assert!(admits(&guard, url, &[found]).is_err(), "{url}");
        }
    }

    #[test]
    fn s8_https_is_asked_for_unless_the_configuration_says_otherwise() {
        let public = |guard: &Guard| admits(guard, "http://a.example", &["1.1.1.1"]);
        let error = public(&allowing(&[], false)).unwrap_err();
        assert!(error.contains("use https://"), "{error}");
        assert_eq!(public(&allowing(&[], true)), Ok(1));
        assert_eq!(public(&allowing(&["a.example"], false)), Ok(1));
    }

    #[test]
    fn s8_a_port_that_is_not_usual_is_open_where_it_is_named_and_nowhere_else() {
        let guard = allowing(&["127.0.0.1:8080", "hooks.internal", "10.0.0.0/8:*"], true);
        for url in [
            "http://127.0.0.1:8080",
            "https://1.1.1.1",
            "http://1.1.1.1",
            "https://1.1.1.1:80",
            "https://hooks.internal",
            "http://10.1.2.3:6379",
        ] {
            assert_eq!(admits(&guard, url, &["127.0.0.1"]), Ok(1), "{url}");
        }
        for url in [
            "http://127.0.0.1",
            "http://127.0.0.1:6379",
            "https://hooks.internal:5432",
            "https://1.1.1.1:6379",
            "https://a.example:8080",
        ] {
            let error = admits(&guard, url, &["1.1.1.1"]).expect_err(url);
            assert!(error.contains("which is not allowed"), "{url}: {error}");
        }
        let mut more = allowing(&["hooks.internal"], false);
        more.ports.push(8443);
        assert_eq!(admits(&more, "https://1.1.1.1:8443", &[]), Ok(1));
        assert_eq!(admits(&more, "https://hooks.internal:8443", &["10.0.0.1"]), Ok(1));
    }
}
