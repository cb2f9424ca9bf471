//! Which server a call goes to.

use std::sync::Arc;

use crate::address::Address;
use crate::cluster::Cluster;
use crate::error::{Class, Failure, Outcome};
use crate::node::Node;

pub(crate) enum Topology {
    /// One server has everything; with sentinels it may change.
    One(Arc<Node>),
    Cluster(Box<Cluster>),
}

/// The redirect of a node: which other node to ask.
#[derive(Debug)]
pub(crate) struct Redirect {
    pub(crate) to: Arc<Node>,
    /// For this request only: it has to begin with `ASKING`.
    pub(crate) asking: bool,
}

impl Topology {
    pub(crate) fn is_cluster(&self) -> bool {
        matches!(self, Self::Cluster(_))
    }

    /// The server that has a key.
    pub(crate) async fn node_of(&self, key: &str) -> Outcome<Arc<Node>> {
        match self {
            Self::One(node) => Ok(Arc::clone(node)),
            Self::Cluster(cluster) => cluster.node_of(key).await,
        }
    }

    /// All servers that have data.
    pub(crate) async fn masters(&self) -> Outcome<Vec<Arc<Node>>> {
        match self {
            Self::One(node) => Ok(vec![Arc::clone(node)]),
            Self::Cluster(cluster) => cluster.masters().await,
        }
    }

    /// The group of a key: keys of one group are reached by one connection.
    pub(crate) fn group_of(&self, key: &str) -> Option<u16> {
        match self {
            Self::One(_) => None,
            Self::Cluster(cluster) => Some(cluster.slot_of(key)),
        }
    }

    /// The last known address of the node that has the key, in a Cluster.
    pub(crate) fn address_of(&self, key: &str) -> Option<Address> {
        match self {
            Self::One(_) => None,
            Self::Cluster(cluster) => cluster.address_of(key),
        }
    }

    /// The redirect in this failure of a node, if it is one.
    pub(crate) fn redirect(&self, node: &Node, failure: &Failure) -> Option<Redirect> {
        let (Self::Cluster(cluster), Class::Redirected) = (self, failure.class) else {
            return None;
        };
        let (slot, address, asking) = failure.redirect()?;
        let to = cluster.node_at(&Address::told(address, node.address.as_ref()?)?);
        if !asking {
            cluster.moved(slot, &to);
        }
        Some(Redirect { to, asking })
    }
}
