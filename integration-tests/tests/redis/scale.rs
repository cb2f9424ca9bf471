//! What a call costs does not depend on how much is stored (contract R5.9), and a flood of due jobs
//! is served in order (R7.1).

use std::collections::HashMap;
use std::time::Duration;

use crate::common::redis_clock::{Passes, RedisClock};
use crate::common::redis_store_fixture::RedisStage;
use crate::common::store_fixture::complete;
use queuekit_conformance::kit::{DAY, HOUR, build, draft, keyed, millis, request};
use queuekit_conformance::{skip, this_test};
use queuekit_core::capability::{Admin, Exchange, Settlement, Upkeep};
use queuekit_core::queue::{KeyOnWait, QueuePatch};
use queuekit_core::{
    Ack, AckOutcome, Backend, JobDraft, JobFilter, JobId, Lease, Nack, NackKind, NackOutcome,
    NewJob, PageSize, Priority, QueueName, Reserve, Status,
};
use queuekit_integration_tests::crash::is_long;
use queuekit_integration_tests::servers::OwnRedis;
use queuekit_redis::{RedisConfig, RedisStore};
use redis::{Value, cmd};

/// What there is much of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Much {
    Waiting,
    Future,
    Finished,
    OneKey,
}

/// A store in a server of its own, whose time tests move.
pub(crate) struct Scale {
    pub(crate) stage: RedisStage,
    pub(crate) clock: RedisClock,
    _server: OwnRedis,
}

impl Scale {
    pub(crate) async fn open(test: &str) -> Option<Self> {
        let settings = OwnRedis::settings().set("slowlog-log-slower-than", 1000);
        let Some(server) = settings.start().await else {
            skip(test, "there is no Redis server");
            return None;
        };
        let mut stage = RedisStage::own(&server, "").await;
        let config = RedisConfig::from_url(&stage.url("")).unwrap();
        let (config, clock) = RedisClock::of(config, &[server.url()], Passes::Yes).await;
        stage.store = RedisStore::connect(config).await.unwrap();
        Some(Self { stage, clock, _server: server })
    }

    pub(crate) fn store(&self) -> &RedisStore {
        &self.stage.store
    }

    pub(crate) async fn reserve(&self, limit: usize) -> Vec<Lease> {
        let request: Reserve = request(QueueName::default(), limit);
        self.store().reserve(&request).await.unwrap().leases
    }

    async fn fill(&self, much: Much, count: usize) {
        let job = || match much {
            Much::Waiting | Much::Finished => draft(),
            Much::Future => draft().delay(HOUR),
            Much::OneKey => keyed("k"),
        };
        for _ in 0..count / 1000 {
            let jobs: Vec<NewJob> = (0..1000).map(|_| build(job())).collect();
            self.store().enqueue(&jobs).await.unwrap();
            if much == Much::Finished {
                complete(self.store(), self.reserve(1000).await).await;
            }
        }
    }

    /// How many commands the server runs for a call, those of its script included.
    pub(crate) async fn commands<T>(&self, call: impl Future<Output = T>) -> (u64, T) {
        let () = self.stage.ask(cmd("CONFIG").arg("RESETSTAT")).await;
        let answer = call.await;
        let info: String = self.stage.ask(cmd("INFO").arg("commandstats")).await;
        let ours = ["config", "info", "client", "hello", "ping", "command"];
        let count = |line: &str| {
            let (name, rest) = line.strip_prefix("cmdstat_")?.split_once(':')?;
            let calls = rest.strip_prefix("calls=")?.split(',').next()?.parse::<u64>().ok()?;
            (!ours.iter().any(|own| name.starts_with(own))).then_some(calls)
        };
        (info.lines().filter_map(count).sum(), answer)
    }

    /// How often the server has run this command since `commands` began.
    pub(crate) async fn calls_of(&self, command: &str) -> u64 {
        let info: String = self.stage.ask(cmd("INFO").arg("commandstats")).await;
        let prefix = format!("cmdstat_{command}:calls=");
        let mut found = info.lines().filter_map(|line| line.strip_prefix(&prefix));
        found.next().map_or(0, |rest| rest.split(',').next().unwrap().parse().unwrap())
    }

    /// Bytes that the scripts of the server have taken and not given back.
    pub(crate) async fn memory_of_scripts(&self) -> u64 {
        let info: String = self.stage.ask(cmd("INFO").arg("memory")).await;
        let mut found = info.lines().filter_map(|line| line.strip_prefix("used_memory_lua:"));
        found.next().unwrap().parse().unwrap()
    }

    /// The longest that the server was busy with one command, and with which.
    pub(crate) async fn slowest(&self) -> (Duration, String) {
        let entries: Vec<Vec<Value>> = self.stage.ask(cmd("SLOWLOG").arg("GET").arg(-1)).await;
        let told = entries.iter().filter_map(|entry| match &entry[..] {
            [_, _, Value::Int(micros), Value::Array(words), ..] => {
                let word: String = redis::from_redis_value(words.first()?.clone()).ok()?;
                Some((Duration::from_micros(u64::try_from(*micros).ok()?), word))
            }
            _ => None,
        });
        told.max().unwrap_or_default()
    }
}

/// The cost of each operation with this number of jobs, queues or keys.
#[expect(clippy::print_stdout, reason = "figures are for reading")]
async fn costs(test: &str, much: Much, count: usize) -> Option<Vec<(&'static str, u64)>> {
    let scale = Scale::open(test).await?;
    let store = scale.store();
    scale.fill(much, count).await;
    // What runs in the following finds its scripts known, and the queue registered of late.
    store.prune().await.unwrap();
    store.enqueue(&[build(draft())]).await.unwrap();
    complete(store, scale.reserve(1).await).await;
    let jobs: Vec<NewJob> = (0..10).map(|_| build(draft().priority(Priority::HIGH))).collect();
    let mut costs = Vec::new();
    let (cost, stored) = scale.commands(store.enqueue(&jobs)).await;
    stored.unwrap();
    costs.push(("enqueue", cost));
    let (cost, stored) = scale.commands(store.enqueue(&[build(keyed("k"))])).await;
    stored.unwrap();
    costs.push(("enqueue with a key", cost));
    let (cost, leases) = scale.commands(scale.reserve(10)).await;
    assert_eq!(leases.len(), 10);
    costs.push(("reserve", cost));
    costs.push(("ack", scale.commands(complete(store, leases)).await.0));
    let (cost, leases) = scale.commands(scale.reserve(2)).await;
    assert!(!leases.is_empty());
    costs.push(("reserve of more than is due", cost));
    costs.push(("ack of it", scale.commands(complete(store, leases)).await.0));
    scale.clock.jump(millis(DAY * 2)).await;
    let (cost, pruned) = scale.commands(store.prune()).await;
    let pruned = pruned.unwrap();
    assert!(much != Much::Finished || pruned.changed == 1000, "{pruned:?}");
    costs.push(("prune", cost));
    println!("{much:?}, {count}: {costs:?}; slowest {:?}", scale.slowest().await);
    Some(costs)
}

async fn is_bounded(test: &str, much: Much) {
    let large = if is_long() { 1_000_000 } else { 20_000 };
    let Some(few) = costs(test, much, 1000).await else { return };
    let many = costs(test, much, large).await.expect("there is a server");
    for ((what, few), (_, many)) in few.into_iter().zip(many) {
        assert!(many <= few + few / 10 + 2, "{what}: {few} commands, {many} at {large}");
    }
}

#[tokio::test]
async fn r5_9_waiting_jobs_change_no_cost() {
    is_bounded(this_test!(), Much::Waiting).await;
}

#[tokio::test]
async fn r5_9_future_jobs_change_no_cost() {
    is_bounded(this_test!(), Much::Future).await;
}

#[tokio::test]
async fn r5_9_finished_jobs_change_no_cost() {
    is_bounded(this_test!(), Much::Finished).await;
}

#[tokio::test]
async fn r5_9_jobs_of_one_key_change_no_cost() {
    is_bounded(this_test!(), Much::OneKey).await;
}

#[tokio::test]
async fn r7_1_a_flood_of_due_jobs_is_served_in_exact_order() {
    let test = this_test!();
    let Some(scale) = Scale::open(test).await else { return };
    let count = if is_long() { 1_000_000 } else { 20_000 };
    let mut order: HashMap<JobId, usize> = HashMap::new();
    for _ in 0..count / 1000 {
        let job = |_| {
            let job: JobDraft = draft().priority(Priority::new(fastrand::u8(..32)).unwrap());
            build(job.delay(Duration::from_secs(fastrand::u64(..60))))
        };
        let jobs: Vec<NewJob> = (0..1000).map(job).collect();
        scale.store().enqueue(&jobs).await.unwrap();
        for job in jobs {
            order.insert(job.id(), order.len());
        }
    }
    scale.clock.jump(millis(HOUR)).await;
    let mut served = Vec::new();
    while served.len() < count {
        let leases = scale.reserve(fastrand::usize(1..=1000)).await;
        assert!(!leases.is_empty(), "{} of {count} are served", served.len());
        let place = |lease: &Lease| {
            let level = 31 - lease.priority.level();
            (level, lease.scheduled_at, order[&lease.token.id])
        };
        served.extend(leases.iter().map(place));
        complete(scale.store(), leases).await;
    }
    assert!(served.is_sorted(), "out of order");
    println!("{count} jobs; slowest {:?}", scale.slowest().await);
    scale.stage.assert_exact().await;
}

/// More than a script has room for on its stack: one that finds out half way has lost jobs.
#[tokio::test]
async fn r3_6_any_number_of_leases_is_acked_and_nacked_by_one_call() {
    let test = this_test!();
    let Some(scale) = Scale::open(test).await else { return };
    let store = scale.store();
    let mut leases: Vec<Lease> = Vec::new();
    for _ in 0..6 {
        let jobs: Vec<NewJob> = (0..1000).map(|_| build(draft())).collect();
        store.enqueue(&jobs).await.unwrap();
        leases.extend(store.reserve(&request(QueueName::default(), 1000)).await.unwrap().leases);
    }
    assert_eq!(leases.len(), 6000);
    let nacked = leases.split_off(4500);
    let acks: Vec<Ack> = leases.into_iter().map(|lease| Ack::new(lease.token)).collect();
    let nack = |lease: Lease| Nack::new(lease.token, NackKind::Fatal, "no", Duration::ZERO);
    let nacks: Vec<Nack> = nacked.into_iter().map(nack).collect();
    let settlement = Settlement { acks, nacks };
    let exchanged = store.exchange(&settlement, &request(QueueName::default(), 10)).await.unwrap();
    assert!(exchanged.acks.iter().all(|outcome| *outcome == AckOutcome::Acked));
    assert!(exchanged.nacks.iter().all(|outcome| *outcome == NackOutcome::Dead));
    let again = store.ack(&settlement.acks).await.unwrap();
    assert_eq!(again, vec![AckOutcome::AlreadyDone; 4500]);
    scale.stage.assert_exact().await;
}

/// Of each key several jobs stand in turn before the next key's: nothing is read over and over.
#[tokio::test]
async fn r5_9_many_leases_of_many_keys_are_one_walk() {
    let Some(scale) = Scale::open(this_test!()).await else {
        return;
    };
    let three = QueuePatch::default().per_key(3);
    scale.store().configure(&QueueName::default(), &three).await.unwrap();
    for spread in [1, 4, 200] {
        // The jobs of a key come one after the other, or `spread` keys apart.
        let key = |n: usize| n / (spread * 4) * spread + n % spread;
        let jobs: Vec<NewJob> = (0..800).map(|n| build(keyed(&format!("k{}", key(n))))).collect();
        scale.store().enqueue(&jobs).await.unwrap();
        let (_, leases) = scale.commands(scale.reserve(1000)).await;
        assert_eq!(leases.len(), 600);
        // Each job once, in parts of 16.
        let reads = scale.calls_of("hmget").await;
        assert!(reads <= 800 / 16 + 10, "{reads} reads of a window");
        let places = leases.iter().map(|lease| lease.scheduled_at);
        assert!(places.is_sorted(), "out of order");
        complete(scale.store(), leases).await;
        complete(scale.store(), scale.reserve(1000).await).await;
        scale.stage.assert_exact().await;
    }
}

/// A nack with a wrong token costs a look at the state of its job, and not at the payload.
#[tokio::test]
async fn r3_1_a_nack_with_a_wrong_token_reads_no_payload() {
    let Some(scale) = Scale::open(this_test!()).await else { return };
    scale.store().enqueue(&[build(draft())]).await.unwrap();
    let mut lease = scale.reserve(1).await.remove(0);
    let right = lease.token.clone();
    lease.token.lease_seq += 1;
    let nack = || Nack::new(lease.token.clone(), NackKind::Retry, "", Duration::ZERO);
    let nacks: Vec<Nack> = (0..100).map(|_| nack()).collect();
    let (_, outcomes) = scale.commands(scale.store().nack(&nacks)).await;
    assert!(outcomes.unwrap().iter().all(|outcome| *outcome == NackOutcome::LeaseLost));
    let reads = scale.calls_of("hget").await;
    assert!(reads <= 100, "{reads} reads for 100 tokens");
    let nack = Nack::new(right, NackKind::Fatal, "", Duration::ZERO);
    assert_eq!(scale.store().nack(&[nack]).await.unwrap(), [NackOutcome::Dead]);
}

/// A page of a `skip` queue looks at each key once, however many jobs of it wait for their time.
#[tokio::test]
async fn r8_2_a_page_looks_at_each_key_once() {
    let Some(scale) = Scale::open(this_test!()).await else { return };
    let skip = QueuePatch::default().key_on_wait(KeyOnWait::Skip);
    scale.store().configure(&QueueName::default(), &skip).await.unwrap();
    for round in 0..30_u32 {
        let delay = HOUR + Duration::from_secs(1) * round;
        let job = |key| build(keyed(&format!("k{key}")).delay(delay));
        let jobs: Vec<NewJob> = (0..100).map(job).collect();
        scale.store().enqueue(&jobs).await.unwrap();
    }
    let filter = JobFilter::default().status(Status::Scheduled).limit(200);
    let (_, page) = scale.commands(scale.store().list_jobs(&filter)).await;
    assert_eq!(page.unwrap().items.len(), 200);
    let looks = scale.calls_of("zrange").await;
    assert!(looks <= 500, "{looks} looks for 100 keys");
}

/// One step of retention forgets no more keys than it may remove jobs.
#[tokio::test]
async fn r13_7_a_step_forgets_a_bounded_number_of_keys() {
    let test = this_test!();
    let Some(scale) = Scale::open(test).await else { return };
    let store = scale.store();
    let window = QueuePatch::default().dedup_window(DAY * 3);
    store.configure(&QueueName::default(), &window).await.unwrap();
    for batch in 0..3 {
        let job = |n| build(draft().idempotency_key(format!("u{batch}-{n}")));
        let jobs: Vec<NewJob> = (0..900).map(job).collect();
        store.enqueue(&jobs).await.unwrap();
        complete(store, scale.reserve(1000).await).await;
    }
    let held = async || {
        let count = cmd("HLEN").arg(scale.stage.key("default", "unique")).to_owned();
        scale.stage.ask::<u64>(&count).await
    };
    scale.clock.jump(millis(DAY * 2)).await;
    while store.prune().await.unwrap().more {}
    assert_eq!(held().await, 2700);
    scale.clock.jump(millis(DAY * 2)).await;
    for left in [1700, 700, 0] {
        assert_eq!(store.prune().await.unwrap().more, left > 0);
        assert_eq!(held().await, left);
    }
}

/// Of very many queues a page and a step of upkeep examine some, and the next ones continue (R8.2,
/// R13.7). Guard: the bounds of scripts and queues.
#[tokio::test]
async fn r8_2_a_page_looks_at_a_bounded_number_of_queues() {
    let Some(scale) = Scale::open(this_test!()).await else { return };
    let store = scale.store();
    let jobs: Vec<NewJob> = (0..500).map(|n| build(draft().queue(format!("q{n}")))).collect();
    store.enqueue(&jobs).await.unwrap();
    let (mut found, mut pages) = (0, 0);
    let mut filter = JobFilter::default().limit(PageSize::MAX.get());
    loop {
        let (_, page) = scale.commands(store.list_jobs(&filter)).await;
        assert!(scale.calls_of("evalsha").await <= 250, "of one page");
        let page = page.unwrap();
        (found, pages) = (found + page.items.len(), pages + 1);
        filter = filter.after(page.next);
        if filter.cursor.is_none() {
            break;
        }
    }
    assert_eq!((found, pages), (500, 16));
    for more in [true, true, false] {
        let (_, step) = scale.commands(store.prune()).await;
        assert!(scale.calls_of("evalsha").await <= 210, "of one step");
        assert_eq!(step.unwrap().more, more);
    }
}

/// A clock that goes back lets the head of a key wait again: under `skip` the jobs behind it run.
#[tokio::test]
async fn r9_4_after_a_jump_back_others_of_a_key_are_served() {
    let test = this_test!();
    let Some(scale) = Scale::open(test).await else { return };
    let store = scale.store();
    let skip = QueuePatch::default().key_on_wait(KeyOnWait::Skip);
    store.configure(&QueueName::default(), &skip).await.unwrap();
    let jobs = [keyed("k").delay(HOUR), keyed("k"), keyed("later").delay(HOUR), keyed("k")];
    let jobs: Vec<NewJob> = jobs.into_iter().map(build).collect();
    store.enqueue(&jobs[..3]).await.unwrap();
    scale.clock.jump(millis(HOUR)).await;
    store.enqueue(&jobs[3..]).await.unwrap();
    scale.clock.jump(-millis(Duration::from_secs(60))).await;
    let leases = scale.reserve(10).await;
    assert_eq!(leases.iter().map(Lease::id).collect::<Vec<_>>(), [jobs[1].id()]);
    complete(store, leases).await;
    assert_eq!(scale.reserve(10).await.len(), 0);
    scale.clock.jump(millis(Duration::from_secs(60))).await;
    for served in [2, 1] {
        let leases = scale.reserve(10).await;
        assert_eq!(leases.len(), served);
        complete(store, leases).await;
    }
    scale.stage.assert_exact().await;
}
