//! The kill test of schedules: processes that tick are killed and started again, and each
//! occurrence is enqueued once (contract R15.2).

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use queuekit_core::schedule::{NOMINAL_MS, SCHEDULE};
use queuekit_core::{
    Backend, CatchUp, Clock, ErrorKind, JobDraft, Lease, LeaseTtl, QueueName, QueuePatch, Reserve,
    Schedule, ScheduleDraft, Scheduler, SystemClock, Timestamp, WorkerId,
};
use tokio::sync::watch;

use super::kill::finish;
use super::process_role::end_of_input;
use super::{Event, Journal, Process, Role, Scratch, Site, TTL, runtime};

/// Processes that tick at once.
const SCHEDULERS: usize = 5;
/// How many of them are killed in each second, while all of them tick.
const AT_ONCE: usize = 2;
/// How far into that second at most: a tick of all takes about so long.
const INTO_MS: u64 = 60;
/// How long a process waits that has nothing else to wait for.
const PAUSE: Duration = Duration::from_millis(200);
/// Behind by more than this means that nobody ticked.
const LATE: Duration = Duration::from_secs(5);
/// Room in the second queue, in which three schedules enqueue at once.
const PENDING: u64 = 2;
const QUEUES: [&str; 2] = ["open", "narrow"];

/// Kills processes that tick, at random, and starts them again; then compares what was enqueued
/// with what the schedules say. `test` is the name of the test that calls this and does nothing
/// else, for the processes are started to run it.
///
/// The long tier (`QUEUEKIT_TEST_LONG=1`) kills 120 times, the short one 6 times.
///
/// # Panics
/// If an occurrence was missed, or enqueued twice.
pub fn kill_schedulers(site: &dyn Site, test: &str) {
    if let Some(role) = Role::of_this_process() {
        return runtime().block_on(play(site, role));
    }
    let scratch = Scratch::new();
    let runtime = runtime();
    let place = runtime.block_on(site.create(scratch.path()));
    let stage = Stage { site, test, journal: scratch.path().join("journal"), place };
    let kills = if super::is_long() { 120 } else { 6 };
    let figures = runtime.block_on(stage.run(kills));
    runtime.block_on(site.dispose(&stage.place));
    figures.assert_exact(test, kills);
}

/// Schedulers of one process, each with a handle of its own, tick for a few seconds; then as above.
///
/// # Panics
/// If an occurrence was missed, or enqueued twice.
pub fn tick_at_once(site: &dyn Site, test: &str) {
    let scratch = Scratch::new();
    let runtime = runtime();
    let figures = runtime.block_on(async {
        let place = site.create(scratch.path()).await;
        let store = site.open(&place).await;
        let begun = declare(&*store).await;
        let (told, end) = watch::channel(false);
        let (told_last, last) = watch::channel(false);
        let taken = tokio::spawn(take_all(Arc::clone(&store), last));
        let mut schedulers = Vec::new();
        for _ in 0..SCHEDULERS {
            let handle = site.open(&place).await;
            schedulers.push(tokio::spawn(tick_until(handle, end.clone())));
        }
        for _ in 0..3 {
            until_a_second(&SystemClock::default()).await;
        }
        let until = SystemClock::default().now();
        told.send(true).expect("a process should tick");
        for scheduler in schedulers {
            scheduler.await.expect("a scheduler");
        }
        told_last.send(true).expect("a process should run the jobs");
        let taken = taken.await.expect("the jobs are taken");
        let figures = Figures::of(&*store, &begun, until, &taken, 0).await;
        store.close().await.expect("close");
        site.dispose(&place).await;
        figures
    });
    figures.assert_exact(test, 0);
}

/// Ticks until the standard input is closed.
async fn play(site: &dyn Site, role: Role) {
    let end = end_of_input();
    let store = site.open(&role.place).await;
    Journal::open(&role.journal).tell(Event::Ready);
    tick_until(store, end).await;
}

async fn tick_until(store: Arc<dyn Backend>, mut end: watch::Receiver<bool>) {
    let scheduler = Scheduler::of(&*store);
    while !*end.borrow() {
        let wait = match scheduler.tick().await {
            Ok(ticked) => {
                let full = |kind: &ErrorKind| matches!(kind, ErrorKind::QueueFull { .. });
                let failed = &ticked.failed;
                assert!(failed.iter().all(|(_, error)| full(error.kind())), "{failed:?}");
                if ticked.more { Duration::ZERO } else { ticked.next_in.unwrap_or(PAUSE) }
            }
            Err(error) if error.is_retryable() => PAUSE,
            Err(error) => panic!("tick: {error}"),
        };
        let ended = tokio::time::timeout(wait.min(PAUSE), end.wait_for(|ended| *ended));
        // The error is reported above.
        let _ = ended.await.is_ok();
    }
    store.close().await.expect("close");
}

/// Every second or two, on two queues: nothing is passed, however late it is.
fn drafts() -> [ScheduleDraft; 5] {
    let every = |name, seconds, queue| {
        let job = JobDraft::new("occurrence", "{}").queue(queue);
        ScheduleDraft::every(name, Duration::from_secs(seconds), job)
    };
    let cron = |name, queue| {
        let job = JobDraft::new("occurrence", "{}").queue(queue);
        ScheduleDraft::cron(name, "* * * * * *", job).zone("Europe/Berlin")
    };
    let [open, narrow] = QUEUES;
    [
        every("interval-a", 1, open),
        every("interval-b", 1, open),
        cron("cron-a", open),
        cron("cron-b", narrow),
        every("interval-c", 2, narrow),
    ]
    .map(|draft| draft.catch_up(CatchUp::All(1000)))
}

struct Stage<'a> {
    site: &'a dyn Site,
    test: &'a str,
    journal: PathBuf,
    place: String,
}

impl Stage<'_> {
    async fn run(&self, kills: usize) -> Figures {
        let store = self.site.open(&self.place).await;
        let begun = declare(&*store).await;
        let (told, end) = watch::channel(false);
        let taken = tokio::spawn(take_all(Arc::clone(&store), end));
        let journal = Journal::open(&self.journal);
        let mut processes: Vec<Process> = (0..SCHEDULERS).map(|n| self.start(n)).collect();
        self.until_they_tick();
        let mut killed = 0;
        while killed < kills {
            // Real processes in real time, killed while they do what this is about.
            until_a_second(&SystemClock::default()).await;
            for _ in 0..AT_ONCE {
                let at = fastrand::usize(..SCHEDULERS);
                processes.push(self.start(killed));
                processes.swap_remove(at).kill(&journal);
                killed += 1;
            }
            self.site.check(&self.place).await;
        }
        until_a_second(&SystemClock::default()).await;
        let until = SystemClock::default().now();
        finish(processes);
        told.send(true).expect("a process should run the jobs");
        let taken = taken.await.expect("the jobs are taken");
        self.site.check(&self.place).await;
        let figures = Figures::of(&*store, &begun, until, &taken, killed).await;
        store.close().await.expect("close");
        figures
    }

    fn start(&self, number: usize) -> Process {
        let role = Role {
            name: format!("scheduler-{number}"),
            callers: 0,
            worker: None,
            slots: 0,
            runs_for: None,
            place: self.place.clone(),
            journal: self.journal.clone(),
        };
        Process::start(self.test, &role, &[])
    }

    fn until_they_tick(&self) {
        super::until("all have opened the store", Duration::from_secs(60), || {
            let text = std::fs::read_to_string(&self.journal).unwrap_or_default();
            (text.matches("Ready").count() >= SCHEDULERS).then_some(())
        });
    }
}

/// Each schedule and its first time.
async fn declare(store: &dyn Backend) -> Vec<(Schedule, Timestamp)> {
    let admin = store.capabilities().admin.expect("the store has Admin");
    let narrow = QueueName::new(QUEUES[1]).expect("a name");
    let patch = QueuePatch::default().max_pending(PENDING);
    admin.configure(&narrow, &patch).await.expect("configure");
    let scheduler = Scheduler::of(store);
    let mut begun = Vec::new();
    for draft in drafts() {
        let definition = draft.build().expect("a schedule");
        let _ = scheduler.declare(&definition).await.expect("declare");
        let stored = scheduler
            .get(definition.name())
            .await
            .expect("get")
            .expect("the schedule should be stored");
        let first = stored.next_at.expect("a next time");
        begun.push((stored, first));
    }
    begun
}

/// Waits for the next full second, and a random while.
async fn until_a_second(clock: &SystemClock) {
    let into = clock.now().as_millis().rem_euclid(1000).unsigned_abs();
    let wait = 1000 - into + fastrand::u64(..INTO_MS);
    tokio::time::sleep(Duration::from_millis(wait)).await;
}

/// How often each nominal time of each schedule was met.
type Taken = BTreeMap<(String, Timestamp), usize>;

/// Takes jobs out of the store as soon as they are there, until all have been taken: then nothing
/// hinders a second job for an occurrence but that nobody enqueues it.
async fn take_all(store: Arc<dyn Backend>, end: watch::Receiver<bool>) -> Taken {
    let mut taken = Taken::new();
    loop {
        let is_last = *end.borrow();
        let mut leases = Vec::new();
        for queue in QUEUES {
            leases.extend(reserve(&*store, queue).await);
        }
        if leases.is_empty() {
            if is_last {
                return taken;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        for lease in leases {
            let metadata = &lease.metadata;
            let schedule = metadata.get(SCHEDULE).expect("a schedule's name").to_owned();
            let nominal = metadata.get(NOMINAL_MS).expect("a nominal time");
            let nominal = Timestamp::from_millis(nominal.parse().expect("milliseconds"));
            *taken.entry((schedule, nominal)).or_default() += 1;
            assert!(store.delete_job(lease.token.id, true).await.expect("delete_job"));
        }
    }
}

async fn reserve(store: &dyn Backend, queue: &str) -> Vec<Lease> {
    let queue = QueueName::new(queue).expect("a name");
    let ttl = LeaseTtl::new(10 * TTL).expect("a ttl");
    let worker = WorkerId::new("taker").expect("a name");
    let request = Reserve::new(queue, 100, ttl, worker).expect("a nonce");
    store.reserve(&request).await.expect("reserve").leases
}

struct Figures {
    kills: usize,
    occurrences: usize,
    missed: usize,
    duplicated: usize,
    /// How many the schedules say they have enqueued.
    counted: u64,
}

impl Figures {
    #[expect(clippy::print_stdout, reason = "figures are for reading")]
    fn assert_exact(&self, test: &str, kills: usize) {
        println!("{test}: {self}");
        assert!(self.occurrences > kills, "{self}");
        assert_eq!((self.kills, self.missed, self.duplicated), (kills, 0, 0), "{self}");
        assert_eq!(self.counted, self.occurrences as u64, "{self}");
    }

    /// Compares what was enqueued with each nominal time from the first to the next. The
    /// schedulers ticked until `until`; what is checked later takes a while on a busy machine.
    async fn of(
        store: &dyn Backend,
        begun: &[(Schedule, Timestamp)],
        until: Timestamp,
        taken: &Taken,
        kills: usize,
    ) -> Self {
        let scheduler = Scheduler::of(store);
        let occurrences = taken.values().sum();
        let mut figures = Self { kills, occurrences, missed: 0, duplicated: 0, counted: 0 };
        for (schedule, first) in begun {
            let name = schedule.name();
            let stored =
                scheduler.get(name).await.expect("get").expect("the schedule should be stored");
            let next = stored.next_at.expect("a next time");
            let behind = until.since(next);
            assert!(behind < LATE, "{name}: {behind:?} behind");
            let owed = std::iter::once(*first).chain(stored.definition.upcoming(*first));
            let owed: Vec<_> = owed.take_while(|nominal| *nominal < next).collect();
            let of_it = |key: &(String, Timestamp)| key.0 == name.as_str();
            let met: usize = taken.iter().filter(|(key, _)| of_it(key)).map(|(_, n)| n).sum();
            let once = |nominal: &&Timestamp| taken.contains_key(&(name.to_string(), **nominal));
            let found = owed.iter().filter(once).count();
            figures.missed += owed.len() - found;
            figures.duplicated += met - found;
            figures.counted += stored.enqueued;
        }
        figures
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kills, occurrences, missed, duplicated, .. } = self;
        write!(f, "kills={kills} occurrences={occurrences} missed={missed} duplicated={duplicated}")
    }
}
