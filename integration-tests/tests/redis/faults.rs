//! Servers that are away, busy, loading, a replica or full (contract R10).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::common::redis_store_fixture::{RedisStage, connect};
use crate::common::store_fixture::{
    all_in_the_dark, complete, create, in_the_dark, lease, promptly, request_for, state, until,
};
use futures_util::future::join_all;
use queuekit_conformance::kit::{TTL, build, draft, every_call, kind_of, ttl};
use queuekit_conformance::time_limit::within;
use queuekit_conformance::{skip, this_test};
use queuekit_core::capability::{ExtendOutcome, Leases};
use queuekit_core::{
    Ack, Backend, BackendExt, ErrorKind, JobDraft, JobFilter, NewJob, State, Status,
};
use queuekit_integration_tests::servers::{Mode, OwnRedis, Proxy, RedisSettings};
use queuekit_redis::RedisStore;
use redis::cmd;

const OP_TIMEOUT: Duration = Duration::from_secs(2);

/// A server for one test; none where there is no program, and a line on stderr says so.
pub(super) async fn server(test: &str, settings: RedisSettings) -> Option<OwnRedis> {
    let server = settings.start().await;
    if server.is_none() {
        skip(test, "there is no program of Redis");
    }
    server
}

fn short() -> String {
    format!("op_timeout_ms={}", OP_TIMEOUT.as_millis())
}

/// The code with which the server refuses a command; none if it does not.
async fn refusal(url: &str) -> Option<String> {
    let asked = async { cmd("GET").arg("x").query_async(&mut connect(url).await?).await };
    let answer: redis::RedisResult<Option<String>> = asked.await;
    answer.err().and_then(|error| error.code().map(ToOwned::to_owned))
}

#[tokio::test]
async fn r10_2_calls_into_a_black_hole_end_in_time_and_work_when_it_is_over() {
    let test = this_test!();
    let Some(direct) = RedisStage::open(test).await else { return };
    let proxy = Proxy::start(&direct.server).await;
    let store = RedisStore::connect_url(&proxy.url(&direct.url(&short()))).await;
    let stage = RedisStage { store: store.unwrap(), ..direct };
    create(&stage.store, &build(draft())).await;
    let leased = [lease(&stage.store, 1).await.remove(0).token];
    for _ in 0..2 {
        proxy.set(Mode::BlackHole);
        all_in_the_dark(&stage.store, &leased[0], OP_TIMEOUT).await;
        proxy.set(Mode::Pass);
        // What the network has kept arrives after all, or not: repeating is safe.
        let job = build(draft());
        let call = stage.store.enqueue_one(job.clone());
        assert_eq!(promptly("a call after it", call).await.unwrap(), job.id());
        promptly("a heartbeat", stage.store.extend(&leased, ttl(TTL))).await.unwrap();
    }
    stage.assert_exact().await;
    stage.store.close().await.unwrap();
    promptly("the end of its connections", proxy.until(|counts| counts.open == 0)).await;
    stage.end().await;
}

/// Each answer comes late, and none too late for a call of one step.
#[tokio::test]
async fn r10_2_the_steps_of_a_call_share_its_time() {
    let test = this_test!();
    let Some(stage) = RedisStage::open(test).await else { return };
    stage
        .store
        .enqueue(&["a", "b", "c", "d"].map(|name| build(draft().queue(name))))
        .await
        .unwrap();
    create(&stage.store, &build(draft())).await;
    let leased = lease(&stage.store, 1).await.remove(0).token;
    let proxy = Proxy::start(&stage.server).await;
    let slow = RedisStore::connect_url(&proxy.url(&stage.url(&short()))).await.unwrap();
    slow.all_queues().await.unwrap();
    proxy.set(Mode::Slow(OP_TIMEOUT.mul_f64(0.45)));
    let calls = every_call(&slow, &leased);
    let limit = OP_TIMEOUT + Duration::from_secs(1);
    let calls = calls.iter().map(|(name, call)| within(name, limit, call));
    let answers = join_all(calls).await;
    assert!(answers.iter().any(Result::is_ok), "calls of one step have the time");
    assert!(answers.iter().any(Result::is_err), "calls of more steps do not");
    proxy.set(Mode::Pass);
    slow.close().await.unwrap();
    stage.end().await;
}

#[tokio::test]
async fn r10_2_a_server_that_is_down_is_told_in_time_and_its_return_is_noticed() {
    let test = this_test!();
    let Some(mut server) = server(test, OwnRedis::settings()).await else { return };
    let stage = RedisStage::own(&server, &short()).await;
    create(&stage.store, &build(draft())).await;
    let leased = [lease(&stage.store, 1).await.remove(0).token];
    for _ in 0..2 {
        server.stop();
        all_in_the_dark(&stage.store, &leased[0], OP_TIMEOUT).await;
        // Nothing was sent: it is certain that nothing was stored.
        let kind = kind_of(stage.store.enqueue(&[build(draft())]).await);
        assert_eq!(kind, ErrorKind::Unavailable);
        server.restart().await;
        create(&stage.store, &build(draft())).await;
        let alive = ExtendOutcome::Extended { ttl: TTL, cancel_requested: false };
        assert_eq!(stage.store.extend(&leased, ttl(TTL)).await.unwrap(), [alive]);
    }
    stage.assert_exact().await;
    stage.end().await;
}

#[tokio::test]
async fn r10_2_a_script_cache_that_is_flushed_all_the_time_harms_no_call() {
    let test = this_test!();
    let Some(server) = server(test, OwnRedis::settings()).await else { return };
    let stage = Arc::new(RedisStage::own(&server, "").await);
    let over = Arc::new(AtomicBool::new(false));
    let (flushes, url) = (Arc::clone(&over), server.url());
    let flusher = tokio::spawn(async move {
        let (mut connection, mut count) = (connect(&url).await.unwrap(), 0);
        while !flushes.load(Ordering::Relaxed) {
            let flush = cmd("SCRIPT").arg("FLUSH").arg("SYNC").to_owned();
            let () = flush.query_async(&mut connection).await.unwrap();
            count += 1;
        }
        count
    });
    let calls = (0..4).map(|_| {
        let stage = Arc::clone(&stage);
        tokio::spawn(async move {
            for _ in 0..50 {
                let job = build(draft());
                create(&stage.store, &job).await;
                complete(&stage.store, lease(&stage.store, 1).await).await;
            }
        })
    });
    for call in join_all(calls).await {
        call.unwrap();
    }
    over.store(true, Ordering::Relaxed);
    assert!(flusher.await.unwrap() > 20, "too few flushes to see anything");
    let queues = stage.store.all_queues().await.unwrap();
    assert_eq!(queues[0].counts.of_state(State::Completed).value, 200);
    stage.assert_exact().await;
}

#[tokio::test]
async fn r10_2_a_server_that_is_busy_is_waited_for() {
    let test = this_test!();
    let settings = OwnRedis::settings().set("lua-time-limit", 50);
    let Some(server) = server(test, settings).await else { return };
    let stage = RedisStage::own(&server, "").await;
    let hasty = stage.handle(&short()).await;
    let mut admin = connect(&server.url()).await.unwrap();
    let mut other = connect(&server.url()).await.unwrap();
    let busy = tokio::spawn(async move {
        let script = include_str!("../../lua/redis_busy.lua");
        cmd("EVAL").arg(script).arg(0).query_async::<()>(&mut other).await
    });
    until("it is busy", async || refusal(&server.url()).await.as_deref() == Some("BUSY")).await;
    let job = build(draft());
    let (store, waits) = (stage.store.clone(), job.clone());
    let waiting = tokio::spawn(async move { store.enqueue_one(waits).await });
    let call = || hasty.enqueue_one(build(draft()));
    // Its last try may not have been answered yet.
    in_the_dark("enqueue", OP_TIMEOUT, call).await;
    assert!(!waiting.is_finished(), "the call should still be retrying");
    let () = cmd("SCRIPT").arg("KILL").query_async(&mut admin).await.unwrap();
    busy.await.unwrap().expect_err("it was killed");
    assert_eq!(waiting.await.unwrap().unwrap(), job.id());
    assert_eq!(lease(&hasty, 10).await.len(), 1);
    stage.assert_exact().await;
}

#[tokio::test]
async fn r10_2_a_server_that_loads_is_waited_for() {
    let test = this_test!();
    let settings = OwnRedis::settings().set("key-load-delay", 300);
    let Some(mut server) = server(test, settings).await else { return };
    let stage = RedisStage::own(&server, "").await;
    let first = create(&stage.store, &build(draft())).await;
    let mut much = redis::pipe();
    (0..4000).for_each(|n| {
        much.set("much", n).ignore();
    });
    let () = much.query_async(&mut connect(&server.url()).await.unwrap()).await.unwrap();
    server.kill();
    let url = server.url();
    let call = async {
        until("it loads", async || refusal(&url).await.as_deref() == Some("LOADING")).await;
        stage.store.enqueue_one(build(draft())).await
    };
    let ((), answer) = tokio::join!(server.restart(), call);
    answer.unwrap();
    assert_eq!(state(&stage.store, first).await, Some(State::Pending));
    stage.assert_exact().await;
}

#[tokio::test]
async fn r10_2_a_master_that_is_a_replica_for_a_while_is_waited_for() {
    let test = this_test!();
    let Some(server) = server(test, OwnRedis::settings()).await else { return };
    let stage = RedisStage::own(&server, "").await;
    let hasty = stage.handle(&short()).await;
    let of = async |host: &str, port: &str| {
        let () = stage.ask(cmd("REPLICAOF").arg(host).arg(port)).await;
    };
    create(&stage.store, &build(draft())).await;
    of("127.0.0.1", "1").await;
    let call = || hasty.enqueue_one(build(draft()));
    assert_eq!(in_the_dark("enqueue", OP_TIMEOUT, call).await, ErrorKind::Unavailable);
    let opened = RedisStore::connect_url(&stage.url("")).await;
    let error = opened.expect_err("a replica is refused");
    assert!(error.to_string().contains("replica"), "{error}");
    let store = stage.store.clone();
    let waiting = tokio::spawn(async move { store.enqueue_one(build(draft())).await });
    let refused = async || {
        let info: String = stage.ask(cmd("INFO").arg("errorstats")).await;
        info.contains("errorstat_READONLY")
    };
    until("it was refused", refused).await;
    assert!(!waiting.is_finished(), "the call should still be retrying");
    of("NO", "ONE").await;
    waiting.await.unwrap().unwrap();
    assert_eq!(lease(&stage.store, 10).await.len(), 2);
    stage.assert_exact().await;
}

/// R10.2: a replica that has lost its master, and may not answer, is waited for.
/// Guard: MASTERDOWN in the store's table of errors.
#[tokio::test]
async fn r10_2_a_replica_that_has_lost_its_master_is_waited_for() {
    let test = this_test!();
    let settings = OwnRedis::settings().set("replica-serve-stale-data", "no");
    let Some(server) = server(test, settings).await else { return };
    let stage = RedisStage::own(&server, "").await;
    let hasty = stage.handle(&short()).await;
    create(&stage.store, &build(draft())).await;
    let () = stage.ask(cmd("REPLICAOF").arg("127.0.0.1").arg("1")).await;
    let call = || hasty.enqueue_one(build(draft()));
    let begun = Instant::now();
    assert_eq!(in_the_dark("enqueue", OP_TIMEOUT, call).await, ErrorKind::Unavailable);
    // Between tries it pauses for up to a second, and begins none that would come too late.
    assert!(begun.elapsed() > OP_TIMEOUT / 4, "it gave up after {:?}", begun.elapsed());
    let store = stage.store.clone();
    let waiting = tokio::spawn(async move { store.enqueue_one(build(draft())).await });
    let () = stage.ask(cmd("REPLICAOF").arg("NO").arg("ONE")).await;
    waiting.await.unwrap().unwrap();
    assert_eq!(lease(&stage.store, 10).await.len(), 2);
    stage.assert_exact().await;
}

#[tokio::test]
async fn r10_1_a_key_that_is_not_the_stores_is_told_and_kept() {
    let test = this_test!();
    let Some(stage) = RedisStage::open(test).await else { return };
    for part in ["meta", "data", "ready"] {
        let key = stage.key(part, part);
        let () = stage.ask(cmd("SET").arg(&key).arg("theirs")).await;
        let job = build(draft().queue(part));
        let error = stage.store.enqueue(std::slice::from_ref(&job)).await.unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::Corrupt, "{error}");
        assert!(error.to_string().contains("use another prefix"), "{error}");
        assert_eq!(stage.ask::<String>(cmd("GET").arg(&key)).await, "theirs");
        let () = stage.ask(cmd("DEL").arg(&key)).await;
        assert_eq!(create(&stage.store, &job).await, job.id(), "it had not been stored");
    }
    // Other queues have nothing to do with it.
    create(&stage.store, &build(draft())).await;
    assert_eq!(lease(&stage.store, 10).await.len(), 1);
    stage.end().await;
}

#[tokio::test]
async fn r2_1_payloads_are_stored_byte_for_byte() {
    let test = this_test!();
    let Some(stage) = RedisStage::open(test).await else { return };
    let store = &stage.store;
    let all_bytes: Vec<u8> = (0..=255).cycle().take(1 << 20).collect();
    let numbers = br#"{"n":9007199254740993,"m":-9223372036854775808,"e":[],"f":1e400}"#.to_vec();
    for payload in [all_bytes, numbers, b"\0".to_vec(), b"\xff\xfe\r\n".to_vec(), Vec::new()] {
        let job = JobDraft::new("work", payload.clone()).partition_key("k").idempotency_key("u");
        let id = create(store, &build(job.max_attempts(9))).await;
        let first = store.reserve(&request_for(Duration::from_millis(1), 1)).await.unwrap();
        assert_eq!(first.leases[0].payload, payload);
        let mut leases = Vec::new();
        until("the lease has run out", async || state(store, id).await.is_some()).await;
        while leases.is_empty() {
            leases = lease(store, 1).await;
        }
        let again = leases.remove(0);
        assert_eq!((again.attempt, &again.payload[..]), (2, &payload[..]));
        let result = payload[..payload.len().min(65_536)].to_vec();
        store.ack(&[Ack::new(again.token).with_result(result.clone())]).await.unwrap();
        let job = store.get_job(id).await.unwrap().unwrap();
        assert_eq!((&job.payload[..], job.result.as_deref()), (&payload[..], Some(&result[..])));
        assert!(store.delete_job(id, false).await.unwrap());
    }
    stage.assert_exact().await;
    stage.end().await;
}

/// With very many queues, a page lists what its time allows, and the next page continues (R10.2).
/// The network makes a question slow, not the machine.
#[tokio::test]
async fn r10_2_a_page_over_many_queues_ends_in_time() {
    const QUEUES: usize = 40;
    const OP_TIMEOUT: Duration = Duration::from_secs(6);
    let test = this_test!();
    let Some(stage) = RedisStage::open(test).await else { return };
    let job = |n: usize| build(draft().queue(format!("q{n}")));
    let jobs: Vec<NewJob> = (0..QUEUES).map(job).collect();
    stage.store.enqueue(&jobs).await.unwrap();
    let proxy = Proxy::start(&stage.server).await;
    let settings = format!("op_timeout_ms={}", OP_TIMEOUT.as_millis());
    let slow = RedisStore::connect_url(&proxy.url(&stage.url(&settings))).await.unwrap();
    proxy.set(Mode::Slow(OP_TIMEOUT / QUEUES as u32));
    let (mut pages, mut found, mut cursor) = (0, 0, None);
    loop {
        let filter = JobFilter::default().status(Status::Ready).after(cursor.clone());
        let limit = OP_TIMEOUT + Duration::from_secs(1);
        let page = within("a page", limit, || slow.list_jobs(&filter)).await.unwrap();
        pages += 1;
        found += page.items.len();
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(found, QUEUES);
    assert!(pages > 1, "all in one page");
    proxy.set(Mode::Pass);
    slow.close().await.unwrap();
    stage.end().await;
}
