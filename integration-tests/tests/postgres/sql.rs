//! `queuekit.enqueue` and `queuekit.create_queue`: jobs by plain SQL (contract R2.9).

use std::time::Duration;

use crate::common::postgres::client;
use crate::common::psql::Psql;
use queuekit_conformance::kit::{
    DAY, HOUR, MINUTE, default_queue, idempotency_key, keyed, partition_key, queue, unique,
};
use queuekit_conformance::this_test;
use queuekit_core::queue::{KeyOnWait, Order, QueuePatch};
use queuekit_core::{Client, EnqueueOutcome, Job, JobDraft, Priority, State};
use queuekit_postgres::tokio_postgres;
use queuekit_worker::{Ctx, Handler, JobResult, Worker};
use tokio_postgres::error::SqlState;

#[tokio::test]
async fn a_job_of_sql_is_the_one_that_core_would_have_made() {
    let Some(psql) = Psql::open("a_job_of_sql").await else { return };
    let ours = JobDraft::new("greet", r#"{"name":"Ada"}"#);
    let ours = psql.world().job(psql.world().enqueue(ours).await).await;
    let theirs = psql.job(r#"'default', 'greet', '{"name":"Ada"}'"#).await;
    assert!(theirs.id.belongs_to(&default_queue()), "{}", theirs.id);
    assert!(theirs.created_at >= ours.created_at);
    assert_eq!(theirs.scheduled_at, theirs.created_at);
    assert!(theirs.id > ours.id || theirs.created_at == ours.created_at, "ids sort by age");
    let at_once = |job: Job| {
        let mut job = job;
        (job.id, job.created_at, job.scheduled_at) = (ours.id, ours.created_at, ours.scheduled_at);
        job
    };
    assert_eq!(at_once(theirs), ours);

    let nulls = psql.job(
        r#"'default', 'greet', '{"name":"Ada"}', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
           NULL, '{}', NULL"#,
    );
    assert_eq!(at_once(nulls.await), ours, "NULL is the default");
}

#[tokio::test]
async fn every_option_arrives() {
    let Some(psql) = Psql::open(this_test!()).await else { return };
    let job = psql.job(
        r#"'default', 'greet', '1', priority => 30, max_attempts => 7, delay_ms => 60000,
           idempotency_key => 'once', unique_until_done => true, partition_key => 'ada',
           timeout_ms => 5000, deadline_ms => 3600000, metadata => '{"trace":"é\n"}'"#,
    );
    let job = job.await;
    assert_eq!((job.priority, job.max_attempts), (Priority::CRITICAL, 7));
    assert_eq!(job.scheduled_at.since(job.created_at), MINUTE);
    assert_eq!(job.idempotency_key, Some(idempotency_key("once")));
    assert_eq!(job.partition_key, Some(partition_key("ada")));
    assert_eq!(job.timeout, Duration::from_secs(5));
    assert!((59 * MINUTE..=HOUR).contains(&job.deadline_in.unwrap()), "{:?}", job.deadline_in);
    assert_eq!(job.metadata.get("trace"), Some("é\n"));

    let past = psql.job("'default', 'greet', '1', run_at => '2020-01-01'").await;
    assert_eq!(past.scheduled_at, past.created_at, "what is past is due now");
    let soon = "'default', 'greet', '1', run_at => now() + interval '1 hour'";
    let wait = psql.job(soon).await;
    let wait = wait.scheduled_at.since(wait.created_at);
    assert!((59 * MINUTE..=61 * MINUTE).contains(&wait), "{wait:?}");
}

#[tokio::test]
async fn payloads_are_stored_as_they_were_given() {
    let Some(psql) = Psql::open("payloads").await else { return };
    let cases: [(&str, &[u8]); 8] = [
        ("'{\"b\": 1,  \"a\": 2}'", b"{\"b\": 1,  \"a\": 2}"),
        ("'no JSON, é'::text", "no JSON, é".as_bytes()),
        ("''", b""),
        ("'{\"b\": 1,  \"a\": 2}'::json", b"{\"b\": 1,  \"a\": 2}"),
        ("'{\"b\":1,\"a\":\"\\u00e9\"}'::jsonb", "{\"a\": \"é\", \"b\": 1}".as_bytes()),
        ("json_build_object('id', 7)", b"{\"id\" : 7}"),
        ("'\\x00ff0041'::bytea", b"\x00\xff\x00A"),
        ("''::bytea", b""),
    ];
    for (given, wanted) in cases {
        let job = psql.job(&format!("'default', 'greet', {given}")).await;
        assert_eq!(&job.payload[..], wanted, "{given}");
    }
    let limit = psql.job("'default', 'greet', repeat('x', 1048576)").await;
    assert_eq!(limit.payload.len(), 1 << 20);
}

#[tokio::test]
async fn a_worker_runs_a_job_of_sql() {
    let Some(psql) = Psql::open("a_worker_runs").await else { return };
    struct Work;
    impl queuekit_core::Payload for Greet {
        const KIND: &'static str = "greet";
    }
    #[derive(serde::Serialize, serde::Deserialize)]
    struct Greet {
        name: String,
    }
    impl Handler<Greet> for Work {
        type Output = String;
        async fn call(&self, job: Greet, _ctx: Ctx) -> JobResult<String> {
            Ok(job.name)
        }
    }
    let ids = [
        psql.id("'default', 'greet', jsonb_build_object('name', 'Ada')").await,
        psql.id(r#"'default', 'greet', '{"name":"Bob"}', partition_key => 'b'"#).await,
    ];
    let client = Client::new(std::sync::Arc::clone(psql.world().backend()));
    let summary = Worker::new(client).handle(Work).run_until_idle().await.unwrap();
    assert_eq!(summary.completed, 2);
    for (id, wanted) in ids.into_iter().zip([r#""Ada""#, r#""Bob""#]) {
        let job = psql.world().job(id).await;
        assert_eq!(job.state, State::Completed);
        assert_eq!(job.result.as_deref(), Some(wanted.as_bytes()));
    }
}

#[tokio::test]
async fn an_unknown_queue_is_refused_with_the_way_to_make_it() {
    let Some(psql) = Psql::open("an_unknown_queue").await else { return };
    let plain = "SELECT queuekit.enqueue('new', 'greet', '1')";
    let keyed = "SELECT queuekit.enqueue('new', 'greet', '1', partition_key => 'a')";
    let error = psql.refused(plain).await;
    assert_eq!(*error.code(), SqlState::UNDEFINED_OBJECT);
    assert_eq!(error.message(), "there is no queue 'new'");
    let hint = error.hint().unwrap();
    assert_eq!(hint, psql.sql("SELECT queuekit.create_queue('new');"));
    psql.run(hint).await.unwrap();
    psql.run(plain).await.unwrap();

    let error = psql.refused(keyed).await;
    assert_eq!(*error.code(), SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE);
    let hint = error.hint().unwrap();
    assert_eq!(hint, psql.sql("SELECT queuekit.create_queue('new', keyed => true);"));
    psql.run(hint).await.unwrap();
    psql.run("SELECT queuekit.create_queue('new')").await.unwrap();
    psql.run(keyed).await.unwrap();
    assert_eq!(psql.world().reserve_from(&queue("new"), 9).await.len(), 2);
}

#[tokio::test]
async fn queues_are_made_once_come_back_and_are_limited() {
    let Some(psql) = Psql::open("queues_are_made_once").await else { return };
    psql.run("SELECT queuekit.create_queue('b')").await.unwrap();
    let backend = psql.world().backend();
    let admin = backend.capabilities().admin.unwrap();
    assert!(admin.remove_queue(&queue("b"), false).await.unwrap());
    psql.refused("SELECT queuekit.enqueue('b', 'greet', '1')").await;
    psql.run("SELECT queuekit.create_queue('b')").await.unwrap();
    psql.run("SELECT queuekit.enqueue('b', 'greet', '1')").await.unwrap();
    assert_eq!(psql.world().reserve_from(&queue("b"), 9).await.len(), 1);

    let fill =
        "INSERT INTO queuekit.queues (name) SELECT 'q' || n FROM generate_series(3, 10000) n";
    psql.run(fill).await.unwrap();
    let error = psql.refused("SELECT queuekit.create_queue('one-more')").await;
    assert_eq!(*error.code(), SqlState::CONFIGURATION_LIMIT_EXCEEDED);
    psql.run("SELECT queuekit.create_queue('b', keyed => true)").await.unwrap();
    for name in ["NULL", "''", "'a b'", "'event.a'", "'queuekit' || '.a'", "repeat('x', 129)"] {
        let error = psql.refused(&format!("SELECT queuekit.create_queue({name})")).await;
        assert_eq!(*error.code(), SqlState::INVALID_PARAMETER_VALUE, "{name}");
    }
}

#[tokio::test]
async fn r2_9_a_job_of_sql_exists_if_and_only_if_its_transaction_commits() {
    let Some(psql) = Psql::open("r2_9_a_job_of_sql").await else { return };
    let world = psql.world();
    psql.run("BEGIN").await.unwrap();
    let id = psql.id("'default', 'greet', '1'").await;
    assert_eq!(world.find(id).await, None, "visible before the commit");
    // Nobody waits for the transaction.
    let other = world.enqueue(keyed("k")).await;
    assert_eq!(world.reserve_ids(9).await, [other]);
    psql.run("ROLLBACK").await.unwrap();
    assert_eq!(world.find(id).await, None);
    world.assert_nothing_to_lease().await;

    psql.run("BEGIN").await.unwrap();
    let id = psql.id("'default', 'greet', '1'").await;
    psql.run("COMMIT").await.unwrap();
    assert_eq!(world.reserve_ids(9).await, [id]);
}

#[tokio::test]
async fn r2_5_a_key_has_one_job_whoever_enqueues() {
    let Some(psql) = Psql::open("r2_5_a_key_has_one_job").await else { return };
    let world = psql.world();
    let job = "'default', 'greet', '1', idempotency_key => 'once'";
    let first = psql.id(job).await;
    assert_eq!(psql.id(job).await, first);
    assert_eq!(
        world.try_enqueue(unique("once")).await,
        EnqueueOutcome::Duplicate { existing: first }
    );
    let lease = world.reserve_one().await;
    world.complete(&lease).await;
    assert_eq!(psql.id(job).await, first, "the key outlives its job");
    world.advance(DAY).await;
    let second = psql.id(job).await;
    assert_ne!(second, first);
    assert_eq!(world.reserve_ids(9).await, [second]);
}

#[tokio::test]
async fn r2_6_who_waits_for_the_same_key_gets_its_job_or_makes_it() {
    let Some(psql) = Psql::open("r2_6_who_waits").await else { return };
    let job = "SELECT queuekit.enqueue('default', 'greet', '1', idempotency_key => 'k')::text";
    for (end, is_same) in [("ROLLBACK", false), ("COMMIT", true)] {
        let other = client(psql.0.url()).await;
        psql.run("BEGIN").await.unwrap();
        let first = psql.value(job).await.unwrap().unwrap();
        let sql = psql.sql(job);
        let waiting = tokio::spawn(async move {
            let id: String = other.query_one(&sql, &[]).await.unwrap().get(0);
            id
        });
        let blocked = "SELECT count(*)::text FROM pg_locks
                       WHERE NOT granted AND transactionid = pg_current_xact_id()::xid";
        while psql.value(blocked).await.unwrap().as_deref() == Some("0") {
            tokio::task::yield_now().await;
        }
        psql.run(end).await.unwrap();
        assert_eq!(waiting.await.unwrap() == first, is_same, "{end}");
        let id = psql.world().reserve_one().await;
        psql.world().complete(&id).await;
        psql.world().advance(DAY).await;
    }
}

#[tokio::test]
async fn r2_8_a_full_queue_is_refused() {
    let Some(psql) = Psql::open("r2_8_a_full_queue").await else { return };
    psql.configure(QueuePatch::default().max_pending(2)).await;
    let once = "'default', 'greet', '1', idempotency_key => 'k'";
    let first = psql.id(once).await;
    psql.id("'default', 'greet', '1'").await;
    let error = psql.refused("SELECT queuekit.enqueue('default', 'greet', '1')").await;
    assert_eq!(*error.code(), SqlState::CONFIGURATION_LIMIT_EXCEEDED);
    assert_eq!(error.message(), "the queue 'default' is full");
    assert_eq!(psql.id(once).await, first, "a duplicate needs no room");
    psql.refused("SELECT queuekit.enqueue('default', 'greet', '1', idempotency_key => 'l')").await;
    let lease = psql.world().reserve_one().await;
    psql.world().complete(&lease).await;
    psql.id("'default', 'greet', '1', idempotency_key => 'l'").await;
}

#[tokio::test]
async fn r7_3_keys_are_ordered_and_passed_as_the_queue_says() {
    let Some(psql) = Psql::open("r7_3_keys").await else { return };
    let world = psql.world();
    for (policy, passes) in [(KeyOnWait::Block, false), (KeyOnWait::Skip, true)] {
        psql.configure(QueuePatch::default().key_on_wait(policy)).await;
        let later =
            psql.id("'default', 'greet', '1', partition_key => 'k', delay_ms => 60000").await;
        let next = psql.id("'default', 'greet', '1', partition_key => 'k'").await;
        let plain = psql.id("'default', 'greet', '1'").await;
        let first = if passes { vec![next, plain] } else { vec![plain] };
        assert_eq!(world.serve_all(&default_queue()).await, first, "{policy:?}");
        world.advance(MINUTE).await;
        let rest = if passes { vec![later] } else { vec![later, next] };
        assert_eq!(world.serve_all(&default_queue()).await, rest, "{policy:?}");
    }
}

#[tokio::test]
async fn r7_4_a_fair_queue_serves_jobs_of_sql_in_turn() {
    let Some(psql) = Psql::open("r7_4_a_fair_queue").await else { return };
    psql.configure(QueuePatch::default().order(Order::Fair).per_key(9)).await;
    let mut plain = Vec::new();
    for _ in 0..4 {
        plain.push(psql.id("'default', 'greet', '1'").await);
    }
    let keyed = psql.id("'default', 'greet', '1', partition_key => 'k'").await;
    let served = psql.world().serve_all(&default_queue()).await;
    let turn = served.iter().position(|id| *id == keyed).unwrap();
    assert!(turn <= 1, "the key came after {turn} jobs without one");
    let others: Vec<_> = served.into_iter().filter(|id| *id != keyed).collect();
    assert_eq!(others, plain);
}

#[tokio::test]
async fn workers_are_told_at_the_commit_unless_that_is_switched_off() {
    let Some(psql) = Psql::open("workers_are_told").await else { return };
    let mut heard = psql.listen().await;
    for name in ["a", "b", "c"] {
        psql.run(&format!("SELECT queuekit.create_queue('{name}')")).await.unwrap();
    }
    psql.id("'a', 'greet', '1', notify => false").await;
    psql.run("BEGIN; SELECT queuekit.enqueue('b', 'greet', '1'); ROLLBACK").await.unwrap();
    psql.id("'c', 'greet', '1'").await;
    assert_eq!(heard.recv().await.unwrap(), "c");
}

#[tokio::test]
async fn r2_7_what_breaks_a_limit_is_named_and_nothing_is_stored() {
    let Some(psql) = Psql::open("r2_7_limits").await else { return };
    let long = "repeat('x', 257)";
    let cases = [
        ("'a b', 'greet', '1'".to_owned(), "queue"),
        ("'event.a', 'greet', '1'".to_owned(), "queue"),
        ("NULL, 'greet', '1'".to_owned(), "queue"),
        ("'default', '', '1'".to_owned(), "kind"),
        ("'default', E'greet\\n', '1'".to_owned(), "kind"),
        ("'default', NULL, '1'".to_owned(), "kind"),
        ("'default', 'greet', NULL::text".to_owned(), "payload"),
        ("'default', 'greet', repeat('x', 1048577)".to_owned(), "payload"),
        ("'default', 'greet', '1', priority => 32".to_owned(), "priority"),
        ("'default', 'greet', '1', priority => -1".to_owned(), "priority"),
        ("'default', 'greet', '1', max_attempts => 0".to_owned(), "max_attempts"),
        ("'default', 'greet', '1', max_attempts => 1001".to_owned(), "max_attempts"),
        ("'default', 'greet', '1', delay_ms => -1".to_owned(), "delay_ms"),
        ("'default', 'greet', '1', delay_ms => 31622400001".to_owned(), "delay_ms"),
        ("'default', 'greet', '1', timeout_ms => 0".to_owned(), "timeout_ms"),
        ("'default', 'greet', '1', deadline_ms => 0".to_owned(), "deadline_ms"),
        ("'default', 'greet', '1', run_at => '-infinity'".to_owned(), "run_at"),
        ("'default', 'greet', '1', run_at => now() + interval '367 days'".to_owned(), "run_at"),
        ("'default', 'greet', '1', run_at => now(), delay_ms => 1".to_owned(), "run_at"),
        ("'default', 'greet', '1', partition_key => ''".to_owned(), "partition_key"),
        (format!("'default', 'greet', '1', partition_key => {long}"), "partition_key"),
        (format!("'default', 'greet', '1', idempotency_key => {long}"), "idempotency_key"),
        ("'default', 'greet', '1', unique_until_done => true".to_owned(), "unique_until_done"),
        ("'default', 'greet', '1', metadata => '[]'".to_owned(), "metadata"),
        ("'default', 'greet', '1', metadata => '{\"a\":1}'".to_owned(), "metadata"),
        (
            "'default', 'greet', '1', metadata => (
                SELECT jsonb_object_agg(n::text, '') FROM generate_series(1, 65) AS n)"
                .to_owned(),
            "metadata",
        ),
        (
            "'default', 'greet', '1', metadata => jsonb_build_object('a', repeat('x', 4096))"
                .to_owned(),
            "metadata",
        ),
    ];
    for (arguments, field) in cases {
        let error = psql.refused(&format!("SELECT queuekit.enqueue({arguments})")).await;
        assert_eq!(*error.code(), SqlState::INVALID_PARAMETER_VALUE, "{arguments}: {error}");
        assert!(error.message().starts_with(&format!("{field} must be ")), "{error}");
        assert!(error.hint().is_some(), "{error}");
    }
    assert!(psql.world().all_jobs().await.is_empty());
    let largest = "'default', 'greet', '1', priority => 31, max_attempts => 1000,
        delay_ms => 31622400000, timeout_ms => 31622400000, deadline_ms => 31622400000,
        partition_key => repeat('é', 128), idempotency_key => repeat('x', 256),
        metadata => jsonb_build_object('a', repeat('x', 4095))";
    psql.job(largest).await;
}
