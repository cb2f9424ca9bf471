//! Whether an address or a host name is this machine.

use std::net::IpAddr;

/// Whether only this machine can reach the address: loopback, of IPv4 also as IPv6 writes it.
pub(crate) fn is_this_machine(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

/// The same for a host as in URLs, without brackets. Other names may be anywhere.
pub(crate) fn is_this_host(name: &str) -> bool {
    name.eq_ignore_ascii_case("localhost") || name.parse().is_ok_and(is_this_machine)
}
