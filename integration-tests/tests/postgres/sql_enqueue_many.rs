//! `queuekit.enqueue_many`: several jobs by one SQL statement (contract R2.4, R2.7, R2.9).

use std::slice::from_ref;

use crate::common::psql::Psql;
use queuekit_conformance::kit::{HOUR, build, carrying, default_queue, queue, unique};
use queuekit_conformance::this_test;
use queuekit_core::queue::QueuePatch;
use queuekit_core::{Job, JobDraft, JobId, NewJob, Priority};
use queuekit_transactions::Functions;
use tokio_postgres::error::SqlState;

/// The place, outcome and id that each job gets, in the order of places.
async fn enqueue_many(psql: &Psql, jobs: &str) -> Vec<(String, Option<JobId>)> {
    let sql = "SELECT outcome, id::text FROM queuekit.enqueue_many($1::text::json) ORDER BY place";
    let rows = psql.0.client.query(&psql.sql(sql), &[&jobs]).await.expect(jobs);
    let id = |text: String| text.parse().expect("an id");
    rows.iter().map(|row| (row.get(0), row.get::<_, Option<String>>(1).map(id))).collect()
}

fn outcomes(stored: &[(String, Option<JobId>)]) -> Vec<&str> {
    stored.iter().map(|(outcome, _)| outcome.as_str()).collect()
}

/// Stores jobs of core, as an application without a store does.
async fn enqueue_built(psql: &Psql, jobs: &[NewJob]) {
    let statement = Functions::in_schema(psql.0.schema).unwrap().enqueue(jobs).unwrap();
    let row = psql.0.client.query_one(statement.sql(), &[&statement.parameter()]).await.unwrap();
    statement.read(row.get(0)).unwrap().ids().unwrap();
}

#[tokio::test]
async fn r2_9_a_job_of_core_is_stored_by_sql_as_the_store_stores_it() {
    let Some(psql) = Psql::open(this_test!()).await else { return };
    let full = |key: &str| {
        let draft = JobDraft::new("greet", &b"\xff\x00{}"[..]).priority(Priority::CRITICAL);
        let draft = draft.max_attempts(7).delay(HOUR).timeout(HOUR).deadline(2 * HOUR);
        build(draft.idempotency_key(key).unique_until_done().partition_key(key).metadata([
            ("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
            ("é", "\n"),
        ]))
    };
    let pairs = [
        (full("a"), full("b")),
        (build(carrying("{}")), build(carrying("{}"))),
        (build(carrying("not JSON \\u0000")), build(carrying("not JSON \\u0000"))),
    ];
    for (ours, theirs) in pairs {
        psql.world().backend().enqueue(from_ref(&ours)).await.unwrap();
        enqueue_built(&psql, from_ref(&theirs)).await;
        let (ours, theirs) = (ours.id(), theirs.id());
        let ours: Job = psql.world().job(ours).await;
        let mut theirs: Job = psql.world().job(theirs).await;
        assert!(theirs.created_at >= ours.created_at);
        assert_eq!(
            theirs.scheduled_at.since(theirs.created_at),
            ours.scheduled_at.since(ours.created_at)
        );
        (theirs.id, theirs.created_at, theirs.scheduled_at) =
            (ours.id, ours.created_at, ours.scheduled_at);
        theirs.idempotency_key.clone_from(&ours.idempotency_key);
        theirs.partition_key.clone_from(&ours.partition_key);
        theirs.deadline_in = ours.deadline_in;
        assert_eq!(theirs, ours);
    }
}

#[tokio::test]
async fn each_job_gets_its_own_outcome() {
    let Some(psql) = Psql::open(this_test!()).await else { return };
    let first = build(JobDraft::new("greet", "1"));
    enqueue_built(&psql, from_ref(&first)).await;
    let held = psql.world().enqueue(unique("held")).await;
    psql.run("SELECT queuekit.create_queue('small')").await.unwrap();
    psql.world().configure(&queue("small"), QueuePatch::default().max_pending(1)).await;
    let id = first.id();
    let jobs = format!(
        r#"[
            {{"kind": "greet", "payload": 1}},
            {{"kind": "greet", "payload": 1, "id": "{id}"}},
            {{"kind": "greet", "payload": 2, "id": "{id}"}},
            {{"kind": "greet", "idempotency_key": "held"}},
            {{"kind": "greet", "idempotency_key": "new"}},
            {{"kind": "greet", "idempotency_key": "new", "priority": 3}},
            {{"kind": "greet", "queue": "small"}},
            {{"kind": "greet", "queue": "small"}}
        ]"#
    );
    let stored = enqueue_many(&psql, &jobs).await;
    let wanted = [
        "created",
        "duplicate",
        "conflict",
        "duplicate",
        "created",
        "duplicate",
        "created",
        "queue_full",
    ];
    assert_eq!(outcomes(&stored), wanted);
    assert_eq!(stored[1].1, Some(id));
    assert_eq!(stored[2].1, Some(id));
    assert_eq!(stored[3].1, Some(held));
    assert_eq!(stored[5].1, stored[4].1);
    assert_eq!(stored[7].1, None);
    assert_eq!(psql.world().all_jobs().await.len(), 5, "the two from before, and three");
    psql.assert_exact().await;
}

#[tokio::test]
async fn r7_1_jobs_of_a_call_are_served_in_its_order() {
    let Some(psql) = Psql::open(this_test!()).await else { return };
    let job = |n: usize| format!(r#"{{"kind": "greet", "payload": {n}}}"#);
    let jobs: Vec<String> = (0..300).map(job).collect();
    let stored = enqueue_many(&psql, &format!("[{}]", jobs.join(","))).await;
    let ids: Vec<JobId> = stored.into_iter().filter_map(|(_, id)| id).collect();
    assert_eq!(psql.world().serve_all(&default_queue()).await, ids);
    psql.assert_exact().await;
}

#[tokio::test]
async fn r2_9_jobs_of_a_call_exist_if_and_only_if_its_transaction_commits() {
    let Some(psql) = Psql::open(this_test!()).await else { return };
    let jobs = r#"[{"kind": "greet"}, {"kind": "greet", "partition_key": "k"}]"#;
    for (end, exist) in [("ROLLBACK", 0), ("COMMIT", 2)] {
        psql.run("BEGIN").await.unwrap();
        assert_eq!(outcomes(&enqueue_many(&psql, jobs).await), ["created", "created"]);
        assert_eq!(psql.world().reserve_ids(9).await, [], "leased before the commit");
        psql.run(end).await.unwrap();
        assert_eq!(psql.world().reserve_ids(9).await.len(), exist, "{end}");
    }
    psql.assert_exact().await;
}

#[tokio::test]
async fn a_transaction_that_looks_at_the_past_stores_jobs_too() {
    let Some(psql) = Psql::open(this_test!()).await else { return };
    psql.run("BEGIN ISOLATION LEVEL REPEATABLE READ").await.unwrap();
    let stored = enqueue_many(&psql, r#"[{"kind": "greet"}, {"kind": "greet"}]"#).await;
    assert_eq!(outcomes(&stored), ["created", "created"]);
    psql.run("COMMIT").await.unwrap();
    assert_eq!(psql.world().reserve_ids(9).await.len(), 2);
}

#[tokio::test]
async fn workers_are_told_once_for_each_queue_unless_that_is_switched_off() {
    let Some(psql) = Psql::open(this_test!()).await else { return };
    for name in ["a", "b", "c"] {
        psql.run(&format!("SELECT queuekit.create_queue('{name}')")).await.unwrap();
    }
    let mut heard = psql.listen().await;
    let quiet = r#"SELECT queuekit.enqueue_many('[{"kind": "k", "queue": "a"}]', notify => false)"#;
    psql.run(quiet).await.unwrap();
    let jobs = r#"[{"kind": "k", "queue": "b"}, {"kind": "k", "queue": "b", "delay_ms": 5},
                   {"kind": "k", "queue": "b", "idempotency_key": "i"}]"#;
    enqueue_many(&psql, jobs).await;
    enqueue_many(&psql, r#"[{"kind": "k", "queue": "c"}]"#).await;
    assert_eq!(heard.recv().await.unwrap(), "b");
    assert_eq!(heard.recv().await.unwrap(), "c");
}

#[tokio::test]
async fn r2_7_a_call_with_one_wrong_job_stores_none() {
    let Some(psql) = Psql::open(this_test!()).await else { return };
    let derived = "019b76da-a800-8000-8000-0000000037a8";
    let of_other_queue = "019b76da-a800-7000-8000-0000000037a9";
    let invalid = SqlState::INVALID_PARAMETER_VALUE;
    let many = format!("[{}]", vec![r#"{"kind":"k"}"#; 1001].join(","));
    let large = format!(r#"{{"kind":"k","payload":"{}"}}"#, "x".repeat(1 << 20));
    let heavy = "y".repeat((1 << 20) - 2);
    let heavy = vec![format!(r#"{{"kind":"k","payload":"{heavy}"}}"#); 9].join(",");
    let item = |job: &str| format!(r#"[{{"kind": "k"}}, {job}]"#);
    let cases = [
        ("null".to_owned(), &invalid, "jobs must be a JSON array"),
        ("{}".to_owned(), &invalid, "jobs must be a JSON array"),
        (many, &invalid, "jobs must be at most 1000; got 1001"),
        (format!("[{heavy}]"), &invalid, "jobs must be at most 8388608 bytes"),
        (item("7"), &invalid, "job 2: it must be a JSON object"),
        (item(r#"{"kind": "k", "paylod": 1}"#), &invalid, "job 2: there is no field 'paylod'"),
        (item("{}"), &invalid, "job 2: kind must be "),
        (item(r#"{"kind": "a b"}"#), &invalid, "job 2: kind must be "),
        (item(&large), &invalid, "job 2: payload must be at most "),
        (
            item(r#"{"kind": "k", "payload": 1, "payload_base64": ""}"#),
            &invalid,
            "job 2: payload must be alone",
        ),
        (item(r#"{"kind": "k", "payload_base64": "?"}"#), &invalid, "invalid symbol"),
        (item(r#"{"kind": "k", "queue": "event.a"}"#), &invalid, "job 2: queue must be "),
        (item(r#"{"kind": "k", "priority": 32}"#), &invalid, "job 2: priority must be "),
        (item(r#"{"kind": "k", "max_attempts": 0}"#), &invalid, "job 2: max_attempts must be "),
        (item(r#"{"kind": "k", "delay_ms": -1}"#), &invalid, "job 2: delay_ms must be "),
        (item(r#"{"kind": "k", "run_at": "infinity"}"#), &invalid, "job 2: run_at must be "),
        (
            item(r#"{"kind": "k", "run_at": "2020-01-01T00:00:00Z", "delay_ms": 1}"#),
            &invalid,
            "job 2: run_at must be alone",
        ),
        (
            item(r#"{"kind": "k", "unique_until_done": true}"#),
            &invalid,
            "job 2: unique_until_done must be ",
        ),
        (item(r#"{"kind": "k", "metadata": {"a": 1}}"#), &invalid, "job 2: metadata must be "),
        (item(r#"{"kind": "k", "idempotency_key": ""}"#), &invalid, "job 2: idempotency_key"),
        (item(&format!(r#"{{"kind": "k", "id": "{derived}"}}"#)), &invalid, "job 2: id must be "),
        (
            item(&format!(r#"{{"kind": "k", "id": "{of_other_queue}"}}"#)),
            &invalid,
            "job 2: id must be ",
        ),
        (
            item(r#"{"kind": "k", "priority": "high"}"#),
            &SqlState::INVALID_TEXT_REPRESENTATION,
            "invalid input syntax",
        ),
        (
            item(r#"{"kind": "k", "queue": "new"}"#),
            &SqlState::UNDEFINED_OBJECT,
            "there is no queue 'new'",
        ),
    ];
    let sql = psql.sql("SELECT queuekit.enqueue_many($1::text::json)");
    for (jobs, code, message) in cases {
        let shown = jobs.get(..200).unwrap_or(&jobs);
        let error = psql.0.client.query(&sql, &[&jobs]).await.expect_err(shown);
        let error = error.as_db_error().unwrap();
        assert_eq!(error.code(), code, "{shown}: {error}");
        assert!(error.message().starts_with(message), "{shown}: {error}");
    }
    assert!(psql.world().all_jobs().await.is_empty());
}

#[tokio::test]
async fn r7_3_a_queue_that_takes_no_keys_is_named_with_the_way_to_let_it() {
    let Some(psql) = Psql::open(this_test!()).await else { return };
    psql.run("SELECT queuekit.create_queue('plain')").await.unwrap();
    let jobs = r#"[{"kind": "k", "queue": "plain", "partition_key": "a"}]"#;
    let error = psql.refused(&format!("SELECT queuekit.enqueue_many('{jobs}')")).await;
    assert_eq!(*error.code(), SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE);
    psql.run(error.hint().unwrap()).await.unwrap();
    enqueue_many(&psql, jobs).await;
    assert_eq!(psql.world().reserve_from(&queue("plain"), 9).await.len(), 1);
}
