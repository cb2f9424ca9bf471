//! The connections to one server.

use std::sync::atomic::{AtomicBool, Ordering};

use redis::ConnectionInfo;
use tokio::runtime::Handle;

use crate::address::Address;
use crate::connection::{Link, Server};
use crate::repeat::Call;

#[derive(Debug)]
pub(crate) struct Node {
    /// None if it is not reached by network.
    pub(crate) address: Option<Address>,
    calls: Link,
    /// A connection for heartbeats only, so that no large call holds them up.
    heartbeats: Link,
    /// A connection for calls that wait for replicas, so that they hold up no others.
    waits: Link,
    /// A call to it has failed; in a Cluster, another node may have taken its place.
    suspect: AtomicBool,
}

impl Node {
    pub(crate) fn at(server: &ConnectionInfo, io: &Handle) -> Self {
        Self {
            address: Address::of(server),
            ..Self::of(&Server::Here(Box::new(server.clone())), io)
        }
    }

    pub(crate) fn of(server: &Server, io: &Handle) -> Self {
        let link = || Link::new(server.clone(), io);
        let suspect = AtomicBool::new(false);
        Self { address: None, calls: link(), heartbeats: link(), waits: link(), suspect }
    }

    /// The connection for a call.
    pub(crate) fn link(&self, call: Call) -> &Link {
        match call {
            Call::Heartbeat | Call::HeartbeatGlance => &self.heartbeats,
            Call::Stored => &self.waits,
            Call::Read | Call::Repeatable | Call::Once | Call::Glance => &self.calls,
        }
    }

    pub(crate) fn is_suspect(&self) -> bool {
        self.suspect.load(Ordering::Acquire)
    }

    pub(crate) fn suspect(&self, suspect: bool) {
        self.suspect.store(suspect, Ordering::Release);
    }
}
