//! The short form of the script that stores jobs: where it does not do, the full one takes its
//! place, and callers get the outcomes that the full one alone would give.

use crate::common::redis_clock::{Passes, RedisClock};
use crate::common::redis_store_fixture::RedisStage;
use crate::common::store_fixture::create;
use crate::scale::Scale;
use queuekit_conformance::kit::{HOUR, build, draft, millis};
use queuekit_conformance::this_test;
use queuekit_core::capability::Admin;
use queuekit_core::queue::{Order, QueuePatch};
use queuekit_core::{Backend, BackendExt, EnqueueOutcome, NewJob, QueueName};
use queuekit_integration_tests::servers::{Mode, Proxy};
use queuekit_redis::{RedisConfig, RedisStore};
use redis::cmd;

fn created(job: &NewJob) -> EnqueueOutcome {
    EnqueueOutcome::Created { id: job.id() }
}

fn duplicate(job: &NewJob) -> EnqueueOutcome {
    EnqueueOutcome::Duplicate { existing: job.id() }
}

/// R2.8, R7.5: settings of another process hold at once, though the queue was plain a moment ago.
/// Guard: the short form reads the settings.
#[tokio::test]
async fn r2_8_settings_that_another_process_changes_hold_for_the_next_enqueue() {
    let Some(stage) = RedisStage::open(this_test!()).await else { return };
    let (other, queue) = (stage.handle("").await, QueueName::default());
    create(&stage.store, &build(draft())).await;
    other.configure(&queue, &QueuePatch::default().order(Order::Fair)).await.unwrap();
    create(&stage.store, &build(draft())).await;
    // In a fair queue, further sets have the job.
    stage.assert_exact().await;
    for store in [&stage.store, &other] {
        create(store, &build(draft().queue("bounded"))).await;
    }
    let bound = QueuePatch::default().max_pending(Some(3));
    other.configure(&QueueName::new("bounded").unwrap(), &bound).await.unwrap();
    let jobs = [build(draft().queue("bounded")), build(draft().queue("bounded"))];
    let outcomes = stage.store.enqueue(&jobs).await.unwrap();
    assert_eq!(outcomes[0], created(&jobs[0]));
    assert!(matches!(outcomes[1], EnqueueOutcome::QueueFull { .. }), "{:?}", outcomes[1]);
    other.close().await.unwrap();
    stage.assert_exact().await;
    stage.end().await;
}

/// R6.7: a queue that another process has removed is created again. Guard: the short form asks
/// whether the queue exists.
#[tokio::test]
async fn r6_7_a_queue_that_another_process_removes_is_created_again() {
    let Some(stage) = RedisStage::open(this_test!()).await else { return };
    let (other, queue) = (stage.handle("").await, QueueName::default());
    for _ in 0..2 {
        create(&stage.store, &build(draft())).await;
        assert_eq!(stage.store.all_queues().await.unwrap().len(), 1);
        stage.assert_exact().await;
        other.remove_queue(&queue, true).await.unwrap();
    }
    other.close().await.unwrap();
    stage.end().await;
}

/// A queue with a bound costs one call per enqueue, not two. Guard: the store remembers which
/// queues refused the short form.
#[tokio::test]
async fn a_queue_with_a_bound_costs_one_call_per_enqueue() {
    let Some(scale) = Scale::open(this_test!()).await else { return };
    let bound = QueuePatch::default().max_pending(Some(1000));
    scale.store().configure(&QueueName::default(), &bound).await.unwrap();
    // It learns of the bound, and the server learns the scripts.
    create(scale.store(), &build(draft())).await;
    let calls = async || {
        scale.commands(create(scale.store(), &build(draft()))).await;
        scale.calls_of("evalsha").await
    };
    assert_eq!([calls().await, calls().await], [1, 1]);
    scale.stage.end().await;
}

/// R2.4: a job whose record is broken is stored all the same. Guard: the short form stores nothing
/// under an id that has a record, whatever it says.
#[tokio::test]
async fn r2_4_an_id_whose_record_is_broken_is_not_stored_again() {
    let Some(stage) = RedisStage::open(this_test!()).await else { return };
    let job = build(draft());
    create(&stage.store, &job).await;
    for record in ["", "garbage"] {
        let mut spoil = cmd("HSET");
        spoil.arg(stage.key("default", "data")).arg(job.id().as_bytes()).arg(record);
        let _: i64 = stage.ask(&spoil).await;
        let outcomes = stage.store.enqueue(&[job.clone().repeated()]).await.unwrap();
        assert_eq!(outcomes, [EnqueueOutcome::Conflict { existing: job.id() }], "{record}");
        let waiting: i64 = stage.ask(cmd("ZCARD").arg(stage.key("default", "ready"))).await;
        assert_eq!(waiting, 1, "{record}");
    }
    stage.end().await;
}

/// R2.4: of a job that occurs twice in one call, the first is created. Guard: the short form
/// compares the ids of a call with each other.
#[tokio::test]
async fn r2_4_a_job_that_occurs_twice_in_a_call_is_created_once() {
    let Some(stage) = RedisStage::open(this_test!()).await else { return };
    create(&stage.store, &build(draft())).await;
    let (one, other) = (build(draft()), build(draft()));
    let outcomes = stage.store.enqueue(&[one.clone(), other.clone(), one.clone()]).await.unwrap();
    assert_eq!(outcomes, [created(&one), created(&other), duplicate(&one)]);
    stage.assert_exact().await;
    stage.end().await;
}

/// R2.6: wherever the reply breaks off, the caller that alone stored the jobs learns that it did,
/// and nobody else. Guard: the full form counts from the first attempt with the short one.
#[tokio::test]
async fn r2_6_a_caller_whose_reply_was_lost_has_created_what_it_stored() {
    let Some(stage) = RedisStage::open(this_test!()).await else { return };
    let proxy = Proxy::start(&stage.server).await;
    let config = RedisConfig::from_url(&proxy.url(&stage.url(""))).unwrap();
    let servers = std::slice::from_ref(&stage.server);
    let (config, clock) = RedisClock::of(config, servers, Passes::Yes).await;
    let store = RedisStore::connect(config).await.unwrap();
    // It also teaches the server both scripts.
    let old = build(draft());
    create(&store, &old).await;
    assert_eq!(store.enqueue(&[old.clone().repeated()]).await.unwrap(), [duplicate(&old)]);
    clock.jump(millis(HOUR)).await;
    for after in 0..=4 {
        let (one, other) = (build(draft()), build(draft()));
        proxy.set(Mode::CutReply { after });
        let outcomes = store.enqueue(&[one.clone(), other.clone()]).await.unwrap();
        let was_cut = proxy.mode() == Mode::Pass;
        proxy.set(Mode::Pass);
        assert_eq!(outcomes, [created(&one), created(&other)], "cut after {after}");
        assert_eq!(was_cut, after < 4, "the short form answers with 4 bytes");

        let new = build(draft());
        let jobs = [old.clone().repeated(), new.clone(), new.clone()];
        proxy.set(Mode::CutReply { after });
        let outcomes = store.enqueue(&jobs).await.unwrap();
        proxy.set(Mode::Pass);
        assert_eq!(
            outcomes,
            [duplicate(&old), created(&new), duplicate(&new)],
            "cut after {after}"
        );
    }
    store.close().await.unwrap();
    stage.assert_exact().await;
    stage.end().await;
}
