//! The nodes of a Redis Cluster, and which of them has what.
//!
//! A slot that has moved is learned of the node that had it. Where nodes stand is asked anew when
//! one is lost: another may have taken its place.

mod slots;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use queuekit_core::{Error, ErrorKind};
use redis::{ConnectionInfo, Value, cmd};
use tokio::runtime::Handle;
use tokio::time::timeout;

use crate::address::Address;
use crate::call::Call;
use crate::error::{Class, Failure, Outcome, is_forbidden};
use crate::node::Node;
use slots::{Range, SLOTS, ranges, slot_of};

/// How long one node may take to say where the slots are.
const ANSWER: Duration = Duration::from_secs(1);

pub(crate) struct Cluster {
    /// How to connect to a node, but for its address.
    server: ConnectionInfo,
    seeds: Vec<Address>,
    io: Handle,
    map: Mutex<Map>,
    /// Held by who asks where the slots are, so that nobody else does.
    asks: tokio::sync::Mutex<()>,
}

/// What was last heard.
struct Map {
    /// By slot the node that has it.
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
        // Somebody may have asked meanwhile.
        if let Some(node) = self.owner(slot).filter(|node| !node.is_suspect()) {
            return Ok(node);
        }
        self.ask_anew().await?;
        self.owner(slot).ok_or_else(|| {
            Failure::for_now(format!("no master of the cluster has slot {slot}; assign it"))
        })
    }

    /// All that have slots.
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

    /// A node says that another one has this slot.
    pub(crate) fn moved(&self, slot: u16, to: &Arc<Node>) {
        if let Some(owner) = self.map().owners.get_mut(usize::from(slot)) {
            *owner = Some(Arc::clone(to));
        }
    }

    /// Where the key was last seen.
    pub(crate) fn address_of(&self, key: &str) -> Option<Address> {
        self.owner(slot_of(key.as_bytes()))?.address.clone()
    }

    pub(crate) fn slot_of(&self, key: &str) -> u16 {
        slot_of(key.as_bytes())
    }

    fn owner(&self, slot: u16) -> Option<Arc<Node>> {
        self.map().owners.get(usize::from(slot)).cloned().flatten()
    }

    /// Asks node after node, the good ones first, until one says where the slots are.
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
                Failure::for_now(format!("{address} does not tell who has which slot"))
            })
        };
        let silent = || Failure::for_now(format!("{address} says nothing"));
        timeout(ANSWER, asked).await.unwrap_or_else(|_| Err(silent()))
    }

    /// Nodes that have no slot any more are forgotten.
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

/// What refuses the question for good, and not for want of a right, is of no Cluster.
fn no_node(failure: Failure, address: &Address) -> Failure {
    if failure.class != Class::Final || is_forbidden(&failure.error) {
        return failure;
    }
    let message = format!("{address} is no node of a Cluster; open a single server as redis:");
    Error::new(ErrorKind::Unsupported, message).caused_by(failure.error).into()
}
