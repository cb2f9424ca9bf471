//! TLS handshakes in progress: each may take 80 KiB, and needs no key.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::peer_network::network_of;
use crate::web::connection_end::ConnectionEnd;

/// Handshakes at once: two addresses may open all the connections that they may have.
const MOST: usize = 512;
/// How long a handshake may take.
pub(super) const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);

/// All of them. Beyond the bound, each new one ends the oldest one of the address that has most, so
/// that an address with few completes them whatever others do.
#[derive(Debug)]
pub(super) struct Handshakes {
    most: usize,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    next: u64,
    count: usize,
    /// By address, the oldest first.
    by_address: HashMap<IpAddr, BTreeMap<u64, ConnectionEnd>>,
}

/// A handshake in progress, until it is dropped.
#[derive(Debug)]
pub(super) struct Handshake {
    all: Arc<Handshakes>,
    address: IpAddr,
    number: u64,
    ended: ConnectionEnd,
}

impl Handshakes {
    pub(super) fn new() -> Arc<Self> {
        Self::at_most(MOST)
    }

    fn at_most(most: usize) -> Arc<Self> {
        Arc::new(Self { most, open: Mutex::default() })
    }

    pub(super) fn begin(self: &Arc<Self>, peer: IpAddr) -> Handshake {
        let (address, ended) = (network_of(peer), ConnectionEnd::new());
        let mut open = self.open();
        if open.count >= self.most {
            open.end_one();
        }
        let number = open.next;
        open.next += 1;
        open.count += 1;
        open.by_address.entry(address).or_default().insert(number, ended.clone());
        Handshake { all: Arc::clone(self), address, number, ended }
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    fn end_one(&mut self) {
        let most = self.by_address.iter().max_by_key(|(_, open)| open.len());
        let Some((&address, open)) = most else { return };
        let oldest = open.first_key_value().map(|(number, _)| *number);
        if let Some(ended) = oldest.and_then(|number| self.remove(address, number)) {
            ended.end();
        }
    }

    fn remove(&mut self, address: IpAddr, number: u64) -> Option<ConnectionEnd> {
        let open = self.by_address.get_mut(&address)?;
        let removed = open.remove(&number)?;
        if open.is_empty() {
            self.by_address.remove(&address);
        }
        self.count -= 1;
        Some(removed)
    }
}

impl Handshake {
    /// Completes when its place is needed.
    pub(super) async fn ended(&self) {
        self.ended.ended().await;
    }
}

impl Drop for Handshake {
    fn drop(&mut self) {
        self.all.open().remove(self.address, self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s6_an_address_with_few_handshakes_completes_them_whatever_others_begin() {
        let handshakes = Handshakes::at_most(4);
        let begin = |address: &str| handshakes.begin(address.parse().unwrap());
        let few = begin("192.0.2.1");
        let many = [(); 3].map(|()| begin("192.0.2.2"));
        let more = [(); 20].map(|()| begin("192.0.2.2"));
        let ended = |each: &[Handshake]| each.iter().filter(|one| one.ended.has_ended()).count();
        assert_eq!((ended(&many), ended(&more)), (3, 17), "the oldest of them");
        assert!(!few.ended.has_ended());
        let other = begin("192.0.2.3");
        assert_eq!((ended(&more), few.ended.has_ended()), (18, false));
        drop((many, more));
        let alone = [(); 2].map(|()| begin("192.0.2.4"));
        assert_eq!(ended(&alone), 0, "those that have ended count no more");
        drop((few, other));
        let open = handshakes.open();
        assert_eq!((open.count, open.by_address.len()), (2, 1));
        drop(open);
    }
}
