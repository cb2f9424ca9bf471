//! What runs several jobs in one call.

use std::future::Future;
use std::time::Duration;

use queuekit_core::{Bytes, Error, Result};
use serde::Serialize;

use super::result::encode;
use crate::run::ctx::Ctx;
use crate::run::job_error::{JobError, JobResult};

/// Runs several jobs of one kind in one call, such as one bulk insert for a hundred rows.
///
/// Every `async fn(Vec<(P, Ctx)>) -> Result<R, E>` is one, and every closure of that shape, as with
/// [`Handler`](crate::Handler). `R` is one of these:
///
/// - `()`: all jobs of the call are completed;
/// - `Vec<JobResult<T>>`: the outcome of each job, in the order of the jobs. A job without an
///   outcome has failed.
///
/// ```
/// # use queuekit::{Client, Payload, memory::MemoryStore};
/// use std::time::Duration;
///
/// use queuekit::{BatchOptions, Ctx, JobResult, Worker};
/// # #[derive(serde::Serialize, serde::Deserialize)]
/// # struct Visit { page: String }
/// # impl Payload for Visit { const KIND: &'static str = "visit"; }
///
/// async fn count(visits: Vec<(Visit, Ctx)>) -> JobResult {
///     let pages: Vec<_> = visits.iter().map(|(visit, _)| visit.page.as_str()).collect();
///     println!("one statement counts {} visits", pages.len());
///     Ok(())
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> queuekit::Result<()> {
/// # let client = Client::new(MemoryStore::new());
/// # client.enqueue_all((0..3).map(|_| Visit { page: "/".into() })).await?;
/// let batches = BatchOptions::new(100).linger(Duration::from_millis(20));
/// let worker = Worker::new(client).concurrency(100).handle_batch(count, batches);
/// # assert_eq!(worker.run_until_idle().await?.completed, 3);
/// # Ok(())
/// # }
/// ```
///
/// Each job keeps its lease, its attempt and its outcome, and holds a slot from the reserve on, so
/// a call never has more jobs than the worker has slots. Rule R13.9 of the contract says what
/// happens if a call fails:
///
/// - If a call of several jobs returns an error or panics, each of them runs again in a call of its
///   own, in the same attempt. So one job that cannot succeed fails alone.
/// - A call may take as long as the smallest timeout of its jobs allows. If it is given up, all its
///   jobs have failed.
/// - From its second attempt on, a job runs in a call of its own.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not handle batches of payload `{P}`",
    label = "not a batch handler of `{P}`",
    note = "a batch handler is `async fn name(jobs: Vec<({P}, Ctx)>) -> JobResult`, or a closure \
            of that shape that is `Clone` and whose future is `Send`",
    note = "the result must be a `JobResult<()>` or a `JobResult<Vec<JobResult<T>>>` whose `T` \
            implements `serde::Serialize`"
)]
pub trait BatchHandler<P>: Send + Sync + 'static {
    /// What a call produces: `()`, or the outcome of each job.
    type Output: BatchOutput;

    /// Runs at least one job and at most [`BatchOptions::new`] allows.
    ///
    /// # Errors
    /// Any error: each job then runs again in a call of its own. The error of such a call is that
    /// of its job, as [`Handler::call`](crate::Handler::call) describes it.
    fn call(
        &self,
        jobs: Vec<(P, Ctx)>,
    ) -> impl Future<Output = Result<Self::Output, JobError>> + Send;
}

impl<P, F, Fut, R, E> BatchHandler<P> for F
where
    F: FnOnce(Vec<(P, Ctx)>) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Result<R, E>> + Send,
    R: BatchOutput,
    E: Into<JobError>,
{
    type Output = R;

    fn call(&self, jobs: Vec<(P, Ctx)>) -> impl Future<Output = JobResult<R>> + Send {
        let run = self.clone()(jobs);
        async move { run.await.map_err(Into::into) }
    }
}

/// What a [`BatchHandler`] returns.
pub trait BatchOutput: Send {
    /// The outcome of each of this many jobs, in their order, and its result in JSON.
    ///
    /// # Errors
    /// If there are more outcomes than jobs.
    fn into_outcomes(self, jobs: usize) -> JobResult<Vec<JobResult<Option<Bytes>>>>;
}

impl BatchOutput for () {
    fn into_outcomes(self, jobs: usize) -> JobResult<Vec<JobResult<Option<Bytes>>>> {
        Ok((0..jobs).map(|_| Ok(None)).collect())
    }
}

impl<T: Serialize + Send> BatchOutput for Vec<JobResult<T>> {
    fn into_outcomes(self, jobs: usize) -> JobResult<Vec<JobResult<Option<Bytes>>>> {
        if self.len() > jobs {
            let text =
                format!("the batch handler returned {} outcomes for {jobs} jobs", self.len());
            return Err(JobError::retry(text));
        }
        let missing = jobs - self.len();
        let stored = self.into_iter().map(|outcome| encode(&outcome?));
        let failed = || Err(JobError::retry("the batch handler returned no outcome for this job"));
        Ok(stored.chain(std::iter::repeat_with(failed).take(missing)).collect())
    }
}

/// How the jobs of a [`BatchHandler`] are collected.
#[derive(Clone, Copy, Debug)]
#[must_use = "options change nothing until a handler is given with them"]
pub struct BatchOptions {
    pub(super) most: usize,
    pub(super) linger: Duration,
}

/// More than a reserve leases.
const MOST: usize = 10_000;
/// Every job of the batch holds a slot meanwhile.
const LINGER: Duration = Duration::from_secs(60);

impl BatchOptions {
    /// At most this many jobs per call, 1 to 10,000. With as many slots
    /// ([`Worker::concurrency`](crate::Worker::concurrency)), one call at a time is full.
    pub fn new(most: usize) -> Self {
        Self { most, linger: Duration::from_millis(10) }
    }

    /// How long the first job of a call waits for others, at most 60 s. A worker that drains waits
    /// for no more, and a job whose timeout is less than twice as long is not kept waiting.
    /// Default: 10 ms.
    pub fn linger(mut self, linger: Duration) -> Self {
        self.linger = linger;
        self
    }

    pub(crate) fn check(&self) -> Result<()> {
        if !(1..=MOST).contains(&self.most) {
            return Err(Error::invalid("jobs of a batch", "1..=10000", self.most));
        }
        if self.linger > LINGER {
            return Err(Error::invalid("linger", "0 s..=60 s", format!("{:?}", self.linger)));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(outcomes: Vec<JobResult<Option<Bytes>>>) -> Vec<String> {
        let text = |outcome: JobResult<Option<Bytes>>| match outcome {
            Ok(result) => format!("{result:?}"),
            Err(error) => error.to_string(),
        };
        outcomes.into_iter().map(text).collect()
    }

    #[test]
    fn r13_9_outcomes_are_those_of_the_jobs_in_their_order() {
        let outcomes = vec![Ok(7), Err(JobError::retry("no room"))];
        let outcomes = texts(outcomes.into_outcomes(3).unwrap());
        let missing = "the batch handler returned no outcome for this job";
        assert_eq!(outcomes, ["Some(b\"7\")", "no room", missing]);
        assert_eq!(texts(().into_outcomes(2).unwrap()), ["None", "None"]);
    }

    #[test]
    fn r13_9_more_outcomes_than_jobs_are_those_of_none() {
        let error = vec![Ok(1), Ok(2)].into_outcomes(1).unwrap_err();
        assert_eq!(error.to_string(), "the batch handler returned 2 outcomes for 1 jobs");
    }

    #[test]
    fn a_batch_has_a_size_and_lingers_for_a_minute_at_most() {
        let checks = |options: BatchOptions| options.check().is_ok();
        assert!(checks(BatchOptions::new(1).linger(Duration::ZERO)));
        assert!(checks(BatchOptions::new(10_000).linger(LINGER)));
        assert!(!checks(BatchOptions::new(0)) && !checks(BatchOptions::new(10_001)));
        assert!(!checks(BatchOptions::new(1).linger(LINGER + Duration::from_millis(1))));
    }
}
