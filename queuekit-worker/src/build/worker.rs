//! Describing a worker.

use std::fmt;
use std::time::Duration;

use queuekit_core::{Client, Error, ErrorKind, Kind, LeaseTtl, QueueName, Result, RetryPolicy};

use crate::state::settings::Settings;

/// Runs the jobs of a store: a builder, until it is started.
///
/// ```
/// # use queuekit::{Client, Payload, memory::MemoryStore};
/// use std::time::Duration;
///
/// use queuekit::{Ctx, JobResult, Worker};
/// # #[derive(serde::Serialize, serde::Deserialize)]
/// # struct Greet { name: String }
/// # impl Payload for Greet { const KIND: &'static str = "greet"; }
///
/// async fn greet(job: Greet, _ctx: Ctx) -> JobResult {
///     println!("Hello, {}!", job.name);
///     Ok(())
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> queuekit::Result<()> {
/// # let client = Client::new(MemoryStore::new());
/// let worker = Worker::new(client)
///     .queues(["critical", "default"])
///     .concurrency(50)
///     .queue_concurrency("default", 40)
///     .lease_ttl(Duration::from_secs(10))
///     .handle(greet)
///     .start()
///     .await?;
/// // .. until the process is asked to end ..
/// worker.drain(Duration::from_secs(30)).await;
/// # Ok(())
/// # }
/// ```
///
/// The start reports the first setting that is out of range; no setter fails or panics.
#[must_use = "a worker does nothing until it is started"]
pub struct Worker {
    pub(super) settings: Settings,
    /// The first mistake.
    pub(super) fault: Option<Error>,
}

/// Wake-ups may be lost, so a longer interval would leave jobs waiting.
const INTERVAL_MOST: Duration = Duration::from_secs(3600);

/// More than a process has use for, and few enough to count with.
const SLOTS: usize = 100_000;

impl Worker {
    /// A worker of this client's store, without handlers.
    pub fn new(client: Client) -> Self {
        Self { settings: Settings::new(client), fault: None }
    }

    /// The name under which the worker is listed, followed by random digits. Several workers may
    /// share a name. Default: `worker`.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.settings.name = name.into();
        self
    }

    /// Serves this queue, after those named before. A later queue is served when the earlier ones
    /// have nothing that can run. Default: the queue `default`, and those of the consumers.
    pub fn queue<Q: TryInto<QueueName, Error: Into<Error>>>(self, queue: Q) -> Self {
        self.queues([queue])
    }

    /// Serves these queues, in this order, as [`queue`](Self::queue) does.
    pub fn queues<I>(mut self, queues: I) -> Self
    where
        I: IntoIterator<Item: TryInto<QueueName, Error: Into<Error>>>,
    {
        for queue in queues {
            let added = queue.try_into().map_err(Into::into).and_then(|queue| {
                self.add_queue(queue)?;
                self.settings.weights.is_none().then_some(()).ok_or_else(mixed_order)
            });
            self.check(added);
        }
        self
    }

    /// Serves these queues by weight, 1 to 100: a queue with work gets at least half its share.
    /// Either all queues have weights, or none.
    pub fn weighted<I, Q>(mut self, queues: I) -> Self
    where
        I: IntoIterator<Item = (Q, u8)>,
        Q: TryInto<QueueName, Error: Into<Error>>,
    {
        if self.settings.weights.is_none() && !self.settings.queues.is_empty() {
            self.check(Err(mixed_order()));
        }
        // Also for an empty list: queues that are named later need weights too.
        self.settings.weights.get_or_insert_default();
        for (queue, weight) in queues {
            let added = queue.try_into().map_err(Into::into).and_then(|queue| {
                if !(1..=100).contains(&weight) {
                    return Err(Error::invalid("weight", "1..=100", weight).on(queue));
                }
                self.settings.weights.get_or_insert_default().push(weight);
                self.add_queue(queue)
            });
            self.check(added);
        }
        self
    }

    /// Runs at most this many jobs of this queue at once, in this process. Default: `concurrency`.
    pub fn queue_concurrency<Q>(mut self, queue: Q, most: usize) -> Self
    where
        Q: TryInto<QueueName, Error: Into<Error>>,
    {
        let capped = queue.try_into().map_err(Into::into).and_then(|queue| {
            if most == 0 {
                return Err(Error::invalid("queue_concurrency", "at least 1", most).on(queue));
            }
            self.settings.queue_limits.insert(queue, most);
            Ok(())
        });
        self.check(capped);
        self
    }

    /// Runs at most this many jobs of this kind at once, in this worker. Default: `concurrency`.
    ///
    /// A store cannot leave a kind out, so jobs of the kind are leased with the others. Up to the
    /// same number wait in the worker, each in a slot, and start when others end. The worker
    /// releases the rest, which spends no attempt: they are offered again after 1 s, doubling up to
    /// 60 s. So a kind takes at most twice its limit of the slots, and a long backlog of it runs
    /// out of order. For a kind with a long backlog, use a separate queue with
    /// [`queue_concurrency`](Self::queue_concurrency): the worker then leases only as many jobs as
    /// may run.
    pub fn kind_concurrency<K>(mut self, kind: K, most: usize) -> Self
    where
        K: TryInto<Kind, Error: Into<Error>>,
    {
        let limited = kind.try_into().map_err(Into::into).and_then(|kind| {
            if most == 0 {
                return Err(Error::invalid("kind_concurrency", "at least 1", most).on(kind));
            }
            self.settings.kind_limits.insert(kind, most);
            Ok(())
        });
        self.check(limited);
        self
    }

    /// Runs at most this many jobs at once, 1 to 100,000. Default: 10.
    pub fn concurrency(mut self, slots: usize) -> Self {
        if !(1..=SLOTS).contains(&slots) {
            self.check(Err(Error::invalid("concurrency", "1..=100000", slots)));
        }
        self.settings.slots = slots;
        self
    }

    /// How long a lease lasts if it is not extended, 1 s to 12 h. Other workers take over the jobs
    /// of a dead worker after this time. The worker extends leases at a third of it. Default: 30 s.
    pub fn lease_ttl(mut self, ttl: Duration) -> Self {
        match LeaseTtl::new(ttl) {
            Ok(ttl) => self.settings.ttl = ttl,
            Err(error) => self.check(Err(error)),
        }
        self
    }

    /// A lease of any length, for tests of stores and workers.
    #[doc(hidden)]
    pub fn lease_ttl_for_tests(mut self, ttl: Duration) -> Self {
        self.settings.ttl = LeaseTtl::for_tests(ttl);
        self
    }

    /// How often the worker looks for jobs without a wake-up, at most 1 h, varied by up to 10 %.
    /// Default: 1 s.
    pub fn poll_interval(mut self, interval: Duration) -> Self {
        self.check_interval("poll_interval", interval);
        self.settings.poll_interval = interval;
        self
    }

    /// Whether the worker makes no call while its queues have nothing to do (contract R13.12), so
    /// that a database may sleep. It wakes when a job arrives, when the next job, lease or schedule
    /// that it knows of is due, and after an hour. An order to a quiet worker, and a new schedule,
    /// may wait that long. Default: false.
    pub fn quiet_when_idle(mut self, quiet: bool) -> Self {
        self.settings.quiet_when_idle = quiet;
        self
    }

    /// How often the worker runs upkeep (retention and repair), at most 1 h, varied by up to 10 %
    /// (contract R13.7). Default: 10 s.
    pub fn upkeep_interval(mut self, interval: Duration) -> Self {
        self.check_interval("upkeep_interval", interval);
        self.settings.upkeep_interval = interval;
        self
    }

    /// How long a handler may run after its timeout. Then its run counts as failed, and its future
    /// is dropped as soon as it yields; until then its slot stays in use. Default: 10 s.
    pub fn timeout_grace(mut self, grace: Duration) -> Self {
        self.settings.timeout_grace = grace;
        self
    }

    /// How long [`run_until`](Self::run_until) and `run_until_signal` wait for running handlers
    /// when they drain. Default: 30 s.
    pub fn drain_timeout(mut self, timeout: Duration) -> Self {
        self.settings.drain_timeout = timeout;
        self
    }

    /// When failed jobs run again, unless their kind says otherwise. Default:
    /// [`RetryPolicy::DEFAULT`], 1 s doubling to 1 h.
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.settings.retry = policy;
        self
    }

    fn check_interval(&mut self, name: &'static str, interval: Duration) {
        if interval.is_zero() || interval > INTERVAL_MOST {
            let got = format!("{interval:?}");
            self.check(Err(Error::invalid(name, "1 ms..=1 h", got)));
        }
    }

    fn add_queue(&mut self, queue: QueueName) -> Result<()> {
        if self.settings.queues.contains(&queue) {
            return Err(Error::invalid("queue", "named once", &queue));
        }
        self.settings.queues.push(queue);
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
            .field("name", &self.settings.name)
            .field("queues", &self.settings.queues)
            .field("concurrency", &self.settings.slots)
            .finish_non_exhaustive()
    }
}
