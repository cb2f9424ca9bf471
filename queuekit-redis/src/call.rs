//! A call of the store: its connection, its time limit, and what is tried again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use queuekit_core::{Error, ErrorKind, Result, retry};
use redis::{Cmd, Value};
use tokio::time::{Instant, sleep, timeout_at};

use crate::connection::Link;
use crate::error::{Class, Failure, Outcome, closed};
use crate::keys::QueueKeys;
use crate::scripts::Lua;
use crate::{RedisStore, Shared};

/// What a call is, as far as its repetition matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    /// It changes nothing.
    Read,
    /// It changes nothing more when made again.
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
    Script { script: Lua, keys: Vec<QueueKeys>, args: Vec<Vec<u8>> },
}

impl RedisStore {
    /// Sends it within the time limit. What failed for the moment and was certainly not applied
    /// is tried again; so is what may be repeated.
    ///
    /// All of it happens on the store's own thread: one hop there and one back.
    pub(crate) async fn call(
        &self,
        operation: &'static str,
        call: Call,
        request: Request,
    ) -> Result<Value> {
        let run = async {
            self.shared.check_open()?;
            let _counted = self.shared.count_call();
            let shared = Arc::clone(&self.shared);
            let sent = self.shared.io.handle().spawn(async move {
                let deadline = Instant::now() + shared.op_timeout;
                shared.try_until(deadline, call, &request).await
            });
            // Else the thread has ended, and the call with it.
            sent.await.unwrap_or_else(|_| Err(closed()))
        };
        run.await.map_err(|error: Error| error.during(operation))
    }
}

impl Shared {
    async fn try_until(&self, deadline: Instant, call: Call, request: &Request) -> Result<Value> {
        let doubt = AtomicBool::new(false);
        let (mut tries, mut whole) = (0, false);
        loop {
            let attempt = self.attempt(call, request, whole, &doubt);
            let Ok(answer) = timeout_at(deadline, attempt).await else {
                // A connection that says nothing is no use to those who come after.
                self.link_of(call).reset();
                return Err(timed_out(call, doubt.load(Ordering::Acquire)));
            };
            let failure = match answer {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            let in_doubt = doubt.load(Ordering::Acquire);
            let again = match failure.class {
                Class::Final => false,
                Class::Transient | Class::Moved => true,
                // Its text goes at once; that it is unknown too means that somebody flushes.
                Class::NoScript if !whole => {
                    whole = true;
                    continue;
                }
                Class::NoScript => true,
                Class::Lost => call != Call::Once || !in_doubt,
            };
            let wait = retry::reconnect_delay(tries, retry::chance());
            if !again || Instant::now() + wait >= deadline {
                return Err(told(failure.error, call, in_doubt));
            }
            tries += 1;
            sleep(wait).await;
        }
    }

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
        let answer = answer.and_then(Value::extract_error).map_err(Failure::from);
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

    fn eval(&self, script: Lua, keys: &[QueueKeys], args: &[Vec<u8>], whole: bool) -> Cmd {
        let count: usize = keys.iter().map(|keys| keys.len()).sum();
        let bytes = args.iter().map(|arg| arg.len() + 16).sum::<usize>() + count * 64;
        let mut command = Cmd::with_capacity(3 + count + args.len(), bytes);
        match whole {
            true => command.arg("EVAL").arg(self.scripts.text(script)),
            false => command.arg("EVALSHA").arg(self.scripts.hash(script)),
        };
        command.arg(count);
        keys.iter().flat_map(|keys| keys.iter()).for_each(|key| {
            command.arg(key.as_bytes());
        });
        args.iter().for_each(|arg| {
            command.arg(arg.as_slice());
        });
        command
    }

    /// The first argument of scripts: the present for tests, or nothing.
    pub(crate) fn clock_arg(&self) -> Vec<u8> {
        let now = self.clock.as_ref().map(|clock| clock.now().as_millis().to_string());
        now.unwrap_or_default().into_bytes()
    }
}

/// The error as the caller is told it: what is in doubt is called so.
fn told(error: Error, call: Call, doubt: bool) -> Error {
    if doubt && call != Call::Read && *error.kind() != ErrorKind::Closed {
        let message = "the connection was lost while the call was under way; whether it took \
                       effect is unknown: repeat it, which is safe";
        return Error::new(ErrorKind::Indeterminate, message).caused_by(error);
    }
    error
}

fn timed_out(call: Call, doubt: bool) -> Error {
    if doubt && call != Call::Read {
        let message = "no answer came within op_timeout; whether the call took effect is \
                       unknown: repeat it, which is safe";
        return Error::new(ErrorKind::Indeterminate, message);
    }
    let message = "the call did not get through within op_timeout; check server and network";
    Error::new(ErrorKind::Unavailable, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r10_1_what_may_have_taken_effect_is_never_called_certainly_not_applied() {
        let kind = |call, kind: ErrorKind, doubt| {
            told(Error::new(kind, "no"), call, doubt).kind().as_str().to_owned()
        };
        for call in [Call::Repeatable, Call::Once, Call::Heartbeat] {
            assert_eq!(kind(call, ErrorKind::Unavailable, true), "indeterminate");
            assert_eq!(kind(call, ErrorKind::StorageFull, true), "indeterminate");
            assert_eq!(kind(call, ErrorKind::Unavailable, false), "unavailable");
            assert_eq!(kind(call, ErrorKind::Closed, true), "closed");
        }
        assert_eq!(kind(Call::Read, ErrorKind::Unavailable, true), "unavailable");
    }
}
