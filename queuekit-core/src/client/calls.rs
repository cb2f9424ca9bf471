//! How a client calls its store: calls made at the same time are merged, and each carries its span.

use std::fmt;
use std::sync::Arc;

use tokio::time::Instant;

use super::coalescers::Coalescers;
use super::looks::Looks;
use super::trace::TraceSource;
use crate::backend::{Backend, EnqueueOutcome};
use crate::capability::EmitOutcome;
use crate::error::Result;
use crate::event::NewEvent;
use crate::job::NewJob;
use crate::job_ends::JobEnds;
use crate::measured::Measured;

/// What clones of a client share, and where its calls find their span.
#[derive(Clone)]
pub(super) struct Calls {
    pub(super) backend: Arc<dyn Backend>,
    pub(super) coalescers: Arc<Coalescers>,
    pub(super) trace: Option<TraceSource>,
    pub(super) ends: Arc<JobEnds>,
    pub(super) looks: Arc<Looks>,
    pub(super) made_at: Instant,
}

impl Calls {
    pub(super) fn of(store: Arc<dyn Backend>) -> Self {
        let ends = Arc::<JobEnds>::default();
        let backend: Arc<dyn Backend> = Arc::new(Measured::new(store, Arc::clone(&ends)));
        let coalescers = Arc::new(Coalescers::of(&backend));
        let looks = Looks::new(Arc::clone(&backend));
        Self { backend, coalescers, trace: None, ends, looks, made_at: Instant::now() }
    }

    pub(super) async fn enqueue(&self, mut jobs: Vec<NewJob>) -> Result<Vec<EnqueueOutcome>> {
        if let Some(trace) = &self.trace {
            trace.trace_jobs(&mut jobs, &*self.backend);
        }
        let keyed = jobs.iter().any(|job| job.idempotency_key().is_some());
        let coalescer = if keyed { &self.coalescers.keyed } else { &self.coalescers.plain };
        coalescer.submit(jobs).await
    }

    pub(super) async fn emit(&self, mut events: Vec<NewEvent>) -> Result<Vec<EmitOutcome>> {
        if let Some(trace) = &self.trace {
            trace.trace_events(&mut events, &*self.backend);
        }
        let keyed = events.iter().any(|event| event.idempotency_key().is_some());
        let coalescer = if keyed { &self.coalescers.keyed_events } else { &self.coalescers.events };
        coalescer.submit(events).await
    }
}

impl fmt::Debug for Calls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Calls").field(&self.backend).finish()
    }
}
