//! Describing a worker.

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use queuekit_core::{
    Backend, Client, Error, ErrorKind, Kind, LeaseTtl, Payload, QueueName, Result, RetryPolicy,
    WorkerId,
};

use crate::hooks::Hooks;
use crate::kinds::{Erased, Kinds, Raw, Typed};
use crate::middleware::Middleware;
use crate::running::RunningWorker;
use crate::serving::Serving;
use crate::shared::{Parts, Shared};
use crate::state::State;
use crate::summary::RunSummary;
use crate::upkeep::UPKEEP_EVERY;
use crate::{Handler, KindOptions, RawHandler};

/// Runs the jobs of a store.
///
/// A builder: a setter that is given something invalid remembers it until the worker is started.
#[must_use = "a worker does nothing until it is started"]
pub struct Worker {
    client: Client,
    name: String,
    pub(crate) queues: Vec<QueueName>,
    pub(crate) weights: Option<Vec<u8>>,
    caps: HashMap<QueueName, usize>,
    concurrency: usize,
    ttl: LeaseTtl,
    poll_interval: Duration,
    upkeep_interval: Duration,
    timeout_grace: Duration,
    drain_timeout: Duration,
    retry: RetryPolicy,
    pub(crate) kinds: Kinds,
    middleware: Vec<Arc<dyn Middleware>>,
    hooks: Vec<Arc<dyn Hooks>>,
    pub(crate) state: State,
    fault: Option<Error>,
}

/// Wake-ups may be lost: who polls less often than this does not mean to run jobs.
const INTERVAL_MOST: Duration = Duration::from_secs(3600);

/// More than a process has use for, and few enough to count with.
const SLOTS: usize = 100_000;

impl Worker {
    /// A worker of this store that serves the queue `default` and knows no kinds yet.
    pub fn new(client: Client) -> Self {
        Self {
            client,
            name: "worker".to_owned(),
            queues: Vec::new(),
            weights: None,
            caps: HashMap::new(),
            concurrency: 10,
            ttl: LeaseTtl::default(),
            poll_interval: Duration::from_secs(1),
            upkeep_interval: UPKEEP_EVERY,
            timeout_grace: Duration::from_secs(10),
            drain_timeout: Duration::from_secs(30),
            retry: RetryPolicy::DEFAULT,
            kinds: Kinds::default(),
            middleware: Vec::new(),
            hooks: Vec::new(),
            state: State::default(),
            fault: None,
        }
    }

    /// The name it is listed under (`worker` by default), followed by random digits; several
    /// workers may share one.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Serves this queue, after those named before: a later queue is served when the earlier
    /// ones have nothing that can run.
    pub fn queue<Q: TryInto<QueueName, Error: Into<Error>>>(self, queue: Q) -> Self {
        self.queues([queue])
    }

    /// Serves these queues, in this order.
    pub fn queues<I>(mut self, queues: I) -> Self
    where
        I: IntoIterator<Item: TryInto<QueueName, Error: Into<Error>>>,
    {
        for queue in queues {
            let added = queue.try_into().map_err(Into::into).and_then(|queue| {
                self.add_queue(queue)?;
                self.weights.is_none().then_some(()).ok_or_else(mixed_order)
            });
            self.check(added);
        }
        self
    }

    /// Serves these queues by weight, 1..=100: one with work always gets at least half its
    /// share.
    pub fn weighted<I, Q>(mut self, queues: I) -> Self
    where
        I: IntoIterator<Item = (Q, u8)>,
        Q: TryInto<QueueName, Error: Into<Error>>,
    {
        if self.weights.is_none() && !self.queues.is_empty() {
            self.check(Err(mixed_order()));
        }
        self.weights.get_or_insert_default();
        for (queue, weight) in queues {
            let added = queue.try_into().map_err(Into::into).and_then(|queue| {
                if !(1..=100).contains(&weight) {
                    return Err(Error::invalid("weight", "1..=100", weight).on(queue));
                }
                self.weights.get_or_insert_default().push(weight);
                self.add_queue(queue)
            });
            self.check(added);
        }
        self
    }

    /// Runs at most this many jobs of this queue at once [as many as there are slots].
    pub fn queue_concurrency<Q>(mut self, queue: Q, most: usize) -> Self
    where
        Q: TryInto<QueueName, Error: Into<Error>>,
    {
        let capped = queue.try_into().map_err(Into::into).and_then(|queue| {
            if most == 0 {
                return Err(Error::invalid("queue_concurrency", "at least 1", most).on(queue));
            }
            self.caps.insert(queue, most);
            Ok(())
        });
        self.check(capped);
        self
    }

    /// Runs at most this many jobs at once, 1..=100,000; 10 by default.
    pub fn concurrency(mut self, slots: usize) -> Self {
        if !(1..=SLOTS).contains(&slots) {
            self.check(Err(Error::invalid("concurrency", "1..=100000", slots)));
        }
        self.concurrency = slots;
        self
    }

    /// How long a lease lives without being extended (default 30 s): the time after which jobs of a
    /// worker that died are taken over. It is extended at a third of that.
    pub fn lease_ttl(mut self, ttl: LeaseTtl) -> Self {
        self.ttl = ttl;
        self
    }

    /// How often to look for work when no wake-up comes (default 1 s), moved by up to 10 %.
    pub fn poll_interval(mut self, interval: Duration) -> Self {
        self.check_interval("poll_interval", interval);
        self.poll_interval = interval;
        self
    }

    /// How often to remove what the store need not keep, and to mend what it derives (default
    /// 10 s), moved by up to 10 % (contract R13.7).
    pub fn upkeep_interval(mut self, interval: Duration) -> Self {
        self.check_interval("upkeep_interval", interval);
        self.upkeep_interval = interval;
        self
    }

    /// How long a handler may go on after its timeout (default 10 s). Then its run counts as
    /// failed, and its future is dropped as soon as it yields; until then its slot stays taken.
    pub fn timeout_grace(mut self, grace: Duration) -> Self {
        self.timeout_grace = grace;
        self
    }

    /// How long [`run_until`](Self::run_until) waits for handlers at its end (default 30 s).
    pub fn drain_timeout(mut self, timeout: Duration) -> Self {
        self.drain_timeout = timeout;
        self
    }

    /// When failed jobs run again, unless their kind says otherwise [1 s doubling to 1 h].
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.retry = policy;
        self
    }

    /// Runs the jobs of the kind of `P`.
    pub fn handle<P: Payload, H: Handler<P>>(self, handler: H) -> Self {
        self.handle_with(handler, KindOptions::new())
    }

    /// Runs the jobs of the kind of `P`, with options.
    pub fn handle_with<P: Payload, H: Handler<P>>(self, handler: H, options: KindOptions) -> Self {
        self.add_handler(P::KIND, Arc::new(Typed::new(handler)), options)
    }

    /// Runs the jobs of a kind without knowing their type.
    pub fn handle_raw<K, H>(self, kind: K, handler: H) -> Self
    where
        K: TryInto<Kind, Error: Into<Error>>,
        H: RawHandler,
    {
        self.handle_raw_with(kind, handler, KindOptions::new())
    }

    /// Runs the jobs of a kind without knowing their type, with options.
    pub fn handle_raw_with<K, H>(self, kind: K, handler: H, options: KindOptions) -> Self
    where
        K: TryInto<Kind, Error: Into<Error>>,
        H: RawHandler,
    {
        self.add_handler(kind, Arc::new(Raw(handler)), options)
    }

    /// Wraps every run; the first one added is the outermost.
    pub fn middleware(mut self, middleware: impl Middleware) -> Self {
        self.middleware.push(Arc::new(middleware));
        self
    }

    /// Is told what happens to runs.
    pub fn hooks(mut self, hooks: impl Hooks) -> Self {
        self.hooks.push(Arc::new(hooks));
        self
    }

    /// Starts the worker; it runs until it is drained or dropped.
    ///
    /// # Errors
    /// The first mistake made in building it (`Invalid`, `Conflict`); `Unsupported` if the store
    /// has no leases that can be extended, or outside a tokio runtime; `Closed`; `Unavailable`
    /// if the system gives no thread.
    #[expect(clippy::unused_async, reason = "so that a start may come to wait for the store")]
    pub async fn start(self) -> Result<RunningWorker> {
        self.launch(false)
    }

    /// Runs until this worker runs nothing and finds nothing that can run now. Jobs that are due
    /// later, retries among them, are left.
    ///
    /// # Errors
    /// Those of [`start`](Self::start), and faults of the store that waiting will not cure; an
    /// outage is waited out.
    pub async fn run_until_idle(self) -> Result<RunSummary> {
        self.launch(true)?.ended().await
    }

    /// Runs until the future resolves, then drains.
    ///
    /// # Errors
    /// Those of [`start`](Self::start).
    pub async fn run_until(self, end: impl Future) -> Result<RunSummary> {
        let drain_timeout = self.drain_timeout;
        let running = self.launch(false)?;
        tokio::select! {
            // Why it ended is told, whatever else has happened.
            biased;
            ended = running.ended() => return ended,
            _ = end => {}
        }
        Ok(running.drain(drain_timeout).await)
    }

    /// Runs until SIGINT or SIGTERM (Ctrl-C on Windows), then drains; a second signal releases
    /// at once what still runs.
    ///
    /// # Errors
    /// Those of [`start`](Self::start); `Unsupported` if signals cannot be listened for.
    #[cfg(feature = "signal")]
    pub async fn run_until_signal(self, drain_timeout: Duration) -> Result<RunSummary> {
        let mut signals = crate::signal::Signals::listen()?;
        let running = self.launch(false)?;
        tokio::select! {
            biased;
            ended = running.ended() => return ended,
            () = signals.next() => {}
        }
        running.begin_drain(drain_timeout);
        tokio::select! {
            biased;
            ended = running.ended() => return ended,
            () = signals.next() => {}
        }
        Ok(running.stop().await)
    }

    fn launch(mut self, until_idle: bool) -> Result<RunningWorker> {
        let during = |error: Error| error.during("start");
        if let Some(fault) = self.fault.take() {
            return Err(during(fault));
        }
        self.complete_queues();
        if let Some(queue) = self.caps.keys().find(|queue| !self.queues.contains(queue)) {
            let error = Error::invalid("queue_concurrency", "of a queue that is served", queue);
            return Err(during(error));
        }
        if self.client.backend().capabilities().leases.is_none() {
            let message = "this store has no `Leases` capability; a worker needs it to keep the \
                           leases of running jobs alive";
            return Err(during(Error::new(ErrorKind::Unsupported, message)));
        }
        let id = WorkerId::incarnate(&self.name).map_err(during)?;
        let serving = Serving::new(self.queues.clone(), self.weights, &self.caps);
        let shared = Arc::new(Shared::new(Parts {
            client: self.client,
            id,
            name: self.name,
            queues: self.queues,
            slots: self.concurrency,
            ttl: self.ttl,
            poll_interval: self.poll_interval,
            upkeep_interval: self.upkeep_interval,
            timeout_grace: self.timeout_grace,
            retry: self.retry,
            kinds: self.kinds,
            middleware: self.middleware,
            hooks: self.hooks,
            state: self.state,
        }));
        RunningWorker::start(shared, serving, until_idle).map_err(during)
    }

    fn add_handler<K>(mut self, kind: K, handler: Arc<dyn Erased>, options: KindOptions) -> Self
    where
        K: TryInto<Kind, Error: Into<Error>>,
    {
        let kind = kind.try_into().map_err(Into::into);
        let added = kind.and_then(|kind| self.kinds.add(kind, handler, options));
        self.check(added);
        self
    }

    fn check_interval(&mut self, name: &'static str, interval: Duration) {
        if interval.is_zero() || interval > INTERVAL_MOST {
            let got = format!("{interval:?}");
            self.check(Err(Error::invalid(name, "1 ms..=1 h", got)));
        }
    }

    fn add_queue(&mut self, queue: QueueName) -> Result<()> {
        if self.queues.contains(&queue) {
            return Err(Error::invalid("queue", "named once", &queue));
        }
        self.queues.push(queue);
        Ok(())
    }

    /// Remembers the first mistake.
    pub(crate) fn check(&mut self, checked: Result<()>) {
        if let Err(error) = checked {
            self.fault.get_or_insert(error);
        }
    }
}

fn mixed_order() -> Error {
    let message = "queues are served either in order or by weight; name them all with `queue` \
                   and `queues`, or all with `weighted`";
    Error::new(ErrorKind::Conflict, message)
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker")
            .field("name", &self.name)
            .field("queues", &self.queues)
            .field("concurrency", &self.concurrency)
            .finish_non_exhaustive()
    }
}
