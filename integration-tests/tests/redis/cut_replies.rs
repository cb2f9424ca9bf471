//! Wherever a reply of Redis breaks off, the request has taken effect, and no caller learns that it
//! certainly did not (contract R10.1); a caller that alone stored something learns that it did
//! (R2.6).

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::common::redis_clock::{Passes, RedisClock};
use crate::common::redis_store_fixture::RedisStage;
use crate::common::store_fixture::{create, lease};
use queuekit_conformance::kit::{
    DAY, HOUR, TTL, a_run, beat_of, build, checkpoint_name, draft, millis, queue, request,
    schedule_name, ttl, unique, worker,
};
use queuekit_conformance::{skip, this_test};
use queuekit_core::capability::{
    Act, Admin, AuditLog, Control, Emission, EmitOutcome, Exchange, History, KeepCheckpoints,
    Leases, NewCheckpoint, Outbox, Report, ScheduleChange, ScheduleQuery, Schedules, Settlement,
    StoredSettings, Upkeep, WorkerOrder,
};
use queuekit_core::client::Events;
use queuekit_core::event::{Consumers, EventRetention, NewEvent};
use queuekit_core::queue::{Order, QueuePatch};
use queuekit_core::{
    Ack, Backend, BackendExt, Bytes, Client, DeadLetter, EnqueueOutcome, ErrorKind, EventDraft,
    LeaseToken, Nack, NackKind, NewJob, QueueName, Result, SubscriptionDraft,
};
use queuekit_integration_tests::servers::{Mode, OwnRedis, Proxy};
use queuekit_redis::{RedisConfig, RedisStore, for_tests};
use redis::cmd;

/// Longer than any reply here.
const LONGEST: u64 = 4000;

/// A store whose replies break off; `stage` has one whose replies arrive.
struct Cuts {
    stage: RedisStage,
    proxy: Proxy,
    store: RedisStore,
}

impl Cuts {
    async fn open(test: &str) -> Option<Self> {
        Some(Self::of(RedisStage::open(test).await?).await)
    }

    async fn of(stage: RedisStage) -> Self {
        let proxy = Proxy::start(&stage.server).await;
        let store = RedisStore::connect_url(&proxy.url(&stage.url(""))).await.unwrap();
        Self { stage, proxy, store }
    }

    fn direct(&self) -> &RedisStore {
        &self.stage.store
    }

    /// Makes a call whose answer is cut after this many bytes; none if nothing was cut.
    async fn cut<T>(&self, after: u64, call: impl Future<Output = Result<T>>) -> Option<Result<T>> {
        // It is connected: no byte of a greeting is counted.
        self.store.event_settings().await.unwrap();
        self.proxy.set(Mode::CutReply { after });
        let answer = call.await;
        let was_cut = self.proxy.mode() == Mode::Pass;
        self.proxy.set(Mode::Pass);
        was_cut.then_some(answer)
    }

    /// Cuts the replies to a call after every byte. `prepare` makes what each call is about.
    async fn sweep<P, T>(
        &self,
        what: &str,
        prepare: impl AsyncFn(&RedisStore) -> P,
        call: impl AsyncFn(&RedisStore, P) -> Result<T>,
    ) {
        // The server learns the scripts.
        let prepared = prepare(self.direct()).await;
        drop(call(&self.store, prepared).await.unwrap());
        for after in 0..LONGEST {
            let prepared = prepare(self.direct()).await;
            let Some(answer) = self.cut(after, call(&self.store, prepared)).await else {
                assert!(after > 3, "{what}: no reply");
                return;
            };
            if let Err(error) = answer {
                let kind = error.kind();
                assert_eq!(*kind, ErrorKind::Indeterminate, "{what}, after {after}: {error}");
            }
        }
        panic!("{what}: a reply of {LONGEST} bytes");
    }

    async fn end(self) {
        self.stage.assert_exact().await;
        self.store.close().await.unwrap();
        self.stage.end().await;
    }
}

/// Makes all events of the log so old that retention removes them, after a new one.
async fn age_events(stage: &RedisStage) {
    let client = Client::shared(Arc::new(stage.store.clone()));
    client.emit(EventDraft::new("e", "data")).await.unwrap();
    let script = for_tests::inline(
        "local sub = string.sub
        for _, number in ipairs(redis.call('HKEYS', KEYS[1])) do
            local old = redis.call('HGET', KEYS[1], number)
            old = EVENT.with(old, { emitted = EVENT.emitted.zero })
            redis.call('HSET', KEYS[1], number, old)
        end",
    );
    let mut age = cmd("EVAL");
    age.arg(script).arg(1).arg(format!("{}:{{events}}:records", stage.prefix));
    let () = stage.ask(&age).await;
}

/// The lease of a new job.
async fn leased(store: &RedisStore) -> LeaseToken {
    create(store, &build(draft())).await;
    lease(store, 1).await.remove(0).token
}

/// R10.1. Guard: only an answer of the server is a refusal.
#[tokio::test]
async fn r10_1_an_operation_whose_reply_breaks_off_is_never_called_certainly_not_applied() {
    let test = this_test!();
    let Some(cuts) = Cuts::open(test).await else { return };
    let new = async |_: &RedisStore| build(unique("u").queue("other"));
    let enqueue = async |store: &RedisStore, job| store.enqueue(&[job]).await;
    // One is stored, all others find its key.
    cuts.sweep("enqueue", async |_| build(draft().queue("plain")), enqueue).await;
    cuts.sweep("enqueue of a duplicate", new, enqueue).await;
    let again = async |store: &RedisStore| {
        let job = build(draft());
        create(store, &job).await;
        job.repeated()
    };
    cuts.sweep("enqueue of a stored job", again, enqueue).await;
    let fair = QueuePatch::default().order(Order::Fair);
    cuts.direct().configure(&queue("fair"), &fair).await.unwrap();
    cuts.sweep("enqueue to a fair queue", async |_| build(draft().queue("fair")), enqueue).await;
    let reserve =
        async |store: &RedisStore, _| store.reserve(&request(QueueName::default(), 1)).await;
    cuts.sweep("reserve", async |store| create(store, &build(draft())).await, reserve).await;
    cuts.sweep("ack", leased, async |store, token| store.ack(&[Ack::new(token)]).await).await;
    let nack = async |store: &RedisStore, token| {
        store.nack(&[Nack::new(token, NackKind::Fatal, "no", Duration::ZERO)]).await
    };
    cuts.sweep("nack", leased, nack).await;
    let exchange = async |store: &RedisStore, token| {
        let settlement = Settlement { acks: vec![Ack::new(token)], ..Settlement::default() };
        store.exchange(&settlement, &request(QueueName::default(), 1)).await
    };
    let two = async |store: &RedisStore| {
        let token = leased(store).await;
        create(store, &build(draft())).await;
        token
    };
    cuts.sweep("exchange", two, exchange).await;
    let extend = async |store: &RedisStore, token| store.extend(&[token], ttl(TTL)).await;
    cuts.sweep("extend", leased, extend).await;
    let report = async |store: &RedisStore, lease| {
        store.report(&[Report::new(lease, None, vec!["line".to_owned()])]).await
    };
    cuts.sweep("report", leased, report).await;
    let step = |lease| NewCheckpoint::new(lease, checkpoint_name("s"), "1").unwrap();
    let put = async |store: &RedisStore, lease| store.put_checkpoint(&step(lease)).await;
    cuts.sweep("put_checkpoint", leased, put).await;
    let read = async |store: &RedisStore, lease| store.checkpoints(&lease).await;
    cuts.sweep("checkpoints", leased, read).await;
    cuts.sweep("beat", async |_| (), async |store, ()| store.beat(&beat_of("w")).await).await;
    let listed = async |store: &RedisStore| {
        store.beat(&beat_of("w")).await.unwrap();
    };
    let forget = async |store: &RedisStore, ()| store.forget_worker(&worker("w")).await;
    let order =
        async |store: &RedisStore, ()| store.control(&[worker("w")], WorkerOrder::Quiet).await;
    cuts.sweep("control", listed, order).await;
    cuts.sweep("forget_worker", listed, forget).await;
    cuts.end().await;
}

/// R10.1, of what operators do. Guard: likewise.
#[tokio::test]
async fn r10_1_an_act_whose_reply_breaks_off_is_never_called_certainly_not_applied() {
    let test = this_test!();
    let Some(cuts) = Cuts::open(test).await else { return };
    let job = async |store: &RedisStore| create(store, &build(draft())).await;
    let dead_letter =
        async |store: &RedisStore, id| store.dead_letter(&[DeadLetter::of_job(id, "no")]).await;
    cuts.sweep("dead_letter", job, dead_letter).await;
    cuts.sweep("cancel", job, async |store, id| store.cancel(&[id]).await).await;
    let cancelled = async |store: &RedisStore| {
        let id = job(store).await;
        store.cancel(&[id]).await.unwrap();
        id
    };
    cuts.sweep("retry", cancelled, async |store, id| store.retry(&[id]).await).await;
    let reschedule = async |store: &RedisStore, id| store.reschedule(&[id], TTL).await;
    cuts.sweep("reschedule", job, reschedule).await;
    cuts.sweep("delete", job, async |store, id| store.delete_job(id, false).await).await;
    let paused = QueuePatch::default().paused(false);
    let configure = async |store: &RedisStore, name| store.configure(&name, &paused).await;
    cuts.sweep("configure", async |_| queue("set"), configure).await;
    let filled = async |store: &RedisStore| {
        create(store, &build(draft().queue("gone"))).await;
        queue("gone")
    };
    let remove = async |store: &RedisStore, name| store.remove_queue(&name, true).await;
    cuts.sweep("remove_queue", filled, remove).await;
    cuts.sweep("prune", async |_| (), async |store, ()| store.prune().await).await;
    let act = Act::new("ops", "pause", "queue set");
    cuts.sweep("record_act", async |_| (), async |store, ()| store.record_act(&act).await).await;
    // The jobs of keys are placed anew in the new order.
    create(cuts.direct(), &build(draft().queue("placed").partition_key("k"))).await;
    let reverse = async |store: &RedisStore| {
        let mut queues = store.all_queues().await.unwrap().into_iter();
        let placed = queues.find(|found| found.name.as_str() == "placed").unwrap();
        QueuePatch::default().order(match placed.settings.order {
            Order::Strict => Order::Fair,
            Order::Fair => Order::Strict,
        })
    };
    let place = async |store: &RedisStore, patch| store.configure(&queue("placed"), &patch).await;
    cuts.sweep("configure another order", reverse, place).await;
    cuts.end().await;
}

/// R10.1, of the deletion of a job that cannot be read. Guard: likewise.
#[tokio::test]
async fn r10_1_a_search_whose_reply_breaks_off_is_never_called_certainly_not_applied() {
    let test = this_test!();
    let Some(cuts) = Cuts::open(test).await else { return };
    let dead = async |store: &RedisStore| {
        let id = create(store, &build(draft())).await;
        store.dead_letter(&[DeadLetter::of_job(id, "no")]).await.unwrap();
        for part in ["data", "state"] {
            let mut spoil = cmd("HSET");
            spoil.arg(cuts.stage.key("default", part)).arg(id.as_bytes()).arg("garbage");
            let _: i64 = cuts.stage.ask(&spoil).await;
        }
        id
    };
    cuts.sweep("clear", dead, async |store, id| store.delete_job(id, false).await).await;
    cuts.store.close().await.unwrap();
    cuts.stage.end().await;
}

/// R10.1, of a script that the server has forgotten, and of the first job of a queue.
/// Guard: likewise.
#[tokio::test]
async fn r10_1_a_text_whose_reply_breaks_off_is_never_called_certainly_not_applied() {
    let test = this_test!();
    let Some(server) = OwnRedis::settings().start().await else {
        return skip(test, "there is no program of Redis");
    };
    let cuts = Cuts::of(RedisStage::own(&server, "").await).await;
    let count = AtomicU32::new(0);
    let new = async |_: &RedisStore| {
        let name = format!("new-{}", count.fetch_add(1, Ordering::Relaxed));
        build(draft().queue(&name))
    };
    let enqueue = async |store: &RedisStore, job| store.enqueue(&[job]).await;
    cuts.sweep("enqueue to a new queue", new, enqueue).await;
    let forgotten = async |store: &RedisStore| {
        create(store, &build(draft().queue("text"))).await;
        let () = cuts.stage.ask(cmd("SCRIPT").arg("FLUSH")).await;
        build(draft().queue("text"))
    };
    cuts.sweep("enqueue by its text", forgotten, enqueue).await;
    cuts.end().await;
}

/// R10.1, of schedules and events. Guard: likewise.
#[tokio::test]
async fn r10_1_an_emit_whose_reply_breaks_off_is_never_called_certainly_not_applied() {
    let test = this_test!();
    let Some(cuts) = Cuts::open(test).await else { return };
    let wants = SubscriptionDraft::new("c", "*").build().unwrap();
    let _ = Consumers::of(cuts.direct()).declare(&wants).await.unwrap();
    // Subscriptions are read by an emit that loses nothing.
    let client = Client::shared(Arc::new(cuts.store.clone()));
    client.emit(EventDraft::new("e", "data")).await.unwrap();
    let emit = async |_: &RedisStore, ()| client.emit_all([EventDraft::new("e", "data")]).await;
    cuts.sweep("emit", async |_| (), emit).await;
    let version = async |store: &RedisStore| store.event_settings().await.unwrap();
    let change = async |store: &RedisStore, seen: StoredSettings| {
        store.change_event_settings(seen.version, &seen.body).await
    };
    cuts.sweep("event settings", version, change).await;
    let jobs = [Vec::new(), vec![build(draft())]];
    for (kind, jobs) in ["schedule", "schedule with jobs"].into_iter().zip(jobs) {
        let change = async |store: &RedisStore| {
            let name = schedule_name("s");
            let query = ScheduleQuery::Named(name.clone());
            let row = store.find_schedules(&query).await.unwrap().rows.pop();
            let seen = row.map(|row| row.revision);
            let to = Some((None, Bytes::from("body")));
            let jobs = jobs.iter().map(|_| build(draft())).collect();
            ScheduleChange { name, seen, to, jobs }
        };
        let put = async |store: &RedisStore, change| store.change_schedule(&change).await;
        cuts.sweep(kind, change, put).await;
    }
    let one = EventRetention::new(8 * DAY, 1).unwrap();
    Events::of(cuts.direct()).set_retention(one).await.unwrap();
    let old = async |_: &RedisStore| age_events(&cuts.stage).await;
    cuts.sweep("prune of events", old, async |store, ()| store.prune().await).await;
    cuts.end().await;
}

/// R10.1, of history. Guard: likewise.
#[tokio::test]
async fn r10_1_history_whose_reply_breaks_off_is_never_called_certainly_not_written() {
    let test = this_test!();
    let Some(cuts) = Cuts::open(test).await else { return };
    create(cuts.direct(), &build(draft())).await;
    let key = |part: &str| format!("{}:{{history}}:{part}", cuts.stage.prefix);
    let add = async |store: &RedisStore, ()| store.add_runs(&[a_run()]).await;
    cuts.sweep("add_runs", async |_| (), add).await;
    let new_minute = async |_: &RedisStore| {
        let _: i64 = cuts.stage.ask(cmd("DEL").arg(&[key("mark"), key("totals")])).await;
    };
    let record = async |store: &RedisStore, ()| store.record_totals().await;
    cuts.sweep("record_totals", new_minute, record).await;
    let old = async |_: &RedisStore| {
        let row = "m0000000000000default\0\0 0 1 0 0 0 0";
        let _: i64 = cuts.stage.ask(cmd("ZADD").arg(key("totals")).arg(0).arg(row)).await;
    };
    cuts.sweep("prune of history", old, async |store, ()| store.prune().await).await;
    cuts.end().await;
}

/// R2.6: of a call that the store has repeated by itself, what it stored first it has created; what
/// stood there before has a duplicate. Guard: the age of what is found.
#[tokio::test]
async fn r2_6_who_alone_stored_a_job_or_an_event_is_told_so_though_the_reply_was_lost() {
    let test = this_test!();
    let Some(stage) = RedisStage::open(test).await else { return };
    let proxy = Proxy::start(&stage.server).await;
    let config = RedisConfig::from_url(&proxy.url(&stage.url(""))).unwrap();
    let servers = std::slice::from_ref(&stage.server);
    let (config, clock) = RedisClock::of(config, servers, Passes::Yes).await;
    let store = RedisStore::connect(config).await.unwrap();
    // It also teaches the server the script.
    let old = build(unique("old"));
    create(&store, &old).await;
    clock.jump(millis(HOUR)).await;
    let (key, new) = (build(unique("old")), build(unique("new").partition_key("k")));
    let behind = build(unique("new"));
    let jobs = [old.clone().repeated(), new.clone(), key, behind, new.clone()];
    proxy.set(Mode::CutReply { after: 1 });
    let outcomes = store.enqueue(&jobs).await.unwrap();
    assert_eq!(proxy.mode(), Mode::Pass, "nothing was cut");
    let duplicate = |job: &NewJob| EnqueueOutcome::Duplicate { existing: job.id() };
    let created = EnqueueOutcome::Created { id: new.id() };
    let wanted = [&old, &new, &old, &new, &new].map(duplicate);
    assert_eq!(outcomes[1], created);
    assert_eq!([&outcomes[..1], &outcomes[2..]].concat(), [&wanted[..1], &wanted[2..]].concat());

    let version = store.event_settings().await.unwrap().version;
    let event = |key: &str| EventDraft::new("e", "data").idempotency_key(key).build().unwrap();
    let (old, new) = (event("old"), event("new"));
    let emission = |events: &[&NewEvent]| Emission {
        version,
        events: events.iter().map(|event| ((*event).clone(), Vec::new())).collect(),
    };
    let first = store.store_events(&emission(&[&old])).await.unwrap();
    assert_eq!(first.outcomes, [EmitOutcome::Emitted { id: old.id() }]);
    clock.jump(millis(HOUR)).await;
    proxy.set(Mode::CutReply { after: 1 });
    let outcomes = store.store_events(&emission(&[&old, &new, &event("new"), &new])).await.unwrap();
    assert_eq!(proxy.mode(), Mode::Pass, "nothing was cut");
    let duplicate = |event: &NewEvent| EmitOutcome::Duplicate { existing: event.id() };
    let created = EmitOutcome::Emitted { id: new.id() };
    assert_eq!(outcomes.outcomes, [duplicate(&old), created, duplicate(&new), duplicate(&new)]);
    store.close().await.unwrap();
    stage.end().await;
}
