//! Networks that swallow everything, connections that end, faults that pass (contract R10).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use crate::common::postgres::of_schema;
use crate::common::store_fixture::{
    PATIENCE, Stage, all_in_the_dark, complete, create, in_the_dark, lease, promptly, state, until,
};
use futures_util::future::{join_all, try_join_all};
use queuekit_conformance::kit::{TTL, build, draft, kind_of, request, ttl, unique};
use queuekit_conformance::this_test;
use queuekit_conformance::time_limit::answered;
use queuekit_core::capability::{Admin, Leases, Wakeups};
use queuekit_core::{
    Ack, Backend, BackendExt, Bytes, Client, EnqueueOutcome, ErrorKind, JobFilter, NewJob,
    PageSize, QueueName, State,
};
use queuekit_integration_tests::servers::{Mode, Proxy};
use queuekit_postgres::PostgresStore;
use queuekit_worker::{Ctx, Worker};
use tokio::sync::mpsc;

const OP_TIMEOUT: Duration = Duration::from_secs(2);

#[tokio::test]
async fn r10_2_calls_into_a_black_hole_end_in_time_and_work_when_it_is_over() {
    let test = this_test!();
    let Some(stage) = Stage::open(test).await else { return };
    let proxy = Proxy::start(&stage.database.url()).await;
    let settings = format!("pool_size=3&op_timeout_ms={}", OP_TIMEOUT.as_millis());
    let url = proxy.url(&stage.url(&settings));
    let store = PostgresStore::connect_url(&url).await.unwrap();
    create(&store, &build(draft())).await;
    let token = [lease(&store, 1).await.remove(0).token];
    store.extend(&token, ttl(TTL)).await.unwrap();
    for _ in 0..2 {
        proxy.set(Mode::BlackHole);
        let job = build(draft());
        tokio::join!(
            all_in_the_dark(&store, &token[0], OP_TIMEOUT),
            in_the_dark("enqueue", OP_TIMEOUT, || store.enqueue(std::slice::from_ref(&job))),
        );
        proxy.set(Mode::Pass);
        // What the network has kept arrives after all, or not: repeating is safe.
        let calls = (0..6).map(|_| store.enqueue_one(job.clone().repeated()));
        let ids = promptly("calls after it", try_join_all(calls)).await.unwrap();
        assert_eq!(ids, [job.id(); 6]);
        promptly("a heartbeat after it", store.extend(&token, ttl(TTL))).await.unwrap();
    }
    store.close().await.unwrap();
    // With the store all goes that was left in the network.
    promptly("the end of its connections", proxy.until(|counts| counts.open == 0)).await;
    stage.assert_exact().await;
    stage.end().await;
}

#[tokio::test]
async fn r13_6_a_listener_in_a_black_hole_still_gets_work_by_polling_and_listens_again() {
    let test = this_test!();
    let Some(stage) = Stage::open(test).await else { return };
    let proxy = Proxy::start(&stage.database.url()).await;
    let listen = proxy.url(&stage.database.url());
    let store = stage.handle(&format!("pool_size=3&listen={listen}")).await;
    let poll = Duration::from_millis(500);
    let (tell, mut told) = mpsc::unbounded_channel();
    let worker = Worker::new(Client::new(store.clone())).poll_interval(poll);
    let worker = worker.handle_raw("work", move |_: Bytes, ctx: Ctx| {
        tell.send(ctx.id()).unwrap();
        async { queuekit_worker::JobResult::Ok(None) }
    });
    let worker = worker.start().await.unwrap();
    proxy.until(|counts| counts.to_client > 0).await;
    proxy.set(Mode::BlackHole);
    for _ in 0..3 {
        let id = create(&stage.store, &build(draft())).await;
        let limit = poll + Duration::from_secs(1);
        assert_eq!(answered("a job found by polling", limit, told.recv()).await, Some(id));
    }
    // It is noticed, and so is that the next connection gets no answer either.
    let accepted = tokio::time::timeout(3 * PATIENCE, proxy.until(|counts| counts.accepted >= 3));
    accepted.await.expect("a connection that is silent is given up");
    proxy.set(Mode::Pass);
    // The first ring may come of the new connection itself.
    for _ in 0..3 {
        assert_wakes(&stage, &store).await;
    }
    worker.drain(Duration::from_secs(5)).await;
    stage.end().await;
}

/// Another handle's enqueue is heard of by this one, soon.
async fn assert_wakes(stage: &Stage, store: &PostgresStore) {
    let heard = AtomicBool::new(false);
    let wakeup = store.subscribe(&[QueueName::default()]).unwrap();
    let listen = async {
        wakeup.rung().await;
        heard.store(true, Ordering::Relaxed);
    };
    let tell = async {
        while !heard.load(Ordering::Relaxed) {
            create(&stage.store, &build(draft())).await;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let both = async { tokio::join!(listen, tell) };
    tokio::time::timeout(PATIENCE, both).await.expect("it listens");
}

/// Every kind of call, dropped while it waits in the server.
#[tokio::test]
async fn r10_3_calls_that_are_dropped_leave_no_connection_and_no_transaction() {
    let test = this_test!();
    // A call that waits is to be seen doing so, however slow the look at it is.
    let settings = "pool_size=2&listen=off&lock_timeout_ms=8000";
    let Some(stage) = Stage::with(test, settings).await else { return };
    let store = &stage.store;
    let mut app = stage.client().await;
    create(store, &build(draft().max_attempts(9))).await;
    let token = lease(store, 1).await.remove(0).token;
    for round in 0..7 {
        let way = of_schema(include_str!("../../sql/postgres_in_the_way.sql"), store.schema());
        let tx = app.transaction().await.unwrap();
        tx.batch_execute(&way).await.unwrap();
        let (store, token) = (store.clone(), token.clone());
        let call = tokio::spawn(async move {
            match round {
                0 => drop(store.enqueue(&[build(draft())]).await),
                1 => drop(store.enqueue(&[build(unique("u"))]).await),
                2 => drop(store.reserve(&request(QueueName::default(), 10)).await),
                3 => drop(store.dead_letter(&[]).await.and(store.delete_job(token.id, true).await)),
                4 => drop(store.cancel(&[token.id]).await),
                5 => drop(store.ack(&[Ack::new(token)]).await),
                _ => drop(store.list_jobs(&JobFilter::default()).await),
            }
        });
        stage.until_blocked(1).await;
        call.abort();
        assert!(call.await.unwrap_err().is_cancelled());
        // The statement that still runs in the server holds no connection that other calls get.
        let calls = (0..2).map(|_| stage.store.list_workers(None, PageSize::MAX));
        promptly("calls that wait for no lock", try_join_all(calls)).await.unwrap();
        tx.commit().await.unwrap();
    }
    let calls = (0..2).map(|_| store.all_queues());
    promptly("as many calls as connections", try_join_all(calls)).await.unwrap();
    until("no transaction is open", async || stage.connections("idle in %").await == 0).await;
    until("no call goes on", async || stage.connections("active").await == 0).await;
    let connections = stage.connections("%").await;
    assert!(connections <= 3, "{connections} connections, and at most 2 and one for heartbeats");
    stage.assert_exact().await;
    stage.end().await;
}

const PRODUCERS: usize = 6;

/// Enqueues until it is stored; whether it took effect may be unknown, and nothing else may fail.
async fn insist(store: &PostgresStore, job: &NewJob, stored: &AtomicUsize) {
    let mut job = job.clone();
    loop {
        match store.enqueue(std::slice::from_ref(&job)).await {
            Ok(outcomes) => {
                assert_eq!(outcomes[0].job_id(), Some(job.id()), "{outcomes:?}");
                stored.fetch_add(1, Ordering::Relaxed);
                return;
            }
            Err(error) => assert_eq!(*error.kind(), ErrorKind::Indeterminate, "{error}"),
        }
        job = job.repeated();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r10_2_connections_that_are_ended_by_an_administrator_are_made_again() {
    let test = this_test!();
    let Some(stage) = Stage::open(test).await else { return };
    let stage = Arc::new(stage);
    let done = Arc::new(AtomicBool::new(false));
    let stored = Arc::new(AtomicUsize::new(0));
    let (server, over, progress) = (stage.client().await, Arc::clone(&done), Arc::clone(&stored));
    let (terminate, application) =
        (include_str!("../../sql/postgres_terminate.sql"), stage.application.clone());
    let killer = tokio::spawn(async move {
        let (mut ended, mut seen) = (0, 0);
        while !over.load(Ordering::Relaxed) {
            // However slow the machine is, calls come to their end between two rounds: one that
            // loses every connection for all of op_timeout may say that it was not applied.
            if progress.load(Ordering::Relaxed) >= seen + 2 * PRODUCERS {
                seen = progress.load(Ordering::Relaxed);
                ended += server.query(terminate, &[&application, &0.4]).await.unwrap().len();
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        ended
    });
    let producer = |n: usize| {
        let (store, stored) = (stage.store.clone(), Arc::clone(&stored));
        tokio::spawn(async move {
            let jobs: Vec<NewJob> = (0..100).map(|i| build(unique(&format!("{n} {i}")))).collect();
            for job in &jobs {
                insist(&store, job, &stored).await;
            }
            jobs
        })
    };
    let produced = join_all((0..PRODUCERS).map(producer)).await;
    done.store(true, Ordering::Relaxed);
    assert!(killer.await.unwrap() >= 10, "too few connections were ended to see anything");
    stage.assert_exact().await;
    for job in produced.into_iter().flat_map(|jobs| jobs.unwrap()) {
        let outcomes = stage.store.enqueue(&[job.clone().repeated()]).await.unwrap();
        assert_eq!(outcomes, [EnqueueOutcome::Duplicate { existing: job.id() }]);
    }
    let leases = lease(&stage.store, 1000).await;
    assert_eq!(leases.len(), 600);
    complete(&stage.store, leases).await;
    Arc::into_inner(stage).expect("the stage should have no other owner").end().await;
}

#[tokio::test]
async fn r10_2_faults_that_pass_are_tried_again_and_others_are_told() {
    let test = this_test!();
    let Some(stage) = Stage::with(test, "pool_size=2&op_timeout_ms=3000").await else { return };
    let (store, client) = (&stage.store, stage.client().await);
    create(store, &build(draft())).await;
    let fault = async |sqlstate: &str, times: u32, seconds: f64| {
        let sql = of_schema(include_str!("../../sql/postgres_fault.sql"), store.schema());
        let sql = sql.replace("{state}", sqlstate).replace("{times}", &times.to_string());
        let sql = sql.replace("{seconds}", &seconds.to_string());
        client.batch_execute(&sql).await.unwrap();
        let jobs = [build(draft()), build(unique(sqlstate))];
        let answers = [
            store.enqueue(std::slice::from_ref(&jobs[0])).await,
            store.enqueue(std::slice::from_ref(&jobs[1])).await,
        ];
        let end = of_schema(include_str!("../../sql/postgres_fault_end.sql"), store.schema());
        client.batch_execute(&end).await.unwrap();
        answers
    };
    let transient =
        ["40001", "40P01", "55P03", "57P01", "57P02", "57P03", "25006", "53300", "08000", "08006"];
    for sqlstate in transient {
        for answer in fault(sqlstate, 2, 0.0).await {
            assert!(answer.as_ref().is_ok_and(|all| all[0].is_created()), "{sqlstate}: {answer:?}");
        }
    }
    let told = [
        ("53100", ErrorKind::StorageFull),
        ("57014", ErrorKind::Unavailable),
        ("42501", ErrorKind::Unavailable),
        ("22012", ErrorKind::Unavailable),
    ];
    for (sqlstate, kind) in told {
        let [answer, _] = fault(sqlstate, 1, 0.0).await;
        let error = answer.unwrap_err();
        assert_eq!(*error.kind(), kind, "{sqlstate}: {error}");
    }
    // A lasting fault is returned within the time limit, as certainly not applied: no attempt
    // begins that the time limit would cut off. Five attempts of 0.7 s would exceed it.
    let lasting = fault("40001", 1_000_000, 0.7);
    let [plain, keyed] = answered("a lasting fault", Duration::from_secs(2 * 4), lasting).await;
    assert_eq!(kind_of(plain), ErrorKind::Unavailable);
    assert_eq!(kind_of(keyed), ErrorKind::Unavailable);
    stage.assert_exact().await;
    assert_eq!(state(store, create(store, &build(draft())).await).await, Some(State::Pending));
    stage.end().await;
}
