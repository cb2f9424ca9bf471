//! R13.11: waiting for a job to end.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::{join_all, try_join};
use queuekit_core::{Backend, BackendExt, Client, DeadLetter, ErrorKind, JobId, State, Timestamp};
use queuekit_worker::{Ctx, JobError, JobResult};

use crate::kit::default_queue;
use crate::layer::Layer;
use crate::worker::Live;
use crate::worker::kit::{PATIENCE, Task, soon};
use crate::wrapped::Wrapped;

/// Counts the looks at states.
#[derive(Debug)]
struct Counted {
    inner: Arc<dyn Backend>,
    looks: Arc<AtomicU64>,
}

#[async_trait]
impl Layer for Counted {
    fn inner(&self) -> &Arc<dyn Backend> {
        &self.inner
    }

    fn called(&self, operation: &'static str) {
        if operation == "job_states" {
            self.looks.fetch_add(1, Ordering::SeqCst);
        }
    }
}

impl Live {
    /// A client as another process would have it: no call of its own ends a job.
    fn observer(&self) -> (Client, Arc<AtomicU64>) {
        let looks = Arc::<AtomicU64>::default();
        let inner = Arc::clone(self.world.backend());
        let counted = Counted { inner, looks: Arc::clone(&looks) };
        (Client::new(Wrapped(counted)), looks)
    }
}

/// R13.11: completed, dead and cancelled are answers, also for a job that had ended before.
/// Guard: a wait ends with every end.
pub(in crate::worker) async fn r13_11_a_wait_answers_how_the_job_ended(live: Live) {
    let handler = |task: Task, _: Ctx| async move {
        match task.n {
            0 => JobResult::Ok("done"),
            _ => Err(JobError::fatal("broken")),
        }
    };
    let completes = live.enqueue(0).await;
    let dies = live.enqueue(1).await;
    let called_off = live.enqueue_raw("unknown", "{}").await;
    let worker = live.worker().handle(handler).start().await.expect("start");
    let (observer, _) = live.observer();
    for client in [&live.client, &observer] {
        let job = soon(client.jobs().wait(completes)).await.expect("it completes");
        assert_eq!(job.result::<String>().expect("a text"), "done");
        assert_eq!(soon(client.jobs().wait(dies)).await.expect("it dies").state, State::Dead);
    }
    let cancel = async { live.client.jobs().cancel(called_off).await };
    let (job, _) = soon(try_join(observer.jobs().wait(called_off), cancel)).await.expect("both");
    assert_eq!(job.state, State::Cancelled);
    worker.stop().await;
}

/// R13.11: a job that is not stored, or no longer, is NotFound.
/// Guard: a state that is not there ends the wait.
pub(in crate::worker) async fn r13_11_a_wait_for_a_job_that_is_gone_fails(live: Live) {
    let (observer, _) = live.observer();
    let unknown = JobId::generate(&default_queue(), Timestamp::default());
    let error = soon(observer.jobs().wait(unknown)).await.expect_err("it is not stored");
    assert_eq!(*error.kind(), ErrorKind::NotFound);
    let deleted = live.enqueue(0).await;
    let delete = async {
        assert!(live.world.backend().delete_job(deleted, false).await.expect("delete"));
    };
    let (waited, ()) = soon(async { tokio::join!(observer.jobs().wait(deleted), delete) }).await;
    assert_eq!(*waited.expect_err("it is gone").kind(), ErrorKind::NotFound);
}

/// R13.11: at its time a wait answers none, and the job does not notice.
/// Guard: the time limit.
pub(in crate::worker) async fn r13_11_a_wait_ends_at_its_time(live: Live) {
    let time = Duration::from_millis(100);
    let id = live.enqueue(0).await;
    assert_eq!(soon(live.client.jobs().wait_for(id, time)).await.expect("no error"), None);
    let request = live.client.enqueue(Task { n: 1 });
    assert_eq!(soon(request.wait_for(time)).await.expect("no error"), None);
    assert_eq!(live.job(id).await.attempts, 0);
    let handler = |_: Task, _: Ctx| async { JobResult::Ok(()) };
    let worker = live.worker().handle(handler).start().await.expect("start");
    let ended = live.client.jobs().wait_for(id, PATIENCE).await.expect("no error");
    assert_eq!(ended.expect("it has ended").state, State::Completed);
    worker.stop().await;
}

/// R13.11: a wait continues while the store is away.
/// Guard: an error that may pass is not the end of a wait.
pub(in crate::worker) async fn r13_11_a_wait_outlasts_an_outage(live: Live) {
    let id = live.enqueue(0).await;
    live.switches.outage.store(true, Ordering::SeqCst);
    let time = Duration::from_millis(100);
    let error = soon(live.client.jobs().wait_for(id, time)).await.expect_err("it cannot tell");
    assert!(error.is_retryable(), "{error}");
    let end = async {
        assert!(
            live.world
                .backend()
                .dead_letter_one(DeadLetter::of_job(id, "broken"))
                .await
                .expect("dead-letter")
        );
        live.switches.outage.store(false, Ordering::SeqCst);
    };
    let (waited, ()) = soon(async { tokio::join!(live.client.jobs().wait(id), end) }).await;
    assert_eq!(waited.expect("it has ended").state, State::Dead);
}

/// R13.11: all waits of a client look in the same calls.
/// Guard: looks at the same instant are merged.
pub(in crate::worker) async fn r13_11_waits_of_a_client_share_their_looks(live: Live) {
    const WAITS: u32 = 50;
    let ids = live.enqueue_many(WAITS).await;
    let (observer, looks) = live.observer();
    let wait = |id: JobId| {
        let client = observer.clone();
        tokio::spawn(async move { client.jobs().wait(id).await })
    };
    let waits: Vec<_> = ids.iter().copied().map(wait).collect();
    // Until all wait for a second between two looks; those that began later do so later.
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    let before = looks.load(Ordering::SeqCst);
    tokio::time::sleep(Duration::from_secs(2)).await;
    let looked = looks.load(Ordering::SeqCst) - before;
    assert!((1..=3).contains(&looked), "{looked} calls in 2 s");
    for id in ids {
        let enough = DeadLetter::of_job(id, "enough");
        live.world.backend().dead_letter_one(enough).await.expect("dead-letter");
    }
    for waited in soon(join_all(waits)).await {
        assert_eq!(waited.expect("no panic").expect("it has ended").state, State::Dead);
    }
}
