//! The suite by the SQL functions that other database crates call: each enqueue, ack,
//! checkpoint and emit is a statement of `queuekit-transactions` in a transaction of its own.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use queuekit_conformance::cases::{checkpoints, events, fence, fence_matrix};
use queuekit_conformance::{Harness, Layer, World, Wrapped, conformance, skip, this_test};
use queuekit_core::capability::{CheckpointOutcome, Emission, NewCheckpoint, StoredEvents};
use queuekit_core::event::NewEvent;
use queuekit_core::queue::QueuePatch;
use queuekit_core::{
    Ack, AckOutcome, Backend, EnqueueOutcome, Error, ErrorKind, NewJob, QueueName, Result,
};
use queuekit_integration_tests::servers;
use queuekit_transactions::{Functions, Statement};
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use crate::common::postgres::{PostgresWorld, client};

conformance!(every_case, BySqlHarness);

#[derive(Clone, Copy, Debug, Default)]
struct BySqlHarness;

#[async_trait]
impl Harness for BySqlHarness {
    async fn open(&self) -> Arc<dyn World> {
        Arc::new(world().await)
    }

    async fn why_absent(&self) -> Option<String> {
        servers::postgres().is_none().then(|| "there is no Postgres server".to_owned())
    }
}

async fn world() -> PostgresWorld {
    let mut world = PostgresWorld::stopped().await;
    let functions = Functions::in_schema(world.schema).expect("a schema");
    let (inner, url) = (Arc::clone(&world.backend), world.url().to_owned());
    let (idle, closed) = (Mutex::default(), AtomicBool::new(false));
    world.backend = Arc::new(Wrapped(BySql { functions, url, inner, idle, closed }));
    world
}

/// An application that has no store, in front of one.
#[derive(Debug)]
struct BySql {
    functions: Functions,
    url: String,
    inner: Arc<dyn Backend>,
    /// Its pool.
    idle: Mutex<Vec<Client>>,
    closed: AtomicBool,
}

impl BySql {
    /// In a transaction of its own, which commits.
    async fn run<A>(&self, statement: Statement<A>) -> Result<A> {
        if self.closed.load(Ordering::Relaxed) {
            return Err(Error::new(ErrorKind::Closed, "the application has closed its store"));
        }
        let idle = self.idle.lock().expect("the pool").pop();
        let mut client = match idle {
            Some(client) => client,
            None => client(&self.url).await,
        };
        let tx = client.transaction().await.expect("a transaction");
        let row = tx.query_one(statement.sql(), &[&statement.parameter()]).await;
        let answer = statement.read(row.map_err(refused)?.get(0));
        tx.commit().await.expect("the commit should succeed");
        self.idle.lock().expect("the pool").push(client);
        answer
    }

    /// If the clock has jumped to a day that has no partition yet, upkeep creates it.
    async fn run_on_any_day<A>(&self, statement: impl Fn() -> Result<Statement<A>>) -> Result<A> {
        let ran = self.run(statement()?).await;
        if matches!(&ran, Err(error) if *error.kind() == ErrorKind::Unavailable) {
            self.inner.capabilities().upkeep.expect("upkeep").prune().await?;
            return self.run(statement()?).await;
        }
        ran
    }

    /// Creates the queues of these jobs, as many as the store is to have.
    async fn create_queues(&self, keyed: &BTreeMap<QueueName, bool>) -> Result<()> {
        let admin = self.inner.capabilities().admin.expect("queues");
        for (name, keyed) in keyed {
            admin.configure(name, &QueuePatch::default()).await?;
            self.run(self.functions.create_queue(name, *keyed)?).await?;
        }
        Ok(())
    }
}

/// The queues of these jobs, and whether they need to take partition keys.
fn queues_of(jobs: &[NewJob]) -> BTreeMap<QueueName, bool> {
    let mut queues = BTreeMap::new();
    for job in jobs {
        *queues.entry(job.queue().clone()).or_default() |= job.partition_key().is_some();
    }
    queues
}

#[async_trait]
impl Layer for BySql {
    fn inner(&self) -> &Arc<dyn Backend> {
        &self.inner
    }

    async fn enqueue(&self, jobs: &[NewJob]) -> Result<Vec<EnqueueOutcome>> {
        // What only stores do: to repeat a call, and to move a job.
        let is_of_store =
            |job: &NewJob| job.repeat() || job.moved_from().is_some() || job.queue().is_reserved();
        if jobs.is_empty() || jobs.iter().any(is_of_store) {
            return self.inner.enqueue(jobs).await;
        }
        let _ = self.functions.enqueue(jobs)?;
        let keyed = queues_of(jobs);
        let names: Vec<QueueName> = keyed.keys().cloned().collect();
        // Several queues are created in one step by stores only.
        if names.len() > 1 && self.inner.find_queues(&names).await?.len() < names.len() {
            return self.inner.enqueue(jobs).await;
        }
        loop {
            let stored = match self.create_queues(&keyed).await {
                Ok(()) => self.run(self.functions.enqueue(jobs)?).await,
                Err(error) => Err(error),
            };
            match stored {
                // A queue was removed in between.
                Err(error)
                    if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Unavailable) => {}
                enqueued => return Ok(enqueued?.into_iter().collect()),
            }
        }
    }

    async fn close(&self) -> Result<()> {
        self.closed.store(true, Ordering::Relaxed);
        self.inner.close().await
    }

    async fn ack(&self, acks: &[Ack]) -> Result<Vec<AckOutcome>> {
        self.run_on_any_day(|| self.functions.ack(acks)).await
    }

    async fn store_events(&self, emission: &Emission) -> Result<StoredEvents> {
        let events: Vec<NewEvent> =
            emission.events.iter().map(|(event, _)| event.clone()).collect();
        // Ids that only the suite makes.
        let is_of_store = |event: &NewEvent| event.id().as_bytes()[6] >> 4 != 7;
        if events.iter().any(is_of_store) {
            return self.outbox().store_events(emission).await;
        }
        let emitted = self.run_on_any_day(|| self.functions.emit(&events)).await?;
        let outcomes = emitted.into_iter().collect();
        let settings = self.outbox().event_settings().await?;
        Ok(StoredEvents { outcomes, instead: emission.under(&settings)? })
    }

    async fn put_checkpoint(&self, checkpoint: &NewCheckpoint) -> Result<CheckpointOutcome> {
        match self.run(self.functions.checkpoint(checkpoint)?).await? {
            // In a transaction, a repeated step is a conflict too. The store tells them apart.
            CheckpointOutcome::Conflict => {
                let keeps = self.inner.capabilities().checkpoints.expect("checkpoints");
                keeps.put_checkpoint(checkpoint).await
            }
            outcome => Ok(outcome),
        }
    }
}

/// The error of a store for that of a function.
fn refused(error: tokio_postgres::Error) -> Error {
    let code = error.code().cloned();
    let message = error.as_db_error().map_or_else(String::new, |error| error.message().to_owned());
    let field = match code {
        // "job 2: run_at must be .."
        Some(code) if code == SqlState::INVALID_PARAMETER_VALUE => {
            let fault = message.split_once(": ").map_or(&*message, |(_, fault)| fault);
            fault.split(' ').next()
        }
        Some(code) if code == SqlState::CONFIGURATION_LIMIT_EXCEEDED => Some("queues"),
        Some(code) if code == SqlState::UNDEFINED_OBJECT => {
            return Error::new(ErrorKind::NotFound, message);
        }
        _ => None,
    };
    match field {
        Some(field) => Error::invalid(String::leak(field.to_owned()), message, "another"),
        None => Error::new(ErrorKind::Unavailable, message).caused_by(error),
    }
}

/// One of the cases that runs daily.
async fn daily(test: &str) -> Option<PostgresWorld> {
    if servers::postgres().is_none() {
        skip(test, "there is no Postgres server");
        return None;
    }
    Some(world().await)
}

/// Guard: the lease's id, number, nonce and queue in the condition of the function `ack`.
#[tokio::test]
async fn r3_3_no_stale_token_acks_by_sql() {
    let Some(world) = daily(this_test!()).await else { return };
    fence_matrix::r3_3_no_stale_token_acks(&world).await;
    world.dispose().await;
}

#[tokio::test]
async fn r3_3_an_ack_repeated_by_sql_is_already_done() {
    let Some(world) = daily(this_test!()).await else { return };
    fence::r3_3_a_repeated_ack_is_already_done(&world).await;
    world.dispose().await;
}

#[tokio::test]
async fn r13_10_the_results_of_steps_by_sql_have_1_mib() {
    let Some(world) = daily(this_test!()).await else { return };
    checkpoints::r13_10_the_results_of_a_job_have_1_mib(&world).await;
    world.dispose().await;
}

#[tokio::test]
async fn r13_10_a_job_has_64_steps_by_sql() {
    let Some(world) = daily(this_test!()).await else { return };
    checkpoints::r13_10_a_job_has_64_checkpoints(&world).await;
    world.dispose().await;
}

/// What a consumer gets of an event that SQL has stored.
#[tokio::test]
async fn r14_1_every_field_of_an_event_by_sql_reaches_consumer_and_reader() {
    let Some(world) = daily(this_test!()).await else { return };
    events::r14_1_every_field_reaches_consumer_and_reader(&world).await;
    world.dispose().await;
}

#[tokio::test]
async fn r14_1_large_events_by_sql_reach_every_consumer() {
    let Some(world) = daily(this_test!()).await else { return };
    events::r14_1_large_events_reach_every_consumer(&world).await;
    world.dispose().await;
}

#[tokio::test]
async fn r14_2_no_delivery_is_made_again_by_sql_under_the_id_of_an_event_that_has_gone() {
    let Some(world) = daily(this_test!()).await else { return };
    events::r14_2_no_delivery_is_made_again_under_the_id_of_an_event_that_has_gone(&world).await;
    world.dispose().await;
}
