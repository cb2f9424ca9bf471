//! `queuekit.checkpoint`: a step that takes effect in the application's transaction by SQL
//! (contract R13.10).

use crate::common::psql::Psql;
use queuekit_conformance::kit::draft;
use queuekit_conformance::this_test;
use queuekit_core::Lease;
use tokio_postgres::error::SqlState;

async fn checkpoint(psql: &Psql, token: &str, arguments: &str) -> String {
    let sql = format!("SELECT queuekit.checkpoint('{token}', {arguments})");
    psql.value(&sql).await.expect(&sql).expect("an outcome")
}

async fn leased(psql: &Psql) -> (Lease, String) {
    psql.world().enqueue(draft()).await;
    let lease = psql.world().reserve_one().await;
    let token = lease.token.to_secret_string();
    (lease, token)
}

#[tokio::test]
async fn r13_10_a_step_by_sql_is_done_if_and_only_if_the_transaction_commits() {
    let Some(psql) = Psql::open(this_test!()).await else { return };
    let (lease, token) = leased(&psql).await;
    for (end, count) in [("ROLLBACK", 0), ("COMMIT", 1)] {
        psql.run("BEGIN").await.unwrap();
        assert_eq!(checkpoint(&psql, &token, "'charge', '{\"cents\": 5}'").await, "stored");
        assert_eq!(psql.world().checkpoints(&lease).await.len(), 0, "before the commit");
        psql.run(end).await.unwrap();
        assert_eq!(psql.world().checkpoints(&lease).await.len(), count, "{end}");
    }
    for result in ["", ", '{\"cents\": 5}'"] {
        let again = checkpoint(&psql, &token, &format!("'charge'{result}")).await;
        assert_eq!(again, "conflict", "the rows would be written twice");
    }
    let (name, result) = psql.world().checkpoints(&lease).await.remove(0);
    assert_eq!((name.as_str(), &result[..]), ("charge", &br#"{"cents": 5}"#[..]));
}

#[tokio::test]
async fn r13_10_a_token_of_another_run_stores_no_step_by_sql() {
    let Some(psql) = Psql::open(this_test!()).await else { return };
    let (stale, token) = leased(&psql).await;
    assert_eq!(checkpoint(&psql, &format!("1~{token}"), "'s'").await, "stored");
    psql.world().expire().await;
    let live = psql.world().reserve_one().await;
    let before = psql.world().dump().await;
    let [_, job, number, nonce] = token.split('~').collect::<Vec<_>>()[..] else { panic!() };
    let of_live = live.token.to_secret_string();
    let (largest, other) = (u64::MAX, format!("other~{}", of_live.split_once('~').unwrap().1));
    let tokens = [
        token.clone(),
        other,
        of_live.replace(&format!("~{}~", live.token.lease_seq), &format!("~{number}~")),
        of_live.replace(&format!("~{}~", live.token.lease_seq), &format!("~{largest}~")),
        format!("default~{job}~{}~{nonce}", live.token.lease_seq),
    ];
    for token in tokens {
        assert_eq!(checkpoint(&psql, &token, "'t'").await, "lease_lost", "{token}");
    }
    psql.world().assert_unchanged(&before).await;
    psql.world().complete(&live).await;
    assert_eq!(checkpoint(&psql, &of_live, "'t'").await, "lease_lost");
    psql.world().delete(stale.id(), false).await.unwrap();
    assert_eq!(checkpoint(&psql, &of_live, "'t'").await, "not_found");
}

#[tokio::test]
async fn r13_10_results_by_sql_are_stored_as_they_were_given() {
    let Some(psql) = Psql::open(this_test!()).await else { return };
    let (lease, token) = leased(&psql).await;
    let cases: [(&str, &[u8]); 5] = [
        ("", b"null"),
        (", '\\x00ff'::bytea", b"\x00\xff"),
        (", '[1,  2]'", b"[1,  2]"),
        (", '[1,  2]'::json", b"[1,  2]"),
        (", '[1,  2]'::jsonb", b"[1, 2]"),
    ];
    for (n, (given, _)) in cases.iter().enumerate() {
        assert_eq!(checkpoint(&psql, &token, &format!("'s{n}'{given}")).await, "stored", "{given}");
    }
    let stored = psql.world().checkpoints(&lease).await;
    for ((given, wanted), (_, result)) in cases.iter().zip(&stored) {
        assert_eq!(&result[..], *wanted, "{given}");
    }
}

#[tokio::test]
async fn what_is_no_token_name_or_result_stores_no_step() {
    let Some(psql) = Psql::open(this_test!()).await else { return };
    let (_, token) = leased(&psql).await;
    let before = psql.world().dump().await;
    let large = format!("'{token}', 's', repeat('x', 65537)");
    let named = |name: &str| format!("'{token}', {name}");
    let calls = [
        ("token", "'a~b', 's'".to_owned()),
        ("name", named("''")),
        ("name", named("'a b'")),
        ("name", named("repeat('x', 129)")),
        ("name", named("NULL")),
        ("result", named("'s', NULL::bytea")),
        ("result", named("'s', NULL::text")),
        ("result", large),
    ];
    for (field, arguments) in calls {
        let error = psql.refused(&format!("SELECT queuekit.checkpoint({arguments})")).await;
        assert_eq!(*error.code(), SqlState::INVALID_PARAMETER_VALUE, "{arguments}");
        assert!(error.message().starts_with(field), "{error}");
        assert!(!error.message().contains('~'), "a token is secret: {error}");
    }
    psql.world().assert_unchanged(&before).await;
    assert_eq!(checkpoint(&psql, &token, "'s', repeat('x', 65536)").await, "stored");
}
