//! Describing a worker: the consumers of events that it serves.

use std::sync::Arc;

use queuekit_core::{ConsumerName, Error, Kind, Payload};

use super::worker::Worker;
use crate::handler::erased::{Erased, Raw, Typed};
use crate::handler::handler::{Handler, RawHandler};
use crate::run::options::KindOptions;

impl Worker {
    /// Runs the deliveries of events of the type of `P` to this consumer. The consumer's queue is
    /// served after the queues that are named, or with weight 1 if they have weights. If no queue
    /// is named, and there are no other handlers, the queues of all consumers have equal shares.
    ///
    /// The consumer's subscription selects the events
    /// ([`Client::consumers`](queuekit_core::Client::consumers)).
    pub fn consume<P, H, C>(self, consumer: C, handler: H) -> Self
    where
        P: Payload,
        H: Handler<P>,
        C: TryInto<ConsumerName, Error: Into<Error>>,
    {
        self.consume_with(consumer, handler, KindOptions::new())
    }

    /// Runs the deliveries of events of the type of `P` to this consumer, with options. The retry
    /// policy of the subscription, if it has one, takes precedence over the handler's.
    pub fn consume_with<P, H, C>(self, consumer: C, handler: H, options: KindOptions) -> Self
    where
        P: Payload,
        H: Handler<P>,
        C: TryInto<ConsumerName, Error: Into<Error>>,
    {
        self.add_consumer(consumer, P::KIND, Arc::new(Typed::new(handler)), options)
    }

    /// Runs the deliveries of events of a type to this consumer without knowing its Rust type.
    pub fn consume_raw<C, K, H>(self, consumer: C, kind: K, handler: H) -> Self
    where
        C: TryInto<ConsumerName, Error: Into<Error>>,
        K: TryInto<Kind, Error: Into<Error>>,
        H: RawHandler,
    {
        self.consume_raw_with(consumer, kind, handler, KindOptions::new())
    }

    /// As [`consume_raw`](Self::consume_raw), with the options of
    /// [`consume_with`](Self::consume_with).
    pub fn consume_raw_with<C, K, H>(
        self,
        consumer: C,
        kind: K,
        handler: H,
        options: KindOptions,
    ) -> Self
    where
        C: TryInto<ConsumerName, Error: Into<Error>>,
        K: TryInto<Kind, Error: Into<Error>>,
        H: RawHandler,
    {
        self.add_consumer(consumer, kind, Arc::new(Raw(handler)), options)
    }

    /// Runs the deliveries of events of all types for which this consumer has no other handler. So
    /// a consumer of `order.*` also handles types that are added later.
    ///
    /// ```
    /// use queuekit::events::{EventDraft, SubscriptionDraft};
    /// use queuekit::memory::MemoryStore;
    /// use queuekit::{Bytes, Client, Ctx, JobResult, Worker};
    ///
    /// async fn audit(data: Bytes, ctx: Ctx) -> JobResult<Option<Bytes>> {
    ///     println!("{}: {} bytes", ctx.kind(), data.len());
    ///     Ok(None)
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> queuekit::Result<()> {
    /// let client = Client::new(MemoryStore::new());
    /// client.subscribe(SubscriptionDraft::new("audit", "*")).await?;
    /// client.emit(EventDraft::new("order.placed", "7")).await?;
    ///
    /// let summary = Worker::new(client).consume_any("audit", audit).run_until_idle().await?;
    /// assert_eq!(summary.completed, 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn consume_any<C, H>(self, consumer: C, handler: H) -> Self
    where
        C: TryInto<ConsumerName, Error: Into<Error>>,
        H: RawHandler,
    {
        self.consume_any_with(consumer, handler, KindOptions::new())
    }

    /// As [`consume_any`](Self::consume_any), with the options of
    /// [`consume_with`](Self::consume_with).
    pub fn consume_any_with<C, H>(mut self, consumer: C, handler: H, options: KindOptions) -> Self
    where
        C: TryInto<ConsumerName, Error: Into<Error>>,
        H: RawHandler,
    {
        let consumer = consumer.try_into().map_err(Into::into);
        let added = consumer.and_then(|consumer| {
            self.settings.kinds.add_any(consumer.queue()?, Arc::new(Raw(handler)), options)
        });
        self.check(added);
        self
    }

    fn add_consumer<C, K>(
        mut self,
        consumer: C,
        kind: K,
        handler: Arc<dyn Erased>,
        options: KindOptions,
    ) -> Self
    where
        C: TryInto<ConsumerName, Error: Into<Error>>,
        K: TryInto<Kind, Error: Into<Error>>,
    {
        let consumer = consumer.try_into().map_err(Into::into);
        let added = consumer.and_then(|consumer| {
            let kind = kind.try_into().map_err(Into::into)?;
            self.settings.kinds.add_consumer(consumer.queue()?, kind, handler, options)
        });
        self.check(added);
        self
    }
}
