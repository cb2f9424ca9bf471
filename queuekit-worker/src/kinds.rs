//! The handlers of a worker, by kind.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Display;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use queuekit_core::{
    Bytes, Error, ErrorKind, Kind, Lease, Payload, QueueName, Result, RetryPolicy,
};
use serde::Serialize;

use crate::execute::{Holder, execute};
use crate::{Ctx, Handler, JobError, JobResult, RawHandler};

/// How the jobs of one kind are run.
#[derive(Clone, Debug, Default)]
#[must_use = "options change nothing until a handler is given with them"]
pub struct KindOptions {
    pub(crate) timeout: Option<Duration>,
    pub(crate) retry: Option<RetryPolicy>,
}

impl KindOptions {
    /// The jobs' own timeouts, and the worker's retry policy.
    pub fn new() -> Self {
        Self::default()
    }

    /// How long one run may take, in place of what each job says [the job's].
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// When a failed job of this kind runs again [the worker's].
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.retry = Some(policy);
        self
    }
}

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

    pub(crate) fn options(&self, handler: usize) -> &KindOptions {
        &self.handlers[handler].1
    }
}

fn twice(message: &str, of: impl Display) -> Error {
    Error::new(ErrorKind::Conflict, message).on(of)
}

/// A handler whose types are forgotten.
pub(crate) trait Erased: Send + Sync {
    /// Runs one job in a task of its own.
    fn spawn(self: Arc<Self>, holder: Holder, ctx: Ctx);

    /// Runs one job, for middleware that wraps it.
    fn call<'a>(&'a self, ctx: Ctx) -> BoxFuture<'a, JobResult<Option<Bytes>>>;
}

/// A handler of payloads.
pub(crate) struct Typed<P, H> {
    handler: H,
    payload: PhantomData<fn(P)>,
}

impl<P: Payload, H: Handler<P>> Typed<P, H> {
    pub(crate) fn new(handler: H) -> Self {
        Self { handler, payload: PhantomData }
    }

    async fn run(&self, ctx: Ctx) -> JobResult<Option<Bytes>> {
        let job = P::decode(ctx.payload()).map_err(JobError::retry)?;
        let output = self.handler.call(job, ctx).await?;
        encode(&output)
    }
}

impl<P: Payload, H: Handler<P>> Erased for Typed<P, H> {
    fn spawn(self: Arc<Self>, holder: Holder, ctx: Ctx) {
        tokio::spawn(execute(holder, async move { self.run(ctx).await }));
    }

    fn call<'a>(&'a self, ctx: Ctx) -> BoxFuture<'a, JobResult<Option<Bytes>>> {
        Box::pin(self.run(ctx))
    }
}

/// A handler of bytes.
pub(crate) struct Raw<H>(pub(crate) H);

impl<H: RawHandler> Erased for Raw<H> {
    fn spawn(self: Arc<Self>, holder: Holder, ctx: Ctx) {
        let run = async move { self.0.call(ctx.payload().clone(), ctx).await };
        tokio::spawn(execute(holder, run));
    }

    fn call<'a>(&'a self, ctx: Ctx) -> BoxFuture<'a, JobResult<Option<Bytes>>> {
        Box::pin(self.0.call(ctx.payload().clone(), ctx))
    }
}

/// The bytes that are stored as a job's result; nothing for `()`.
fn encode<R: Serialize>(output: &R) -> JobResult<Option<Bytes>> {
    let unit = size_of::<R>() == 0 && {
        let mut start = [0; 4];
        let mut rest = &mut start[..];
        serde_json::to_writer(&mut rest, output).is_ok() && &start == b"null"
    };
    if unit {
        return Ok(None);
    }
    let json = serde_json::to_vec(output).map_err(|error| {
        JobError::retry(format!("the result cannot be written as JSON: {error}"))
    })?;
    Ok(Some(json.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    enum One {
        Only,
    }

    #[test]
    fn unit_stores_nothing_and_everything_else_is_json() {
        let json = |bytes: Option<Bytes>| bytes.map(|b| String::from_utf8(b.to_vec()).unwrap());
        assert_eq!(json(encode(&()).unwrap()), None);
        assert_eq!(json(encode(&7).unwrap()).as_deref(), Some("7"));
        assert_eq!(json(encode(&None::<u8>).unwrap()).as_deref(), Some("null"));
        assert_eq!(json(encode(&One::Only).unwrap()).as_deref(), Some("\"Only\""));
    }
}
