//! Collects the jobs of a batch handler into calls.
//!
//! Each job runs in a task of its own, as with any handler: with its own span, hooks, timeout and
//! outcome. The task hands the job over here, and waits for its part of the answer. So all that a
//! worker does about one run holds for a run in a batch too.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::{BoxFuture, FutureExt, select_all};
use queuekit_core::{Bytes, Payload};
use tokio::sync::oneshot;

use super::batch::{BatchHandler, BatchOptions, BatchOutput};
use super::erased::{Erased, decode};
use super::execute::{Holder, execute};
use crate::run::ctx::Ctx;
use crate::run::job_error::{JobError, JobResult};
use crate::run::result::panic_text;

/// A batch handler, without its types.
pub(crate) struct Batched<P, H>(Arc<Collector<P, H>>);

struct Collector<P, H> {
    handler: H,
    options: BatchOptions,
    collected: Mutex<Collected<P>>,
}

/// The jobs of the next call.
struct Collected<P> {
    jobs: Vec<Collectible<P>>,
    /// How many calls there were before it.
    call: u64,
}

struct Collectible<P> {
    job: P,
    ctx: Ctx,
    answer: oneshot::Sender<Answer>,
}

/// What became of a job in a call.
enum Answer {
    Ended(JobResult<Option<Bytes>>),
    /// It has to run in a call of its own.
    Alone,
}

impl<P: Payload, H: BatchHandler<P>> Batched<P, H> {
    pub(crate) fn new(handler: H, options: BatchOptions) -> Self {
        let collected = Mutex::new(Collected { jobs: Vec::new(), call: 0 });
        Self(Arc::new(Collector { handler, options, collected }))
    }

    async fn run(&self, ctx: Ctx) -> JobResult<Option<Bytes>> {
        let job = decode::<P>(&ctx)?;
        // The worker of its last attempt may have died of it, and of all that ran beside it.
        if ctx.attempt() > 1 {
            return self.0.run_alone(job, ctx).await;
        }
        let (answer, answered) = oneshot::channel();
        self.0.add(Collectible { job, ctx: ctx.clone(), answer });
        match answered.await {
            Ok(Answer::Ended(outcome)) => outcome,
            Ok(Answer::Alone) => {
                let job = decode::<P>(&ctx)?;
                self.0.run_alone(job, ctx).await
            }
            Err(_) => Err(JobError::retry("its call was given up: a job in it had timed out")),
        }
    }
}

impl<P: Payload, H: BatchHandler<P>> Erased for Batched<P, H> {
    fn spawn(self: Arc<Self>, holder: Holder, ctx: Ctx) {
        tokio::spawn(execute(holder, async move { self.run(ctx).await }));
    }

    fn call<'a>(&'a self, ctx: Ctx) -> BoxFuture<'a, JobResult<Option<Bytes>>> {
        Box::pin(self.run(ctx))
    }
}

impl<P: Payload, H: BatchHandler<P>> Collector<P, H> {
    fn add(self: &Arc<Self>, job: Collectible<P>) {
        let ctx = job.ctx.clone();
        let mut collected = self.collected();
        collected.jobs.push(job);
        // A run that timed out before its call began would have had no time at all.
        let is_urgent = ctx.time_left() < 2 * self.options.linger;
        if collected.jobs.len() >= self.options.most || is_urgent {
            let jobs = collected.take();
            tokio::spawn(Arc::clone(self).call(jobs));
        } else if collected.jobs.len() == 1 {
            tokio::spawn(Arc::clone(self).linger(collected.call, ctx));
        }
    }

    /// Makes this call once the time for further jobs is over, unless it was full before.
    async fn linger(self: Arc<Self>, call: u64, first: Ctx) {
        tokio::select! {
            () = tokio::time::sleep(self.options.linger) => {}
            () = first.draining() => {}
        }
        let jobs = {
            let mut collected = self.collected();
            if collected.call != call {
                return;
            }
            collected.take()
        };
        self.call(jobs).await;
    }

    async fn call(self: Arc<Self>, mut collected: Vec<Collectible<P>>) {
        // Runs that were given up meanwhile.
        collected.retain(|job| !job.answer.is_closed());
        if collected.len() < 2 {
            return answer(collected.into_iter().map(|job| (job.answer, Answer::Alone)));
        }
        let (mut jobs, mut runs, mut answers) = (Vec::new(), Vec::new(), Vec::new());
        for Collectible { job, ctx, answer } in collected {
            // Its timeout is that of the call.
            ctx.start();
            runs.push(ctx.clone());
            jobs.push((job, ctx));
            answers.push(answer);
        }
        let call = AssertUnwindSafe(self.handler.call(jobs)).catch_unwind();
        let given_up = select_all(answers.iter_mut().map(|answer| Box::pin(answer.closed())));
        let ended = tokio::select! {
            ended = call => ended,
            // The tasks of all others learn of it by the answers that are dropped here.
            _ = given_up => return,
        };
        match outcomes(ended, runs.len()) {
            Ok(outcomes) => {
                answer(answers.into_iter().zip(outcomes.into_iter().map(Answer::Ended)));
            }
            Err(text) => {
                let again = runs.iter().map(|ctx| match ctx.is_cancelled() {
                    true => Answer::Ended(Err(JobError::retry(text.as_str()))),
                    false => Answer::Alone,
                });
                answer(answers.into_iter().zip(again));
            }
        }
    }

    async fn run_alone(&self, job: P, ctx: Ctx) -> JobResult<Option<Bytes>> {
        ctx.start();
        let mut outcomes = self.handler.call(vec![(job, ctx)]).await?.into_outcomes(1)?;
        outcomes.pop().unwrap_or(Ok(None))
    }

    fn collected(&self) -> MutexGuard<'_, Collected<P>> {
        self.collected.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<P> Collected<P> {
    /// The jobs of this call; the next begins.
    fn take(&mut self) -> Vec<Collectible<P>> {
        self.call += 1;
        std::mem::take(&mut self.jobs)
    }
}

/// The outcomes of the jobs of a call, or the text of its error.
fn outcomes<O: BatchOutput>(
    ended: std::thread::Result<JobResult<O>>,
    jobs: usize,
) -> Result<Vec<JobResult<Option<Bytes>>>, String> {
    let output = ended.map_err(|panic| panic_text(&*panic))?;
    output.and_then(|output| output.into_outcomes(jobs)).map_err(|error| error.to_string())
}

fn answer(answers: impl Iterator<Item = (oneshot::Sender<Answer>, Answer)>) {
    for (to, answer) in answers {
        // Nobody waits for the answer of a run that was given up.
        let _ = to.send(answer);
    }
}
