//! Which peers count as one, where connections or failures are counted.

use std::net::{IpAddr, Ipv6Addr};

use ipnet::IpNet;

/// The address, or for IPv6 its network: one machine may have all of its addresses.
pub(crate) fn network_of(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V6(address) => {
            let network = address.to_bits() >> 64 << 64;
            IpAddr::V6(Ipv6Addr::from_bits(network))
        }
        v4 => v4,
    }
}

/// Whether it is one of these proxies, which stands for many others.
pub(crate) fn is_proxy(peer: IpAddr, proxies: &[IpNet]) -> bool {
    proxies.iter().any(|network| network.contains(&peer.to_canonical()))
}
