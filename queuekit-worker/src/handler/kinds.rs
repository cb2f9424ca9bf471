//! The handlers of a worker, by kind.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Display;
use std::sync::Arc;

use queuekit_core::{Error, ErrorKind, Kind, Lease, QueueName, Result};

use super::erased::Erased;
use crate::run::options::KindOptions;

/// Handlers by kind; those of consumers of events by queue too.
#[derive(Default)]
pub(crate) struct Kinds {
    by_kind: HashMap<Kind, usize>,
    by_consumer: HashMap<QueueName, OfConsumer>,
    handlers: Vec<(Arc<dyn Erased>, KindOptions)>,
}

/// The handlers of one consumer.
#[derive(Default)]
struct OfConsumer {
    by_kind: HashMap<Kind, usize>,
    /// Of what is in none of those.
    any: Option<usize>,
}

impl Kinds {
    pub(crate) fn add(
        &mut self,
        kind: Kind,
        handler: Arc<dyn Erased>,
        options: KindOptions,
    ) -> Result<()> {
        if self.by_kind.contains_key(&kind) {
            return Err(twice(
                "two handlers for this kind; a worker has one handler per kind",
                &kind,
            ));
        }
        let handler = self.push(&kind, handler, options)?;
        self.by_kind.insert(kind, handler);
        Ok(())
    }

    /// A handler for deliveries in the queue of a consumer.
    pub(crate) fn add_consumer(
        &mut self,
        queue: QueueName,
        kind: Kind,
        handler: Arc<dyn Erased>,
        options: KindOptions,
    ) -> Result<()> {
        if self.by_consumer.get(&queue).is_some_and(|its| its.by_kind.contains_key(&kind)) {
            let message = "two handlers of one consumer for this type of event";
            return Err(twice(message, &kind));
        }
        let handler = self.push(&kind, handler, options)?;
        self.by_consumer.entry(queue).or_default().by_kind.insert(kind, handler);
        Ok(())
    }

    /// The handler of a consumer for what it has no other for.
    pub(crate) fn add_any(
        &mut self,
        queue: QueueName,
        handler: Arc<dyn Erased>,
        options: KindOptions,
    ) -> Result<()> {
        if self.by_consumer.get(&queue).is_some_and(|its| its.any.is_some()) {
            return Err(twice("two handlers of one consumer for any type of event", &queue));
        }
        let handler = self.push(&queue, handler, options)?;
        self.by_consumer.entry(queue).or_default().any = Some(handler);
        Ok(())
    }

    fn push(
        &mut self,
        of: impl Display,
        handler: Arc<dyn Erased>,
        options: KindOptions,
    ) -> Result<usize> {
        if options.timeout.is_some_and(|timeout| timeout.is_zero()) {
            return Err(Error::invalid("timeout", "at least 1 ms", "0 ms").on(of));
        }
        self.handlers.push((handler, options));
        Ok(self.handlers.len() - 1)
    }

    /// Finds the handlers of leased jobs; that of the last is as a rule that of the next.
    pub(crate) fn finder(&self) -> impl FnMut(&Lease) -> Option<usize> {
        let mut last: Option<(QueueName, Kind, Option<usize>)> = None;
        move |lease| {
            let (queue, kind) = (&lease.token.queue, &lease.kind);
            if let Some((_, _, handler)) = last.as_ref().filter(|(q, k, _)| q == queue && k == kind)
            {
                return *handler;
            }
            // What a consumer has no handler for is not the business of another.
            let handler = match self.by_consumer.get(queue) {
                Some(its) => its.by_kind.get(kind).copied().or(its.any),
                None => self.by_kind.get(kind).copied(),
            };
            last = Some((queue.clone(), kind.clone(), handler));
            handler
        }
    }

    /// Every kind there is a handler for, each once; of a consumer with one for any, its queue.
    pub(crate) fn names(&self) -> BTreeSet<Kind> {
        let of_consumers = self.by_consumer.values().flat_map(|its| its.by_kind.keys());
        let any = self.by_consumer.iter().filter(|(_, its)| its.any.is_some());
        let any = any.filter_map(|(queue, _)| Kind::new(queue.as_str()).ok());
        self.by_kind.keys().chain(of_consumers).cloned().chain(any).collect()
    }

    /// Whether jobs of this kind may find a handler here.
    pub(crate) fn may_handle(&self, kind: &Kind) -> bool {
        self.by_kind.contains_key(kind)
            || self
                .by_consumer
                .values()
                .any(|its| its.any.is_some() || its.by_kind.contains_key(kind))
    }

    /// The queues of the consumers there are handlers for, by name.
    pub(crate) fn consumers(&self) -> BTreeSet<&QueueName> {
        self.by_consumer.keys().collect()
    }

    /// Whether all handlers are those of consumers.
    pub(crate) fn only_consumes(&self) -> bool {
        self.by_kind.is_empty() && !self.by_consumer.is_empty()
    }

    pub(crate) fn handler(&self, handler: usize) -> &Arc<dyn Erased> {
        &self.handlers[handler].0
    }

    /// The options of every handler, by their places.
    pub(crate) fn options(&self) -> Vec<KindOptions> {
        self.handlers.iter().map(|(_, options)| options.clone()).collect()
    }
}

fn twice(message: &str, of: impl Display) -> Error {
    Error::new(ErrorKind::Conflict, message).on(of)
}
