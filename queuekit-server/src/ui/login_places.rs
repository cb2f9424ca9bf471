//! Logins in progress. Strangers may take as long over one as the time limit of its form allows, so
//! they have places of their own, and none of those of requests.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::failure::Failure;
use crate::peer_network::network_of;
use crate::web::Problem;
use crate::web::auth::Peer;

/// Most logins at once,
const PLACES: usize = 512;
/// and those of one address.
const OF_ADDRESS: usize = 64;

/// The logins in progress, by address.
#[derive(Debug, Default)]
pub(super) struct LoginPlaces(Arc<Mutex<HashMap<IpAddr, usize>>>);

/// A place, given back when it is dropped.
#[derive(Debug)]
pub(super) struct LoginPlace {
    all: Arc<Mutex<HashMap<IpAddr, usize>>>,
    address: IpAddr,
}

impl LoginPlaces {
    /// # Errors
    /// 503 if all places are taken, or those of the address.
    pub(super) fn take(&self, peer: Option<Peer>) -> Result<LoginPlace, Failure> {
        let address = network_of(peer.map_or(Ipv6Addr::UNSPECIFIED.into(), |Peer(own)| own));
        let mut all = locked(&self.0);
        let own = all.get(&address).copied().unwrap_or_default();
        if own >= OF_ADDRESS || all.values().sum::<usize>() >= PLACES {
            return Err(Problem::overloaded("logins").into());
        }
        all.insert(address, own + 1);
        Ok(LoginPlace { all: Arc::clone(&self.0), address })
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
        let places = LoginPlaces::default();
        let mut taken: Vec<_> = (0..OF_ADDRESS).map(|_| places.take(peer(0)).unwrap()).collect();
        assert!(places.take(peer(0)).is_err(), "the address has all it may have");
        for address in 1..PLACES / OF_ADDRESS {
            taken.extend((0..OF_ADDRESS).map(|_| places.take(peer(address)).unwrap()));
        }
        assert!(places.take(peer(99)).is_err(), "all places are taken");
        taken.clear();
        assert!(places.take(peer(0)).is_ok() && locked(&places.0).is_empty());
    }
}
