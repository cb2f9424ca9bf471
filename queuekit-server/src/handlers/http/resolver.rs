//! The resolver of the system, which blocks a thread for each look-up.

use std::collections::HashMap;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::connect::Lookup;

/// Most look-ups in progress. A thread stays blocked for as long as a name server is silent, also
/// after the request was given up, and all that blocks in this process has 512 threads.
const LOOKUPS: usize = 128;
/// Most look-ups of names of one domain, whose name server may be silent.
const OF_DOMAIN: usize = 16;

type Resolve = fn(&str, u16) -> io::Result<Vec<SocketAddr>>;

/// Looks up names, few of each domain at a time.
pub(super) struct Resolver {
    resolve: Resolve,
    all: Arc<Semaphore>,
    domains: Mutex<HashMap<String, Weak<Semaphore>>>,
}

/// A look-up in progress, until it is dropped.
struct Place {
    _of_domain: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
}

impl Resolver {
    pub(super) fn of_system() -> Self {
        Self::new(|host, port| Ok((host, port).to_socket_addrs()?.collect()))
    }

    fn new(resolve: Resolve) -> Self {
        Self { resolve, all: Arc::new(Semaphore::new(LOOKUPS)), domains: Mutex::default() }
    }

    async fn place(&self, host: &str) -> io::Result<Place> {
        // Taken first: a look-up that waits for its own domain takes no place of other domains.
        let of_domain = self.domain(host).acquire_owned().await.map_err(io::Error::other)?;
        let of_all = Arc::clone(&self.all).acquire_owned().await.map_err(io::Error::other)?;
        Ok(Place { _of_domain: of_domain, _of_all: of_all })
    }

    /// The places of the host's domain, which is made of its last two labels.
    fn domain(&self, host: &str) -> Arc<Semaphore> {
        let host = host.trim_end_matches('.');
        let start = host.rmatch_indices('.').nth(1).map_or(0, |(dot, _)| dot + 1);
        let domain = host[start..].to_ascii_lowercase();
        let mut domains = self.domains.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(places) = domains.get(&domain).and_then(Weak::upgrade) {
            return places;
        }
        domains.retain(|_, places| places.strong_count() > 0);
        let places = Arc::new(Semaphore::new(OF_DOMAIN));
        domains.insert(domain, Arc::downgrade(&places));
        places
    }
}

impl Lookup for Resolver {
    async fn lookup(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        let place = self.place(host).await?;
        let (resolve, host) = (self.resolve, host.to_owned());
        let looking_up = tokio::task::spawn_blocking(move || {
            // Held until the thread is free again, even if nobody waits for the answer any more.
            let _place = place;
            resolve(&host, port)
        });
        looking_up.await.map_err(io::Error::other)?
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::future::join_all;
    use tokio::sync::Mutex;
    use tokio::time::timeout;

    use super::*;

    /// While it is locked, names that begin with `silent` are not answered.
    static GATE: Mutex<()> = Mutex::const_new(());

    fn resolve(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        if host.starts_with("silent") {
            drop(GATE.blocking_lock());
        }
        Ok(vec![([192, 0, 2, 1], port).into()])
    }

    #[tokio::test]
    async fn s6_names_of_a_silent_domain_keep_few_threads_and_no_other_name_waits() {
        let gate = GATE.lock().await;
        let resolver = Resolver::new(resolve);
        let names: Vec<_> = (0..OF_DOMAIN).map(|n| format!("silent{n}.evil.example")).collect();
        let given_up = |name| timeout(Duration::from_millis(1), resolver.lookup(name, 80));
        for answer in join_all(names.iter().map(|name| given_up(name))).await {
            answer.unwrap_err();
        }
        // Its threads are blocked although nobody waits for them.
        assert_eq!(resolver.all.available_permits(), LOOKUPS - OF_DOMAIN);
        given_up("b.EVIL.example.").await.unwrap_err();
        let found = resolver.lookup("a.other.example", 80).await.unwrap();
        assert_eq!(found, [([192, 0, 2, 1], 80).into()]);
        drop(gate);
        resolver.lookup("b.evil.example", 80).await.unwrap();
        drop(resolver.all.acquire_many(LOOKUPS as u32).await.unwrap());
    }

    #[tokio::test]
    async fn domains_that_nobody_looks_up_are_forgotten() {
        let resolver = Resolver::new(resolve);
        for host in ["a.example", "b.a.example", "b.example", "localhost", "c.d.example."] {
            resolver.lookup(host, 80).await.unwrap();
        }
        assert_eq!(resolver.domains.lock().unwrap().len(), 1);
    }
}
