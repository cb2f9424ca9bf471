//! Whatever is done at the same time, no two calls wait for each other (SQLSTATE 40P01).
//!
//! The store's clock goes ahead meanwhile, so that leases run out, retention lets go of jobs and
//! days of history are dropped.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::postgres::of_schema;
use crate::common::store_fixture::{Stage, all_jobs, until};
use futures_util::future::join_all;
use queuekit_conformance::kit::{build, draft, queue, ttl, worker};
use queuekit_conformance::this_test;
use queuekit_core::capability::{Admin, Exchange, Leases, Settlement, Upkeep};
use queuekit_core::queue::{Keep, Order, QueuePatch, Retention};
use queuekit_core::{
    Ack, Backend, BackendExt, DeadLetter, ErrorKind, JobDraft, JobId, Lease, Nack, NackKind,
    QueueName, Reserve, Result, State,
};
use queuekit_integration_tests::crash::is_long;
use tokio::time::sleep;

/// `gone` is removed and made again; the others stay.
const QUEUES: [&str; 4] = ["plain", "keyed", "fair", "gone"];
/// By the store's clock, of which a second is much longer than one.
const TTL: Duration = Duration::from_secs(900);
const JUMP_MS: i64 = 45_000;

#[derive(Default)]
struct Counted {
    created: AtomicU64,
    deleted: AtomicU64,
    pruned: AtomicU64,
    calls: AtomicU64,
    refused: AtomicU64,
}

impl Counted {
    fn has_each(&self) -> bool {
        let has = |count: &AtomicU64| count.load(Ordering::Relaxed) > 0;
        has(&self.deleted) && has(&self.pruned) && has(&self.refused)
    }
}

struct Load {
    stage: Stage,
    enough: AtomicBool,
    done: AtomicBool,
    /// Jobs that were stored not long ago.
    recent: Mutex<VecDeque<JobId>>,
    counted: Counted,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_deadlock_among_workers_pruners_and_operators() {
    let test = this_test!();
    let Some(load) = Load::begin(test).await else { return };
    let producers = (0..3).map(|_| tokio::spawn(Arc::clone(&load).produce()));
    let operators = (0..3).map(|_| tokio::spawn(Arc::clone(&load).operate()));
    let pruners = (0..4).map(|_| tokio::spawn(Arc::clone(&load).prune()));
    let clock = tokio::spawn(Arc::clone(&load).age());
    let others: Vec<_> = producers.chain(operators).chain(pruners).chain([clock]).collect();
    let workers: Vec<_> = (0..8).map(|n| tokio::spawn(Arc::clone(&load).work(n))).collect();
    sleep(Duration::from_secs(if is_long() { 60 } else { 4 })).await;
    // On a busy machine the acts are few, and each of these depends on chance.
    until("something is deleted, pruned and refused", async || load.counted.has_each()).await;
    load.enough.store(true, Ordering::Relaxed);
    join_all(others).await.into_iter().for_each(|other| other.expect("one of the others"));
    until("all is served", async || {
        sleep(Duration::from_millis(200)).await;
        load.jump().await;
        let queues = load.stage.store.all_queues().await.expect("the queues");
        let left = |state| queues.iter().map(|queue| queue.counts.of_state(state).value).sum();
        let (pending, running): (u64, u64) = (left(State::Pending), left(State::Running));
        pending + running == 0
    })
    .await;
    load.done.store(true, Ordering::Relaxed);
    join_all(workers).await.into_iter().for_each(|worker| worker.expect("a worker"));
    load.judge(test).await;
}

impl Load {
    async fn begin(test: &str) -> Option<Arc<Self>> {
        let stage = Stage::with(test, "pool_size=16").await?;
        let clock = include_str!("../../sql/postgres_clock.sql");
        let clock = of_schema(clock, stage.store.schema());
        stage.client().await.batch_execute(&clock).await.unwrap();
        let few = Keep::ALL.max_age(Duration::from_secs(600)).max_jobs(50);
        let retention = Retention::ALL.done(few).dead(few);
        for name in QUEUES {
            let patch = QueuePatch::default().retention(retention).max_pending(300);
            let patch = if name == "fair" { patch.order(Order::Fair) } else { patch };
            stage.store.configure(&queue(name), &patch).await.unwrap();
        }
        let (enough, done) = (AtomicBool::new(false), AtomicBool::new(false));
        let (recent, counted) = (Mutex::default(), Counted::default());
        Some(Arc::new(Self { stage, enough, done, recent, counted }))
    }

    fn is_on(&self) -> bool {
        !self.enough.load(Ordering::Relaxed)
    }

    /// The answer; none if the call was refused because of what others did meanwhile, or is in
    /// doubt because the server was too busy to answer in time.
    fn heard<T>(&self, answer: Result<T>) -> Option<T> {
        self.counted.calls.fetch_add(1, Ordering::Relaxed);
        let error = match answer {
            Ok(answer) => return Some(answer),
            Err(error) => error,
        };
        match error.kind() {
            ErrorKind::Conflict => {
                self.counted.refused.fetch_add(1, Ordering::Relaxed);
            }
            ErrorKind::Indeterminate => {}
            _ => panic!("no call should fail otherwise: {error}"),
        }
        None
    }

    async fn produce(self: Arc<Self>) {
        while self.is_on() {
            let job = |n: u64| {
                let from = QUEUES[fastrand::usize(..QUEUES.len())];
                let job = draft().queue(from).max_attempts(fastrand::u32(1..4));
                let job = if fastrand::bool() { job.idempotency_key(key("u", 30)) } else { job };
                build(if from == "plain" { job } else { keyed_one(job, n) })
            };
            let jobs: Vec<_> = (0..fastrand::u64(1..20)).map(job).collect();
            let outcomes = self.heard(self.stage.store.enqueue(&jobs).await);
            let created = outcomes.into_iter().flatten().zip(&jobs);
            let created: Vec<JobId> = created
                .filter(|(outcome, _)| outcome.is_created())
                .map(|(_, job)| job.id())
                .collect();
            self.counted.created.fetch_add(created.len() as u64, Ordering::Relaxed);
            let mut recent = self.recent.lock().unwrap();
            recent.extend(created);
            let beyond = recent.len().saturating_sub(200);
            recent.drain(..beyond);
        }
    }

    async fn work(self: Arc<Self>, n: usize) {
        let store = &self.stage.store;
        let mut leases: Vec<Lease> = Vec::new();
        while !self.done.load(Ordering::Relaxed) {
            let mut names: Vec<QueueName> = QUEUES.map(queue).to_vec();
            fastrand::shuffle(&mut names);
            names.truncate(fastrand::usize(1..=QUEUES.len()));
            let limit = fastrand::usize(1..20);
            let request = Reserve::new(names, limit, ttl(TTL), worker(&format!("w{n}"))).unwrap();
            let settlement = settlement(&mut leases, self.is_on());
            let exchanged = match fastrand::bool() {
                true => self.heard(store.exchange(&settlement, &request).await),
                false => {
                    self.heard(store.ack(&settlement.acks).await);
                    self.heard(store.nack(&settlement.nacks).await);
                    None
                }
            };
            leases.extend(exchanged.map_or_else(Vec::new, |exchanged| exchanged.reserved.leases));
            let tokens: Vec<_> = leases.iter().map(|lease| lease.token.clone()).collect();
            self.heard(store.extend(&tokens, ttl(TTL)).await);
            if leases.is_empty() {
                sleep(Duration::from_millis(1)).await;
            }
        }
    }

    async fn prune(self: Arc<Self>) {
        while self.is_on() {
            if let Some(report) = self.heard(self.stage.store.prune().await) {
                self.counted.pruned.fetch_add(report.changed, Ordering::Relaxed);
            }
            self.heard(self.stage.store.repair().await);
            sleep(Duration::from_millis(fastrand::u64(..20))).await;
        }
    }

    async fn operate(self: Arc<Self>) {
        while self.is_on() {
            let mut ids: Vec<JobId> = self.recent.lock().unwrap().iter().copied().collect();
            fastrand::shuffle(&mut ids);
            ids.truncate(fastrand::usize(1..20));
            self.act(&ids).await;
            sleep(Duration::from_millis(fastrand::u64(..5))).await;
        }
    }

    async fn act(&self, ids: &[JobId]) {
        let store = &self.stage.store;
        match fastrand::u8(..9) {
            0 => drop(self.heard(store.cancel(ids).await)),
            1 | 2 => drop(self.heard(store.retry(ids).await)),
            3 => {
                for id in ids {
                    let deleted = self.heard(store.delete_job(*id, fastrand::bool()).await);
                    let deleted = u64::from(deleted == Some(true));
                    self.counted.deleted.fetch_add(deleted, Ordering::Relaxed);
                }
            }
            4 => {
                let dead_letter = |id: &JobId| match fastrand::bool() {
                    true => DeadLetter::forced(*id, "bad"),
                    false => DeadLetter::of_job(*id, "bad"),
                };
                let dead_letters: Vec<DeadLetter> = ids.iter().map(dead_letter).collect();
                drop(self.heard(store.dead_letter(&dead_letters).await));
            }
            5 => {
                let delay = Duration::from_secs(fastrand::u64(..100));
                drop(self.heard(store.reschedule(ids, delay).await));
            }
            6 => {
                let patch = QueuePatch::default().per_key(fastrand::u32(1..4));
                self.heard(store.configure(&queue("keyed"), &patch).await);
            }
            7 => {
                let order = if fastrand::bool() { Order::Fair } else { Order::Strict };
                let patch = QueuePatch::default().order(order);
                self.heard(store.configure(&queue("fair"), &patch).await);
            }
            _ => drop(self.heard(store.remove_queue(&queue("gone"), true).await)),
        }
    }

    async fn age(self: Arc<Self>) {
        while self.is_on() {
            sleep(Duration::from_millis(200)).await;
            self.jump().await;
        }
    }

    async fn jump(&self) {
        let jump = include_str!("../../sql/postgres_clock_move.sql");
        let jump = of_schema(jump, self.stage.store.schema());
        self.stage.client().await.execute(&jump, &[&JUMP_MS]).await.unwrap();
    }

    #[expect(clippy::print_stdout, reason = "figures are for reading")]
    async fn judge(self: Arc<Self>, test: &str) {
        let jobs = all_jobs(&self.stage.store).await;
        let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let Counted { created, deleted, pruned, calls, refused } = &self.counted;
        println!(
            "{test}: {} jobs, {} deleted, {} changed by upkeep, {} left; {} calls, {} refused",
            count(created),
            count(deleted),
            count(pruned),
            jobs.len(),
            count(calls),
            count(refused),
        );
        assert!(jobs.iter().all(|job| job.state.is_terminal()), "{jobs:#?}");
        assert!(self.counted.has_each());
        self.stage.assert_exact().await;
        self.stage.assert_no_deadlocks().await;
        Arc::into_inner(self).expect("all have ended").stage.end().await;
    }
}

fn key(of: &str, most: u64) -> String {
    format!("{of}{}", fastrand::u64(..most))
}

fn keyed_one(job: JobDraft, n: u64) -> JobDraft {
    if n.is_multiple_of(5) { job } else { job.partition_key(key("k", 40)) }
}

/// Most leases end, in no order, and some are kept or left to run out; in the end all complete.
fn settlement(leases: &mut Vec<Lease>, is_on: bool) -> Settlement {
    fastrand::shuffle(leases);
    let keep = if is_on && fastrand::u8(..4) == 0 { leases.len() / 2 } else { 0 };
    let mut settlement = Settlement::default();
    for lease in leases.drain(keep..) {
        let kinds = [NackKind::Retry, NackKind::Release, NackKind::Fatal];
        match if is_on { fastrand::usize(..12) } else { 3 } {
            // Nobody settles it.
            11 => {}
            n @ 0..3 => {
                let delay = Duration::from_secs(fastrand::u64(..3));
                settlement.nacks.push(Nack::new(lease.token, kinds[n], "no", delay));
            }
            _ => settlement.acks.push(Ack::new(lease.token)),
        }
    }
    settlement
}
