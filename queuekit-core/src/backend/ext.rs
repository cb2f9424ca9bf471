//! Calls for one item, for all queues, and for all findings.

use std::future::Future;

use super::operations::all_queues;
use super::{
    Ack, AckOutcome, Backend, DeadLetter, DeadLetterOutcome, EnqueueOutcome, LeaseToken, Nack,
    NackOutcome,
};
use crate::capability::{Finding, undecodable_kinds};
use crate::error::{Error, ErrorKind, Result};
use crate::job::{JobId, NewJob};
use crate::lifecycle;
use crate::queue::Queue;

/// Calls for one item, for all queues, and for all findings. Calls for one item turn every outcome
/// but success and its repetition into the [`ErrorKind`] of that name, unlike batches.
pub trait BackendExt: Backend {
    /// Stores one job. Returns the id of the job that was created, or of its duplicate.
    ///
    /// # Errors
    /// `Conflict`, `QueueFull`, and those of [`Backend::enqueue`].
    fn enqueue_one(&self, job: NewJob) -> impl Future<Output = Result<JobId>> + Send {
        async move {
            let id = job.id();
            let outcome = only(self.enqueue(&[job]).await?, "enqueue")?;
            enqueued(outcome).map_err(|error| error.during("enqueue").on(id))
        }
    }

    /// Records one success; true if this call recorded it.
    ///
    /// # Errors
    /// `LeaseLost`, `NotFound`, and those of [`Backend::ack`].
    fn ack_one(&self, ack: Ack) -> impl Future<Output = Result<bool>> + Send {
        async move {
            let id = ack.lease.id;
            let error = |error: Error| Err(error.during("ack").on(id));
            match only(self.ack(&[ack]).await?, "ack")? {
                AckOutcome::Acked => Ok(true),
                AckOutcome::AlreadyDone => Ok(false),
                AckOutcome::LeaseLost => error(lease_lost()),
                AckOutcome::NotFound => error(not_found()),
            }
        }
    }

    /// Records one failure, release or cancellation.
    ///
    /// # Errors
    /// `LeaseLost`, `NotFound`, and those of [`Backend::nack`].
    fn nack_one(&self, nack: Nack) -> impl Future<Output = Result<NackOutcome>> + Send {
        async move {
            let id = nack.lease.id;
            match only(self.nack(&[nack]).await?, "nack")? {
                NackOutcome::LeaseLost => Err(lease_lost().during("nack").on(id)),
                NackOutcome::NotFound => Err(not_found().during("nack").on(id)),
                outcome => Ok(outcome),
            }
        }
    }

    /// The nack of a job whose payload the holder of this lease cannot read (contract R13.8): reads
    /// the job, whose earlier releases decide what happens to it.
    ///
    /// # Errors
    /// `NotFound`, and those of [`Backend::get_job`].
    fn park(&self, lease: LeaseToken, error: &str) -> impl Future<Output = Result<Nack>> + Send {
        async move {
            let job = self.get_job(lease.id).await?;
            let job = job.ok_or_else(|| not_found().during("nack").on(lease.id))?;
            Ok(lifecycle::park(&job, lease, error))
        }
    }

    /// Dead-letters one job; true if this call did it.
    ///
    /// # Errors
    /// `Conflict`, `LeaseLost`, `NotFound`, and those of [`Backend::dead_letter`].
    fn dead_letter_one(
        &self,
        dead_letter: DeadLetter,
    ) -> impl Future<Output = Result<bool>> + Send {
        async move {
            let error = |error: Error| Err(error.during("dead_letter"));
            match only(self.dead_letter(&[dead_letter]).await?, "dead_letter")? {
                DeadLetterOutcome::DeadLettered => Ok(true),
                DeadLetterOutcome::AlreadyDone => Ok(false),
                DeadLetterOutcome::Conflict => error(Error::new(
                    ErrorKind::Conflict,
                    "it is running, completed or cancelled; only force dead-letters a running job",
                )),
                DeadLetterOutcome::LeaseLost => error(lease_lost()),
                DeadLetterOutcome::NotFound => error(not_found()),
            }
        }
    }

    /// All queues, by name, read page by page.
    ///
    /// # Errors
    /// Those of [`Backend::list_queues`].
    fn all_queues(&self) -> impl Future<Output = Result<Vec<Queue>>> + Send {
        all_queues(self)
    }

    /// All that is wrong with the store, and with how it is used: what the store finds itself, and
    /// the kinds whose payloads live workers cannot read (contract R13.8).
    ///
    /// # Errors
    /// Those of [`Inspect::findings`](crate::capability::Inspect::findings) and
    /// [`Leases::list_workers`](crate::capability::Leases::list_workers).
    fn all_findings(&self) -> impl Future<Output = Result<Vec<Finding>>> + Send {
        async move {
            let can = self.capabilities();
            let mut findings = match can.inspect {
                Some(inspect) => inspect.findings().await?,
                None => Vec::new(),
            };
            if let Some(leases) = can.leases {
                findings.extend(undecodable_kinds(&leases.all_workers().await?));
            }
            Ok(findings)
        }
    }
}

impl<B: Backend + ?Sized> BackendExt for B {}

/// The id under which the work is stored.
pub(crate) fn enqueued(outcome: EnqueueOutcome) -> Result<JobId> {
    match outcome {
        EnqueueOutcome::Created { id } | EnqueueOutcome::Duplicate { existing: id } => Ok(id),
        EnqueueOutcome::Conflict { existing } => {
            let message = format!("id {existing} is taken by a job with another kind or payload");
            Err(Error::new(ErrorKind::Conflict, message))
        }
        EnqueueOutcome::QueueFull { retry_after } => {
            let message = format!("the queue is at its max_pending; try again in {retry_after:?}");
            Err(Error::new(ErrorKind::QueueFull { retry_after }, message))
        }
    }
}

/// The one outcome of a batch of one.
pub(crate) fn only<T>(outcomes: Vec<T>, operation: &'static str) -> Result<T> {
    outcomes.into_iter().next().ok_or_else(|| {
        let message = "the store returned no outcome for the item; report this bug of the store";
        Error::new(ErrorKind::Indeterminate, message).during(operation)
    })
}

fn lease_lost() -> Error {
    let message =
        "the lease no longer holds: the job was reclaimed, settled, dead-lettered or deleted";
    Error::new(ErrorKind::LeaseLost, message)
}

fn not_found() -> Error {
    Error::new(ErrorKind::NotFound, "no such job is stored")
}
