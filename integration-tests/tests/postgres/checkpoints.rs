//! Steps of jobs inside the application's own Postgres transactions (contract R13.10).

use std::time::Duration;

use crate::common::store_fixture::{Stage, create, lease, promptly, request_for};
use futures_util::future::join_all;
use queuekit_conformance::kit::{TTL, build, checkpoint_name, draft, ttl};
use queuekit_conformance::this_test;
use queuekit_core::capability::{
    CheckpointOutcome, ExtendOutcome, KeepCheckpoints, Leases, NewCheckpoint,
};
use queuekit_core::limits::CHECKPOINTS;
use queuekit_core::{Backend, LeaseToken};
use tokio_postgres::Client;

const APP: &str = include_str!("../../sql/postgres_app.sql");
const INSERT: &str = include_str!("../../sql/postgres_app_insert.sql");
const COUNT: &str = include_str!("../../sql/postgres_app_count.sql");

fn step(token: &LeaseToken, name: &str) -> NewCheckpoint {
    NewCheckpoint::new(token.clone(), checkpoint_name(name), "1").unwrap()
}

async fn rows(client: &Client) -> i64 {
    client.query_one(COUNT, &[]).await.unwrap().get(0)
}

/// R13.10. Guard: what is stored under the name is a conflict in a transaction, also if it is the
/// same.
#[tokio::test]
async fn r13_10_a_step_and_the_applications_row_are_one() {
    let test = this_test!();
    let Some(stage) = Stage::open(test).await else { return };
    let (store, mut client) = (&stage.store, stage.client().await);
    client.batch_execute(APP).await.unwrap();
    create(store, &build(draft())).await;
    let token = lease(store, 1).await.remove(0).token;
    for commits in [false, true] {
        let tx = client.transaction().await.unwrap();
        tx.execute(INSERT, &[]).await.unwrap();
        let stored = store.checkpoint_in(&tx, &step(&token, "charge")).await.unwrap();
        assert_eq!(stored, CheckpointOutcome::Stored);
        let seen = store.checkpoints(&token).await.unwrap().expect("the lease holds");
        assert!(seen.stored.is_empty(), "seen before the commit: {seen:?}");
        if commits {
            tx.commit().await.unwrap()
        } else {
            tx.rollback().await.unwrap()
        };
        let seen = store.checkpoints(&token).await.unwrap().expect("the lease holds");
        let wanted = (usize::from(commits), i64::from(commits));
        assert_eq!((seen.stored.len(), rows(&client).await), wanted);
    }
    let tx = client.transaction().await.unwrap();
    let again = store.checkpoint_in(&tx, &step(&token, "charge")).await.unwrap();
    assert_eq!(again, CheckpointOutcome::Conflict);
    tx.rollback().await.unwrap();
    stage.end().await;
}

/// R13.10. Guard: an open step locks its lease.
#[tokio::test]
async fn r13_10_nobody_gets_the_job_of_an_open_step() {
    let test = this_test!();
    let Some(stage) = Stage::open(test).await else { return };
    let (store, mut client) = (&stage.store, stage.client().await);
    create(store, &build(draft())).await;
    // It expires at once.
    let expired = store.reserve(&request_for(Duration::ZERO, 1)).await.unwrap();
    let token = expired.leases[0].token.clone();
    let tx = client.transaction().await.unwrap();
    let stored = store.checkpoint_in(&tx, &step(&token, "charge")).await.unwrap();
    assert_eq!(stored, CheckpointOutcome::Stored);
    let others = promptly("a reserve", lease(store, 1)).await;
    assert!(others.is_empty(), "another worker got it: {others:?}");
    let extended = promptly("an extend", store.extend(&[token], ttl(TTL))).await.unwrap();
    assert_eq!(extended, [ExtendOutcome::Settling]);
    tx.commit().await.unwrap();
    let next = lease(store, 1).await.remove(0);
    let read = store.checkpoints(&next.token).await.unwrap().expect("the lease holds");
    assert_eq!(read.stored.len(), 1, "the next run has the step: {read:?}");
    stage.end().await;
}

/// R13.10. Guard: the lease is locked before the checkpoints are counted.
#[tokio::test]
async fn r13_10_steps_at_once_are_counted_and_one_of_a_name_is_stored() {
    let test = this_test!();
    let Some(stage) = Stage::open(test).await else { return };
    let store = &stage.store;
    create(store, &build(draft())).await;
    let token = lease(store, 1).await.remove(0).token;
    let put = |name: String, result: String| {
        let new = NewCheckpoint::new(token.clone(), checkpoint_name(&name), result).unwrap();
        async move { store.put_checkpoint(&new).await.unwrap() }
    };
    let of_one_name = join_all((0..8).map(|n| put("s".to_owned(), n.to_string()))).await;
    let count = |of: &[CheckpointOutcome], what| of.iter().filter(|its| **its == what).count();
    assert_eq!(count(&of_one_name, CheckpointOutcome::Stored), 1, "{of_one_name:?}");
    assert_eq!(count(&of_one_name, CheckpointOutcome::Conflict), 7, "{of_one_name:?}");
    let others = join_all((0..CHECKPOINTS + 7).map(|n| put(format!("s{n}"), n.to_string()))).await;
    assert_eq!(count(&others, CheckpointOutcome::Stored), CHECKPOINTS - 1, "{others:?}");
    assert_eq!(count(&others, CheckpointOutcome::Full), 8, "{others:?}");
    stage.end().await;
}
