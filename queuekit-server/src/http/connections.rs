//! Who may connect: so many in all, and so many of one address, so that nobody keeps others out by
//! connections on which nothing is said.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ipnet::IpNet;
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;

use super::HttpLimits;
use super::limits::LiveLimits;

/// For the head of a request to come, where more than half of the places are taken.
const HURRY: Duration = Duration::from_secs(5);

/// All that are open.
#[derive(Debug)]
pub(super) struct Connections {
    limits: Arc<LiveLimits>,
    proxies: Vec<IpNet>,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    next: u64,
    by_address: HashMap<IpAddr, usize>,
    /// Those on which nobody has asked for anything that is let in, the longest open first.
    silent: BTreeMap<u64, CancellationToken>,
}

/// One of them, until it is dropped.
#[derive(Debug)]
pub(super) struct Connection {
    connections: Arc<Connections>,
    number: u64,
    address: IpAddr,
    shed: CancellationToken,
    pub(super) header_timeout: Duration,
    _place: OwnedSemaphorePermit,
}

impl Connections {
    pub(super) fn new(limits: Arc<LiveLimits>, proxies: Vec<IpNet>) -> Arc<Self> {
        Arc::new(Self { limits, proxies, open: Mutex::default() })
    }

    /// Lets somebody in from this address; none if it has as many as it may have. Where all places
    /// are taken, the one is given up on which nothing has been said for longest; if something has
    /// been said on each, it waits for one to end.
    pub(super) async fn admit(self: &Arc<Self>, peer: IpAddr) -> Option<Connection> {
        let address = whole(peer);
        let is_proxy = self.proxies.iter().any(|network| network.contains(&peer.to_canonical()));
        let of_address = self.limits.now().connections_of_address;
        if !is_proxy && self.open().by_address.get(&address) >= Some(&of_address) {
            return None;
        }
        let places = &self.limits.connections;
        if places.free() == 0
            && let Some((_, silent)) = self.open().silent.pop_first()
        {
            silent.cancel();
        }
        let place = places.wait_for(1).await?;
        let HttpLimits { connections: most, header_timeout, .. } = self.limits.now();
        let is_crowded = places.free() < most.div_ceil(2);
        let header_timeout = if is_crowded { header_timeout.min(HURRY) } else { header_timeout };
        let mut open = self.open();
        let (number, shed) = (open.next, CancellationToken::new());
        open.next += 1;
        *open.by_address.entry(address).or_default() += 1;
        open.silent.insert(number, shed.clone());
        let connections = Arc::clone(self);
        Some(Connection { connections, number, address, shed, header_timeout, _place: place })
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connection {
    /// A request of whom it is from was let in: it is not given up for another one.
    pub(super) fn speaks(&self) {
        self.connections.open().silent.remove(&self.number);
    }

    /// Its place is needed, and nothing has been said.
    pub(super) async fn is_shed(&self) {
        self.shed.cancelled().await;
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let mut open = self.connections.open();
        open.silent.remove(&self.number);
        if let Some(others) = open.by_address.get_mut(&self.address) {
            *others -= 1;
            if *others == 0 {
                open.by_address.remove(&self.address);
            }
        }
    }
}

/// Of IPv6 the network, all addresses of which one machine may have.
fn whole(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V6(address) => {
            let network = address.to_bits() >> 64 << 64;
            IpAddr::V6(Ipv6Addr::from_bits(network))
        }
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connections(most: usize, of_address: usize) -> Arc<Connections> {
        let default = HttpLimits::default();
        let limits =
            HttpLimits { connections: most, connections_of_address: of_address, ..default };
        Connections::new(LiveLimits::new(&limits), vec!["10.0.0.0/8".parse().unwrap()])
    }

    async fn from(connections: &Arc<Connections>, address: &str) -> Option<Connection> {
        connections.admit(address.parse().unwrap()).await
    }

    #[tokio::test]
    async fn s6_one_address_has_a_part_of_the_connections_and_a_proxy_all() {
        let connections = connections(100, 2);
        let first = from(&connections, "192.0.2.1").await.unwrap();
        let _second = from(&connections, "::ffff:192.0.2.1").await.unwrap();
        assert!(from(&connections, "192.0.2.1").await.is_none());
        let _other = from(&connections, "192.0.2.2").await.unwrap();
        drop(first);
        let _again = from(&connections, "192.0.2.1").await.unwrap();
        let _six = from(&connections, "2001:db8::1").await.unwrap();
        let _seven = from(&connections, "2001:db8::2").await.unwrap();
        assert!(from(&connections, "2001:db8::3").await.is_none(), "it is one network");
        for _ in 0..3 {
            std::mem::forget(from(&connections, "10.1.2.3").await.unwrap());
        }
    }

    #[tokio::test]
    async fn s6_where_all_places_are_taken_the_longest_silent_one_is_given_up() {
        let connections = connections(4, 4);
        let speaking = from(&connections, "192.0.2.1").await.unwrap();
        assert_eq!(speaking.header_timeout, connections.limits.now().header_timeout);
        speaking.speaks();
        let silent = from(&connections, "192.0.2.1").await.unwrap();
        let younger = from(&connections, "192.0.2.1").await.unwrap();
        assert_eq!(younger.header_timeout, HURRY, "more than half are taken");
        let youngest = from(&connections, "192.0.2.1").await.unwrap();
        let connections = &connections;
        let (probe, ()) = tokio::join!(from(connections, "192.0.2.9"), async {
            silent.is_shed().await;
            drop(silent);
        });
        assert!(probe.is_some() && !younger.shed.is_cancelled() && !speaking.shed.is_cancelled());
        drop(youngest);
    }
}
