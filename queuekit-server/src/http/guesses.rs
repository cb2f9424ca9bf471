//! Who sends keys that are none: it is told in the log, and answered later the more they are.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::caller::Peer;

/// Wrong keys of an address that are answered at once,
const FREE: u32 = 10;
/// how far apart the answers to more of them are,
const APART: Duration = Duration::from_millis(250);
/// and how long one waits at most.
const LONGEST: Duration = Duration::from_secs(5);
/// Between two lines of the log about an address.
const QUIET: Duration = Duration::from_secs(1);
/// Addresses that are remembered.
const ADDRESSES: usize = 4096;

/// Those who were refused lately. A right key is never held up by what others of its address send:
/// many clients may stand behind one proxy.
#[derive(Debug, Default)]
pub(super) struct Guesses(Mutex<HashMap<IpAddr, Guesser>>);

#[derive(Debug)]
struct Guesser {
    /// When the next answer would come, had no guess been free.
    next_at: Instant,
    told_at: Option<Instant>,
    /// Refusals since then.
    untold: u64,
}

impl Guesses {
    /// How long the answer to one more wrong key of this address is to wait.
    pub(super) fn wait(&self, peer: Option<Peer>, now: Instant) -> Duration {
        self.of(peer, now, |guesser| {
            let free = APART * FREE;
            guesser.next_at = (guesser.next_at.max(now) + APART).min(now + free + LONGEST);
            guesser.next_at.duration_since(now).saturating_sub(free)
        })
    }

    /// How many refusals of this address a line of the log is to tell of; none if the last one was
    /// written just now.
    pub(super) fn told(&self, peer: Option<Peer>, now: Instant) -> Option<u64> {
        self.of(peer, now, |guesser| {
            guesser.untold += 1;
            if guesser.told_at.is_some_and(|at| now < at + QUIET) {
                return None;
            }
            guesser.told_at = Some(now);
            Some(std::mem::take(&mut guesser.untold))
        })
    }

    fn of<T>(&self, peer: Option<Peer>, now: Instant, act: impl FnOnce(&mut Guesser) -> T) -> T {
        let address = whose(peer);
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= ADDRESSES && !all.contains_key(&address) {
            all.retain(|_, guesser| now < guesser.next_at);
            let oldest = all.iter().min_by_key(|(_, guesser)| guesser.next_at);
            if let Some(oldest) = oldest.map(|(address, _)| *address)
                && all.len() >= ADDRESSES
            {
                all.remove(&oldest);
            }
        }
        let new = || Guesser { next_at: now, told_at: None, untold: 0 };
        act(all.entry(address).or_insert_with(new))
    }
}

/// Whoever has one address of IPv6 has a network of them.
fn whose(peer: Option<Peer>) -> IpAddr {
    let address = peer.map_or(Ipv6Addr::UNSPECIFIED.into(), |Peer(address)| address);
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let network = u128::from(address) >> 64 << 64;
            Ipv6Addr::from(network).into()
        }
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(address: impl Into<IpAddr>) -> Option<Peer> {
        Some(Peer(address.into()))
    }

    #[test]
    fn s6_wrong_keys_of_an_address_are_answered_later_and_later() {
        let (guesses, begun) = (Guesses::default(), Instant::now());
        let at = |millis| begun + Duration::from_millis(millis);
        let (own, other) = (peer([192, 0, 2, 1]), peer([192, 0, 2, 2]));
        for _ in 0..FREE {
            assert_eq!(guesses.wait(own, at(0)), Duration::ZERO);
        }
        assert_eq!(guesses.wait(own, at(0)), APART);
        assert_eq!(guesses.wait(own, at(0)), APART * 2);
        assert_eq!(guesses.wait(other, at(0)), Duration::ZERO, "another address");
        for _ in 0..1000 {
            assert!(guesses.wait(own, at(0)) <= LONGEST);
        }
        assert_eq!(guesses.wait(own, at(0)), LONGEST);
        assert_eq!(guesses.wait(own, at(60_000)), Duration::ZERO, "it was quiet for a while");
    }

    #[test]
    fn s6_a_network_of_addresses_is_one_and_what_is_remembered_is_bounded() {
        let (guesses, now) = (Guesses::default(), Instant::now());
        let network = |n: u16| peer([0x2001, 0xdb8, 0, 0, 0, 0, 0, n]);
        let waits = (0..100).map(|n| guesses.wait(network(n), now));
        assert!(waits.max().unwrap() > Duration::ZERO);
        for n in 0..10_000_u32 {
            guesses.wait(peer(n.to_be_bytes()), now);
        }
        assert_eq!(guesses.0.lock().unwrap().len(), ADDRESSES);
    }

    #[test]
    fn s14_refusals_are_told_at_once_and_then_counted() {
        let (guesses, begun) = (Guesses::default(), Instant::now());
        let told =
            |millis| guesses.told(peer([192, 0, 2, 1]), begun + Duration::from_millis(millis));
        assert_eq!([told(0), told(1), told(999), told(1000)], [Some(1), None, None, Some(3)]);
    }
}
