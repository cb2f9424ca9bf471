//! R13.9: several jobs run in one call, and each ends by itself.

use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use queuekit_core::{JobId, RetryPolicy, Status};
use queuekit_worker::{BatchHandler, BatchOptions, Ctx, Hooks, JobError, JobResult, Worker};
use tokio::sync::mpsc::UnboundedSender;

use crate::worker::Live;
use crate::worker::kit::{PATIENCE, Task, events, next};

/// Enough for two jobs to come together on a slow machine. A job that has less than twice that left
/// of its timeout does not wait for others.
const TOGETHER: Duration = Duration::from_secs(2);

/// The jobs of each call, by their numbers.
#[derive(Clone, Default)]
struct Calls(Arc<Mutex<Vec<Vec<u32>>>>);

impl Calls {
    fn add(&self, jobs: &[(Task, Ctx)]) {
        let numbers = jobs.iter().map(|(task, _)| task.n).collect();
        self.0.lock().expect("no panic").push(numbers);
    }

    /// How many jobs each call had.
    fn sizes(&self) -> Vec<usize> {
        self.0.lock().expect("no panic").iter().map(Vec::len).collect()
    }

    /// The number of the last job of the first call.
    fn last(&self) -> u32 {
        *self.0.lock().expect("no panic")[0].last().expect("a call has a job")
    }

    /// All numbers, in order.
    fn numbers(&self) -> Vec<u32> {
        let mut numbers = self.0.lock().expect("no panic").concat();
        numbers.sort_unstable();
        numbers
    }
}

/// A worker with ten slots whose failed jobs are not due again during a case.
fn worker(live: &Live) -> Worker {
    live.worker().concurrency(10).retry(RetryPolicy::Fixed(Duration::from_secs(3600)))
}

/// Calls that wait for this many jobs.
fn full(jobs: usize) -> BatchOptions {
    BatchOptions::new(jobs).linger(PATIENCE)
}

/// Completes all jobs of each call.
fn completing(calls: &Calls) -> impl BatchHandler<Task> + use<> {
    let calls = calls.clone();
    async move |jobs: Vec<(Task, Ctx)>| {
        calls.add(&jobs);
        JobResult::Ok(())
    }
}

async fn errors(live: &Live, id: JobId) -> Vec<String> {
    let errors = live.job(id).await.errors;
    errors.iter().map(|failure| failure.error.to_string()).collect()
}

/// R13.9: as many jobs as a call may have run in one call, and each keeps its own result.
/// Guard: a call is made once it is full.
pub(in crate::worker) async fn r13_9_jobs_of_a_kind_run_in_one_call(live: Live) {
    let ids = live.enqueue_many(5).await;
    let calls = Calls::default();
    let counted = calls.clone();
    let handler = async move |jobs: Vec<(Task, Ctx)>| {
        counted.add(&jobs);
        JobResult::Ok(jobs.iter().map(|(task, _)| JobResult::Ok(task.n)).collect::<Vec<_>>())
    };
    let worker = worker(&live).handle_batch(handler, full(5));
    let summary = worker.run_until_idle().await.expect("run");
    assert_eq!((summary.completed, calls.sizes()), (5, vec![5]));
    for (n, id) in ids.into_iter().enumerate() {
        let job = live.job(id).await;
        assert_eq!((job.status, job.attempts), (Status::Completed, 1));
        assert_eq!(job.result.as_deref(), Some(n.to_string().as_bytes()));
    }
}

/// R13.9: no call has more jobs than it may have, and each job is in one call.
/// Guard: what a full call takes with it is not collected again.
pub(in crate::worker) async fn r13_9_no_call_has_more_jobs_than_allowed(live: Live) {
    live.enqueue_many(10).await;
    let calls = Calls::default();
    let batches = BatchOptions::new(4).linger(Duration::from_millis(20));
    let worker = worker(&live).handle_batch(completing(&calls), batches);
    let summary = worker.run_until_idle().await.expect("run");
    assert_eq!((summary.completed, calls.numbers()), (10, (0..10).collect()));
    assert!(calls.sizes().iter().all(|jobs| *jobs <= 4), "{:?}", calls.sizes());
}

/// R13.9: jobs that wait for others run once their time is over.
/// Guard: a call that is not full is made after its time.
pub(in crate::worker) async fn r13_9_a_call_waits_for_more_jobs_for_its_time_at_most(live: Live) {
    live.enqueue_many(3).await;
    let calls = Calls::default();
    let batches = BatchOptions::new(10).linger(Duration::from_millis(20));
    let worker = worker(&live).handle_batch(completing(&calls), batches);
    let summary = worker.run_until_idle().await.expect("run");
    assert_eq!((summary.completed, calls.numbers()), (3, vec![0, 1, 2]));
}

/// Sends a message for each run that starts.
struct Starts(UnboundedSender<()>);

impl Hooks for Starts {
    fn on_start(&self, _: &Ctx) {
        self.0.send(()).expect("the case listens");
    }
}

/// R13.9: a worker that drains runs what it has collected, and waits for no more.
/// Guard: a drain ends the time in which jobs are collected.
pub(in crate::worker) async fn r13_9_a_drain_waits_for_no_further_jobs(live: Live) {
    live.enqueue_many(2).await;
    let calls = Calls::default();
    let batches = BatchOptions::new(10).linger(Duration::from_secs(60));
    let (tells, mut started) = events();
    let worker = worker(&live).handle_batch(completing(&calls), batches);
    let worker = worker.hooks(Starts(tells)).start().await.expect("start");
    // A drain gives jobs back that the worker has leased and not started.
    for _ in 0..2 {
        next(&mut started).await;
    }
    assert_eq!(calls.sizes(), [0; 0], "no call should be made yet");
    let summary = worker.drain(PATIENCE).await;
    assert_eq!((summary.completed, calls.numbers()), (2, vec![0, 1]));
}

/// R13.9: the jobs of a call that returned an error run alone, and only the cause of it fails.
/// Guard: the answer `Alone`.
pub(in crate::worker) async fn r13_9_a_call_that_failed_is_made_again_job_by_job(live: Live) {
    let ids = live.enqueue_many(4).await;
    let calls = Calls::default();
    let counted = calls.clone();
    let handler = async move |jobs: Vec<(Task, Ctx)>| {
        counted.add(&jobs);
        if jobs.iter().any(|(task, _)| task.n == 2) {
            return Err(JobError::retry("two is too many"));
        }
        Ok(())
    };
    let worker = worker(&live).handle_batch(handler, full(4));
    let summary = worker.run_until_idle().await.expect("run");
    assert_eq!((summary.completed, summary.failed, calls.sizes()), (3, 1, vec![4, 1, 1, 1, 1]));
    for (n, id) in ids.into_iter().enumerate() {
        let (status, failures) = match n {
            2 => (Status::Failed, vec!["two is too many".to_owned()]),
            _ => (Status::Completed, Vec::new()),
        };
        let job = live.job(id).await;
        assert_eq!((job.status, job.attempts), (status, 1), "{n}");
        assert_eq!(errors(&live, id).await, failures, "{n}");
    }
}

/// R13.9: likewise for a call that panicked.
/// Guard: the call's panic is caught.
pub(in crate::worker) async fn r13_9_a_call_that_panicked_is_made_again_job_by_job(live: Live) {
    let ids = live.enqueue_many(3).await;
    let calls = Calls::default();
    let counted = calls.clone();
    let handler = async move |jobs: Vec<(Task, Ctx)>| {
        counted.add(&jobs);
        assert!(jobs.iter().all(|(task, _)| task.n != 1), "one was too much");
        JobResult::Ok(())
    };
    let worker = worker(&live).handle_batch(handler, full(3));
    let summary = worker.run_until_idle().await.expect("run");
    assert_eq!((summary.completed, summary.failed, calls.sizes()), (2, 1, vec![3, 1, 1, 1]));
    assert_eq!(errors(&live, ids[1]).await, ["the handler panicked: one was too much"]);
}

/// R13.9: each job of a call ends by its own outcome, and one without an outcome has failed.
/// Guard: outcomes are given out in the order of the jobs.
pub(in crate::worker) async fn r13_9_each_job_of_a_call_has_its_own_outcome(live: Live) {
    let ids = live.enqueue_many(4).await;
    let calls = Calls::default();
    let counted = calls.clone();
    let handler = async move |jobs: Vec<(Task, Ctx)>| {
        counted.add(&jobs);
        let outcome = |(task, _): &(Task, Ctx)| match task.n {
            0 => Err(JobError::retry("not now")),
            1 => Err(JobError::fatal("never")),
            n => Ok(n),
        };
        // The last one has none.
        JobResult::Ok(jobs[..3].iter().map(outcome).collect::<Vec<_>>())
    };
    let worker = worker(&live).handle_batch(handler, full(4));
    worker.run_until_idle().await.expect("run");
    // Jobs of one reserve start in any order.
    let last = calls.last();
    for (n, id) in (0..).zip(ids) {
        let job = live.job(id).await;
        let result = job.result.map(|json| String::from_utf8_lossy(&json).into_owned());
        let missing = "the batch handler returned no outcome for this job";
        let (status, expected, failures) = match n {
            n if n == last => (Status::Failed, None, vec![missing]),
            0 => (Status::Failed, None, vec!["not now"]),
            1 => (Status::Dead, None, vec!["never"]),
            n => (Status::Completed, Some(n.to_string()), Vec::new()),
        };
        assert_eq!((job.status, result), (status, expected), "{n}, the last was {last}");
        assert_eq!(errors(&live, id).await, failures, "{n}, the last was {last}");
    }
}

/// R13.9: a call may take as long as the smallest timeout in it, and is not made again after that.
/// Guard: the call ends when a run in it was given up.
pub(in crate::worker) async fn r13_9_a_call_that_was_given_up_is_not_made_again(live: Live) {
    let first = live.client.enqueue(Task { n: 0 }).timeout(3 * TOGETHER).await.expect("enqueue");
    let second = live.client.enqueue(Task { n: 1 }).timeout(PATIENCE).await.expect("enqueue");
    let calls = Calls::default();
    let counted = calls.clone();
    let handler = async move |jobs: Vec<(Task, Ctx)>| {
        counted.add(&jobs);
        pending::<()>().await;
        JobResult::Ok(())
    };
    let batches = BatchOptions::new(2).linger(TOGETHER);
    let worker = worker(&live).timeout_grace(Duration::ZERO).handle_batch(handler, batches);
    let summary = worker.run_until_idle().await.expect("run");
    assert_eq!((summary.failed, calls.sizes()), (2, vec![2]));
    let given_up = errors(&live, first).await;
    assert!(given_up.len() == 1 && given_up[0].contains("timed out"), "{given_up:?}");
    let with_it = errors(&live, second).await;
    assert_eq!(with_it, ["its call was given up: a job in it had timed out"]);
}

/// R13.9: from its second attempt on, a job runs in a call of its own: the process may have died of
/// it.
/// Guard: the attempt is looked at before a job is collected.
pub(in crate::worker) async fn r13_9_a_second_attempt_runs_in_a_call_of_its_own(live: Live) {
    live.enqueue_many(3).await;
    let calls = Calls::default();
    let counted = calls.clone();
    let handler = async move |jobs: Vec<(Task, Ctx)>| {
        counted.add(&jobs);
        let outcome = |(_, ctx): &(Task, Ctx)| match ctx.attempt() {
            1 => Err(JobError::retry("once more")),
            _ => Ok(()),
        };
        JobResult::Ok(jobs.iter().map(outcome).collect::<Vec<_>>())
    };
    let worker = worker(&live).retry(RetryPolicy::Fixed(Duration::ZERO));
    let summary = worker.handle_batch(handler, full(3)).run_until_idle().await.expect("run");
    assert_eq!((summary.completed, summary.failed), (3, 3));
    assert_eq!(calls.sizes(), [3, 1, 1, 1]);
}

/// R13.9: a job whose run was asked to stop is not run again when its call fails.
/// Guard: whether the run is cancelled is looked at before it is made again.
pub(in crate::worker) async fn r13_9_a_job_that_was_asked_to_stop_is_not_run_again(live: Live) {
    let request = live.client.enqueue(Task { n: 0 }).timeout(3 * TOGETHER);
    let stopped = request.await.expect("enqueue");
    let other = live.enqueue(1).await;
    let calls = Calls::default();
    let counted = calls.clone();
    let handler = async move |jobs: Vec<(Task, Ctx)>| {
        counted.add(&jobs);
        if let Some((_, ctx)) = jobs.iter().find(|(task, _)| task.n == 0) {
            ctx.cancelled().await;
            return Err(JobError::retry("stopped"));
        }
        Ok(())
    };
    let batches = BatchOptions::new(2).linger(TOGETHER);
    let summary = worker(&live).handle_batch(handler, batches).run_until_idle().await.expect("run");
    assert_eq!((summary.completed, summary.failed, calls.sizes()), (1, 1, vec![2, 1]));
    assert_eq!(live.job(other).await.status, Status::Completed);
    assert!(errors(&live, stopped).await[0].contains("stopped"));
}

/// R13.9: a job whose timeout is shorter than what it would wait for others does not wait.
/// Guard: the time that is left is looked at when a job is collected.
pub(in crate::worker) async fn r13_9_a_job_with_a_short_timeout_does_not_wait(live: Live) {
    let timeout = Duration::from_secs(5);
    live.client.enqueue(Task { n: 0 }).timeout(timeout).await.expect("enqueue");
    let handler = async |_: Vec<(Task, Ctx)>| JobResult::Ok(());
    let batches = BatchOptions::new(10).linger(Duration::from_secs(60));
    let worker = worker(&live).timeout_grace(Duration::ZERO).handle_batch(handler, batches);
    assert_eq!(worker.run_until_idle().await.expect("run").completed, 1);
}

/// R13.9: the timeout of a job counts from the start of its call.
/// Guard: the run starts anew with the call.
pub(in crate::worker) async fn r13_9_the_timeout_counts_from_the_call(live: Live) {
    let (timeout, linger) = (Duration::from_secs(30), Duration::from_secs(1));
    for n in 0..2 {
        live.client.enqueue(Task { n }).timeout(timeout).await.expect("enqueue");
    }
    let left = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&left);
    let handler = async move |jobs: Vec<(Task, Ctx)>| {
        let of_each = jobs.iter().map(|(_, ctx)| ctx.time_left());
        seen.lock().expect("no panic").extend(of_each);
        JobResult::Ok(())
    };
    let batches = BatchOptions::new(10).linger(linger);
    let summary = worker(&live).handle_batch(handler, batches).run_until_idle().await.expect("run");
    assert_eq!(summary.completed, 2);
    let left = left.lock().expect("no panic").clone();
    assert!(left.iter().all(|left| *left > timeout - linger / 2), "{left:?}");
}
