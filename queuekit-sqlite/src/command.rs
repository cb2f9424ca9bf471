//! A call that travels to a thread of the store and back.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use queuekit_core::{Error, Result};
use tokio::sync::oneshot;

use crate::error::panicked;
use crate::step::Step;

/// A call of any type; the type of its answer is known where it was made.
pub(crate) trait Command: Send {
    /// Runs the call, which keeps its answer. An error is the answer too.
    fn run(&mut self, step: &mut Step<'_>) -> Result<()>;

    /// Sends the answer, or the failure that undid the call.
    fn answer(self: Box<Self>, failure: Option<Error>);

    /// Whether the caller has stopped waiting for the answer.
    fn is_abandoned(&self) -> bool;

    /// The time limit of the answer.
    fn deadline(&self) -> Instant;
}

pub(crate) struct Typed<T, F> {
    step: F,
    answer: Option<Result<T>>,
    reply: oneshot::Sender<Result<T>>,
    deadline: Instant,
}

impl<T, F> Typed<T, F> {
    pub(crate) fn new(step: F, reply: oneshot::Sender<Result<T>>, deadline: Instant) -> Self {
        Self { step, answer: None, reply, deadline }
    }
}

impl<T, F> Command for Typed<T, F>
where
    T: Send,
    F: FnMut(&mut Step<'_>) -> Result<T> + Send,
{
    fn run(&mut self, step: &mut Step<'_>) -> Result<()> {
        // A panic, for example in a clock of the caller, must not end the thread that all calls
        // need.
        let ran = catch_unwind(AssertUnwindSafe(|| (self.step)(step)));
        let answer = ran.unwrap_or_else(|_| Err(panicked()));
        let told = answer.as_ref().map(drop).map_err(Error::clone);
        self.answer = Some(answer);
        told
    }

    fn answer(self: Box<Self>, failure: Option<Error>) {
        let answer = match (failure, self.answer) {
            (Some(error), _) => Err(error),
            (None, Some(answer)) => answer,
            (None, None) => Err(crate::error::closed()),
        };
        // The caller may have gone away.
        let _ = self.reply.send(answer);
    }

    fn is_abandoned(&self) -> bool {
        self.reply.is_closed()
    }

    fn deadline(&self) -> Instant {
        self.deadline
    }
}
