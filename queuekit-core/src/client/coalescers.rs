//! What a client merges, each sort of call apart.

use std::sync::Arc;

use super::coalescer::{Coalescer, Flush, Weigh};
use crate::backend::{Ack, AckOutcome, Backend, EnqueueOutcome, Nack, NackOutcome};
use crate::capability::EmitOutcome;
use crate::error::Result;
use crate::event::{Consumers, Emitter, NewEvent};
use crate::job::NewJob;
use crate::limits::DELIVERIES_PER_CALL;
use crate::store_limits::Limits;

/// Jobs with an idempotency key may wait for another transaction, so they do not share a flush with
/// plain ones.
pub(super) struct Coalescers {
    pub(super) plain: Coalescer<Enqueue>,
    pub(super) keyed: Coalescer<Enqueue>,
    pub(super) acks: Coalescer<Acks>,
    pub(super) nacks: Coalescer<Nacks>,
    pub(super) events: Coalescer<Emits>,
    pub(super) keyed_events: Coalescer<Emits>,
}

impl Coalescers {
    pub(super) fn of(backend: &Arc<dyn Backend>) -> Self {
        let store = || Arc::clone(backend);
        // Both sorts of events share it, so that subscriptions are read once.
        let emitter = Arc::new(Emitter::default());
        Self {
            plain: Coalescer::new(Enqueue(store())),
            keyed: Coalescer::new(Enqueue(store())),
            acks: Coalescer::new(Acks(store())),
            nacks: Coalescer::new(Nacks(store())),
            events: Coalescer::new(Emits(store(), Arc::clone(&emitter))),
            keyed_events: Coalescer::new(Emits(store(), emitter)),
        }
    }
}

pub(super) struct Enqueue(Arc<dyn Backend>);

#[async_trait::async_trait]
impl Flush for Enqueue {
    type Item = NewJob;
    type Outcome = EnqueueOutcome;

    async fn flush(&self, jobs: &[NewJob]) -> Result<Vec<EnqueueOutcome>> {
        self.0.enqueue(jobs).await
    }

    fn merged(&self, job: &NewJob) -> NewJob {
        job.clone().merged()
    }

    /// By an open transaction with the same key, or the same id.
    fn may_block(&self) -> bool {
        true
    }

    fn limits(&self) -> Limits {
        self.0.capabilities().limits
    }
}

impl Weigh for NewJob {
    fn bytes(&self) -> usize {
        self.payload().len() + self.metadata().bytes()
    }
}

pub(super) struct Acks(Arc<dyn Backend>);

#[async_trait::async_trait]
impl Flush for Acks {
    type Item = Ack;
    type Outcome = AckOutcome;

    async fn flush(&self, acks: &[Ack]) -> Result<Vec<AckOutcome>> {
        self.0.ack(acks).await
    }

    fn limits(&self) -> Limits {
        self.0.capabilities().limits
    }
}

impl Weigh for Ack {
    fn bytes(&self) -> usize {
        self.result.as_ref().map_or(0, bytes::Bytes::len)
    }
}

pub(super) struct Nacks(Arc<dyn Backend>);

#[async_trait::async_trait]
impl Flush for Nacks {
    type Item = Nack;
    type Outcome = NackOutcome;

    async fn flush(&self, nacks: &[Nack]) -> Result<Vec<NackOutcome>> {
        self.0.nack(nacks).await
    }

    fn limits(&self) -> Limits {
        self.0.capabilities().limits
    }
}

impl Weigh for Nack {
    fn bytes(&self) -> usize {
        self.error.as_str().len()
    }
}

pub(super) struct Emits(Arc<dyn Backend>, Arc<Emitter>);

#[async_trait::async_trait]
impl Flush for Emits {
    type Item = NewEvent;
    /// The event, with the number of its deliveries.
    type Outcome = EmitOutcome;

    async fn flush(&self, events: &[NewEvent]) -> Result<Vec<EmitOutcome>> {
        let consumers = Consumers::of(&*self.0);
        self.1.emit(consumers.outbox()?, &self.0.capabilities().limits, events).await
    }

    fn merged(&self, event: &NewEvent) -> NewEvent {
        event.clone().merged()
    }

    /// By an open transaction with the same key, or the same id.
    fn may_block(&self) -> bool {
        true
    }

    /// The most events whose deliveries fit into one call.
    fn limits(&self) -> Limits {
        let most = DELIVERIES_PER_CALL / self.1.subscriptions().max(1);
        self.0.capabilities().limits.with_enqueue_jobs(most)
    }
}

impl Weigh for NewEvent {
    fn bytes(&self) -> usize {
        self.data().len() + self.metadata().bytes()
    }
}
