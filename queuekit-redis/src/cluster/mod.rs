//! The nodes of a Redis Cluster, and the slots that each has.
//!
//! A node that no longer has a slot names the node that has it now. When a node is lost, the slots
//! are asked for anew: another node may have taken its place.

mod slots;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use queuekit_core::{Error, ErrorKind};
use redis::{ConnectionInfo, Value, cmd};
use tokio::runtime::Handle;
use tokio::time::timeout;

use crate::address::Address;
use crate::error::{Class, Failure, Outcome, is_forbidden};
use crate::node::Node;
use crate::repeat::Call;
use slots::{Range, SLOTS, ranges, slot_of};

/// How long one node may take to say where the slots are.
const ANSWER: Duration = Duration::from_secs(1);

pub(crate) struct Cluster {
    /// How to connect to a node, without its address.
    server: ConnectionInfo,
    seeds: Vec<Address>,
    io: Handle,
    map: Mutex<Map>,
    /// Held while asking for the slots, so that only one call asks.
    asks: tokio::sync::Mutex<()>,
}

/// The slots and nodes as last heard.
struct Map {
    /// The node of each slot.
    owners: Vec<Option<Arc<Node>>>,
    nodes: HashMap<Address, Arc<Node>>,
}

impl Cluster {
    pub(crate) fn new(server: ConnectionInfo, seeds: Vec<Address>, io: &Handle) -> Self {
        let owners = vec![None; usize::from(SLOTS)];
        let map = Mutex::new(Map { owners, nodes: HashMap::new() });
        Self { server, seeds, io: io.clone(), map, asks: tokio::sync::Mutex::default() }
    }

    /// The node that has this key.
    pub(crate) async fn node_of(&self, key: &str) -> Outcome<Arc<Node>> {
        let slot = slot_of(key.as_bytes());
        if let Some(node) = self.owner(slot).filter(|node| !node.is_suspect()) {
            return Ok(node);
        }
        let _asks = self.asks.lock().await;
        // Another call may have asked meanwhile.
        if let Some(node) = self.owner(slot).filter(|node| !node.is_suspect()) {
            return Ok(node);
        }
        self.ask_anew().await?;
        self.owner(slot).ok_or_else(|| {
            Failure::for_now(format!("no master of the cluster has slot {slot}; assign it"))
        })
    }

    /// All nodes that have slots.
    pub(crate) async fn masters(&self) -> Outcome<Vec<Arc<Node>>> {
        let _asks = self.asks.lock().await;
        self.ask_anew().await?;
        let mut masters: Vec<Arc<Node>> = self.map().nodes.values().cloned().collect();
        masters.sort_by_key(|node| node.address.as_ref().map(ToString::to_string));
        Ok(masters)
    }

    /// The node at this address.
    pub(crate) fn node_at(&self, address: &Address) -> Arc<Node> {
        let mut map = self.map();
        let new = || Arc::new(Node::at(&address.like(&self.server), &self.io));
        Arc::clone(map.nodes.entry(address.clone()).or_insert_with(new))
    }

    /// Notes that a node has named another one for this slot.
    pub(crate) fn moved(&self, slot: u16, to: &Arc<Node>) {
        if let Some(owner) = self.map().owners.get_mut(usize::from(slot)) {
            *owner = Some(Arc::clone(to));
        }
    }

    /// The last known address of the node that has the key.
    pub(crate) fn address_of(&self, key: &str) -> Option<Address> {
        self.owner(slot_of(key.as_bytes()))?.address.clone()
    }

    pub(crate) fn slot_of(&self, key: &str) -> u16 {
        slot_of(key.as_bytes())
    }

    fn owner(&self, slot: u16) -> Option<Arc<Node>> {
        self.map().owners.get(usize::from(slot)).cloned().flatten()
    }

    /// Asks node after node, those without failures first, until one names the slots.
    async fn ask_anew(&self) -> Outcome<()> {
        let mut known: Vec<(bool, u32, Address)> = {
            let map = self.map();
            let seeds = self.seeds.iter().filter(|seed| !map.nodes.contains_key(seed));
            let nodes = map.nodes.iter().map(|(address, node)| (node.is_suspect(), address));
            let known = nodes.chain(seeds.map(|seed| (false, seed)));
            known.map(|(suspect, address)| (suspect, fastrand::u32(..), address.clone())).collect()
        };
        known.sort_by_key(|(suspect, chance, _)| (*suspect, *chance));
        let mut last = Failure::for_now("no node of the cluster is known");
        for (_, _, address) in known {
            match self.ask(&address).await {
                Ok(ranges) => {
                    self.learn(&ranges);
                    return Ok(());
                }
                Err(failure) => last = failure.before_sending(),
            }
        }
        Err(last)
    }

    async fn ask(&self, address: &Address) -> Outcome<Vec<Range>> {
        let node = self.node_at(address);
        let link = node.link(Call::Read);
        let asked = async {
            let (generation, mut connection) = link.get().await?;
            let question = cmd("CLUSTER").arg("SLOTS").to_owned();
            let answer = connection.send_packed_command(&question).await;
            let answer = answer.and_then(Value::extract_error).map_err(Failure::from);
            if answer.is_err() {
                link.lost(generation).await;
            }
            let answer = answer.map_err(|failure| no_node(failure, address))?;
            ranges(answer, address).filter(|ranges| !ranges.is_empty()).ok_or_else(|| {
                Failure::for_now(format!("{address} does not say which nodes have the slots"))
            })
        };
        let silent = || Failure::for_now(format!("{address} does not answer"));
        timeout(ANSWER, asked).await.unwrap_or_else(|_| Err(silent()))
    }

    /// Takes over the slots, and forgets nodes that have none any more.
    fn learn(&self, ranges: &[Range]) {
        let mut owners = vec![None; usize::from(SLOTS)];
        let mut nodes = HashMap::new();
        for Range { slots, address } in ranges {
            let node = self.node_at(address);
            node.suspect(false);
            for slot in slots.clone() {
                if let Some(owner) = owners.get_mut(usize::from(slot)) {
                    *owner = Some(Arc::clone(&node));
                }
            }
            nodes.insert(address.clone(), node);
        }
        *self.map() = Map { owners, nodes };
    }

    fn map(&self) -> MutexGuard<'_, Map> {
        self.map.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A server that refuses the question for good, and not for lack of a right, is no node of a
/// Cluster.
fn no_node(failure: Failure, address: &Address) -> Failure {
    if failure.class != Class::Final || is_forbidden(&failure.error) {
        return failure;
    }
    let message = format!("{address} is not a node of a Cluster; open a single server as redis:");
    Error::new(ErrorKind::Unsupported, message).caused_by(failure.error).into()
}
