//! A worker whose store cannot be reached for a while, and another one that can reach it: R13.6,
//! and R3.3 and R5.2 for the leases of the first one.

use std::sync::Arc;
use std::time::{Duration, Instant};

use queuekit_conformance::time_limit::Stopwatch;
use queuekit_core::{Backend, Client, Job, JobId, Payload, State};
use queuekit_integration_tests::crash::is_long;
use queuekit_integration_tests::servers::{Mode, Proxy};
use queuekit_worker::{Ctx, JobResult, RunSummary, Worker};
use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, watch};

use super::store_fixture::{PATIENCE, until};

/// Leases of both workers.
const TTL: Duration = Duration::from_secs(1);
/// "Resumes within 5 s of its end" (R13.6).
const RESUMES: Duration = Duration::from_secs(5);
/// How long the network is down: until stores have given up the connections they had and are making
/// others; and, in the long tier, for longer than any call lasts.
const SHORT: Duration = Duration::from_millis(3200);
const LONG: Duration = Duration::from_secs(30);
/// Jobs that the first worker holds when it is cut off. Half of them end at once, so that their
/// acks meet the partition; the others when another worker has run them, so that theirs are stale.
const HELD: u32 = 8;

#[derive(Debug, Serialize, Deserialize)]
struct Task {
    n: u32,
}

impl Payload for Task {
    const KIND: &'static str = "task";
}

/// A run that a handler has begun.
#[derive(Clone, Copy, Debug)]
struct Begun {
    job: JobId,
    lease_seq: u64,
}

/// The gates that let handlers return: first those of even numbers, then those of odd ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
enum Gate {
    Shut,
    Even,
    Open,
}

/// Cuts a worker off its store in this mode, lets another one take over, ends the partition, and
/// looks at how the first one resumes; once more, if the machine stood still meanwhile. `behind` is
/// the store by way of the proxy, `beside` the same store without it.
///
/// # Panics
/// If what the first one held is not run by the other, something is lost, the first one's stale
/// outcomes change something, or it does not resume in time.
pub(crate) async fn partition(
    mode: Mode,
    proxy: &Proxy,
    behind: Arc<dyn Backend>,
    beside: Arc<dyn Backend>,
) {
    for _ in 0..2 {
        if is_survived(mode, proxy, Arc::clone(&behind), Arc::clone(&beside)).await {
            return;
        }
    }
    panic!("{mode:?}: the machine stood still twice: let it do less");
}

/// False if the machine stood still, so that the times prove nothing.
#[expect(clippy::print_stdout, reason = "figures are for reading")]
async fn is_survived(
    mode: Mode,
    proxy: &Proxy,
    behind: Arc<dyn Backend>,
    beside: Arc<dyn Backend>,
) -> bool {
    let client = Client::shared(Arc::clone(&beside));
    let held = enqueue(&client, 0..HELD).await;
    let (first, mut runs) = Runner::start("first", &behind).await;
    for _ in 0..HELD {
        soon("the first worker has its jobs", runs.recv()).await.expect("a run");
    }
    proxy.set(mode);
    let (begun, watch) = (Instant::now(), Stopwatch::start());
    first.gate.send_replace(Gate::Even);
    let more = enqueue(&client, HELD..2 * HELD).await;
    let (second, mut second_runs) = Runner::start("second", &beside).await;
    second.gate.send_replace(Gate::Open);
    all_complete(&*beside, held.iter().chain(&more)).await;
    let taken_over = begun.elapsed();
    let in_time = watch.shows_time(&format!("{mode:?}: the takeover"), taken_over, TTL + RESUMES);
    let before = jobs(&*beside, &held).await;
    let repeats = runs_of(&mut second_runs);
    let stale = assert_explained(mode, &before, &repeats);
    first.gate.send_replace(Gate::Open);
    let lasts = if is_long() { LONG } else { SHORT };
    tokio::time::sleep(lasts.saturating_sub(begun.elapsed())).await;
    second.stop().await;
    let last = enqueue(&client, 2 * HELD..3 * HELD).await;
    let (ended, watch) = (Instant::now(), Stopwatch::start());
    proxy.set(Mode::Pass);
    all_complete(&*beside, &last).await;
    let resumed = ended.elapsed();
    let resumed_in_time = watch.shows_time(&format!("{mode:?}: to resume"), resumed, RESUMES);
    let summary = first.stop().await;
    println!("{mode:?}: taken over in {taken_over:?}, resumed in {resumed:?}, {summary:?}");
    assert_eq!(jobs(&*beside, &held).await, before, "{mode:?}: a stale outcome changed a job");
    assert!(summary.lease_lost >= stale, "{mode:?}: {stale} leases were lost: {summary:?}");
    in_time && resumed_in_time
}

/// Each job that the first worker held was completed by it, if its ack arrived, or else by the
/// other one under a later lease; the number of the latter.
fn assert_explained(mode: Mode, jobs: &[Job], repeats: &[Begun]) -> u64 {
    let mut stale = 0;
    for job in jobs {
        let again = repeats.iter().rfind(|run| run.job == job.id);
        let by = |name: &str| job.result.as_deref() == Some(format!("{name:?}").as_bytes());
        match again {
            Some(run) => {
                stale += 1;
                assert!(
                    by("second") && job.lease_seq == run.lease_seq,
                    "{mode:?}: {run:?}, {job:?}"
                );
                assert!(run.lease_seq > 1 && !job.errors.is_empty(), "{mode:?}: {run:?}, {job:?}");
            }
            None => assert!(by("first") && job.lease_seq == 1, "{mode:?}: {job:?}"),
        }
    }
    let least = if mode == Mode::LoseReplies { HELD / 2 } else { HELD };
    assert!(stale >= u64::from(least), "{mode:?}: {stale} were taken over");
    stale
}

/// A worker that runs.
struct Runner {
    gate: watch::Sender<Gate>,
    worker: queuekit_worker::RunningWorker,
}

impl Runner {
    async fn start(
        name: &'static str,
        store: &Arc<dyn Backend>,
    ) -> (Self, mpsc::UnboundedReceiver<Begun>) {
        let (tell, runs) = mpsc::unbounded_channel();
        let gate = watch::Sender::new(Gate::Shut);
        let opens = gate.subscribe();
        let handler = move |task: Task, ctx: Ctx| {
            let (tell, mut opens) = (tell.clone(), opens.clone());
            async move {
                let _ = tell.send(Begun { job: ctx.id(), lease_seq: ctx.lease_seq() });
                let gate = if task.n.is_multiple_of(2) { Gate::Even } else { Gate::Open };
                // It returns when its gate opens, even if its lease is gone.
                let _ = opens.wait_for(|opened| *opened >= gate).await;
                JobResult::Ok(name)
            }
        };
        let worker = Worker::new(Client::shared(Arc::clone(store)))
            .name(name)
            .concurrency(usize::try_from(HELD).expect("a small number"))
            .lease_ttl(TTL)
            .poll_interval(Duration::from_millis(100))
            .handle(handler);
        (Self { gate, worker: worker.start().await.expect("start") }, runs)
    }

    async fn stop(self) -> RunSummary {
        self.worker.drain(PATIENCE).await
    }
}

async fn enqueue(client: &Client, numbers: std::ops::Range<u32>) -> Vec<JobId> {
    let outcomes = client.enqueue_all(numbers.map(|n| Task { n })).await.expect("enqueue");
    outcomes.into_iter().map(|outcome| outcome.job_id().expect("created")).collect()
}

async fn jobs(store: &dyn Backend, ids: &[JobId]) -> Vec<Job> {
    let mut jobs = Vec::new();
    for id in ids {
        jobs.push(store.get_job(*id).await.expect("get_job").expect("the job is stored"));
    }
    jobs
}

async fn all_complete<'a>(store: &dyn Backend, ids: impl IntoIterator<Item = &'a JobId>) {
    for id in ids {
        until("the job is completed", async || {
            let job = store.get_job(*id).await.expect("get_job").expect("the job is stored");
            assert_ne!(job.state, State::Dead, "{job:?}");
            job.state == State::Completed
        })
        .await;
    }
}

fn runs_of(runs: &mut mpsc::UnboundedReceiver<Begun>) -> Vec<Begun> {
    std::iter::from_fn(|| runs.try_recv().ok()).collect()
}

async fn soon<T>(what: &str, waited: impl Future<Output = T>) -> T {
    let came = tokio::time::timeout(PATIENCE, waited).await;
    came.unwrap_or_else(|_| panic!("it did not come to that: {what}"))
}
