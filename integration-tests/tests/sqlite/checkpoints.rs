//! Steps of jobs inside the application's own transactions (contract R13.10).

use crate::common::files::{File, add, begin, lease};
use queuekit_conformance::kit::checkpoint_name;
use queuekit_core::capability::{CheckpointOutcome, KeepCheckpoints, NewCheckpoint};
use queuekit_core::{Backend, LeaseToken};

const APP: &str = include_str!("../../sql/sqlite_app.sql");
const INSERT: &str = include_str!("../../sql/sqlite_app_insert.sql");
const COUNT: &str = include_str!("../../sql/sqlite_app_count.sql");

fn step(token: &LeaseToken) -> NewCheckpoint {
    NewCheckpoint::new(token.clone(), checkpoint_name("charge"), "1").unwrap()
}

/// R13.10. Guard: what is stored under the name is a conflict in a transaction, also if it is the
/// same.
#[tokio::test]
async fn r13_10_a_step_and_the_applications_row_are_one() {
    let file = File::new();
    let store = file.store().await;
    let mut conn = file.connection();
    conn.execute_batch(APP).unwrap();
    add(&store, 1).await;
    let token = lease(&store, 1).await.remove(0).token;
    for commits in [false, true] {
        let tx = begin(&mut conn);
        tx.execute(INSERT, []).unwrap();
        let stored = store.checkpoint_in(&tx, &step(&token)).unwrap();
        assert_eq!(stored, CheckpointOutcome::Stored);
        if commits {
            tx.commit().unwrap()
        } else {
            tx.rollback().unwrap()
        };
        let seen = store.checkpoints(&token).await.unwrap().expect("the lease holds");
        let rows: i64 = conn.query_row(COUNT, [], |row| row.get(0)).unwrap();
        assert_eq!((seen.stored.len(), rows), (usize::from(commits), i64::from(commits)));
    }
    let tx = begin(&mut conn);
    let again = store.checkpoint_in(&tx, &step(&token)).unwrap();
    assert_eq!(again, CheckpointOutcome::Conflict);
    tx.rollback().unwrap();
    store.delete_job(token.id, true).await.unwrap();
    let tx = begin(&mut conn);
    let gone = store.checkpoint_in(&tx, &step(&token)).unwrap();
    assert_eq!(gone, CheckpointOutcome::NotFound);
    tx.rollback().unwrap();
    store.close().await.unwrap();
}
