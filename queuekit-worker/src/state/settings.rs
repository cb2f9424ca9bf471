//! What a worker was built with.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use queuekit_core::{Client, Kind, LeaseTtl, QueueName, RetryPolicy};

use crate::handler::hooks::Hooks;
use crate::handler::kinds::Kinds;
use crate::handler::middleware::Middleware;
use crate::run::values::Values;

/// How often a store is pruned and repaired, by default (contract R13.7).
pub(crate) const UPKEEP_EVERY: Duration = Duration::from_secs(10);

pub(crate) struct Settings {
    pub(crate) client: Client,
    pub(crate) name: String,
    pub(crate) queues: Vec<QueueName>,
    /// Weights beside the queues; strict order without.
    pub(crate) weights: Option<Vec<u8>>,
    pub(crate) queue_limits: HashMap<QueueName, usize>,
    pub(crate) kind_limits: HashMap<Kind, usize>,
    pub(crate) slots: usize,
    pub(crate) ttl: LeaseTtl,
    pub(crate) poll_interval: Duration,
    pub(crate) quiet_when_idle: bool,
    pub(crate) upkeep_interval: Duration,
    pub(crate) timeout_grace: Duration,
    pub(crate) drain_timeout: Duration,
    pub(crate) retry: RetryPolicy,
    pub(crate) kinds: Kinds,
    pub(crate) middleware: Vec<Arc<dyn Middleware>>,
    pub(crate) hooks: Vec<Arc<dyn Hooks>>,
    pub(crate) values: Values,
}

impl Settings {
    /// The defaults.
    pub(crate) fn new(client: Client) -> Self {
        Self {
            client,
            name: "worker".to_owned(),
            queues: Vec::new(),
            weights: None,
            queue_limits: HashMap::new(),
            kind_limits: HashMap::new(),
            slots: 10,
            ttl: LeaseTtl::default(),
            poll_interval: Duration::from_secs(1),
            quiet_when_idle: false,
            upkeep_interval: UPKEEP_EVERY,
            timeout_grace: Duration::from_secs(10),
            drain_timeout: Duration::from_secs(30),
            retry: RetryPolicy::DEFAULT,
            kinds: Kinds::default(),
            middleware: Vec::new(),
            hooks: Vec::new(),
            values: Values::default(),
        }
    }

    /// Adds the queues that are implied: `default` if none is named, and those of consumers.
    pub(crate) fn complete_queues(&mut self) {
        if self.queues.is_empty() && self.weights.is_none() {
            if self.kinds.only_consumes() {
                // None of them is to wait until another has nothing to do.
                self.weights = Some(Vec::new());
            } else {
                self.queues.push(QueueName::default());
            }
        }
        for queue in self.kinds.consumers() {
            if !self.queues.contains(queue) {
                self.queues.push(queue.clone());
                self.weights.iter_mut().for_each(|weights| weights.push(1));
            }
        }
    }
}
