//! A call of the store: its connection, its time limit, and which failures it retries.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use deadpool_postgres::Pool;
use futures_util::future::BoxFuture;
use queuekit_core::{Error, ErrorKind, Result, retry};

use crate::error::{Class, Failure, Outcome, closed, closed_during_call};
use crate::gates::{Pass, QueueLocks};
use crate::partitions::add_partitions;
use crate::pool::Borrowed;
use crate::session::Session;
use crate::{PostgresStore, Shared};

/// A connection that has not answered a short step for this long is given up, and so are those that
/// were idle meanwhile: the network may have dropped them all. So workers resume within 5 s of an
/// outage, though `op_timeout` is longer (contract R13.6).
const HANGS: Duration = Duration::from_secs(3);
/// The operations that workers repeat all the time: bounded steps, which the worker makes again if
/// it gets no answer.
const SHORT: [&str; 6] = ["reserve", "exchange", "ack", "nack", "extend", "report"];

/// Whether and how a call may be repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    /// It changes nothing, or nothing more when made again.
    Repeatable,
    /// A repeated call would do more: if its answer is lost, the caller gets `Indeterminate`.
    Once,
    /// As `Repeatable`, on the connections that only heartbeats use.
    Heartbeat,
    /// As `Repeatable`, but rows that an open transaction holds are left to a later call.
    Upkeep,
}

impl Call {
    /// Whether another attempt may follow one that failed like this.
    fn is_repeated_after(self, class: Class, in_doubt: bool) -> bool {
        match class {
            _ if is_answer(class) => false,
            Class::HeldUp if self == Self::Upkeep => false,
            Class::MissingPartition => true,
            _ => self != Self::Once || !in_doubt,
        }
    }
}

/// Whether the server has said how the step ended.
fn is_answer(class: Class) -> bool {
    matches!(class, Class::Final | Class::Aborted | Class::CutOff | Class::Taken)
}

impl PostgresStore {
    /// Runs a step on a connection, within the time limit. Retries a step that failed for the
    /// moment and was certainly not applied, and any step that may be repeated.
    ///
    /// Data of the step is passed through `input`, so that it lives as long as the step.
    pub(crate) fn call<I: Sync, T: Send>(
        &self,
        operation: &'static str,
        call: Call,
        input: I,
        step: impl for<'s> Fn(&'s I, &'s Session<'s>) -> BoxFuture<'s, Outcome<T>> + Send + Sync,
    ) -> impl Future<Output = Result<T>> {
        self.call_behind(None, operation, call, input, step)
    }

    /// The same for a call that will first take the lock of this queue: it waits at the queue's
    /// gate before it takes a connection.
    pub(crate) async fn call_behind<I: Sync, T: Send>(
        &self,
        mut gate: Option<i32>,
        operation: &'static str,
        call: Call,
        input: I,
        step: impl for<'s> Fn(&'s I, &'s Session<'s>) -> BoxFuture<'s, Outcome<T>> + Send + Sync,
    ) -> Result<T> {
        let shared = &*self.shared;
        let run = async {
            shared.check_open()?;
            let _counted = shared.count_call();
            let deadline = Instant::now() + shared.op_timeout;
            // Whether any attempt is in doubt: a later one that was certainly not applied does not
            // settle it.
            let mut in_doubt = false;
            let (mut tries, mut misses_partition) = (0, false);
            // What the server answered last.
            let mut refused = None;
            // The next attempt may take all the time that is left: the server may only be slow.
            let mut hangs = SHORT.contains(&operation).then_some(HANGS);
            loop {
                let passed = shared.pass(gate, deadline).await;
                let until = hangs.map_or(deadline, |after| deadline.min(Instant::now() + after));
                let doubt = AtomicBool::new(false);
                let began = Instant::now();
                let attempt = shared.attempt(call, &doubt, misses_partition, passed, &input, &step);
                let failure = match shared.within(until, &doubt, attempt).await {
                    Ok(answer) => return Ok(answer),
                    Err(failure) if until < deadline && Instant::now() >= until => {
                        hangs = None;
                        shared.pool_of(call).retain(|_, _| false);
                        Failure { class: Class::Lost, ..failure }
                    }
                    Err(failure) => failure,
                };
                in_doubt |= doubt.load(Ordering::Acquire);
                // Closing the store ends its connections, so this failure only means that it is
                // closed.
                if !is_answer(failure.class) && *shared.cut.borrow() {
                    return Err(told(closed().into(), in_doubt));
                }
                misses_partition |= failure.class == Class::MissingPartition;
                let again = call.is_repeated_after(failure.class, in_doubt);
                let wait = retry::reconnect_delay(tries, retry::chance());
                let next_ends = Instant::now() + wait + takes(failure.class, began.elapsed());
                if !again || next_ends >= deadline {
                    // That time is up says less than what the server answered before.
                    let is_silent = failure.class == Class::CutOff && !in_doubt;
                    let failure = refused.filter(|_| is_silent).unwrap_or(failure);
                    return Err(told(failure, in_doubt));
                }
                tries += 1;
                match failure.class {
                    Class::MissingPartition => {}
                    Class::AtGate(queue) => gate = Some(queue),
                    _ => shared.pause(wait).await,
                }
                if matches!(failure.class, Class::Transient | Class::HeldUp) {
                    refused = Some(failure);
                }
            }
        };
        run.await.map_err(|error: Error| error.during(operation))
    }
}

impl Shared {
    /// Waits at the gate of a queue, without a connection.
    async fn pass(&self, gate: Option<i32>, deadline: Instant) -> Outcome<Option<Pass>> {
        let Some(queue) = gate else { return Ok(None) };
        let pass = async { Ok(self.gates.pass(queue).await) };
        let passed = self.within(deadline, &AtomicBool::new(false), pass).await;
        passed.map_err(|failure| match failure.class {
            Class::CutOff => Failure { class: Class::CutOff, ..Failure::at_gate(queue) },
            _ => failure,
        })
    }

    async fn attempt<I, T>(
        &self,
        call: Call,
        doubt: &AtomicBool,
        misses_partition: bool,
        passed: Outcome<Option<Pass>>,
        input: &I,
        step: &(impl for<'s> Fn(&'s I, &'s Session<'s>) -> BoxFuture<'s, Outcome<T>> + Send + Sync),
    ) -> Outcome<T> {
        let locks = QueueLocks::new(&self.gates, passed?);
        let borrowed = borrow(self.pool_of(call)).await?;
        let Some(client) = borrowed.client() else {
            return Err(closed().into());
        };
        let (statements, begins) = (&self.statements, &self.begins);
        let session = Session::own(client, self.prepared, statements, begins, doubt, locks);
        let began = Instant::now();
        let run = async {
            // The last attempt found no partition for the day of one of its rows.
            if misses_partition {
                add_partitions(&session).await?;
            }
            step(input, &session).await
        };
        let answer = run.await;
        // A connection that was lost is not given back: to drop it closes it.
        let lost = matches!(&answer, Err(failure) if failure.class == Class::Lost);
        if !lost && session.rollback().await {
            // A plan made while a table was empty may read all of it for each row once it is full,
            // and is kept until the server vacuums or analyzes. Planning anew limits that to one
            // slow call.
            if began.elapsed() > self.replan_after {
                session.discard_plans();
            }
            borrowed.give_back();
        }
        answer
    }

    fn pool_of(&self, call: Call) -> &Pool {
        if call == Call::Heartbeat { &self.heartbeats } else { &self.pool }
    }

    async fn within<T>(
        &self,
        until: Instant,
        doubt: &AtomicBool,
        attempt: impl Future<Output = Outcome<T>>,
    ) -> Outcome<T> {
        tokio::select! {
            biased;
            answer = attempt => answer,
            () = self.pause(until.saturating_duration_since(Instant::now())) => {
                if *self.cut.borrow() {
                    return Err(closed().into());
                }
                let error = timed_out(doubt.load(Ordering::Acquire));
                Err(Failure { error, class: Class::CutOff })
            }
        }
    }

    /// Sleeps on the store's own runtime: the caller's may have no timers. Returns at once when
    /// calls are cut off: the runtime ends then, and a timer of one that has ended panics.
    pub(crate) async fn pause(&self, time: Duration) {
        let mut cut = self.cut.subscribe();
        let sleep = {
            let _entered = self.io.handle().enter();
            tokio::time::sleep(time)
        };
        tokio::select! {
            biased;
            _ = cut.wait_for(|cut| *cut) => {}
            () = sleep => {}
        }
    }
}

/// How long the next attempt may take, given how long the last one took. An attempt that the time
/// limit cuts off would put the call in doubt, though the earlier attempts were certainly not
/// applied.
fn takes(class: Class, last: Duration) -> Duration {
    // An attempt that got no answer does not show how long an answer takes.
    if class == Class::Lost { Duration::ZERO } else { 2 * last }
}

pub(crate) async fn borrow(pool: &Pool) -> Outcome<Borrowed> {
    Ok(Borrowed::new(pool.get().await?))
}

/// The error that the caller gets: `Indeterminate` if the call is in doubt. A closed handle stays
/// `Closed`, so that nobody tries it again, and its text has the doubt.
fn told(failure: Failure, doubt: bool) -> Error {
    if doubt && *failure.error.kind() == ErrorKind::Closed {
        return closed_during_call();
    }
    if doubt {
        let message = "the connection failed during the call; whether it took effect is unknown: \
                       repeat it, which is safe";
        return Error::new(ErrorKind::Indeterminate, message).caused_by(failure.error);
    }
    failure.error
}

fn timed_out(doubt: bool) -> Error {
    if doubt {
        let message = "no answer came within op_timeout; whether the call took effect is \
                       unknown: repeat it, which is safe";
        return Error::new(ErrorKind::Indeterminate, message);
    }
    let message = "the call did not get through within op_timeout; check server and network, and \
                   that pool_size is enough";
    Error::new(ErrorKind::Unavailable, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r10_1_what_may_have_taken_effect_is_never_called_certainly_not_applied() {
        let kind = |kind: ErrorKind, doubt| {
            let failure = Failure { error: Error::new(kind, "no"), class: Class::Transient };
            told(failure, doubt).kind().as_str().to_owned()
        };
        assert_eq!(kind(ErrorKind::Unavailable, true), "indeterminate");
        assert_eq!(kind(ErrorKind::StorageFull, true), "indeterminate");
        assert_eq!(kind(ErrorKind::Unavailable, false), "unavailable");
        assert_eq!(kind(ErrorKind::Closed, true), "closed");
        let closed = |doubt| told(closed().into(), doubt).to_string();
        assert!(closed(true).contains("unknown") && !closed(false).contains("unknown"));
    }
}
