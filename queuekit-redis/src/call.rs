//! A call of the store: its connection, its time limit, and what is tried again.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use queuekit_core::{Error, ErrorKind, Result, retry};
use redis::{Cmd, Value};

use crate::connection::Link;
use crate::error::{Class, Outcome, closed};
use crate::scripts::Lua;
use crate::{RedisStore, Shared};

/// What a call is, as far as its repetition matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    /// It changes nothing, or nothing more when made again.
    Repeatable,
    /// Made again it would do more: if its answer is lost, the caller is told so.
    Once,
    /// As `Repeatable`, on the connection that only heartbeats use.
    Heartbeat,
}

/// What is sent.
#[derive(Debug)]
pub(crate) enum Request {
    Command(Cmd),
    Script { script: Lua, keys: Vec<String>, args: Vec<Vec<u8>> },
}

impl RedisStore {
    /// Sends it within the time limit. What failed for the moment and was certainly not applied
    /// is tried again; so is what may be repeated.
    pub(crate) async fn call(
        &self,
        operation: &'static str,
        call: Call,
        request: &Request,
    ) -> Result<Value> {
        let shared = &*self.shared;
        let run = async {
            shared.check_open()?;
            let _counted = shared.count_call();
            let deadline = Instant::now() + shared.op_timeout;
            let doubt = AtomicBool::new(false);
            let (mut tries, mut whole) = (0, false);
            loop {
                let attempt = shared.attempt(call, request, whole, &doubt);
                let Some(answer) = shared.within(deadline, attempt).await else {
                    // A connection that says nothing is no use to those who come after.
                    shared.link_of(call).reset();
                    return Err(timed_out(doubt.load(Ordering::Acquire)));
                };
                let failure = match answer {
                    Ok(answer) => return Ok(answer),
                    Err(failure) => failure,
                };
                let in_doubt = doubt.load(Ordering::Acquire);
                let again = match failure.class {
                    Class::Final => false,
                    Class::Transient | Class::Moved => true,
                    // Both the hash and the text were unknown: somebody flushes without end.
                    Class::NoScript => true,
                    Class::Lost => call != Call::Once || !in_doubt,
                };
                if failure.class == Class::NoScript && !whole {
                    whole = true;
                    continue;
                }
                let wait = retry::reconnect_delay(tries, retry::chance());
                if !again || Instant::now() + wait >= deadline {
                    return Err(told(failure.error, call, in_doubt));
                }
                tries += 1;
                shared.pause(wait).await;
            }
        };
        run.await.map_err(|error: Error| error.during(operation))
    }
}

impl Shared {
    /// `doubt` says afterwards whether something was sent that nobody has answered.
    async fn attempt(
        &self,
        call: Call,
        request: &Request,
        whole: bool,
        doubt: &AtomicBool,
    ) -> Outcome<Value> {
        let link = self.link_of(call);
        let (generation, mut connection) = link.get().await?;
        let before = doubt.swap(true, Ordering::AcqRel);
        let answer = match request {
            Request::Command(command) => connection.send_packed_command(command).await,
            Request::Script { script, keys, args } => {
                let command = self.eval(*script, keys, args, whole);
                connection.send_packed_command(&command).await
            }
        };
        let answer = answer.and_then(Value::extract_error).map_err(crate::error::Failure::from);
        match &answer {
            Err(failure) if failure.class == Class::Lost => link.lost(generation).await,
            Err(failure) if failure.class == Class::Moved => {
                doubt.store(before, Ordering::Release);
                link.lost(generation).await;
            }
            _ => doubt.store(before, Ordering::Release),
        }
        answer
    }

    fn link_of(&self, call: Call) -> &Link {
        if call == Call::Heartbeat { &self.heartbeats } else { &self.link }
    }

    fn eval(&self, script: Lua, keys: &[String], args: &[Vec<u8>], whole: bool) -> Cmd {
        let bytes = args.iter().map(|arg| arg.len() + 16).sum::<usize>() + keys.len() * 64;
        let mut command = Cmd::with_capacity(3 + keys.len() + args.len(), bytes);
        match whole {
            true => command.arg("EVAL").arg(self.scripts.text(script)),
            false => command.arg("EVALSHA").arg(self.scripts.hash(script)),
        };
        command.arg(keys.len());
        keys.iter().for_each(|key| {
            command.arg(key.as_bytes());
        });
        args.iter().for_each(|arg| {
            command.arg(arg.as_slice());
        });
        command
    }

    /// None if there was no answer in time.
    async fn within<T>(
        &self,
        deadline: Instant,
        attempt: impl Future<Output = Outcome<T>>,
    ) -> Option<Outcome<T>> {
        let answer = tokio::select! {
            biased;
            answer = attempt => Some(answer),
            () = self.pause(deadline.saturating_duration_since(Instant::now())) => None,
        };
        // A pause ends early when calls are cut off, and that is no lack of time.
        let is_cut = *self.cut.borrow();
        answer.or_else(|| is_cut.then(|| Err(closed().into())))
    }

    /// Sleeps by the store's own runtime: the caller's may have no timers. Returns at once when
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

    /// The first argument of scripts: the present for tests, or nothing.
    pub(crate) fn clock_arg(&self) -> Vec<u8> {
        let now = self.clock.as_ref().map(|clock| clock.now().as_millis().to_string());
        now.unwrap_or_default().into_bytes()
    }
}

/// The error as the caller is told it: what is in doubt is called so.
fn told(error: Error, call: Call, doubt: bool) -> Error {
    if doubt && call == Call::Once && *error.kind() == ErrorKind::Unavailable {
        let message = "the connection was lost while the call was under way; whether it took \
                       effect is unknown: repeat it, which is safe";
        return Error::new(ErrorKind::Indeterminate, message).caused_by(error);
    }
    error
}

fn timed_out(doubt: bool) -> Error {
    if doubt {
        let message = "no answer came within op_timeout; whether the call took effect is \
                       unknown: repeat it, which is safe";
        return Error::new(ErrorKind::Indeterminate, message);
    }
    let message = "the call did not get through within op_timeout; check server and network";
    Error::new(ErrorKind::Unavailable, message)
}
