//! `queuekit.ack`: a job that is completed in the application's transaction by SQL (contract R3.4).
//! What it does to the store is compared with an ack of the store's in `by_sql.rs`.

use crate::common::psql::Psql;
use queuekit_conformance::kit::{DAY, keyed, unique};
use queuekit_conformance::this_test;
use queuekit_core::{EnqueueOutcome, Lease, State};
use tokio_postgres::error::SqlState;

async fn ack(psql: &Psql, token: &str, result: &str) -> String {
    let sql = format!("SELECT queuekit.ack('{token}'{result})");
    psql.value(&sql).await.expect(&sql).expect("an outcome")
}

async fn leased(psql: &Psql) -> (Lease, String) {
    psql.world().enqueue(keyed("k")).await;
    let lease = psql.world().reserve_one().await;
    let token = lease.token.to_secret_string();
    (lease, token)
}

#[tokio::test]
async fn r3_4_a_job_is_completed_if_and_only_if_the_transaction_commits() {
    let Some(psql) = Psql::open(this_test!()).await else { return };
    let (lease, token) = leased(&psql).await;
    for (end, state) in [("ROLLBACK", State::Running), ("COMMIT", State::Completed)] {
        psql.run("BEGIN").await.unwrap();
        assert_eq!(ack(&psql, &token, r#", '{"sent": 1}'"#).await, "acked");
        assert_eq!(psql.world().state(lease.id()).await, State::Running, "before the commit");
        psql.run(end).await.unwrap();
        assert_eq!(psql.world().state(lease.id()).await, state, "{end}");
    }
    let job = psql.world().job(lease.id()).await;
    assert_eq!(job.result.as_deref(), Some(&br#"{"sent": 1}"#[..]));
    assert_eq!(ack(&psql, &token, "").await, "already_done");
    psql.assert_exact().await;
}

#[tokio::test]
async fn a_token_that_a_worker_got_over_http_is_one() {
    let Some(psql) = Psql::open(this_test!()).await else { return };
    for head in ["1~", "12.NXMsMXM~"] {
        let (lease, token) = leased(&psql).await;
        assert_eq!(ack(&psql, &format!("{head}{token}"), "").await, "acked");
        assert_eq!(psql.world().state(lease.id()).await, State::Completed);
    }
}

#[tokio::test]
async fn results_are_stored_as_they_were_given() {
    let Some(psql) = Psql::open(this_test!()).await else { return };
    let cases: [(&str, Option<&[u8]>); 6] = [
        ("", None),
        (", NULL::bytea", None),
        (", '\\x00ff'::bytea", Some(b"\x00\xff")),
        (", '{\"b\": 1,  \"a\": 2}'", Some(b"{\"b\": 1,  \"a\": 2}")),
        (", '{\"b\":1,  \"a\": 2}'::json", Some(b"{\"b\":1,  \"a\": 2}")),
        (", '{\"b\":1,\"a\":2}'::jsonb", Some(b"{\"a\": 2, \"b\": 1}")),
    ];
    for (given, wanted) in cases {
        let (lease, token) = leased(&psql).await;
        assert_eq!(ack(&psql, &token, given).await, "acked", "{given}");
        let job = psql.world().job(lease.id()).await;
        assert_eq!(job.result.as_deref(), wanted, "{given}");
    }
}

#[tokio::test]
async fn r2_5_a_key_stays_in_use_for_its_window_after_an_ack_by_sql() {
    let Some(psql) = Psql::open(this_test!()).await else { return };
    let world = psql.world();
    for (draft, is_free) in [(unique("a"), false), (unique("b").unique_until_done(), true)] {
        let first = world.enqueue(draft.clone()).await;
        let lease = world.reserve_one().await;
        assert_eq!(ack(&psql, &lease.token.to_secret_string(), "").await, "acked");
        let again = world.try_enqueue(draft.clone()).await;
        assert_eq!(again != EnqueueOutcome::Duplicate { existing: first }, is_free);
        if is_free {
            let lease = world.reserve_one().await;
            world.complete(&lease).await;
        }
        world.advance(DAY).await;
        world.enqueue(draft).await;
        let lease = world.reserve_one().await;
        world.complete(&lease).await;
    }
    psql.assert_exact().await;
}

#[tokio::test]
async fn r7_2_the_next_job_of_the_key_is_served_after_an_ack_by_sql() {
    let Some(psql) = Psql::open(this_test!()).await else { return };
    let (_, token) = leased(&psql).await;
    let next = psql.world().enqueue(keyed("k")).await;
    psql.world().assert_nothing_to_lease().await;
    ack(&psql, &token, "").await;
    assert_eq!(psql.world().reserve_ids(9).await, [next]);
}

#[tokio::test]
async fn what_is_no_token_and_a_result_that_is_too_large_are_refused() {
    let Some(psql) = Psql::open(this_test!()).await else { return };
    let (lease, token) = leased(&psql).await;
    let before = psql.world().dump().await;
    let cut = &token[..token.len() - 1];
    let texts = ["", "a~b", cut, &format!("{token}~"), &format!("x~{token}"), &format!(" {token}")];
    for text in texts {
        let error = psql.refused(&format!("SELECT queuekit.ack('{text}')")).await;
        assert_eq!(*error.code(), SqlState::INVALID_PARAMETER_VALUE, "{text}");
        assert!(!error.message().contains('~'), "a token is secret: {error}");
    }
    let large = format!("SELECT queuekit.ack('{token}', repeat('x', 65537))");
    assert_eq!(*psql.refused(&large).await.code(), SqlState::INVALID_PARAMETER_VALUE);
    psql.world().assert_unchanged(&before).await;
    assert_eq!(ack(&psql, &token, ", repeat('x', 65536)").await, "acked");
    assert_eq!(psql.world().state(lease.id()).await, State::Completed);
}
