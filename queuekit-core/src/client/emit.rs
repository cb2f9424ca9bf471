//! Emit calls that are described, then awaited.

use std::future::IntoFuture;
use std::time::Duration;

use futures_util::future::BoxFuture;

use super::Emitted;
use super::calls::Calls;
use crate::capability::{EmitOutcome, emitted};
use crate::error::{Error, Result};
use crate::event::{EventDraft, EventId, NewEvent};
use crate::job::Metadata;
use crate::names::{IdempotencyKey, PartitionKey};

/// One event to emit. Awaiting it returns the id under which the event is stored: its own, or that
/// of its duplicate.
///
/// If its future is dropped after it was polled, the event may or may not be stored. With an
/// [`id`](Self::id) of your own, you can safely repeat the call.
#[derive(Debug)]
#[must_use = "nothing is emitted until this is awaited"]
pub struct EmitRequest<'a> {
    calls: &'a Calls,
    draft: EventDraft,
}

impl<'a> EmitRequest<'a> {
    pub(super) fn new(calls: &'a Calls, draft: EventDraft) -> Self {
        Self { calls, draft }
    }

    /// See [`EventDraft::partition_key`].
    pub fn partition_key<K: TryInto<PartitionKey, Error: Into<Error>>>(self, key: K) -> Self {
        self.with(|draft| draft.partition_key(key))
    }

    /// See [`EventDraft::idempotency_key`].
    pub fn idempotency_key<K: TryInto<IdempotencyKey, Error: Into<Error>>>(self, key: K) -> Self {
        self.with(|draft| draft.idempotency_key(key))
    }

    /// See [`EventDraft::metadata`].
    pub fn metadata(self, metadata: impl Into<Metadata>) -> Self {
        self.with(|draft| draft.metadata(metadata))
    }

    /// See [`EventDraft::delay`].
    pub fn delay(self, delay: Duration) -> Self {
        self.with(|draft| draft.delay(delay))
    }

    /// See [`EventDraft::id`].
    pub fn id(self, id: EventId) -> Self {
        self.with(|draft| draft.id(id))
    }

    /// Emits, and answers what became of the event.
    ///
    /// # Errors
    /// `Invalid`, naming the field that breaks its limit; `Unsupported` if the store keeps no
    /// events; `Unavailable`, `Indeterminate`, `Closed`.
    pub async fn outcome(self) -> Result<EmitOutcome> {
        let emit = async {
            let outcomes = self.calls.emit(vec![self.draft.build()?]).await?;
            crate::backend::only(outcomes, "emit")
        };
        emit.await.map_err(|error: Error| error.during("emit"))
    }

    fn with(self, change: impl FnOnce(EventDraft) -> EventDraft) -> Self {
        Self { draft: change(self.draft), ..self }
    }
}

/// `Conflict` is an error here.
impl<'a> IntoFuture for EmitRequest<'a> {
    type Output = Result<EventId>;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(
            async move { emitted(self.outcome().await?).map_err(|error| error.during("emit")) },
        )
    }
}

/// Events to emit in one atomic call. Awaiting it returns an outcome per event, in order.
#[derive(Debug)]
#[must_use = "nothing is emitted until this is awaited"]
pub struct EmitAll<'a> {
    calls: &'a Calls,
    events: Result<Vec<NewEvent>>,
}

impl<'a> EmitAll<'a> {
    pub(super) fn new(calls: &'a Calls, drafts: impl Iterator<Item = EventDraft>) -> Self {
        let build = |(item, draft): (usize, EventDraft)| {
            draft.build().map_err(|error| error.at_item(item).during("emit"))
        };
        Self { calls, events: drafts.enumerate().map(build).collect() }
    }
}

impl<'a> IntoFuture for EmitAll<'a> {
    type Output = Result<Emitted>;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let emitted = self.calls.emit(self.events?).await;
            emitted.map(Emitted::from).map_err(|error| error.during("emit"))
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::capability::EmitOutcome;
    use crate::memory::MemoryStore;
    use crate::{Client, EventDraft};

    #[tokio::test]
    async fn what_is_chained_is_what_a_draft_says() {
        let client = Client::new(MemoryStore::new());
        let event = || EventDraft::new("order.placed", "7");
        let id = client.emit(event()).idempotency_key("7").await.unwrap();
        let again = client.emit(event()).idempotency_key("7").outcome().await.unwrap();
        assert_eq!(again, EmitOutcome::Duplicate { existing: id });
    }

    #[tokio::test]
    async fn what_is_chained_wrongly_is_an_error_of_the_call() {
        let client = Client::new(MemoryStore::new());
        let error = client.emit(EventDraft::new("a", "")).partition_key("").await.unwrap_err();
        assert!(error.to_string().contains("emit: partition_key"), "{error}");
    }
}
