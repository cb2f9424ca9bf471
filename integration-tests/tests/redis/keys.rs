//! Partition keys in Redis: nothing is left behind, whatever comes in between (contract R7.3).

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::common::key_load::{self, KeyStage};
use crate::common::redis_store_fixture::RedisStage;
use crate::common::store_fixture::{PATIENCE, all_jobs, complete, create, lease, until};
use async_trait::async_trait;
use futures_util::future::join_all;
use queuekit_conformance::kit::{HOUR, build, draft, keyed};
use queuekit_conformance::{skip, this_test};
use queuekit_core::capability::Admin;
use queuekit_core::queue::{KeyOnDead, KeyOnWait, Order, QueuePatch};
use queuekit_core::{
    Ack, AckOutcome, Backend, BackendExt, DeadLetter, ErrorKind, JobId, Lease, Nack, NackKind,
    NewJob, QueueName, State,
};
use queuekit_integration_tests::servers::{Mode, OwnRedis, Proxy};
use queuekit_redis::RedisStore;
use redis::cmd;
use tokio::time::timeout;

#[async_trait]
impl KeyStage for RedisStage {
    type Store = RedisStore;
    type Application = RedisStore;

    fn store(&self) -> &RedisStore {
        &self.store
    }

    async fn application(&self) -> RedisStore {
        self.handle("").await
    }

    async fn enqueue_by(
        &self,
        app: &mut RedisStore,
        jobs: &[NewJob],
        stored: &(dyn Fn() + Sync),
    ) -> bool {
        stored();
        let jobs: Vec<NewJob> = jobs.iter().map(|job| job.clone().repeated()).collect();
        while let Err(error) = app.enqueue(&jobs).await {
            assert_eq!(*error.kind(), ErrorKind::Indeterminate, "{error}");
        }
        true
    }

    async fn terminate(&self) -> usize {
        let list: String = self.ask(cmd("CLIENT").arg("LIST").arg("TYPE").arg("normal")).await;
        let mut ended = 0;
        for line in list.lines().filter(|_| fastrand::u8(..3) == 0) {
            let id = line.split(' ').next().and_then(|id| id.strip_prefix("id=")).unwrap();
            // It may be the one that was used to ask, which has ended.
            ended += self.ask::<usize>(cmd("CLIENT").arg("KILL").arg("ID").arg(id)).await;
        }
        ended
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r7_3_keys_under_load_strand_nothing_and_keep_their_order() {
    let test = this_test!();
    let server = OwnRedis::settings().start().await;
    let Some(server) = server else { return skip(test, "there is no Redis server") };
    let end = async |stage: RedisStage| {
        stage.assert_exact().await;
        stage.end().await;
    };
    key_load::run(test, RedisStage::own(&server, "").await, end).await;
}

/// How the last job of a key ends; what waits needs no lease.
async fn end(store: &RedisStore, way: usize, lease: Lease) {
    let (id, token) = (lease.token.id, lease.token);
    match way {
        0 => drop(store.ack(&[Ack::new(token)]).await.unwrap()),
        1 => {
            let nack = Nack::new(token, NackKind::Fatal, "no", Duration::ZERO);
            drop(store.nack(&[nack]).await.unwrap());
        }
        2 => drop(store.dead_letter(&[DeadLetter::of_lease(token, "bad")]).await.unwrap()),
        3 => drop(store.dead_letter(&[DeadLetter::forced(id, "bad")]).await.unwrap()),
        4 => {
            store.cancel(&[id]).await.unwrap();
            let nack = Nack::new(token, NackKind::Cancelled, "", Duration::ZERO);
            drop(store.nack(&[nack]).await.unwrap());
        }
        _ => assert!(store.delete_job(id, true).await.unwrap()),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r7_3_a_keyed_enqueue_that_races_the_end_of_its_keys_last_job_is_served() {
    let test = this_test!();
    let Some(stage) = RedisStage::open(test).await else { return };
    let (store, other) = (&stage.store, stage.handle("").await);
    let skip = QueuePatch::default().per_key(2).key_on_wait(KeyOnWait::Skip);
    let fair = QueuePatch::default().order(Order::Fair);
    for patch in [QueuePatch::default(), skip, fair] {
        store.configure(&QueueName::default(), &patch).await.unwrap();
        for way in (0..6).cycle().take(120) {
            create(store, &build(keyed("k"))).await;
            let last = lease(store, 1).await.remove(0);
            let late = build(keyed("k"));
            tokio::join!(end(store, way, last), create(&other, &late));
            let leases = lease(store, 10).await;
            assert_eq!(leases.len(), 1, "way {way}, {patch:?}: it was left behind");
            assert_eq!(leases[0].token.id, late.id());
            complete(store, leases).await;
        }
        stage.assert_exact().await;
    }
    stage.end().await;
}

#[tokio::test]
async fn workers_of_one_name_steal_nothing_from_each_other() {
    let test = this_test!();
    let Some(stage) = RedisStage::open(test).await else { return };
    let twin = stage.handle("").await;
    for _ in 0..6 {
        create(&stage.store, &build(draft())).await;
    }
    let (ours, theirs) = (lease(&stage.store, 3).await, lease(&twin, 6).await);
    assert_eq!((ours.len(), theirs.len()), (3, 3));
    let ids: HashSet<JobId> = ours.iter().chain(&theirs).map(|lease| lease.token.id).collect();
    assert_eq!(ids.len(), 6);
    assert_eq!(lease(&twin, 6).await.len(), 0);
    let mut mixed = theirs[0].token.clone();
    mixed.nonce = ours[0].token.nonce;
    assert_eq!(twin.ack(&[Ack::new(mixed)]).await.unwrap(), [AckOutcome::LeaseLost]);
    complete(&twin, theirs).await;
    complete(&stage.store, ours).await;
    stage.assert_exact().await;
    stage.end().await;
}

/// Every order and every way of keys, one after the other.
fn patches() -> Vec<QueuePatch> {
    let patch = QueuePatch::default;
    vec![
        patch().per_key(3),
        patch().key_on_wait(KeyOnWait::Skip),
        patch().order(Order::Fair),
        patch().key_on_dead(KeyOnDead::Hold).per_key(1),
        patch().order(Order::Strict),
        patch().key_on_wait(KeyOnWait::Block).key_on_dead(KeyOnDead::Continue),
    ]
}

/// Stores `count` jobs, one of three without a key; some of them with a delay.
async fn fill(stage: &RedisStage, count: usize) {
    let job = |n: usize| {
        let job = if n.is_multiple_of(3) { draft() } else { keyed(&format!("k{}", n % 200)) };
        let delay = Duration::from_millis(if n.is_multiple_of(10) { 300 } else { 0 });
        build(job.delay(delay).max_attempts(1000))
    };
    let jobs: Vec<NewJob> = (0..count).map(job).collect();
    for jobs in jobs.chunks(1000) {
        stage.store.enqueue(jobs).await.unwrap();
    }
}

async fn completed(stage: &RedisStage) -> u64 {
    let queues = stage.store.all_queues().await.unwrap();
    queues.iter().map(|queue| queue.counts.of_state(State::Completed).value).sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r7_3_a_queue_that_is_configured_under_load_loses_and_strands_nothing() {
    let test = this_test!();
    let Some(stage) = RedisStage::open(test).await else { return };
    fill(&stage, 5000).await;
    let (stage, over) = (Arc::new(stage), Arc::new(AtomicBool::new(false)));
    let reserver = || {
        let (stage, over) = (Arc::clone(&stage), Arc::clone(&over));
        tokio::spawn(async move {
            let store = stage.handle("").await;
            while !over.load(Ordering::Relaxed) {
                let leases = lease(&store, 20).await;
                if leases.is_empty() {
                    tokio::task::yield_now().await;
                }
                complete(&store, leases).await;
            }
        })
    };
    let reservers: Vec<_> = (0..2).map(|_| reserver()).collect();
    for patch in patches() {
        fill(&stage, 200).await;
        stage.store.configure(&QueueName::default(), &patch).await.unwrap();
    }
    until("all jobs are served", async || completed(&stage).await == 6200).await;
    over.store(true, Ordering::Relaxed);
    for reserver in join_all(reservers).await {
        reserver.unwrap();
    }
    stage.assert_exact().await;
    Arc::into_inner(stage).expect("the stage should have no other owner").end().await;
}

/// A process dies in the middle of a change of settings: a reserve of another handle continues it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r7_3_a_configure_that_dies_in_the_middle_is_gone_on_with() {
    let test = this_test!();
    let Some(stage) = RedisStage::open(test).await else { return };
    fill(&stage, 5000).await;
    let moving = cmd("HGET").arg(stage.key("default", "meta")).arg("moving").to_owned();
    let mut served = 0;
    for (at, patch) in patches().into_iter().enumerate() {
        let proxy = Proxy::start(&stage.server).await;
        let dies = RedisStore::connect_url(&proxy.url(&stage.url(""))).await.unwrap();
        // The queue is entered, its settings are seen unless there are none yet, it is configured,
        // and then there are four steps at least.
        proxy.set(Mode::LoseReply { after: if at == 0 { 2 } else { 3 } });
        let task = tokio::spawn(async move { dies.configure(&QueueName::default(), &patch).await });
        proxy.until(|counts| counts.lost == 1).await;
        proxy.set(Mode::Cut);
        task.abort();
        let at = stage.ask::<Option<Vec<u8>>>(&moving).await;
        assert!(at.is_some(), "it was too quick to die in the middle");
        let leases = first_leases(&stage).await;
        assert_eq!(leases.len(), 10);
        served += leases.len() as u64;
        complete(&stage.store, leases).await;
        assert_eq!(stage.ask::<Option<Vec<u8>>>(&moving).await, None);
        stage.assert_exact().await;
    }
    until("all jobs are served", async || {
        let leases = lease(&stage.store, 1000).await;
        complete(&stage.store, leases).await;
        completed(&stage).await == 5000
    })
    .await;
    assert!(served > 0);
    stage.assert_exact().await;
    stage.end().await;
}

/// A reserve places keys anew for half a second at most: on a busy machine it may take several
/// until one of them leases jobs.
async fn first_leases(stage: &RedisStage) -> Vec<Lease> {
    let reserving = async {
        loop {
            let leases = lease(&stage.store, 10).await;
            if !leases.is_empty() {
                return leases;
            }
        }
    };
    timeout(PATIENCE, reserving).await.expect("a reserve should place the keys and lease jobs")
}

/// Sets a setting as who configures and dies after its first step: keys are yet to be placed anew.
async fn half_configured(stage: &RedisStage, setting: &str, value: &str) {
    let meta = stage.key("default", "meta");
    let set = cmd("HSET").arg(meta).arg(&[setting, value, "moving", "p"]).to_owned();
    let _: i64 = stage.ask(&set).await;
}

/// What ended while a setting was changed back and forth stays ended.
#[tokio::test]
async fn r1_2_who_ends_while_keys_are_placed_anew_stays_ended() {
    let test = this_test!();
    let Some(stage) = RedisStage::open(test).await else { return };
    let (store, name) = (&stage.store, QueueName::default());
    let skip = QueuePatch::default().key_on_wait(KeyOnWait::Skip).per_key(9);
    let fair = skip.clone().order(Order::Fair);
    for (patch, setting) in [(skip, "skip"), (fair, "fair")] {
        store.configure(&name, &patch).await.unwrap();
        let mut jobs = Vec::new();
        for job in [keyed("k"), keyed("k").delay(HOUR), keyed("k"), draft(), draft()] {
            jobs.push(create(store, &build(job)).await);
        }
        half_configured(&stage, setting, "0").await;
        store.cancel(&[jobs[0]]).await.unwrap();
        store.reschedule(&[jobs[1]], HOUR * 2).await.unwrap();
        assert!(store.delete_job(jobs[3], false).await.unwrap());
        store.configure(&name, &patch).await.unwrap();
        stage.assert_exact().await;
        let leases = lease(store, 10).await;
        let leased: HashSet<JobId> = leases.iter().map(|lease| lease.token.id).collect();
        assert_eq!(leased, HashSet::from([jobs[2], jobs[4]]), "{setting}");
        complete(store, leases).await;
        store.cancel(&[jobs[1]]).await.unwrap();
        stage.assert_exact().await;
    }
    stage.end().await;
}

/// A job that has ended does not run again, whatever the keys that reserve reads contain.
#[tokio::test]
async fn r1_2_what_strays_into_ready_does_not_run() {
    let test = this_test!();
    let Some(stage) = RedisStage::open(test).await else { return };
    for (job, at_once) in [(draft(), 1), (draft(), 9), (keyed("k"), 1), (keyed("k"), 9)] {
        for _ in 0..3 {
            create(&stage.store, &build(job.clone())).await;
        }
        let ready = stage.key("default", "ready");
        let look = cmd("ZRANGE").arg(&ready).arg(0).arg(0).arg("WITHSCORES").to_owned();
        let stray: Vec<Vec<u8>> = stage.ask(&look).await;
        complete(&stage.store, lease(&stage.store, 1).await).await;
        let _: i64 = stage.ask(cmd("ZADD").arg(&ready).arg(&stray[1]).arg(&stray[0])).await;
        let mut left = 2;
        while left > 0 {
            let leases = lease(&stage.store, at_once).await;
            assert!((1..=left).contains(&leases.len()), "{} of {left}", leases.len());
            left -= leases.len();
            complete(&stage.store, leases).await;
        }
        assert_eq!(lease(&stage.store, 9).await.len(), 0);
        stage.assert_exact().await;
    }
    stage.end().await;
}

/// While a queue becomes fair all its jobs are listed, and each once.
#[tokio::test]
async fn r8_2_all_jobs_are_listed_while_keys_are_placed_anew() {
    let test = this_test!();
    let Some(stage) = RedisStage::open(test).await else { return };
    let all = 900;
    let job = |n: usize| build(if n.is_multiple_of(3) { draft() } else { keyed(&format!("k{n}")) });
    let jobs: Vec<NewJob> = (0..all).map(job).collect();
    stage.store.enqueue(&jobs).await.unwrap();
    half_configured(&stage, "fair", "1").await;
    let mut step = cmd("HGET");
    step.arg(stage.key("default", "meta")).arg("moving");
    while let Some(moving) = stage.ask::<Option<Vec<u8>>>(&step).await {
        let jobs = all_jobs(&stage.store).await;
        let ids: HashSet<JobId> = jobs.iter().map(|job| job.id).collect();
        assert_eq!((jobs.len(), ids.len()), (all, all), "at {moving:?}");
        stage.place(200).await;
    }
    assert_eq!(all_jobs(&stage.store).await.len(), all);
    stage.end().await;
}

/// A waiting key of a fair queue gets its turn, however many keys come after it.
#[tokio::test]
async fn r7_4_newcomers_do_not_pass_who_waits() {
    let test = this_test!();
    let Some(stage) = RedisStage::open(test).await else { return };
    let fair = QueuePatch::default().order(Order::Fair).per_key(10);
    stage.store.configure(&QueueName::default(), &fair).await.unwrap();
    for _ in 0..20 {
        create(&stage.store, &build(keyed("z"))).await;
    }
    let mut got = 0;
    for round in 0..40 {
        create(&stage.store, &build(keyed(&format!("a{round:02}")))).await;
        let leases = lease(&stage.store, 1).await;
        let key = leases[0].partition_key.as_ref().map(|key| key.as_str());
        got += usize::from(key == Some("z"));
        complete(&stage.store, leases).await;
    }
    assert!(got >= 5, "{got} of 40");
    stage.end().await;
}
