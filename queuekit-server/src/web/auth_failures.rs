//! Wrong keys: logs them, and delays the answers the more an address sends.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::auth::Peer;
use crate::peer_network::network_of;

/// Wrong keys of an address that are answered at once,
const FREE_FAILURES: u32 = 10;
/// how far apart the answers to more of them are,
const DELAY_STEP: Duration = Duration::from_millis(250);
/// and how long one waits at most.
const DELAY_MAX: Duration = Duration::from_secs(5);
/// Least time between two log lines about an address.
const LOG_INTERVAL: Duration = Duration::from_secs(1);
/// Addresses that are remembered.
const ADDRESSES_MAX: usize = 4096;

/// Addresses that were refused lately. A correct key is never delayed by wrong keys of its address,
/// because many clients may be behind one proxy.
#[derive(Debug, Default)]
pub(crate) struct AuthFailures(Mutex<HashMap<IpAddr, AddressFailures>>);

#[derive(Debug)]
struct AddressFailures {
    /// When the next answer would come if no wrong key were answered at once.
    next_at: Instant,
    logged_at: Option<Instant>,
    /// Refusals since the last log line.
    unlogged: u64,
}

impl AuthFailures {
    /// Waits before another wrong key of this address is answered. However many wait, none is
    /// answered earlier: each has a connection, which makes room for others as an idle one does.
    pub(crate) async fn wait(&self, peer: Option<Peer>) {
        tokio::time::sleep(self.delay(peer, Instant::now())).await;
    }

    /// How long to delay the answer to another wrong key of this address.
    fn delay(&self, peer: Option<Peer>, now: Instant) -> Duration {
        self.of(peer, now, |failures| {
            // `next_at` runs ahead of the clock by one step for each failure. The first steps are
            // free.
            let free = DELAY_STEP * FREE_FAILURES;
            failures.next_at = (failures.next_at.max(now) + DELAY_STEP).min(now + free + DELAY_MAX);
            failures.next_at.duration_since(now).saturating_sub(free)
        })
    }

    /// How many refusals of this address to log; `None` if the last line was written just now.
    pub(crate) fn to_log(&self, peer: Option<Peer>, now: Instant) -> Option<u64> {
        self.of(peer, now, |failures| {
            failures.unlogged += 1;
            if failures.logged_at.is_some_and(|at| now < at + LOG_INTERVAL) {
                return None;
            }
            failures.logged_at = Some(now);
            Some(std::mem::take(&mut failures.unlogged))
        })
    }

    fn of<T>(
        &self,
        peer: Option<Peer>,
        now: Instant,
        act: impl FnOnce(&mut AddressFailures) -> T,
    ) -> T {
        let address = whose(peer);
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= ADDRESSES_MAX && !all.contains_key(&address) {
            // Bounded, because an attacker may have any number of addresses.
            all.retain(|_, failures| now < failures.next_at);
            let oldest = all.iter().min_by_key(|(_, failures)| failures.next_at);
            if let Some(oldest) = oldest.map(|(address, _)| *address)
                && all.len() >= ADDRESSES_MAX
            {
                all.remove(&oldest);
            }
        }
        let new = || AddressFailures { next_at: now, logged_at: None, unlogged: 0 };
        act(all.entry(address).or_insert_with(new))
    }
}

fn whose(peer: Option<Peer>) -> IpAddr {
    network_of(peer.map_or(Ipv6Addr::UNSPECIFIED.into(), |Peer(address)| address))
}

#[cfg(test)]
mod tests {
    use futures_util::future::poll_immediate;

    use super::*;

    fn peer(address: impl Into<IpAddr>) -> Option<Peer> {
        Some(Peer(address.into()))
    }

    #[test]
    fn s6_wrong_keys_of_an_address_are_answered_later_and_later() {
        let (auth_failures, begun) = (AuthFailures::default(), Instant::now());
        let at = |millis| begun + Duration::from_millis(millis);
        let (own, other) = (peer([192, 0, 2, 1]), peer([192, 0, 2, 2]));
        for _ in 0..FREE_FAILURES {
            assert_eq!(auth_failures.delay(own, at(0)), Duration::ZERO);
        }
        assert_eq!(auth_failures.delay(own, at(0)), DELAY_STEP);
        assert_eq!(auth_failures.delay(own, at(0)), DELAY_STEP * 2);
        assert_eq!(auth_failures.delay(other, at(0)), Duration::ZERO, "another address");
        for _ in 0..1000 {
            assert!(auth_failures.delay(own, at(0)) <= DELAY_MAX);
        }
        assert_eq!(auth_failures.delay(own, at(0)), DELAY_MAX);
        assert_eq!(
            auth_failures.delay(own, at(60_000)),
            Duration::ZERO,
            "it was quiet for a while"
        );
    }

    /// Guard: beyond 256 that waited, all were answered at once.
    #[tokio::test(start_paused = true)]
    async fn s6_a_wrong_key_waits_however_many_wait() {
        let auth_failures = AuthFailures::default();
        let mut waiting: Vec<_> = (0..4000_u32)
            .map(|n| Box::pin(auth_failures.wait(peer([192, 0, 2, (n % 16) as u8]))))
            .collect();
        let mut free = 0;
        for wait in &mut waiting {
            free += u32::from(poll_immediate(wait).await.is_some());
        }
        assert!(free <= 16 * FREE_FAILURES, "{free}");
    }

    #[test]
    fn s6_a_network_of_addresses_is_one_and_what_is_remembered_is_bounded() {
        let (auth_failures, now) = (AuthFailures::default(), Instant::now());
        let network = |n: u16| peer([0x2001, 0xdb8, 0, 0, 0, 0, 0, n]);
        let waits = (0..100).map(|n| auth_failures.delay(network(n), now));
        assert!(waits.max().unwrap() > Duration::ZERO);
        for n in 0..10_000_u32 {
            auth_failures.delay(peer(n.to_be_bytes()), now);
        }
        assert_eq!(auth_failures.0.lock().unwrap().len(), ADDRESSES_MAX);
    }

    #[test]
    fn s14_refusals_are_told_at_once_and_then_counted() {
        let (auth_failures, begun) = (AuthFailures::default(), Instant::now());
        let told = |millis| {
            auth_failures.to_log(peer([192, 0, 2, 1]), begun + Duration::from_millis(millis))
        };
        assert_eq!([told(0), told(1), told(999), told(1000)], [Some(1), None, None, Some(3)]);
    }
}
