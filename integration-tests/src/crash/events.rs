//! The kill test of events: processes that emit, consume and replay are killed and started again,
//! and each event reaches each consumer (contract R14.1, R14.3, R14.5).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use queuekit_core::capability::EventFilter;
use queuekit_core::event::{Consumers, Replay, ReplayFrom};
use queuekit_core::{
    Ack, Backend, Client, ConsumerName, EventDraft, EventId, JobFilter, LeaseTtl, Payload,
    QueueName, Reserve, State, StatusSet, SubscriptionDraft, WorkerId,
};
use tokio::sync::watch;

use super::kill::finish;
use super::process::until;
use super::process_role::end_of_input;
use super::{Call, Event, Journal, Process, Role, Scratch, Site, TTL, runtime};

/// Gets the events of a key one after the other.
const ORDERED: &str = "ordered";
/// Gets them in any order.
const LOOSE: &str = "loose";
/// Gets them with keys in turn.
const FAIR: &str = "fair";
/// Gets only events that are replayed for it.
const REPLAYED: &str = "replayed";
const CONSUMERS: [&str; 4] = [ORDERED, LOOSE, FAIR, REPLAYED];
/// The process that replays; its replays are steps of one.
const REPLAYER: &str = "replayer";
/// The number of emitters; each has a partition key of its own, so that its order is known.
const EMITTERS: usize = 4;
/// More bytes than are copied into deliveries: every third event is stored once, for all of them.
const LARGE: usize = 2000;
/// Deliveries of one reserve.
const BATCH: usize = 4;
/// How long an emitter and an idle consumer wait: consumers are to keep up with emitters.
const PAUSE: Duration = Duration::from_millis(10);
/// How long what has to happen may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// Enough attempts that no delivery dies because its consumers are killed.
const ATTEMPTS: u32 = 1000;

/// Kills processes that emit, consume and replay, at random, and starts them again; then
/// lets them finish, and compares what was delivered with what was emitted. `test` is the name of
/// the test that calls this and does nothing else, for the processes are started to run it.
///
/// The long tier (`QUEUEKIT_TEST_LONG=1`) kills 40 times, the short one 8 times.
///
/// # Panics
/// If a consumer missed an event, got one that was not emitted, or got those of a key in another
/// order than they were emitted in, where it wants order.
pub fn kill_consumers(site: &dyn Site, test: &str) {
    if let Some(role) = Role::of_this_process() {
        return runtime().block_on(play(site, role));
    }
    let scratch = Scratch::new();
    let runtime = runtime();
    let place = runtime.block_on(site.create(scratch.path()));
    let stage = Stage { site, test, journal: scratch.path().join("journal"), place };
    let kills = if super::is_long() { 40 } else { 8 };
    let figures = runtime.block_on(stage.run(kills));
    runtime.block_on(site.dispose(&stage.place));
    figures.assert_exact(test, kills);
}

/// Emits or consumes until the standard input is closed.
async fn play(site: &dyn Site, role: Role) {
    let end = end_of_input();
    let store = site.open(&role.place).await;
    let journal = Journal::open(&role.journal);
    journal.tell(Event::Ready);
    let client = Client::shared(Arc::clone(&store));
    match &role.worker {
        Some(consumer) => consume(&*store, &journal, consumer, &role.name, end).await,
        None if role.name == REPLAYER => {
            while !*end.borrow() {
                replay(&*store, &journal).await;
                tokio::time::sleep(PAUSE).await;
            }
        }
        None => {
            let emit = |n| emit(client.clone(), &journal, &role, n, end.clone());
            join_all((0..role.callers).map(emit)).await;
        }
    }
    store.close().await.expect("close");
}

/// Emits, one event after the other; again from the last one that a killed process has begun.
async fn emit(
    client: Client,
    journal: &Journal,
    role: &Role,
    n: usize,
    end: watch::Receiver<bool>,
) {
    let caller = format!("{}.{n}", role.name);
    let last = Journal::last_call(&role.journal, &caller);
    let mut next = last.unwrap_or(Call { caller, number: 0 });
    while !*end.borrow() {
        journal.tell(Event::Calling(next.clone()));
        match client.emit(draft(&next)).await {
            Ok(_) => {
                journal.tell(Event::Emitted(next.clone()));
                next.number += 1;
            }
            Err(error) if error.is_retryable() => journal.tell(Event::Failed(error.to_string())),
            Err(error) => panic!("{next:?}: {error}"),
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// The event of a call, which is the same when it is emitted again: half of them by its id, half
/// by its idempotency key.
fn draft(call: &Call) -> EventDraft {
    let mut data = serde_json::to_vec(call).expect("a call is JSON");
    if call.number.is_multiple_of(3) {
        data.resize(LARGE, b' ');
    }
    let draft = EventDraft::new(Call::KIND, data).partition_key(&call.caller);
    if call.number.is_multiple_of(2) {
        return draft.idempotency_key(format!("{}/{}", call.caller, call.number));
    }
    let mut id = [0; 16];
    id[..6].copy_from_slice(&call.number.to_be_bytes()[2..]);
    id[6] = 0x70;
    id[8] = 0x80;
    let name = call.caller.as_bytes();
    id[9..9 + name.len()].copy_from_slice(name);
    draft.id(EventId::from_bytes(id))
}

/// Delivers the log from its beginning, step by step: what was replayed before stays so.
async fn replay(store: &dyn Backend, journal: &Journal) {
    let consumers = Consumers::of(store);
    let to = ConsumerName::new(REPLAYED).expect("a name");
    let mut step = Some(Replay::new(to, "all", ReplayFrom::Beginning));
    while let Some(replay) = step.take() {
        step = match consumers.replay(&replay).await {
            Ok(report) => replay.after(&report),
            Err(error) if error.is_retryable() => {
                journal.tell(Event::Failed(error.to_string()));
                Some(replay)
            }
            Err(error) => panic!("{replay:?}: {error}"),
        };
    }
}

/// Runs deliveries, notes them in the journal, and only then completes them.
async fn consume(
    store: &dyn Backend,
    journal: &Journal,
    consumer: &str,
    name: &str,
    end: watch::Receiver<bool>,
) {
    let queue = queue_of(consumer);
    let ttl = LeaseTtl::new(TTL).expect("a ttl");
    while !*end.borrow() {
        let worker = WorkerId::new(name).expect("a name");
        let request = Reserve::new(queue.clone(), BATCH, ttl, worker).expect("a nonce");
        let leases = match store.reserve(&request).await {
            Ok(reserved) => reserved.leases,
            Err(error) if error.is_retryable() => Vec::new(),
            Err(error) => panic!("reserve: {error}"),
        };
        let deliveries = leases.iter().map(|lease| {
            let call: Call = serde_json::from_slice(&lease.payload).expect("a call");
            Event::Delivered(consumer.to_owned(), call)
        });
        if leases.is_empty() {
            tokio::time::sleep(PAUSE).await;
            continue;
        }
        // Long enough to be killed with leases, and to be overtaken where nothing keeps order.
        tokio::time::sleep(Duration::from_millis(fastrand::u64(..10))).await;
        journal.tell_of(std::process::id(), deliveries);
        let acks: Vec<Ack> = leases.into_iter().map(|lease| Ack::new(lease.token)).collect();
        match store.ack(&acks).await {
            Ok(_) => {}
            Err(error) if error.is_retryable() => journal.tell(Event::Failed(error.to_string())),
            Err(error) => panic!("ack: {error}"),
        }
    }
}

fn queue_of(consumer: &str) -> QueueName {
    ConsumerName::new(consumer).expect("a name").queue().expect("a queue")
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
        subscribe(&*store).await;
        let journal = Journal::open(&self.journal);
        let mut processes: Vec<Process> =
            self.roles().iter().map(|role| self.start(role)).collect();
        self.until_they_work();
        for _ in 0..kills {
            // Real processes in real time: the next one dies at any moment, its start included.
            tokio::time::sleep(Duration::from_millis(fastrand::u64(20..400))).await;
            let process = processes.swap_remove(fastrand::usize(..processes.len()));
            let role = process.role().clone();
            process.kill(&journal);
            self.site.check(&self.place).await;
            processes.push(self.start(&role));
        }
        let (consumers, emitters) =
            processes.into_iter().partition::<Vec<_>, _>(|process| process.role().worker.is_some());
        finish(emitters);
        replay(&*store, &journal).await;
        for consumer in CONSUMERS {
            let drained = drained(&*store, consumer);
            let what = "in the end every delivery has ended";
            tokio::time::timeout(PATIENCE, drained).await.expect(what);
        }
        finish(consumers);
        self.site.check(&self.place).await;
        let figures = Figures::of(&*store, &self.journal, kills).await;
        store.close().await.expect("close");
        figures
    }

    /// Two processes that emit, one that replays, and some of each consumer.
    fn roles(&self) -> Vec<Role> {
        let role = |name: &str, callers, consumer: Option<&str>| Role {
            name: name.to_owned(),
            callers,
            worker: consumer.map(str::to_owned),
            slots: 0,
            runs_for: None,
            place: self.place.clone(),
            journal: self.journal.clone(),
        };
        vec![
            role("a", EMITTERS, None),
            role("b", EMITTERS, None),
            role("ordered-1", 0, Some(ORDERED)),
            role("ordered-2", 0, Some(ORDERED)),
            role("loose-1", 0, Some(LOOSE)),
            role("loose-2", 0, Some(LOOSE)),
            role("fair-1", 0, Some(FAIR)),
            role(REPLAYER, 0, None),
            role("replayed-1", 0, Some(REPLAYED)),
        ]
    }

    fn start(&self, role: &Role) -> Process {
        Process::start(self.test, role, &[])
    }

    fn until_they_work(&self) {
        until("all consumers have deliveries", PATIENCE, || {
            let (entries, _) = Journal::read(&self.journal);
            let gets = |name: &str| {
                let is_its = |event: &Event| matches!(event, Event::Delivered(to, _) if to == name);
                entries.iter().any(|entry| is_its(&entry.event))
            };
            CONSUMERS.into_iter().all(gets).then_some(())
        });
    }
}

async fn subscribe(store: &dyn Backend) {
    let consumers = Consumers::of(store);
    let wants = |consumer| SubscriptionDraft::new(consumer, Call::KIND);
    for draft in [
        wants(ORDERED).ordered(),
        SubscriptionDraft::new(LOOSE, "*"),
        wants(FAIR).fair(),
        wants(REPLAYED).enabled(false),
    ] {
        let subscription = draft.max_attempts(ATTEMPTS).build().expect("a subscription");
        let _ = consumers.declare(&subscription).await.expect("declare");
    }
}

async fn drained(store: &dyn Backend, consumer: &str) {
    let unfinished = StatusSet::from(State::Pending).union(State::Running.into());
    let filter = JobFilter::default().queue(queue_of(consumer)).status(unfinished).limit(1);
    while !store.list_jobs(&filter).await.expect("list_jobs").items.is_empty() {
        tokio::time::sleep(PAUSE).await;
    }
}

struct Figures {
    kills: usize,
    /// Events in the log.
    events: usize,
    /// Runs of all consumers.
    deliveries: usize,
    /// Deliveries of an event to one consumer after the first.
    repeated: usize,
    /// Events that a consumer did not get, and answered ones that are not in the log.
    lost: usize,
    /// Delivered, and not in the log; or twice in the log.
    unfounded: usize,
    /// Events that an ordered consumer first got after a later one of their key.
    disordered: usize,
}

impl Figures {
    async fn of(store: &dyn Backend, journal: &std::path::Path, kills: usize) -> Self {
        let log = log(store).await;
        let (entries, torn) = Journal::read(journal);
        assert!(torn <= kills, "{torn} torn lines by {kills} kills");
        let in_log: BTreeSet<&Call> = log.iter().collect();
        let mut figures = Self {
            kills,
            events: in_log.len(),
            deliveries: 0,
            repeated: 0,
            lost: 0,
            unfounded: log.len() - in_log.len(),
            disordered: 0,
        };
        // In the order of the first deliveries.
        let mut got: BTreeMap<&str, BTreeSet<&Call>> = BTreeMap::new();
        let mut last: BTreeMap<&str, u64> = BTreeMap::new();
        for entry in &entries {
            match &entry.event {
                Event::Emitted(call) => figures.lost += usize::from(!in_log.contains(call)),
                Event::Delivered(consumer, call) => {
                    figures.deliveries += 1;
                    figures.unfounded += usize::from(!in_log.contains(call));
                    if !got.entry(consumer).or_default().insert(call) {
                        figures.repeated += 1;
                    } else if consumer == ORDERED {
                        let before = last.insert(&call.caller, call.number);
                        let is_next = before.map_or(0, |before| before + 1) == call.number;
                        figures.disordered += usize::from(!is_next);
                    }
                }
                _ => {}
            }
        }
        for consumer in CONSUMERS {
            let got = got.remove(consumer).unwrap_or_default();
            figures.lost += in_log.difference(&got).count();
        }
        figures
    }

    #[expect(clippy::print_stdout, reason = "figures are for reading")]
    fn assert_exact(&self, test: &str, kills: usize) {
        println!("{test}: {self}");
        assert!(self.events > kills, "{self}");
        let wrong = (self.lost, self.unfounded, self.disordered);
        assert_eq!((self.kills, wrong), (kills, (0, 0, 0)), "{self}");
    }
}

/// The calls whose events are in the log.
async fn log(store: &dyn Backend) -> Vec<Call> {
    let outbox = store.capabilities().outbox.expect("the store has Outbox");
    let mut filter = EventFilter::default();
    let mut calls = Vec::new();
    loop {
        let page = outbox.list_events(&filter).await.expect("list_events");
        let call = |event: &queuekit_core::event::Event| serde_json::from_slice(&event.data);
        let read: Result<Vec<Call>, _> = page.events.iter().map(call).collect();
        calls.extend(read.expect("events are calls"));
        filter.cursor = page.cursor;
        if filter.cursor.is_none() {
            return calls;
        }
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kills, events, deliveries, repeated, lost, unfounded, disordered } = self;
        write!(f, "kills={kills} events={events} deliveries={deliveries} repeated={repeated} ")?;
        write!(f, "lost={lost} unfounded={unfounded} disordered={disordered}")
    }
}
