//! Leases beside one whose ack stands in an open transaction (contract R3.7).

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::store_fixture::{
    PATIENCE, Stage, create, lease, promptly, request_for, state, until,
};
use async_trait::async_trait;
use futures_util::future::join_all;
use queuekit_conformance::kit::{build, draft};
use queuekit_conformance::this_test;
use queuekit_conformance::{Layer, Wrapped};
use queuekit_core::capability::{Exchanged, ExtendOutcome, Settlement};
use queuekit_core::{
    Ack, AckOutcome, Backend, Bytes, Client, JobDraft, JobId, LeaseToken, LeaseTtl, Reserve,
    Reserved, Result, State,
};
use queuekit_postgres::PostgresStore;
use queuekit_worker::{Ctx, JobError, JobResult, Worker};
use tokio::sync::{mpsc, watch};

const TTL: Duration = Duration::from_secs(2);

#[tokio::test]
async fn r3_7_a_lease_that_is_being_settled_holds_up_no_neighbour() {
    let test = this_test!();
    let Some(stage) = Stage::open(test).await else { return };
    let store = &stage.store;
    let mut app = stage.client().await;
    for commits in [false, true] {
        for _ in 0..3 {
            create(store, &build(draft())).await;
        }
        let leases = store.reserve(&request_for(TTL, 3)).await.unwrap().leases;
        let tokens: Vec<LeaseToken> = leases.into_iter().map(|lease| lease.token).collect();
        let ours = [Ack::new(tokens[1].clone())];
        let tx = app.transaction().await.unwrap();
        assert_eq!(store.ack_in(&tx, &ours).await.unwrap(), [AckOutcome::Acked]);
        let extend = store.capabilities().leases.unwrap();
        let begun = std::time::Instant::now();
        while begun.elapsed() < 2 * TTL {
            let ttl = LeaseTtl::for_tests(TTL);
            let extended = promptly("an extend", extend.extend(&tokens, ttl)).await.unwrap();
            let alive = ExtendOutcome::Extended { ttl: TTL, cancel_requested: false };
            assert_eq!(extended, [alive, ExtendOutcome::Settling, alive]);
            // Its time runs out meanwhile, and nobody may have it.
            assert_eq!(promptly("a reserve", lease(store, 10)).await.len(), 0);
            tokio::time::sleep(TTL / 6).await;
        }
        if commits {
            tx.commit().await.unwrap()
        } else {
            tx.rollback().await.unwrap()
        };
        let again = lease(store, 10).await;
        let again: Vec<JobId> = again.iter().map(|lease| lease.token.id).collect();
        let (runs_again, wanted) = match commits {
            true => (vec![], [AckOutcome::AlreadyDone]),
            false => (vec![tokens[1].id], [AckOutcome::LeaseLost]),
        };
        assert_eq!(again, runs_again, "it ran out in the transaction that was undone");
        assert_eq!(store.ack(&ours).await.unwrap(), wanted);
        let rest = [Ack::new(tokens[0].clone()), Ack::new(tokens[2].clone())];
        let rest = store.ack(&rest).await.unwrap();
        assert_eq!(rest, [AckOutcome::Acked; 2], "the neighbours kept their leases");
    }
    stage.assert_exact().await;
    stage.end().await;
}

/// R13.1: calls that wait for a row hold every connection of the pool; leases are extended over
/// another one. Guard: `heartbeats`, the pool of `Call::Heartbeat`.
#[tokio::test]
async fn r13_1_calls_that_hold_every_connection_hold_up_no_extend() {
    let test = this_test!();
    let settings = "pool_size=2&lock_timeout_ms=9000";
    let Some(stage) = Stage::with(test, settings).await else { return };
    let store = &stage.store;
    for _ in 0..2 {
        create(store, &build(draft())).await;
    }
    let leases = store.reserve(&request_for(PATIENCE, 2)).await.unwrap().leases;
    let tokens: Vec<LeaseToken> = leases.into_iter().map(|lease| lease.token).collect();
    let mut app = stage.client().await;
    let tx = app.transaction().await.unwrap();
    let held = [Ack::new(tokens[0].clone())];
    assert_eq!(store.ack_in(&tx, &held).await.unwrap(), [AckOutcome::Acked]);
    let waiting = join_all((0..2).map(|_| store.ack(&held)));
    let beats = async {
        stage.until_blocked(2).await;
        let ttl = LeaseTtl::for_tests(PATIENCE);
        let extend = store.capabilities().leases.unwrap().extend(&tokens[1..], ttl).await;
        tx.commit().await.unwrap();
        extend.unwrap()
    };
    let (extended, acked) = tokio::join!(promptly("an extend", beats), waiting);
    assert_eq!(extended, [ExtendOutcome::Extended { ttl: PATIENCE, cancel_requested: false }]);
    for outcomes in acked {
        assert_eq!(outcomes.unwrap(), [AckOutcome::AlreadyDone], "each waited for the transaction");
    }
    stage.end().await;
}

/// The store, which remembers the leases it has granted: handlers are not told theirs.
struct Remembers {
    store: Arc<dyn Backend>,
    leases: Arc<Leased>,
}

type Leased = Mutex<HashMap<JobId, Vec<LeaseToken>>>;

impl fmt::Debug for Remembers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Remembers").field(&self.store).finish()
    }
}

impl Remembers {
    fn note(&self, reserved: &Reserved) {
        let mut leases = self.leases.lock().unwrap();
        for lease in &reserved.leases {
            leases.entry(lease.token.id).or_default().push(lease.token.clone());
        }
    }
}

#[async_trait]
impl Layer for Remembers {
    fn inner(&self) -> &Arc<dyn Backend> {
        &self.store
    }

    async fn reserve(&self, request: &Reserve) -> Result<Reserved> {
        let reserved = self.store.reserve(request).await?;
        self.note(&reserved);
        Ok(reserved)
    }

    async fn exchange(&self, settlement: &Settlement, request: &Reserve) -> Result<Exchanged> {
        let exchanged = self.exchanges().exchange(settlement, request).await?;
        self.note(&exchanged.reserved);
        Ok(exchanged)
    }
}

/// Handlers that end on a signal of the test; `waits` does nothing else, the others ack in a
/// transaction of their own first. `undoes` rolls back at its first attempt.
struct Handlers {
    store: PostgresStore,
    url: String,
    leases: Arc<Leased>,
    /// Gets the job when an ack was made in an open transaction.
    acked: mpsc::UnboundedSender<JobId>,
    /// Up to which attempt runs are to end.
    end: watch::Sender<u32>,
}

impl Handlers {
    async fn run(&self, ctx: &Ctx) -> JobResult {
        let mut app = crate::common::store_fixture::client(&self.url).await;
        let tx = app.transaction().await.map_err(JobError::retry)?;
        let token = self.leases.lock().unwrap()[&ctx.id()].last().cloned().unwrap();
        let outcomes = self.store.ack_in(&tx, &[Ack::new(token)]).await.map_err(JobError::retry)?;
        assert_eq!(outcomes, [AckOutcome::Acked]);
        self.acked.send(ctx.id()).unwrap();
        self.ended(ctx).await;
        assert!(!ctx.is_cancelled(), "nobody else can take a lease that is being settled");
        if ctx.kind().as_str() == "undoes" && ctx.attempt() == 1 {
            tx.rollback().await.map_err(JobError::retry)?;
            return Err(JobError::retry_after("undone", Duration::ZERO));
        }
        tx.commit().await.map_err(JobError::retry)
    }

    async fn ended(&self, ctx: &Ctx) {
        let mut end = self.end.subscribe();
        drop(end.wait_for(|attempt| *attempt >= ctx.attempt()).await.unwrap());
    }

    async fn wait(&self, ctx: &Ctx) -> JobResult {
        tokio::select! {
            () = self.ended(ctx) => Ok(()),
            () = ctx.cancelled() => Err(JobError::retry("its lease was lost")),
        }
    }

    fn worker(self: &Arc<Self>, remembers: Remembers) -> Worker {
        let handler = |_| {
            let handlers = Arc::clone(self);
            move |_: Bytes, ctx: Ctx| {
                let handlers = Arc::clone(&handlers);
                async move {
                    match ctx.kind().as_str() {
                        "waits" => handlers.wait(&ctx).await?,
                        _ => handlers.run(&ctx).await?,
                    }
                    JobResult::Ok(None)
                }
            }
        };
        let worker = Worker::new(Client::new(Wrapped(remembers)))
            .lease_ttl_for_tests(TTL)
            .poll_interval(Duration::from_millis(50));
        let kinds = ["commits", "undoes", "waits"];
        kinds.into_iter().fold(worker, |worker, kind| worker.handle_raw(kind, handler(kind)))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r3_7_a_worker_keeps_its_leases_while_a_handler_holds_its_ack_open() {
    let test = this_test!();
    let Some(stage) = Stage::open(test).await else { return };
    let store = &stage.store;
    let jobs = ["commits", "undoes", "waits", "waits"].map(|kind| build(JobDraft::new(kind, "")));
    store.enqueue(&jobs).await.unwrap();
    let leases = Arc::new(Leased::default());
    let (acked, mut acks) = mpsc::unbounded_channel();
    let mut ack = async || tokio::time::timeout(PATIENCE, acks.recv()).await.unwrap().unwrap();
    let handlers = Arc::new(Handlers {
        store: store.clone(),
        url: stage.database.url(),
        leases: Arc::clone(&leases),
        acked,
        end: watch::Sender::new(0),
    });
    let inner: Arc<dyn Backend> = Arc::new(store.clone());
    let worker = handlers.worker(Remembers { store: inner, leases: Arc::clone(&leases) });
    let worker = worker.start().await.unwrap();
    ack().await;
    ack().await;
    // Time itself is what this is about: nothing is to happen for more than a ttl.
    tokio::time::sleep(TTL + TTL / 2).await;
    let granted = || jobs.each_ref().map(|job| leases.lock().unwrap()[&job.id()].len());
    assert_eq!(granted(), [1; 4], "a lease was lost, or a job was reclaimed");
    handlers.end.send_replace(1);
    assert_eq!(ack().await, jobs[1].id(), "it runs again, since its ack was undone");
    handlers.end.send_replace(2);
    until("all jobs are completed", async || {
        let mut done = true;
        for job in &jobs {
            done &= state(store, job.id()).await == Some(State::Completed);
        }
        done
    })
    .await;
    worker.drain(Duration::from_secs(5)).await;
    assert_eq!(granted(), [1, 2, 1, 1], "how often each ran");
    stage.assert_exact().await;
    stage.end().await;
}
