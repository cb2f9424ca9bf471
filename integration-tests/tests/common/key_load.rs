//! Producers and reservers of many partition keys, with all the failures between them.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::{BoxFuture, join_all};
use queuekit_conformance::kit::{build, keyed, queue, worker};
use queuekit_core::capability::Admin;
use queuekit_core::queue::QueuePatch;
use queuekit_core::{
    Ack, AckOutcome, Backend, BackendExt, ErrorKind, Job, JobId, Lease, LeaseTtl, Nack, NackKind,
    NewJob, Reserve, Result, State,
};
use queuekit_integration_tests::crash::is_long;
use tokio::time::sleep;

use async_trait::async_trait;

use super::store_fixture::{all_jobs, until};

/// Queues, and how many of a key may run at once in each.
const QUEUES: [(&str, u32); 2] = [("one", 1), ("three", 3)];
/// How long a key is used.
const KEY_LIVES: Duration = Duration::from_millis(20);
const TTL: Duration = Duration::from_millis(300);
const PRODUCERS: usize = 6;
/// Producers wait where there are more, so that all can be served in the end.
const MOST_LEFT: i64 = 300;
const RESERVERS: usize = 4;

/// The stage of a store that has a server.
#[async_trait]
pub(crate) trait KeyStage: Send + Sync + 'static {
    type Store: Backend + Admin;
    /// A connection as an application has one.
    type Application: Send;

    fn store(&self) -> &Self::Store;
    async fn application(&self) -> Self::Application;
    /// Stores jobs as an application does, in a transaction if the store has them. Signals just
    /// before the jobs can be seen. Returns false if they were rolled back.
    async fn enqueue_by(
        &self,
        app: &mut Self::Application,
        jobs: &[NewJob],
        stored: &(dyn Fn() + Sync),
    ) -> bool;
    /// Ends connections of the store, at random. Returns how many.
    async fn terminate(&self) -> usize;
}

struct Load<S> {
    stage: S,
    begun: Instant,
    /// Producers end.
    enough: AtomicBool,
    /// Reservers end.
    done: AtomicBool,
    /// Jobs that are stored and have not ended.
    left: AtomicI64,
    abandoned: AtomicUsize,
    failed_calls: AtomicUsize,
}

/// The jobs that a producer has stored, in order, and those that it has rolled back.
#[derive(Default)]
struct Produced {
    stored: Vec<JobId>,
    undone: Vec<JobId>,
}

/// Runs for a while, then lets all jobs be served, and judges; `end` checks the stored data and
/// ends the stage.
#[expect(clippy::print_stdout, reason = "figures are for reading")]
pub(crate) async fn run<S: KeyStage>(test: &str, stage: S, end: impl AsyncFnOnce(S)) {
    for (name, per_key) in QUEUES {
        let patch = QueuePatch::default().per_key(per_key);
        stage.store().configure(&queue(name), &patch).await.expect("configure");
    }
    let load = Arc::new(Load {
        stage,
        begun: Instant::now(),
        enough: AtomicBool::new(false),
        done: AtomicBool::new(false),
        left: AtomicI64::new(0),
        abandoned: AtomicUsize::new(0),
        failed_calls: AtomicUsize::new(0),
    });
    let producers = (0..PRODUCERS).map(|n| tokio::spawn(Arc::clone(&load).produce(n)));
    let producers: Vec<_> = producers.collect();
    let reservers = (0..RESERVERS).map(|n| tokio::spawn(Arc::clone(&load).serve(n)));
    let reservers: Vec<_> = reservers.collect();
    let killer = tokio::spawn(Arc::clone(&load).end_connections());
    sleep(Duration::from_secs(if is_long() { 60 } else { 5 })).await;
    load.enough.store(true, Ordering::Relaxed);
    let ended = killer.await.expect("the one who ends connections");
    let produced = join_all(producers).await.into_iter().map(|p| p.expect("a producer"));
    let produced: Vec<Produced> = produced.collect();
    until("everything is served", async || {
        let queues = load.stage.store().all_queues().await.expect("the queues");
        let left = |state| queues.iter().map(|queue| queue.counts.of_state(state).value).sum();
        let (pending, running): (u64, u64) = (left(State::Pending), left(State::Running));
        pending + running == 0
    })
    .await;
    load.done.store(true, Ordering::Relaxed);
    for reserver in reservers {
        reserver.await.expect("a reserver");
    }
    let jobs = all_jobs(load.stage.store()).await;
    println!(
        "{test}: {} jobs of {} keys, {} leases abandoned, {ended} connections ended, {} calls \
         failed",
        jobs.len(),
        by_key(&jobs).len(),
        load.abandoned.load(Ordering::Relaxed),
        load.failed_calls.load(Ordering::Relaxed),
    );
    assert!(ended >= 5, "too few connections were ended to see anything");
    judge(&jobs, &produced);
    let Some(load) = Arc::into_inner(load) else { panic!("all have ended") };
    end(load.stage).await;
}

impl<S: KeyStage> Load<S> {
    /// The keys of this moment: one of the producer's own, and one that all share.
    fn job(&self, producer: usize) -> NewJob {
        let generation = self.begun.elapsed().as_millis() / KEY_LIVES.as_millis();
        let key = match fastrand::u8(..4) {
            0 => format!("shared-{generation}"),
            _ => format!("own-{producer}-{generation}"),
        };
        let (name, _) = QUEUES[fastrand::usize(..QUEUES.len())];
        build(keyed(&key).queue(name).max_attempts(1000))
    }

    async fn produce(self: Arc<Self>, producer: usize) -> Produced {
        let mut produced = Produced::default();
        let mut app = self.stage.application().await;
        while !self.enough.load(Ordering::Relaxed) {
            while self.left.load(Ordering::Relaxed) > MOST_LEFT {
                sleep(Duration::from_millis(2)).await;
            }
            let jobs: Vec<NewJob> =
                (0..fastrand::usize(1..4)).map(|_| self.job(producer)).collect();
            let ids: Vec<JobId> = jobs.iter().map(NewJob::id).collect();
            let stored = || self.left.fetch_add(jobs.len() as i64, Ordering::Relaxed);
            if producer.is_multiple_of(2) {
                stored();
                let jobs: Vec<_> = jobs.iter().map(|job| job.clone().repeated()).collect();
                self.insist(|| self.stage.store().enqueue(&jobs)).await;
                produced.stored.extend(ids);
                continue;
            }
            let tell = || {
                stored();
            };
            if self.stage.enqueue_by(&mut app, &jobs, &tell).await {
                produced.stored.extend(ids);
            } else {
                produced.undone.extend(ids);
            }
        }
        produced
    }

    async fn serve(self: Arc<Self>, n: usize) {
        let name = worker(&format!("w{n}"));
        while !self.done.load(Ordering::Relaxed) {
            let (from, _) = QUEUES[fastrand::usize(..QUEUES.len())];
            let limit = fastrand::usize(1..8);
            let ttl = LeaseTtl::for_tests(TTL);
            let request = Reserve::new(queue(from), limit, ttl, name.clone()).expect("a nonce");
            let Ok(reserved) = self.heard(self.stage.store().reserve(&request).await) else {
                continue;
            };
            if reserved.leases.is_empty() {
                sleep(Duration::from_millis(2)).await;
            }
            for lease in reserved.leases {
                self.settle(lease).await;
            }
        }
    }

    async fn settle(&self, lease: Lease) {
        match fastrand::u8(..40) {
            0 => drop(self.abandoned.fetch_add(1, Ordering::Relaxed)),
            1 | 2 => {
                let retry = [Nack::new(lease.token, NackKind::Retry, "again", Duration::ZERO)];
                self.insist(|| self.stage.store().nack(&retry)).await;
            }
            _ => {
                sleep(Duration::from_millis(fastrand::u64(..3))).await;
                let ack = [Ack::new(lease.token)];
                let acked = self.insist(|| self.stage.store().ack(&ack)).await;
                assert_ne!(acked, [AckOutcome::NotFound]);
                let ended = acked != [AckOutcome::LeaseLost];
                self.left.fetch_sub(i64::from(ended), Ordering::Relaxed);
            }
        }
    }

    async fn end_connections(self: Arc<Self>) -> usize {
        let mut ended = 0;
        while !self.enough.load(Ordering::Relaxed) {
            sleep(Duration::from_millis(fastrand::u64(100..500))).await;
            ended += self.stage.terminate().await;
        }
        ended
    }

    /// Makes a call until it is answered; nothing else may happen to it.
    async fn insist<'c, T>(&self, call: impl Fn() -> BoxFuture<'c, Result<T>>) -> T {
        loop {
            if let Ok(answer) = self.heard(call().await) {
                return answer;
            }
        }
    }

    fn heard<T>(&self, answer: Result<T>) -> Result<T> {
        if let Err(error) = &answer {
            assert_eq!(*error.kind(), ErrorKind::Indeterminate, "{error}");
            self.failed_calls.fetch_add(1, Ordering::Relaxed);
        }
        answer
    }
}

type Key<'a> = (&'a str, &'a str);

fn by_key(jobs: &[Job]) -> BTreeMap<Key<'_>, Vec<&Job>> {
    let mut keys: BTreeMap<Key<'_>, Vec<&Job>> = BTreeMap::new();
    for job in jobs {
        let key = job.partition_key.as_ref().expect("a key");
        keys.entry((job.queue.as_str(), key.as_str())).or_default().push(job);
    }
    keys
}

fn judge(jobs: &[Job], produced: &[Produced]) {
    let stored: HashMap<JobId, &Job> = jobs.iter().map(|job| (job.id, job)).collect();
    for id in produced.iter().flat_map(|produced| &produced.stored) {
        let job = stored.get(id).expect("what was stored is there");
        assert_eq!(job.state, State::Completed, "{job:?}");
    }
    for id in produced.iter().flat_map(|produced| &produced.undone) {
        assert!(!stored.contains_key(id), "what was undone is there: {:?}", stored[id]);
    }
    let count: usize = produced.iter().map(|produced| produced.stored.len()).sum();
    assert_eq!(jobs.len(), count, "a job was doubled");
    for ((from, key), jobs) in by_key(jobs) {
        let per_key = QUEUES.iter().find(|(name, _)| *name == from).expect("a queue").1;
        assert!(most_at_once(&jobs) <= per_key as usize, "{from}, {key}: {jobs:?}");
    }
    for produced in produced {
        judge_order(produced, &stored);
    }
}

/// Checks a producer's own keys, which run one job at a time: each job began after the one before
/// it had ended.
fn judge_order(produced: &Produced, stored: &HashMap<JobId, &Job>) {
    let mut last: HashMap<&str, &Job> = HashMap::new();
    for job in produced.stored.iter().map(|id| stored[id]) {
        let key = job.partition_key.as_ref().expect("a key").as_str();
        if job.queue.as_str() != QUEUES[0].0 || key.starts_with("shared") {
            continue;
        }
        if let Some(before) = last.insert(key, job) {
            assert!(before.finished_at <= job.started_at, "{before:?} is overtaken by {job:?}");
        }
    }
}

/// By the store's time, from the last lease of each job to its end.
fn most_at_once(jobs: &[&Job]) -> usize {
    let mut events = Vec::new();
    for job in jobs {
        let (began, ended) = (job.started_at.expect("it ran"), job.finished_at.expect("it ended"));
        // An end goes before a beginning in the same millisecond, but not before its own.
        if began < ended {
            events.extend([(began, 1), (ended, 0)]);
        }
    }
    events.sort_unstable();
    let (mut now, mut most) = (0_usize, 0);
    for (_, begins) in events {
        now = if begins == 1 { now + 1 } else { now.saturating_sub(1) };
        most = most.max(now);
    }
    most
}
