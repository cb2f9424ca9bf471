//! Limits on connections, in all and per address, so that idle connections do not keep new ones
//! out.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ipnet::IpNet;
use tokio::sync::{Notify, OwnedSemaphorePermit};

use super::of_address::OfAddress;
use crate::peer_network::{is_proxy, network_of};
use crate::web::HttpLimits;
use crate::web::connection_end::ConnectionEnd;
use crate::web::limits::LiveLimits;
use crate::web::middleware::NotBegun;

/// Time to receive the head of a request while more than half of the places are taken.
const CROWDED_HEADER_TIMEOUT: Duration = Duration::from_secs(5);

/// All open connections.
#[derive(Debug)]
pub(super) struct Connections {
    limits: Arc<LiveLimits>,
    proxies: Vec<IpNet>,
    open: Mutex<Open>,
    /// Notified when a connection becomes idle.
    idled: Notify,
}

#[derive(Debug, Default)]
struct Open {
    next: u64,
    by_address: HashMap<IpAddr, OfAddress>,
    /// Connections without an admitted request in progress, those longest without one first.
    idle: BTreeMap<u64, ConnectionEnd>,
}

/// An open connection, until it is dropped.
#[derive(Debug)]
pub(super) struct Connection {
    connections: Arc<Connections>,
    address: IpAddr,
    /// Whether many clients share the address: then it may have any number of connections.
    is_proxy: bool,
    activity: Mutex<Activity>,
    /// Its first number.
    stranger: u64,
    evicted: ConnectionEnd,
    pub(super) header_timeout: Duration,
    _place: OwnedSemaphorePermit,
}

#[derive(Debug)]
struct Activity {
    /// Admitted requests in progress.
    requests: usize,
    /// Its number among those that are idle.
    number: u64,
    /// The id of the key of its last request; empty without one.
    key: String,
}

/// An admitted request in progress, until it is dropped: its connection is not evicted.
#[derive(Debug)]
pub(super) struct ActiveRequest {
    connection: Arc<Connection>,
    key: String,
}

impl Connections {
    pub(super) fn new(limits: Arc<LiveLimits>, proxies: Vec<IpNet>) -> Arc<Self> {
        Arc::new(Self { limits, proxies, open: Mutex::default(), idled: Notify::new() })
    }

    /// Admits a connection from this address. If the address has as many as it may, this closes one
    /// of them that is idle ([`OfAddress::make_room`]); `None` if there is none, or none that has
    /// had time for a request. If all places are taken, it closes the connection that has been idle
    /// for longest, or, if none is idle, waits for one to be or to end.
    pub(super) async fn admit(self: &Arc<Self>, peer: IpAddr) -> Option<Connection> {
        let address = network_of(peer);
        let is_proxy = is_proxy(peer, &self.proxies);
        if !is_proxy {
            let most = self.most_of_address();
            let mut open = self.open();
            let others = open.by_address.get_mut(&address);
            if others.is_some_and(|others| !others.make_room(most)) {
                return None;
            }
        }
        let places = &self.limits.connections;
        let mut place = pin!(places.wait_for(1));
        let place = tokio::select! {
            biased;
            place = place.as_mut() => place,
            // No place is free, so the connection that has been idle longest makes room.
            () = self.evict() => place.await,
        }?;
        let HttpLimits { connections: most, header_timeout, .. } = self.limits.now();
        let is_crowded = places.free() < most.div_ceil(2);
        let header_timeout =
            if is_crowded { header_timeout.min(CROWDED_HEADER_TIMEOUT) } else { header_timeout };
        let mut open = self.open();
        let evicted = ConnectionEnd::new();
        let number = open.idle(&evicted);
        open.by_address.entry(address).or_default().open(number, &evicted);
        Some(Connection {
            connections: Arc::clone(self),
            address,
            is_proxy,
            activity: Mutex::new(Activity { requests: 0, number, key: String::new() }),
            stranger: number,
            evicted,
            header_timeout,
            _place: place,
        })
    }

    /// Closes the connection that has been idle for longest, as soon as one is.
    async fn evict(&self) {
        loop {
            if let Some((_, oldest)) = self.open().idle.pop_first() {
                return oldest.end();
            }
            self.idled.notified().await;
        }
    }

    fn most_of_address(&self) -> usize {
        self.limits.now().connections_of_address
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    /// Adds it as the last one to be evicted, and returns its number.
    fn idle(&mut self, evicted: &ConnectionEnd) -> u64 {
        let number = self.next;
        self.next += 1;
        self.idle.insert(number, evicted.clone());
        number
    }
}

impl Connection {
    /// Notes that a request of this key on it was admitted: until that has ended, it is not closed
    /// for another connection.
    pub(super) fn begin(self: &Arc<Self>, key: Option<&str>) -> Result<ActiveRequest, NotBegun> {
        let key = key.unwrap_or_default();
        let most = if self.is_proxy { usize::MAX } else { self.connections.most_of_address() };
        // Every path that holds both takes these locks in this order.
        let (mut activity, mut open) = (self.activity(), self.connections.open());
        // It was chosen to make room a moment ago.
        if self.evicted.has_ended() {
            return Err(NotBegun::Closing);
        }
        if let Some(of_address) = open.by_address.get_mut(&self.address) {
            if !of_address.begin(key, most) {
                return Err(NotBegun::KeyExhausted);
            }
            of_address.take(self.stranger, &activity.key, activity.number);
        }
        open.idle.remove(&activity.number);
        activity.requests += 1;
        key.clone_into(&mut activity.key);
        Ok(ActiveRequest { connection: Arc::clone(self), key: key.to_owned() })
    }

    fn end(&self, key: &str) {
        let (mut activity, mut open) = (self.activity(), self.connections.open());
        activity.requests -= 1;
        let is_idle = activity.requests == 0;
        if is_idle {
            activity.number = open.idle(&self.evicted);
            key.clone_into(&mut activity.key);
            self.connections.idled.notify_one();
        }
        if let Some(of_address) = open.by_address.get_mut(&self.address) {
            of_address.end(key, is_idle.then_some((activity.number, &self.evicted)));
        }
    }

    fn activity(&self) -> MutexGuard<'_, Activity> {
        self.activity.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends it although a request may be in progress.
    pub(super) fn end_early(&self) -> ConnectionEnd {
        self.evicted.clone()
    }

    /// Completes when its place is needed and no admitted request is in progress, or when it is
    /// ended early.
    pub(super) async fn evicted(&self) {
        self.evicted.ended().await;
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        self.connection.end(&self.key);
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let (activity, mut open) = (self.activity(), self.connections.open());
        open.idle.remove(&activity.number);
        if let Some(of_address) = open.by_address.get_mut(&self.address)
            && of_address.close(self.stranger, &activity.key, activity.number)
        {
            open.by_address.remove(&self.address);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listen::of_address::PROTECTED;

    fn connections(most: usize, of_address: usize) -> Arc<Connections> {
        let default = HttpLimits::default();
        let limits =
            HttpLimits { connections: most, connections_of_address: of_address, ..default };
        Connections::new(LiveLimits::new(&limits), vec!["10.0.0.0/8".parse().unwrap()])
    }

    async fn from(connections: &Arc<Connections>, address: &str) -> Option<Connection> {
        connections.admit(address.parse().unwrap()).await
    }

    #[tokio::test(start_paused = true)]
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

    #[tokio::test(start_paused = true)]
    async fn s6_silent_connections_of_an_address_make_room_for_its_others() {
        let connections = connections(100, 3);
        let used = Arc::new(from(&connections, "192.0.2.1").await.unwrap());
        drop(used.begin(None).unwrap());
        let silent = from(&connections, "192.0.2.1").await.unwrap();
        let younger = from(&connections, "192.0.2.1").await.unwrap();
        tokio::time::advance(PROTECTED - Duration::from_millis(1)).await;
        assert!(from(&connections, "192.0.2.1").await.is_none(), "each has time for a request");
        tokio::time::advance(Duration::from_millis(1)).await;
        let next = Arc::new(from(&connections, "192.0.2.1").await.unwrap());
        assert!(silent.evicted.has_ended() && !younger.evicted.has_ended());
        drop(silent);
        let _request = next.begin(None).unwrap();
        let _last = from(&connections, "192.0.2.1").await.unwrap();
        drop(younger);
        tokio::time::advance(PROTECTED - Duration::from_millis(1)).await;
        assert!(from(&connections, "192.0.2.1").await.is_none(), "two have had a request");
        assert!(!used.evicted.has_ended() && !next.evicted.has_ended());
    }

    /// A connection of which this key has had a request answered.
    async fn used_by(connections: &Arc<Connections>, key: &str) -> Arc<Connection> {
        let used = Arc::new(from(connections, "192.0.2.1").await.unwrap());
        drop(used.begin(Some(key)).unwrap());
        used
    }

    #[tokio::test(start_paused = true)]
    async fn s6_the_key_with_most_idle_connections_of_an_address_makes_room() {
        let connections = connections(100, 4);
        let other = used_by(&connections, "other").await;
        let mut kept = Vec::new();
        for _ in 0..3 {
            kept.push(used_by(&connections, "hostile").await);
        }
        for n in 0..2 {
            let next = used_by(&connections, "third").await;
            assert!(kept[n].evicted.has_ended() && !kept[n + 1].evicted.has_ended());
            assert_eq!(kept[n].begin(Some("hostile")).unwrap_err(), NotBegun::Closing);
            kept.push(next);
            // A listener drops a connection that has to end.
            let gone = std::mem::replace(&mut kept[n], Arc::clone(&other));
            drop(gone);
        }
        assert!(!other.evicted.has_ended());
    }

    #[tokio::test(start_paused = true)]
    async fn s6_new_connections_of_strangers_close_none_that_a_key_has_used() {
        let connections = connections(100, 3);
        let used = used_by(&connections, "k").await;
        let _young = from(&connections, "192.0.2.1").await.unwrap();
        let _younger = from(&connections, "192.0.2.1").await.unwrap();
        assert!(from(&connections, "192.0.2.1").await.is_none());
        tokio::time::advance(PROTECTED).await;
        let _next = from(&connections, "192.0.2.1").await.unwrap();
        assert!(!used.evicted.has_ended());
    }

    #[tokio::test(start_paused = true)]
    async fn s6_a_key_uses_no_more_connections_of_an_address_than_it_leaves_free() {
        let connections = connections(100, 8);
        let mut requests = Vec::new();
        let mut counts = Vec::new();
        for key in ["one", "two", "three"] {
            let before = requests.len();
            loop {
                let next = Arc::new(from(&connections, "192.0.2.1").await.unwrap());
                match next.begin(Some(key)) {
                    Ok(request) => requests.push(request),
                    Err(refused) => break assert_eq!(refused, NotBegun::KeyExhausted),
                }
            }
            counts.push(requests.len() - before);
        }
        assert_eq!(counts, [4, 2, 1]);
        let proxied = Arc::new(from(&connections, "10.1.2.3").await.unwrap());
        let many: Vec<_> = (0..9).map(|_| proxied.begin(Some("one")).unwrap()).collect();
        drop((many, requests));
        // Nothing is kept of those that have ended.
        assert!(connections.open().by_address.values().all(OfAddress::is_unused));
    }

    #[tokio::test]
    async fn s6_where_all_places_are_taken_the_longest_silent_one_is_given_up() {
        let connections = connections(4, 4);
        let speaking = Arc::new(from(&connections, "192.0.2.1").await.unwrap());
        assert_eq!(speaking.header_timeout, connections.limits.now().header_timeout);
        let _request = speaking.begin(None).unwrap();
        let silent = from(&connections, "192.0.2.1").await.unwrap();
        let younger = from(&connections, "192.0.2.1").await.unwrap();
        assert_eq!(younger.header_timeout, CROWDED_HEADER_TIMEOUT, "more than half are taken");
        let youngest = from(&connections, "192.0.2.1").await.unwrap();
        let connections = &connections;
        let (probe, ()) = tokio::join!(from(connections, "192.0.2.9"), async {
            silent.evicted().await;
            drop(silent);
        });
        assert!(probe.is_some() && !younger.evicted.has_ended() && !speaking.evicted.has_ended());
        drop(youngest);
    }

    #[tokio::test]
    async fn s6_a_connection_keeps_its_place_for_as_long_as_its_requests_last() {
        let connections = connections(2, 9);
        let answered = Arc::new(from(&connections, "192.0.2.1").await.unwrap());
        let younger = Arc::new(from(&connections, "192.0.2.1").await.unwrap());
        let (first, second) = (answered.begin(None).unwrap(), answered.begin(None).unwrap());
        let request = younger.begin(None).unwrap();
        let connections = &connections;
        let (next, ()) = tokio::join!(biased; from(connections, "192.0.2.9"), async {
            drop(first);
            tokio::task::yield_now().await;
            assert!(!answered.evicted.has_ended(), "another request on it is in progress");
            drop(second);
            answered.evicted().await;
            assert!(answered.begin(None).is_err(), "it is being closed");
            assert!(!younger.evicted.has_ended(), "its request is in progress");
            drop(answered);
        });
        let next = next.unwrap();
        // Its request ends after the other connection came: the other has been idle for longer.
        drop(request);
        let (last, ()) = tokio::join!(from(connections, "192.0.2.9"), async {
            next.evicted().await;
            drop(next);
        });
        assert!(last.is_some() && !younger.evicted.has_ended());
    }
}
