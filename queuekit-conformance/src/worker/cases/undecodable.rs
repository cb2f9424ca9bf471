//! R13.8: a worker that cannot read a payload leaves its job to one that can.

use std::sync::atomic::Ordering;
use std::time::Duration;

use queuekit_core::capability::Finding;
use queuekit_core::limits::UNDECODABLE;
use queuekit_core::{
    BackendExt, Bytes, Payload, ReleaseCause, State, Status, UpgradeError, WorkerId,
};
use queuekit_worker::{BatchOptions, Ctx, JobError, JobResult};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::worker::Live;
use crate::worker::kit::{PATIENCE, Task, soon};

const WRONG: &str = r#"{"n": "many"}"#;

/// The second version of [`Task`].
#[derive(Serialize, Deserialize)]
struct Counts {
    counts: Vec<u32>,
}

impl Payload for Counts {
    const KIND: &'static str = Task::KIND;
    const VERSION: u32 = 2;

    fn upgrade(version: u32, value: Value) -> Result<Value, UpgradeError> {
        assert_eq!(version, 1);
        Ok(json!({"counts": [value["n"]]}))
    }
}

/// Completes every job.
async fn complete(_: Task, _: Ctx) -> JobResult {
    Ok(())
}

/// R13.8: a payload that cannot be decoded takes no attempt and affects no other job. Its mark
/// names the kind and the place in the payload.
/// Guard: an error of the decoding is no error of the handler.
pub(in crate::worker) async fn r13_8_a_payload_that_does_not_fit_parks_its_job(live: Live) {
    let wrong = live.enqueue_raw("task", WRONG).await;
    let missing = live.enqueue_raw("task", "{}").await;
    let garbage = live.enqueue_raw("task", "\u{0}not json").await;
    let good = live.enqueue(1).await;
    let summary = live.worker().handle(complete).run_until_idle().await.expect("run");
    assert_eq!((summary.completed, summary.failed), (1, 0));
    for id in [wrong, missing, garbage] {
        let job = live.job(id).await;
        assert_eq!((job.state, job.attempts), (State::Pending, 0));
        assert!(job.errors.is_empty(), "{:?}", job.errors);
        // On a slow machine it is due, and met, again before the worker is idle.
        let mark = job.undecodable().expect("a mark");
        assert_eq!((Some(mark.since), mark.times), (job.released[0].started_at, job.releases));
        assert!(mark.error.as_str().contains("payload of task at "), "{mark:?}");
    }
    let mark = live.job(wrong).await.undecodable().cloned().expect("a mark");
    assert!(mark.error.as_str().contains(" at n: "), "{mark:?}");
    assert_eq!(live.job(good).await.status, Status::Completed);
}

/// R13.8: a worker that can read the payload runs the job at its first attempt.
/// Guard: the release gives the attempt back.
pub(in crate::worker) async fn r13_8_a_worker_that_reads_it_runs_it_at_its_first_attempt(
    live: Live,
) {
    let id = live.enqueue_raw("task", WRONG).await;
    let summary = live.worker().handle(complete).run_until_idle().await.expect("run");
    assert_eq!(summary.completed, 0);
    let releases = live.job(id).await.releases;
    live.world.advance(Duration::from_secs(60)).await;
    let fixed = async |payload: Bytes, _: Ctx| JobResult::Ok(Some(payload));
    let worker = live.worker().handle_raw("task", fixed);
    let summary = worker.run_until_idle().await.expect("run");
    assert_eq!(summary.completed, 1);
    let job = live.job(id).await;
    assert_eq!((job.status, job.attempts, job.releases), (Status::Completed, 1, releases));
    assert_eq!(job.result.as_deref(), Some(WRONG.as_bytes()));
}

/// R13.8: a job that no worker could read for 7 days is dead, with what could not be read and since
/// when.
/// Guard: the worker asks the store for the first time.
pub(in crate::worker) async fn r13_8_a_job_that_no_worker_reads_for_7_days_is_dead(live: Live) {
    let id = live.enqueue_raw("task", WRONG).await;
    let run = async || live.worker().handle(complete).run_until_idle().await.expect("run");
    assert_eq!(run().await.dead, 0);
    live.world.advance(Duration::from_secs(3600)).await;
    assert_eq!(run().await.dead, 0);
    assert!(live.job(id).await.undecodable().is_some_and(|mark| mark.times > 1));
    live.world.advance(UNDECODABLE).await;
    assert_eq!(run().await.dead, 1);
    let job = live.job(id).await;
    assert_eq!((job.status, job.errors.len()), (Status::Dead, 1));
    let reason = job.reason.expect("a reason").to_string();
    assert!(reason.contains("read since 20") && reason.contains(" at n: "), "{reason}");
}

/// R13.8: if the store does not say what is known of the job, it is released all the same, and the
/// time of the first stays.
/// Guard: the release without a mark.
pub(in crate::worker) async fn r13_8_a_job_is_released_while_the_store_cannot_be_read(live: Live) {
    let id = live.enqueue_raw("task", WRONG).await;
    let run = async || live.worker().handle(complete).run_until_idle().await.expect("run");
    assert!(run().await.released > 0);
    let first = live.job(id).await.undecodable().cloned();
    live.world.advance(Duration::from_secs(60)).await;
    live.switches.reads_fail.store(true, Ordering::SeqCst);
    assert!(run().await.released > 0);
    let job = live.job(id).await;
    assert_eq!((job.state, job.attempts), (State::Pending, 0));
    let last = job.released.last().expect("a release");
    assert_eq!((last.cause, &last.undecodable), (Some(ReleaseCause::Undecodable), &None));
    assert_eq!(job.undecodable(), first.as_ref());
}

/// R13.8: a handler that reads a part of its payload itself can say that it cannot.
/// Guard: the kind of the error decides, not where it comes from.
pub(in crate::worker) async fn r13_8_a_handler_can_say_that_it_cannot_read_its_payload(live: Live) {
    let id = live.enqueue(1).await;
    let handler = async |task: Task, _: Ctx| {
        let inner: JobResult<WorkerId> = WorkerId::new("").map_err(JobError::undecodable);
        inner.map(|_| task.n)
    };
    let summary = live.worker().handle(handler).run_until_idle().await.expect("run");
    assert_eq!((summary.completed, summary.failed), (0, 0));
    let job = live.job(id).await;
    assert!(job.undecodable().is_some(), "{job:?}");
}

/// R13.8, R3.9: while a worker parks jobs, its beats and the findings about the store name their
/// kind and what it could not read.
/// Guard: the worker notes what it parks.
pub(in crate::worker) async fn r13_8_beats_and_findings_name_a_kind_that_is_not_read(live: Live) {
    let worker = live.worker().handle(complete).start().await.expect("start");
    live.enqueue_raw("task", WRONG).await;
    let said = soon(async {
        loop {
            let about = live.beat_of(&worker).await.about;
            if let Some(said) = about.undecodable().first() {
                return said.clone();
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    let said = said.await;
    assert_eq!((said.kind.as_str(), said.times > 0), ("task", true), "{said:?}");
    assert!(said.error.contains("payload of task at n: "), "{said:?}");
    let findings = live.world.backend().all_findings().await.expect("findings");
    let is_told = |found: &Finding| found.message.starts_with("1 of 1 workers with a handler");
    assert!(findings.iter().any(is_told), "{findings:?}");
    worker.stop().await;
    let findings = live.world.backend().all_findings().await.expect("findings");
    assert!(!findings.iter().any(is_told), "the worker has left: {findings:?}");
}

/// R13.8, R13.9: a job of a batch whose payload cannot be read parks alone; the others run.
/// Guard: each job of a batch is decoded before it is collected.
pub(in crate::worker) async fn r13_8_a_job_of_a_batch_parks_alone(live: Live) {
    let good = live.enqueue_many(2).await;
    let wrong = live.enqueue_raw("task", WRONG).await;
    let handler = async |jobs: Vec<(Task, Ctx)>| {
        assert_eq!(jobs.len(), 2);
        JobResult::Ok(())
    };
    let worker = live.worker().concurrency(10);
    let worker = worker.handle_batch(handler, BatchOptions::new(2).linger(PATIENCE));
    let summary = worker.run_until_idle().await.expect("run");
    assert_eq!((summary.completed, summary.failed), (2, 0));
    for id in good {
        assert_eq!(live.job(id).await.status, Status::Completed);
    }
    let job = live.job(wrong).await;
    assert_eq!((job.state, job.attempts), (State::Pending, 0));
    assert!(job.undecodable().is_some(), "{job:?}");
}

/// R13.8: a payload of an older version becomes the newest, for a handler of single jobs and for
/// one of batches.
/// Guard: the version is compared before the payload is decoded.
pub(in crate::worker) async fn r13_8_an_older_version_of_a_payload_is_upgraded(live: Live) {
    let single = live.enqueue(7).await;
    let handler = async |job: Counts, _: Ctx| JobResult::Ok(job.counts);
    let summary = live.worker().handle(handler).run_until_idle().await.expect("run");
    assert_eq!(summary.completed, 1);
    assert_eq!(live.job(single).await.result.as_deref(), Some(&b"[7]"[..]));
    live.enqueue_many(2).await;
    let newest = live.client.enqueue(Counts { counts: vec![5, 6] }).await.expect("enqueue");
    let handler = async |jobs: Vec<(Counts, Ctx)>| {
        JobResult::Ok(jobs.into_iter().map(|(job, _)| Ok(job.counts)).collect::<Vec<_>>())
    };
    let worker = live.worker().concurrency(10);
    let worker = worker.handle_batch(handler, BatchOptions::new(3).linger(PATIENCE));
    let summary = worker.run_until_idle().await.expect("run");
    assert_eq!(summary.completed, 3);
    let job = live.job(newest).await;
    assert_eq!(job.result.as_deref(), Some(&b"[5,6]"[..]));
    assert_eq!(job.metadata.iter().collect::<Vec<_>>(), [("payload_version", "2")]);
    assert_eq!(job.payload::<Counts>().expect("a payload").counts, [5, 6]);
}

/// R13.8: a worker leaves a payload of a newer version to a newer worker, even if it could decode
/// it.
/// Guard: a version above that of the type is refused.
pub(in crate::worker) async fn r13_8_a_newer_version_of_a_payload_waits_for_a_newer_worker(
    live: Live,
) {
    let request = live.client.enqueue(Task { n: 1 }).metadata([("payload_version", "2")]);
    let id = request.await.expect("enqueue");
    let summary = live.worker().handle(complete).run_until_idle().await.expect("run");
    assert_eq!((summary.completed, summary.failed), (0, 0));
    let job = live.job(id).await;
    let mark = job.undecodable().expect("a mark");
    assert!(mark.error.as_str().contains("has version 2, and this program"), "{mark:?}");
}
