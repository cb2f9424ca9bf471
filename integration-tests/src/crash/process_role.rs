//! The work of a process of a crash test until it is killed or asked to end.

use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use queuekit_core::Client;
use queuekit_worker::{Ctx, Handler, Hooks, JobError, JobResult, Outcome, Worker};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use super::call::QUEUE;
use super::{Call, Event, Journal, Run, RunId, Site};

/// Leases of the workers of crash tests: the shortest there are.
pub const TTL: Duration = Duration::from_secs(1);
/// How long a caller waits for room in the queue, or for a store that does not answer.
const PAUSE: Duration = Duration::from_millis(20);

/// Handed to a process in its environment, as JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Role {
    /// Its callers are `<name>.0`, `<name>.1` and so on; no two processes share one at a time.
    pub name: String,
    /// How many enqueue at once.
    pub callers: usize,
    /// The name of its worker, if it has one; several processes may share one.
    pub worker: Option<String>,
    /// How many jobs its worker runs at once.
    pub slots: usize,
    /// How long each of its runs takes, if that matters: then none ends before, whatever has become
    /// of its lease.
    pub runs_for: Option<Duration>,
    /// Where the store is.
    pub place: String,
    /// Where the journal is.
    pub journal: PathBuf,
}

/// What a role runs on.
struct Stage {
    role: Role,
    client: Client,
    journal: Journal,
    /// True when this process is to end.
    end: watch::Receiver<bool>,
}

impl Stage {
    async fn until_end(&self) {
        self.end
            .clone()
            .wait_for(|ended| *ended)
            .await
            .expect("the end should be signalled before its sender is dropped");
    }
}

/// True once the standard input is closed.
pub(super) fn end_of_input() -> watch::Receiver<bool> {
    let (told, end) = watch::channel(false);
    std::thread::spawn(move || {
        // An error ends it as well as the end does.
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        let _ = told.send(true);
    });
    end
}

/// Plays a role until the standard input is closed, which happens at the latest when the process
/// that started this one dies.
pub(super) async fn play(site: &dyn Site, role: Role) {
    let end = end_of_input();
    let journal = Journal::open(&role.journal);
    let client = Client::shared(site.open(&role.place).await);
    journal.tell(Event::Ready);
    let stage = Arc::new(Stage { role, client, journal, end });
    let callers = (0..stage.role.callers).map(|n| tokio::spawn(call(Arc::clone(&stage), n)));
    let (callers, ()) = tokio::join!(join_all(callers), work(&stage));
    callers.into_iter().for_each(|caller| caller.expect("a caller"));
    stage.until_end().await;
    stage.client.close().await.expect("close");
}

/// Enqueues, one call after the other.
async fn call(stage: Arc<Stage>, n: usize) {
    let caller = format!("{}.{n}", stage.role.name);
    // Whether the last call of a process that was killed took effect nobody knows.
    let last = Journal::last_call(&stage.role.journal, &caller);
    let mut next = last.unwrap_or(Call { caller, number: 0 });
    while !*stage.end.borrow() {
        stage.journal.tell(Event::Calling(next.clone()));
        match next.enqueue(&stage.client).await {
            Ok(jobs) if jobs.is_empty() => tokio::time::sleep(PAUSE).await,
            Ok(jobs) => {
                let accepted = jobs.into_iter().map(|job| Event::Accepted(next.clone(), job));
                stage.journal.tell_of(std::process::id(), accepted);
                next.number += 1;
            }
            Err(error) if error.is_retryable() => {
                stage.journal.tell(Event::Failed(error.to_string()));
                tokio::time::sleep(PAUSE).await;
            }
            Err(error) => panic!("{next:?}: {error}"),
        }
    }
}

/// Runs jobs.
async fn work(stage: &Arc<Stage>) {
    let Some(name) = &stage.role.worker else { return };
    let worker = Worker::new(stage.client.clone())
        .name(name)
        .queue(QUEUE)
        .concurrency(stage.role.slots)
        .lease_ttl(TTL)
        .poll_interval(Duration::from_millis(100))
        .handle(Effect { journal: stage.journal.clone(), runs_for: stage.role.runs_for })
        .hooks(Teller(stage.journal.clone()));
    let summary = worker.run_until(stage.until_end()).await.expect("the worker");
    stage.journal.tell(Event::LeasesLost(summary.lease_lost));
}

/// Takes a while, as long as it is allowed to.
struct Effect {
    journal: Journal,
    runs_for: Option<Duration>,
}

impl Handler<Call> for Effect {
    /// Which run it was, by its `lease_seq`.
    type Output = u64;

    async fn call(&self, call: Call, ctx: Ctx) -> JobResult<u64> {
        let (id, attempt) = (run_id(&ctx), ctx.attempt());
        let worker = ctx.worker_id().clone();
        self.journal.tell(Event::Started(Run { id, attempt, worker, call }));
        // A few runs outlive their first lease.
        let long = fastrand::u8(..20) == 0;
        let millis = if long { fastrand::u64(300..1500) } else { fastrand::u64(..30) };
        let stopped = match self.runs_for {
            Some(time) => {
                tokio::time::sleep(time).await;
                false
            }
            None => {
                let time = Duration::from_millis(millis);
                tokio::time::timeout(time, ctx.cancelled()).await.is_ok()
            }
        };
        self.journal.tell(Event::Ended(id));
        if stopped { Err(JobError::retry("told to stop")) } else { Ok(ctx.lease_seq()) }
    }
}

/// Tells what the store has answered.
struct Teller(Journal);

impl Hooks for Teller {
    fn on_outcome(&self, ctx: &Ctx, outcome: &Outcome) {
        self.0.tell(Event::Settled(run_id(ctx), outcome.as_str().to_owned()));
    }

    fn on_lease_lost(&self, ctx: &Ctx) {
        self.0.tell(Event::LeaseLost(run_id(ctx)));
    }

    fn on_store_error(&self, error: &queuekit_core::Error) {
        self.0.tell(Event::Failed(error.to_string()));
    }
}

fn run_id(ctx: &Ctx) -> RunId {
    RunId { job: ctx.id(), lease_seq: ctx.lease_seq() }
}
