//! The client: it enqueues and emits, and gives access to everything that is stored.

mod audit;
mod calls;
mod coalescer;
mod coalescers;
mod emit;
mod error_groups;
mod events;
mod history;
mod inspection;
mod jobs;
mod looks;
mod outcomes;
mod queues;
mod request;
mod schema;
mod trace;
mod wait;
mod workers;

use std::fmt;
use std::sync::Arc;

pub use audit::Audit;
pub use emit::{EmitAll, EmitRequest};
pub use error_groups::ErrorGroups;
pub use events::Events;
pub use history::History;
pub use inspection::Inspection;
pub use jobs::Jobs;
pub use outcomes::{Emitted, Enqueued, Outcomes};
pub use queues::Queues;
pub use request::{EnqueueAll, EnqueueRequest};
pub use schema::Schema;
pub use trace::TraceContext;
pub use workers::Workers;

use crate::backend::{Ack, AckOutcome, Backend, Nack, NackOutcome};
use crate::declared::Declared;
use crate::error::{Error, Result};
use crate::event::{Consumers, EventDraft, SubscriptionDraft};
use crate::job::IntoJob;
use crate::schedule::{ScheduleDraft, Scheduler};
use calls::Calls;
use trace::TraceSource;

/// A handle on a store; clones share it.
///
/// ```
/// use queuekit::memory::MemoryStore;
/// use queuekit::{Client, JobDraft, State};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> queuekit::Result<()> {
/// let client = Client::new(MemoryStore::new()); // or `queuekit::connect(url).await?`
/// let id = client.enqueue(JobDraft::new("greet", r#"{"name": "Ada"}"#)).queue("mails").await?;
/// client.jobs().cancel(id).await?;
/// assert_eq!(client.jobs().wait(id).await?.state, State::Cancelled);
/// # Ok(())
/// # }
/// ```
///
/// Calls made while a flush is in progress are merged into the next one. An idle store is called
/// immediately, and a busy one gets batches that grow with the load. Calls that share a flush do
/// not affect each other (contract R2.10).
///
/// Do not call a client inside your own open transaction if that holds the store's locks: on SQLite
/// this is a deadlock until the call's timeout.
#[derive(Clone)]
pub struct Client {
    calls: Calls,
}

impl Client {
    /// A client of this store.
    pub fn new(backend: impl Backend) -> Self {
        Self::shared(Arc::new(backend))
    }

    /// A client of a store that is shared.
    pub fn shared(backend: Arc<dyn Backend>) -> Self {
        Self { calls: Calls::of(backend) }
    }

    /// The store. Calls through it are [measured](crate::metrics).
    pub fn backend(&self) -> &Arc<dyn Backend> {
        &self.calls.backend
    }

    /// Asks `source`, once per call, for the span that the call belongs to. The jobs and events of
    /// the call carry it in their metadata, as `traceparent` and `tracestate`, so that their runs
    /// continue its trace. Those that have a `traceparent` keep theirs.
    ///
    /// A span for which the metadata has no room is left out. Clones have the same source, and so
    /// has `ctx.client()` in handlers.
    ///
    /// ```
    /// use queuekit::memory::MemoryStore;
    /// use queuekit::{Client, JobDraft, TraceContext};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> queuekit::Result<()> {
    /// let current = || {
    ///     // With OpenTelemetry: from the context of `tracing::Span::current()`.
    ///     let traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    ///     TraceContext::parse(traceparent, None)
    /// };
    /// let client = Client::new(MemoryStore::new()).trace_context(current);
    /// let id = client.enqueue(JobDraft::new("greet", "{}")).await?;
    /// let job = client.jobs().get(id).await?.expect("it is stored");
    /// assert_eq!(TraceContext::of(&job.metadata), current());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn trace_context(
        mut self,
        source: impl Fn() -> Option<TraceContext> + Send + Sync + 'static,
    ) -> Self {
        self.calls.trace = Some(TraceSource::new(source));
        self
    }

    /// Enqueues a job when awaited. Chain options before `.await`.
    ///
    /// ```
    /// # use queuekit::{Client, Payload, Priority, memory::MemoryStore};
    /// # #[derive(serde::Serialize, serde::Deserialize)]
    /// # struct Greet { name: String }
    /// # impl Payload for Greet { const KIND: &'static str = "greet"; }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> queuekit::Result<()> {
    /// let client = Client::new(MemoryStore::new());
    /// let greet = Greet { name: "Ada".into() };
    /// let id = client.enqueue(greet).queue("greetings").priority(Priority::HIGH).await?;
    /// assert!(client.jobs().get(id).await?.is_some());
    /// # Ok(())
    /// # }
    /// ```
    pub fn enqueue(&self, job: impl IntoJob) -> EnqueueRequest<'_> {
        EnqueueRequest::new(&self.calls, job.into())
    }

    /// Enqueues jobs in one atomic call when awaited, with an outcome per job (contract R2.3):
    /// `client.enqueue_all(jobs).await?.ids()?` fails if a job was refused.
    pub fn enqueue_all<D: IntoJob>(&self, jobs: impl IntoIterator<Item = D>) -> EnqueueAll<'_> {
        EnqueueAll::new(&self.calls, jobs.into_iter().map(Into::into))
    }

    /// Records successes. Calls made at the same time are merged.
    ///
    /// # Errors
    /// Those of [`Backend::ack`].
    pub async fn ack(&self, acks: Vec<Ack>) -> Result<Vec<AckOutcome>> {
        self.calls.coalescers.acks.submit(acks).await
    }

    /// Records failures, releases and cancellations. Calls made at the same time are merged.
    ///
    /// # Errors
    /// Those of [`Backend::nack`].
    pub async fn nack(&self, nacks: Vec<Nack>) -> Result<Vec<NackOutcome>> {
        self.calls.coalescers.nacks.submit(nacks).await
    }

    /// Stores an event, and a delivery for each consumer that subscribes to its type, in one step
    /// when awaited. Chain options before `.await`.
    ///
    /// ```
    /// use queuekit::events::{EventDraft, SubscriptionDraft};
    /// use queuekit::{Client, memory::MemoryStore};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> queuekit::Result<()> {
    /// # let client = Client::new(MemoryStore::new());
    /// client.subscribe(SubscriptionDraft::new("shipping", "order.*").ordered()).await?;
    /// client.emit(EventDraft::new("order.placed", "7")).partition_key("customer-3").await?;
    /// assert_eq!(client.consumers().stats("shipping").await?.depth, 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn emit(&self, event: impl Into<EventDraft>) -> EmitRequest<'_> {
        EmitRequest::new(&self.calls, event.into())
    }

    /// Stores events in one atomic call when awaited, with an outcome per event:
    /// `client.emit_all(events).await?.ids()?` fails if an event was refused.
    ///
    /// # Errors
    /// When awaited: `Invalid`, naming the event and the field that breaks its limit;
    /// `Unsupported` if the store keeps no events; `Unavailable`, `Indeterminate`, `Closed`.
    pub fn emit_all<D: Into<EventDraft>>(
        &self,
        events: impl IntoIterator<Item = D>,
    ) -> EmitAll<'_> {
        EmitAll::new(&self.calls, events.into_iter().map(Into::into))
    }

    /// Declares a schedule. Do this at each start: changes by an operator persist until the
    /// declaration changes. See [`Scheduler::declare`].
    ///
    /// # Errors
    /// `Invalid`, naming the field that breaks its limit; those of [`Scheduler::declare`].
    pub async fn schedule(&self, draft: ScheduleDraft) -> Result<Declared> {
        self.schedules().declare(draft).await.map_err(|error: Error| error.during("schedule"))
    }

    /// Declares the subscription of a consumer, in the same way as [`schedule`](Self::schedule)
    /// does for a schedule. See [`Consumers::declare`].
    ///
    /// # Errors
    /// `Invalid`, naming the field that breaks its limit; those of [`Consumers::declare`].
    pub async fn subscribe(&self, draft: SubscriptionDraft) -> Result<Declared> {
        self.consumers().declare(draft).await.map_err(|error: Error| error.during("subscribe"))
    }

    /// Stored jobs: get, list, wait for, cancel, retry, reschedule, delete.
    pub fn jobs(&self) -> Jobs<'_> {
        Jobs::of(&self.calls)
    }

    /// Queues: list, configure, pause, resume, remove.
    pub fn queues(&self) -> Queues<'_> {
        Queues::of(&*self.calls.backend)
    }

    /// Schedules: declare, list, pause, resume, run now, delete.
    pub fn schedules(&self) -> Scheduler<'_> {
        Scheduler::of(&*self.calls.backend)
    }

    /// The log of events: list, and how long they are kept.
    pub fn events(&self) -> Events<'_> {
        Events::of(&*self.calls.backend)
    }

    /// Consumers of events: subscribe, list, enable, replay.
    pub fn consumers(&self) -> Consumers<'_> {
        Consumers::of(&*self.calls.backend)
    }

    /// Workers that are alive: list, give orders, remove.
    pub fn workers(&self) -> Workers<'_> {
        Workers::of(&*self.calls.backend)
    }

    /// Groups of errors that look alike: list, get, retry, purge.
    pub fn error_groups(&self) -> ErrorGroups<'_> {
        ErrorGroups::of(&*self.calls.backend)
    }

    /// How things were an hour ago: totals of queues, and what runs were like.
    pub fn history(&self) -> History<'_> {
        History::of(&*self.calls.backend)
    }

    /// The audit log: list, and add an entry.
    pub fn audit(&self) -> Audit<'_> {
        Audit::of(&*self.calls.backend)
    }

    /// What the store says about itself: durability, facts, findings.
    pub fn inspect(&self) -> Inspection<'_> {
        Inspection::of(&*self.calls.backend)
    }

    /// The versions of the store's schema: status, migrate.
    pub fn schema(&self) -> Schema<'_> {
        Schema::of(&*self.calls.backend)
    }

    /// Closes the store's handle, for all clients that share it.
    ///
    /// # Errors
    /// Those of [`Backend::close`].
    pub async fn close(&self) -> Result<()> {
        self.calls.backend.close().await
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Client").field(&self.calls.backend).finish()
    }
}
