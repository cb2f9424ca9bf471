//! Logins in progress. Strangers may take as long over one as the time limit of its form allows, so
//! they have places of their own, and none of those of requests.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ipnet::IpNet;

use super::failure::Failure;
use crate::peer_network::{is_proxy, network_of};
use crate::web::Problem;
use crate::web::auth::Peer;

/// Most logins at once,
const PLACES: usize = 512;
/// and those of one address.
const OF_ADDRESS: usize = 64;

/// The logins in progress.
#[derive(Debug)]
pub(super) struct LoginPlaces {
    by_address: Arc<Mutex<HashMap<IpAddr, usize>>>,
    /// Addresses of these stand for many others, and may have all the places.
    proxies: Vec<IpNet>,
}

/// A place, given back when it is dropped.
#[derive(Debug)]
pub(super) struct LoginPlace {
    all: Arc<Mutex<HashMap<IpAddr, usize>>>,
    address: IpAddr,
}

impl LoginPlaces {
    pub(super) fn new(proxies: &[IpNet]) -> Self {
        Self { by_address: Arc::default(), proxies: proxies.to_vec() }
    }

    /// # Errors
    /// 503 if all places are taken, or those of the address.
    pub(super) fn take(&self, peer: Option<Peer>) -> Result<LoginPlace, Failure> {
        let peer = peer.map_or(Ipv6Addr::UNSPECIFIED.into(), |Peer(own)| own);
        let address = network_of(peer);
        let most = if is_proxy(peer, &self.proxies) { PLACES } else { OF_ADDRESS };
        let mut all = locked(&self.by_address);
        let own = all.get(&address).copied().unwrap_or_default();
        if own >= most || all.values().sum::<usize>() >= PLACES {
            return Err(Problem::overloaded("logins").into());
        }
        all.insert(address, own + 1);
        Ok(LoginPlace { all: Arc::clone(&self.by_address), address })
    }
}

impl Drop for LoginPlace {
    fn drop(&mut self) {
        let mut all = locked(&self.all);
        let left = all.get(&self.address).map_or(0, |own| own.saturating_sub(1));
        match left {
            0 => all.remove(&self.address),
            _ => all.insert(self.address, left),
        };
    }
}

fn locked(all: &Mutex<HashMap<IpAddr, usize>>) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
    all.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(last: usize) -> Option<Peer> {
        Some(Peer([192, 0, 2, u8::try_from(last).unwrap()].into()))
    }

    #[test]
    fn s6_an_address_has_few_logins_at_once_and_all_together_are_bounded() {
        let proxy = "192.0.2.98/32".parse().unwrap();
        let places = LoginPlaces::new(&[proxy]);
        let mut taken: Vec<_> = (0..OF_ADDRESS).map(|_| places.take(peer(0)).unwrap()).collect();
        assert!(places.take(peer(0)).is_err(), "the address has all it may have");
        let proxied: Vec<_> = (0..=OF_ADDRESS).map(|_| places.take(peer(98))).collect();
        assert!(proxied.iter().all(Result::is_ok), "a proxy stands for many");
        drop(proxied);
        for address in 1..PLACES / OF_ADDRESS {
            taken.extend((0..OF_ADDRESS).map(|_| places.take(peer(address)).unwrap()));
        }
        assert!(places.take(peer(99)).is_err(), "all places are taken");
        taken.clear();
        assert!(places.take(peer(0)).is_ok() && locked(&places.by_address).is_empty());
    }
}
