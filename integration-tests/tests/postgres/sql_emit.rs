//! `queuekit.emit`: events that exist if and only if the application's transaction commits, by SQL
//! (contract R14.1, R14.2, R14.4). What it stores is compared with an emit of the store's in
//! `by_sql.rs`.

use std::sync::Arc;

use crate::common::psql::Psql;
use crate::common::store_fixture::{all_jobs, promptly, until};
use queuekit_conformance::kit::deliveries_of;
use queuekit_conformance::this_test;
use queuekit_core::capability::{EventFilter, EventPage};
use queuekit_core::event::Event;
use queuekit_core::{Client, SubscriptionDraft};
use tokio_postgres::error::SqlState;

/// The outcomes, in the order of the events, and the ids.
async fn emit(psql: &Psql, events: &str) -> Vec<(String, String)> {
    let sql = "SELECT outcome, id::text FROM queuekit.emit($1::text::json) ORDER BY place";
    let rows = psql.0.client.query(&psql.sql(sql), &[&events]).await.expect(events);
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

async fn outcomes(psql: &Psql, events: &str) -> Vec<String> {
    emit(psql, events).await.into_iter().map(|(outcome, _)| outcome).collect()
}

fn client(psql: &Psql) -> Client {
    Client::new(Arc::clone(psql.world().backend()))
}

async fn subscribe(psql: &Psql, draft: SubscriptionDraft) {
    let _ = client(psql).consumers().declare(&draft.build().unwrap()).await.unwrap();
}

async fn log(psql: &Psql) -> Vec<Event> {
    let page: EventPage = client(psql).events().list(&EventFilter::default()).await.unwrap();
    page.events
}

async fn deliveries(psql: &Psql) -> usize {
    all_jobs(psql.world().backend().as_ref()).await.len()
}

#[tokio::test]
async fn r14_1_an_event_by_sql_exists_if_and_only_if_the_transaction_commits() {
    let Some(psql) = Psql::open(this_test!()).await else { return };
    subscribe(&psql, SubscriptionDraft::new("c", "order.*")).await;
    let mut heard = psql.listen().await;
    let event = r#"[{"type": "order.paid", "data": {"order":  7}}, {"type": "orders"}]"#;
    for (end, count) in [("ROLLBACK", 0), ("COMMIT", 2)] {
        psql.run("BEGIN").await.unwrap();
        assert_eq!(outcomes(&psql, event).await, ["emitted", "emitted"]);
        assert_eq!(log(&psql).await.len(), 0, "before the commit");
        psql.run(end).await.unwrap();
        assert_eq!((log(&psql).await.len(), deliveries(&psql).await), (count, count / 2), "{end}");
    }
    assert_eq!(promptly("a wake-up by the commit", heard.recv()).await.unwrap(), "event.c");
    let events = log(&psql).await;
    assert_eq!((events[0].kind.as_str(), events[1].kind.as_str()), ("order.paid", "orders"));
    assert_eq!(&events[0].data[..], br#"{"order":  7}"#);
    assert_eq!(&events[1].data[..], b"null");
    psql.assert_exact().await;
}

/// Guard: subscriptions are held while the transaction is open.
#[tokio::test]
async fn r14_4_subscriptions_change_when_transactions_that_emitted_by_sql_have_ended() {
    let Some(psql) = Psql::open(this_test!()).await else { return };
    subscribe(&psql, SubscriptionDraft::new("c", "*")).await;
    psql.run("BEGIN").await.unwrap();
    emit(&psql, r#"[{"type": "a"}]"#).await;
    let late = client(&psql);
    let declared = tokio::spawn(async move {
        let draft = SubscriptionDraft::new("late", "*").build().unwrap();
        late.consumers().declare(&draft).await.map(drop)
    });
    let waits = "SELECT count(*)::text FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
        AND objid = 4294967294 AND classid = queuekit.lock_class()::bigint & 4294967295";
    let is_waiting = async || psql.value(waits).await.unwrap().unwrap() == "1";
    until("the change waits for the transaction", is_waiting).await;
    assert!(!declared.is_finished());
    psql.run("COMMIT").await.unwrap();
    promptly("the change", declared).await.unwrap().unwrap();
    assert_eq!(deliveries(&psql).await, 1);
    emit(&psql, r#"[{"type": "a"}]"#).await;
    assert_eq!(deliveries(&psql).await, 3);
    psql.assert_exact().await;
}

#[tokio::test]
async fn r14_2_events_of_one_call_by_sql_act_in_order() {
    let Some(psql) = Psql::open(this_test!()).await else { return };
    subscribe(&psql, SubscriptionDraft::new("c", "*")).await;
    let id = "019b76da-a800-7000-8000-000000000001";
    let events = format!(
        r#"[{{"type": "z", "id": "{id}", "data": 1}},
            {{"type": "a", "id": "{id}", "data": 1}},
            {{"type": "z", "id": "{id}", "data": 1}},
            {{"type": "k", "idempotency_key": "k", "data": 1}},
            {{"type": "k", "idempotency_key": "k", "data": 2}},
            {{"type": "l", "idempotency_key": "k"}}]"#
    );
    for level in ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"] {
        psql.run(&format!("BEGIN ISOLATION LEVEL {level}")).await.unwrap();
        let emitted = emit(&psql, &events).await;
        let outcomes: Vec<&str> = emitted.iter().map(|(outcome, _)| outcome.as_str()).collect();
        let wanted = ["emitted", "conflict", "duplicate", "emitted", "duplicate", "emitted"];
        assert_eq!(outcomes, wanted, "{level}");
        assert_eq!(emitted[4].1, emitted[3].1);
        psql.run("COMMIT").await.unwrap();
        psql.run("DELETE FROM queuekit.events").await.unwrap();
    }
    psql.assert_exact().await;
}

#[tokio::test]
async fn r14_1_a_consumer_whose_queue_was_removed_gets_one_by_an_emit_by_sql() {
    let Some(psql) = Psql::open(this_test!()).await else { return };
    subscribe(&psql, SubscriptionDraft::new("c", "*").ordered()).await;
    let admin = psql.world().backend().capabilities().admin.expect("queues");
    admin.remove_queue(&deliveries_of("c"), true).await.unwrap();
    let keyed = r#"[{"type": "a", "partition_key": "k"}]"#;
    assert_eq!(outcomes(&psql, keyed).await, ["emitted"]);
    assert_eq!(deliveries(&psql).await, 1);
    psql.assert_exact().await;
}

#[tokio::test]
async fn an_event_that_breaks_a_limit_is_refused_with_its_place() {
    let Some(psql) = Psql::open(this_test!()).await else { return };
    let before = psql.world().dump().await;
    let event = |fields: &str| format!(r#"[{{"type": "a"}}, {{"type": "a", {fields}}}]"#);
    let long = "x".repeat(257);
    let metadata = |bytes: usize| format!(r#""metadata": {{"k": "{}"}}"#, "x".repeat(bytes - 1));
    let names: Vec<String> = (0..63).map(|n| format!(r#""{n}": """#)).collect();
    let cases = [
        ("event 2: type", r#"[{"type": "a"}, {"type": "a b"}]"#.to_owned()),
        ("event 1: type", r#"[{"data": 1}]"#.to_owned()),
        ("event 2: there is no field 'kind'", event(r#""kind": "a""#)),
        ("event 2: data must be alone", event(r#""data": 1, "data_base64": """#)),
        ("event 2: data", event(&format!(r#""data": "{}""#, "x".repeat(1_048_575)))),
        ("event 2: metadata", event(&metadata(3585))),
        ("event 2: metadata", event(&format!(r#""metadata": {{{}}}"#, names.join(",")))),
        ("event 2: metadata", event(r#""metadata": {"k": 1}"#)),
        ("event 2: partition_key", event(&format!(r#""partition_key": "{long}""#))),
        ("event 2: idempotency_key", event(r#""idempotency_key": """#)),
        ("event 2: delay_ms", event(r#""delay_ms": 31622400001"#)),
        ("event 2: delay_ms", event(r#""delay_ms": -1"#)),
        ("event 2: id", event(r#""id": "019b76da-a800-8000-8000-000000000001""#)),
        ("event 2: it must be", r#"[{"type": "a"}, 7]"#.to_owned()),
        ("events must be a JSON array", "{}".to_owned()),
        ("events must be at most 1000", format!("[{}1]", "1,".repeat(1000))),
    ];
    for (message, events) in cases {
        let sql = psql.sql("SELECT queuekit.emit($1::text::json)");
        let error = psql.0.client.query(&sql, &[&events]).await.expect_err(message);
        let error = error.as_db_error().expect(message);
        assert_eq!(*error.code(), SqlState::INVALID_PARAMETER_VALUE, "{error}");
        assert!(error.message().starts_with(message), "{message}: {error}");
    }
    let many = format!("[{}]", vec![event_of(1_000_000); 9].join(","));
    let sql = psql.sql("SELECT queuekit.emit($1::text::json)");
    let error = psql.0.client.query(&sql, &[&many]).await.expect_err("9 MB");
    assert!(error.as_db_error().unwrap().message().contains("8388608 bytes"), "{error}");
    psql.world().assert_unchanged(&before).await;
    let largest = event(&metadata(3584));
    assert_eq!(outcomes(&psql, &largest).await, ["emitted", "emitted"]);
}

fn event_of(bytes: usize) -> String {
    format!(r#"{{"type": "a", "data": "{}"}}"#, "x".repeat(bytes - 2))
}

#[tokio::test]
async fn a_call_makes_at_most_10_000_deliveries() {
    let Some(psql) = Psql::open(this_test!()).await else { return };
    for n in 0..11 {
        subscribe(&psql, SubscriptionDraft::new(format!("c{n}"), "*")).await;
    }
    let events = |count: usize| format!("[{}]", vec![r#"{"type": "a"}"#; count].join(","));
    let error = psql.refused(&format!("SELECT queuekit.emit('{}')", events(910))).await;
    assert!(error.message().contains("at most 10000 deliveries"), "{error}");
    assert_eq!(log(&psql).await.len(), 0);
    assert_eq!(emit(&psql, &events(909)).await.len(), 909);
    psql.assert_exact().await;
}
