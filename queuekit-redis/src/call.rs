//! A call of the store: its connection, its time limit, and which failures it retries.

use std::sync::Arc;
use std::time::Duration;

use queuekit_core::{Error, Result, retry};
use redis::aio::MultiplexedConnection;
use redis::{Cmd, Pipeline, Value, cmd};
use tokio::time::{Instant, sleep, timeout_at};

use crate::codec::{millis, number_of};
use crate::error::{Class, Failure, Outcome, closed, panicked};
use crate::indeterminate::{Answered, reached_few, timed_out, told};
use crate::keys::QueueKeys;
use crate::node::Node;
use crate::repeat::{Call, is_worth_a_try};
use crate::scripts::Lua;
use crate::topology::Redirect;
use crate::{RedisStore, Shared};

/// After this many redirects in a row a call waits for the Cluster to settle.
const REDIRECTS: u32 = 5;
/// How long one node may take in a call that can continue with other nodes.
const GLANCE: Duration = Duration::from_secs(1);

/// A server that does not answer for this long is given up: another one may have taken its place,
/// or the network may have dropped the connection. So workers resume within 5 s, though
/// `op_timeout` is longer (contract R13.6).
const HANGS: Duration = Duration::from_secs(3);

/// The request of a call.
#[derive(Debug)]
pub(crate) enum Request {
    /// A command for the server that has this key.
    Command { key: String, command: Cmd },
    /// A command for this server.
    To(Arc<Node>, Cmd),
    /// A script for the server that has the keys, which are all in one slot.
    Script { script: Lua, keys: Vec<QueueKeys>, args: Vec<Vec<u8>> },
}

/// The progress of a call.
#[derive(Default)]
struct Progress {
    /// When a request was sent that has not been answered.
    doubt: Option<Instant>,
    /// Whether the script is sent with its text.
    whole: bool,
    tries: u32,
    redirects: u32,
    /// A server did not answer in time. The next attempt may take all the time that is left,
    /// because the server may only be slow.
    hung: bool,
    redirect: Option<Redirect>,
    /// The node that was asked last.
    node: Option<Arc<Node>>,
}

impl RedisStore {
    /// The store for one call of several steps, which share its time limit.
    pub(crate) fn for_one_call(&self) -> Self {
        let ends_at = self.ends_at.unwrap_or_else(|| Instant::now() + self.shared.op_timeout);
        Self { shared: Arc::clone(&self.shared), ends_at: Some(ends_at) }
    }

    /// The time that a step has: all that is left of its call.
    pub(crate) fn time_left(&self) -> Duration {
        let left = |ends_at: Instant| ends_at.saturating_duration_since(Instant::now());
        self.ends_at.map_or(self.shared.op_timeout, left)
    }

    /// Whether half of the call's time is over: then it ends with what it has done, and the next
    /// call continues.
    pub(crate) fn is_late(&self) -> bool {
        self.time_left() < self.shared.op_timeout / 2
    }

    /// Sends a request within the time limit. Retries a request that failed for the moment and was
    /// certainly not applied, and any request that may be repeated.
    pub(crate) async fn call(
        &self,
        operation: &'static str,
        call: Call,
        request: Request,
    ) -> Result<Value> {
        self.call_within(self.time_left(), operation, call, request).await
    }

    /// The same, and says whether the answer is that to a repetition. `doubt` is that of an earlier
    /// request of the same call.
    pub(crate) async fn call_told(
        &self,
        operation: &'static str,
        call: Call,
        request: Request,
        doubt: Option<Instant>,
    ) -> Result<Answered> {
        self.send_within(self.time_left(), operation, call, request, doubt).await
    }

    /// The same, in the time that is left of a call with several steps.
    pub(crate) async fn call_within(
        &self,
        time: Duration,
        operation: &'static str,
        call: Call,
        request: Request,
    ) -> Result<Value> {
        Ok(self.send_within(time, operation, call, request, None).await?.value)
    }

    async fn send_within(
        &self,
        time: Duration,
        operation: &'static str,
        call: Call,
        request: Request,
        doubt: Option<Instant>,
    ) -> Result<Answered> {
        let send = |shared: Arc<Shared>| async move {
            let most = if call.is_glance() { GLANCE } else { time };
            let deadline = Instant::now() + time.min(most);
            shared.try_until(deadline, call, &request, doubt).await
        };
        self.on_io(operation, send).await
    }

    /// Waits for a time that the server has named.
    pub(crate) async fn pause(&self, operation: &'static str, ms: u64) -> Result<()> {
        let wait = Duration::from_millis(ms).min(self.time_left());
        let pause = |_| async move {
            sleep(wait).await;
            Ok(())
        };
        self.on_io(operation, pause).await
    }

    /// All servers that have data of the store.
    pub(crate) async fn masters(&self, operation: &'static str) -> Result<Vec<Arc<Node>>> {
        let time = self.time_left();
        let find = |shared: Arc<Shared>| async move {
            let deadline = Instant::now() + time;
            shared.masters_until(deadline).await
        };
        self.on_io(operation, find).await
    }

    /// Runs a future on the store's own thread.
    async fn on_io<T, F>(
        &self,
        operation: &'static str,
        work: impl FnOnce(Arc<Shared>) -> F,
    ) -> Result<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T>> + Send + 'static,
    {
        let run = async {
            self.shared.check_open()?;
            let _counted = self.shared.count_call();
            let done = self.shared.io.handle().spawn(work(Arc::clone(&self.shared)));
            done.await.unwrap_or_else(|ended| match ended.is_panic() {
                true => Err(panicked()),
                // The thread has ended, and the call with it.
                false => Err(closed()),
            })
        };
        run.await.map_err(|error: Error| error.during(operation))
    }
}

impl Shared {
    async fn try_until(
        &self,
        deadline: Instant,
        call: Call,
        request: &Request,
        doubt: Option<Instant>,
    ) -> Result<Answered> {
        let mut progress = Progress { doubt, ..Progress::default() };
        let mut last = None;
        loop {
            let until = match progress.hung {
                true => deadline,
                false => deadline.min(Instant::now() + self.hangs_after()),
            };
            let attempt = self.attempt(call, request, &mut progress);
            let answer = match timeout_at(until, attempt).await {
                Ok(answer) => answer,
                Err(_) => {
                    // Later calls must not use a connection that does not answer.
                    if let Some(node) = &progress.node {
                        node.link(call).reset();
                        node.suspect(true);
                    }
                    if until == deadline {
                        // The error that kept the call from being sent says more than that it was
                        // not sent.
                        let doubt = progress.doubt.is_some();
                        let why = last.filter(|_| !doubt);
                        return Err(why.unwrap_or_else(|| timed_out(call, doubt)));
                    }
                    progress.hung = true;
                    Err(Failure::hung())
                }
            };
            let failure = match answer {
                Ok(value) => {
                    return Ok(Answered { value, at: Instant::now(), doubt: progress.doubt });
                }
                Err(failure) => failure,
            };
            let again = match failure.class {
                Class::Final | Class::Broken => false,
                // The answer names the right node, so there is nothing to wait for.
                Class::Redirected if progress.redirects < REDIRECTS => {
                    progress.redirects += 1;
                    continue;
                }
                // Sends the text at once. If the script is unknown even then, another client keeps
                // flushing scripts.
                Class::NoScript if !progress.whole => {
                    progress.whole = true;
                    continue;
                }
                // The caller continues with other nodes.
                _ if call.is_glance() => false,
                Class::Transient | Class::Moved | Class::Redirected | Class::NoScript => true,
                Class::Lost => call != Call::Once || progress.doubt.is_none(),
            };
            let wait = retry::reconnect_delay(progress.tries, retry::chance());
            let left = deadline.saturating_duration_since(Instant::now());
            if !again || !is_worth_a_try(wait, left, self.op_timeout) {
                return Err(told(failure, call, progress.doubt.is_some()));
            }
            last = Some(failure.error);
            progress.tries += 1;
            progress.redirects = 0;
            sleep(wait).await;
        }
    }

    async fn masters_until(&self, deadline: Instant) -> Result<Vec<Arc<Node>>> {
        let (mut tries, mut last) = (0, None);
        loop {
            let Ok(answer) = timeout_at(deadline, self.topology.masters()).await else {
                return Err(last.unwrap_or_else(|| timed_out(Call::Read, false)));
            };
            let wait = retry::reconnect_delay(tries, retry::chance());
            match answer {
                Ok(masters) => return Ok(masters),
                Err(failure)
                    if failure.class == Class::Final || Instant::now() + wait >= deadline =>
                {
                    return Err(failure.error);
                }
                Err(failure) => last = Some(failure.error),
            }
            tries += 1;
            sleep(wait).await;
        }
    }

    async fn attempt(
        &self,
        call: Call,
        request: &Request,
        progress: &mut Progress,
    ) -> Outcome<Value> {
        let redirect = progress.redirect.take();
        let asking = redirect.as_ref().is_some_and(|redirect| redirect.asking);
        let node = match redirect {
            Some(redirect) => redirect.to,
            None => self.node_of(request).await?,
        };
        progress.node = Some(Arc::clone(&node));
        let link = node.link(call);
        let (generation, mut connection) = link.get().await.inspect_err(|_| node.suspect(true))?;
        // From here on the server may have the request. Unless its answer says that it did nothing,
        // the call is in doubt, also if it is dropped while it waits.
        let before = progress.doubt;
        progress.doubt.get_or_insert_with(Instant::now);
        let answer = match request {
            Request::Command { command, .. } | Request::To(_, command) => {
                self.send(&mut connection, command, asking, None).await
            }
            Request::Script { script, keys, args } => {
                let mut command = self.eval(*script, keys, args, progress.whole);
                if let Some(key) = &self.test_clock {
                    match self.topology.is_cluster() {
                        true => command.arg(self.test_time(key).await?),
                        false => command.arg(key),
                    };
                }
                let mark = (call == Call::Stored).then(|| self.keyspace.mark(&keys[0]));
                self.send(&mut connection, &command, asking, mark).await
            }
        };
        let Err(mut failure) = answer else {
            progress.doubt = before;
            return answer;
        };
        if failure.class != Class::Lost {
            progress.doubt = before;
        }
        match failure.class {
            Class::Lost | Class::Moved => {
                node.suspect(true);
                // By its generation, because another call may have connected again already.
                link.lost(generation).await;
            }
            Class::Transient => node.suspect(true),
            Class::Redirected => match self.topology.redirect(&node, &failure) {
                Some(redirect) => progress.redirect = Some(redirect),
                None => failure.class = Class::Final,
            },
            Class::Final | Class::NoScript | Class::Broken => {}
        }
        Err(failure)
    }

    /// A call that waits for replicas blocks its connection for others too, so it may take longer.
    fn hangs_after(&self) -> Duration {
        HANGS + self.wait_replicas.map_or(Duration::ZERO, |(_, timeout)| timeout)
    }

    async fn node_of(&self, request: &Request) -> Outcome<Arc<Node>> {
        let key = match request {
            Request::To(node, _) => return Ok(Arc::clone(node)),
            Request::Command { key, .. } => key,
            Request::Script { keys, .. } => &keys[0][0],
        };
        self.topology.node_of(key).await
    }

    /// Sends commands that belong together to one connection at once. `WAIT` counts only the writes
    /// of its connection: a repeated enqueue writes nothing, so the call writes a mark as well.
    async fn send(
        &self,
        connection: &mut MultiplexedConnection,
        command: &Cmd,
        asking: bool,
        mark: Option<String>,
    ) -> Outcome<Value> {
        let waits = self.wait_replicas.zip(mark);
        if !asking && waits.is_none() {
            let answer = connection.send_packed_command(command).await;
            return answer.and_then(Value::extract_error).map_err(Failure::from);
        }
        let mut all = Pipeline::with_capacity(4);
        if asking {
            all.cmd("ASKING");
        }
        all.add_command(command.clone());
        if let Some(((replicas, timeout), mark)) = &waits {
            all.add_command(cmd("SET").arg(mark).arg("").arg("PX").arg(1000).to_owned());
            all.add_command(cmd("WAIT").arg(replicas).arg(millis(*timeout)).to_owned());
        }
        let count = if waits.is_some() { 3 } else { 1 };
        let answers = connection.send_packed_commands(&all, usize::from(asking), count).await;
        let mut answers = answers.map_err(Failure::from)?.into_iter();
        let answer = answers.next().unwrap_or(Value::Nil).extract_error()?;
        let marked = answers.next().is_some_and(|answer| answer.extract_error().is_ok());
        let reached = answers.next().filter(|_| marked).and_then(number_of).unwrap_or_default();
        match waits {
            Some(((replicas, _), _)) if reached < i64::from(replicas) => {
                Err(reached_few(reached, replicas).into())
            }
            _ => Ok(answer),
        }
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
        command.arg(args);
        command
    }

    /// The time that tests in a Cluster have written.
    async fn test_time(&self, key: &str) -> Outcome<Vec<u8>> {
        let (_, mut connection) = self.topology.node_of(key).await?.link(Call::Read).get().await?;
        cmd("GET").arg(key).query_async(&mut connection).await.map_err(Failure::from)
    }
}
