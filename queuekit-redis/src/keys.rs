//! The names of keys: `prefix:{tag}:queue:part`. All keys of a queue are in one hash slot.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use queuekit_core::QueueName;

use crate::layout::{HISTORY, JOBS, LOG, PLAIN, QUEUE, SCHEDULES, WORKERS};

/// Queues of events share a slot, so that one script reaches all of them.
const EVENTS: &str = "event.";

/// For how many queues the names of their keys are kept, up to 7 KB for each. The number is bounded
/// because callers can invent queue names without end.
const QUEUES: usize = 4096;

/// The keys of a queue.
pub(crate) type QueueKeys = Arc<[String]>;

#[derive(Debug)]
pub(crate) struct Keyspace {
    prefix: String,
    /// The names of the keys of queues that were used lately.
    queues: Mutex<HashMap<QueueName, QueueKeys>>,
}

impl Keyspace {
    pub(crate) fn new(prefix: &str) -> Self {
        Self { prefix: prefix.to_owned(), queues: Mutex::default() }
    }

    pub(crate) fn prefix(&self) -> &str {
        &self.prefix
    }

    pub(crate) fn of(&self, queue: &QueueName) -> QueueKeys {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(keys) = queues.get(queue) {
            return Arc::clone(keys);
        }
        let name = queue.as_str();
        let tag = if name.starts_with(EVENTS) { "events" } else { name };
        let key = |part: &&str| format!("{}:{{{tag}}}:{name}:{part}", self.prefix);
        let keys: QueueKeys = QUEUE.parts.iter().map(key).collect();
        // Making the names again is cheaper than tracking which of them are in use.
        if queues.len() == QUEUES {
            queues.clear();
        }
        queues.insert(queue.clone(), Arc::clone(&keys));
        keys
    }

    /// The settings and counters of a queue. The key exists exactly when the queue does.
    pub(crate) fn meta(&self, queue: &QueueName) -> String {
        self.of(queue)[QUEUE.meta].clone()
    }

    /// The key whose element wakes a sleeper.
    pub(crate) fn marker(&self, queue: &QueueName) -> String {
        self.of(queue)[QUEUE.wake].clone()
    }

    /// The channel for cancels of running jobs; a message is a queue's name.
    pub(crate) fn cancels(&self) -> String {
        format!("{}:cancels", self.prefix)
    }

    /// A key next to a queue, written so that a call can wait for replicas; it expires by itself.
    pub(crate) fn mark(&self, queue: &QueueKeys) -> String {
        format!("{}:waits", queue[QUEUE.meta].trim_end_matches(":meta"))
    }

    /// Which changes of schedules have stored their jobs in a queue. The key outlives the queue, so
    /// that a delayed change stores nothing in a queue that was created again.
    pub(crate) fn fences(&self, queue: &QueueName) -> String {
        format!("{}:fences", self.of(queue)[QUEUE.meta].trim_end_matches(":meta"))
    }

    /// The rows of schedules, their names, when they are due, and their last revision.
    pub(crate) fn schedules(&self) -> QueueKeys {
        let key = |part: &&str| format!("{}:{{schedules}}:{part}", self.prefix);
        SCHEDULES.parts.iter().map(key).collect()
    }

    /// The entries of the audit log.
    pub(crate) fn audit(&self) -> QueueKeys {
        [format!("{}:{{audit}}:entries", self.prefix)].into()
    }

    /// The minute of history that was recorded last, its rows, and which kinds are kept apart.
    pub(crate) fn history(&self) -> QueueKeys {
        let key = |part: &&str| format!("{}:{{history}}:{part}", self.prefix);
        HISTORY.parts.iter().map(key).collect()
    }

    /// The log of events and its settings, in one slot with all queues of events.
    pub(crate) fn log(&self) -> QueueKeys {
        LOG.parts.iter().map(|part| self.of_log(part)).collect()
    }

    /// The key with the data that deliveries of a queue share; none for a queue of other jobs.
    pub(crate) fn event_data(&self, queue: &QueueName) -> Option<String> {
        queue.as_str().starts_with(EVENTS).then(|| self.of_log(LOG.parts[LOG.data]))
    }

    /// The keys `JOBS` of a queue.
    pub(crate) fn records(&self, queue: &QueueName) -> QueueKeys {
        self.some(queue, JOBS.parts)
    }

    /// The keys `PLAIN` of a queue.
    pub(crate) fn plain(&self, queue: &QueueName) -> QueueKeys {
        self.some(queue, PLAIN.parts)
    }

    /// Some keys of a queue, which are listed in the order of `QUEUE`.
    fn some(&self, queue: &QueueName, some: &[&str]) -> QueueKeys {
        let all = self.of(queue);
        let parts = QUEUE.parts.iter().zip(all.iter());
        let needed = parts.filter(|(part, _)| some.contains(part));
        needed.map(|(_, key)| key.clone()).collect()
    }

    fn of_log(&self, part: &str) -> String {
        format!("{}:{{events}}:{part}", self.prefix)
    }

    /// The sorted set of all queues, by name.
    pub(crate) fn registry(&self) -> String {
        format!("{}:queues", self.prefix)
    }

    /// The version of what is stored.
    pub(crate) fn version(&self) -> String {
        format!("{}:version", self.prefix)
    }

    /// The beats of workers, when they run out, ids in order, and orders.
    pub(crate) fn workers(&self) -> QueueKeys {
        let key = |part: &&str| format!("{}:{{workers}}:{part}", self.prefix);
        WORKERS.parts.iter().map(key).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guard: the bound on the queues whose names are kept.
    #[test]
    fn s6_names_of_keys_are_kept_for_a_bounded_number_of_queues() {
        let keyspace = Keyspace::new("qk");
        for number in 0..=2 * QUEUES {
            keyspace.of(&QueueName::new(format!("invented-{number}")).unwrap());
        }
        assert_eq!(keyspace.queues.lock().unwrap().len(), 1);
    }

    #[test]
    fn all_keys_of_a_queue_and_of_all_events_are_of_one_slot() {
        let keyspace = Keyspace::new("qk");
        let of = |name: &str| keyspace.of(&QueueName::new(name).unwrap());
        assert_eq!(of("mail")[0], "qk:{mail}:mail:meta");
        assert_eq!(of("event.mail")[1], "qk:{events}:event.mail:data");
        assert_eq!(keyspace.marker(&QueueName::new("mail").unwrap()), "qk:{mail}:mail:wake");
        let parts = PLAIN.parts.iter().map(|part| format!("qk:{{mail}}:mail:{part}"));
        let plain = keyspace.plain(&QueueName::new("mail").unwrap());
        assert_eq!(plain[..], parts.collect::<Vec<_>>());
        assert_eq!(keyspace.log()[1], "qk:{events}:order");
        let data = |name: &str| keyspace.event_data(&QueueName::new(name).unwrap());
        assert_eq!(data("event.mail").as_deref(), Some("qk:{events}:data"));
        assert_eq!(data("events"), None);
    }
}
