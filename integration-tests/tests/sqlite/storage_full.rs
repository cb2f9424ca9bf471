//! A disk that is full (contract R10.2): on a real one, of a few MiB.

use std::collections::BTreeSet;
use std::fs;

use crate::common::files::{File, add, assert_exact, lease};
use crate::common::system::Disk;
use queuekit_conformance::kit::{build, carrying, draft};
use queuekit_conformance::this_test;
use queuekit_core::capability::Inspect;
use queuekit_core::{Ack, AckOutcome, Backend, BackendExt, ErrorKind, JobFilter, JobId, State};
use queuekit_sqlite::SqliteStore;

#[tokio::test]
async fn r10_2_a_full_disk_refuses_loses_nothing_and_heals_by_itself() {
    let test = this_test!();
    let file = File::new();
    let Some(_disk) = Disk::mount(test, file.directory.path(), "6m") else { return };
    let store = file.store().await;
    add(&store, 50).await;
    let leases = lease(&store, 40).await;
    let ballast = file.directory.path().join("ballast");
    fs::write(&ballast, vec![1; 2 << 20]).unwrap();

    let mut stored = fill(&store, 20).await;
    // What one job needs may be there when twenty found no room.
    stored.extend(fill(&store, 1).await);
    assert!(stored.len() > 100, "{} jobs fit", stored.len());
    let mut refused = Vec::new();
    for lease in leases {
        match store.ack_one(Ack::new(lease.token.clone())).await {
            Ok(acked) => assert!(acked),
            Err(error) => {
                assert_eq!(*error.kind(), ErrorKind::StorageFull, "{error}");
                refused.push(lease);
            }
        }
    }
    for lease in &refused {
        let job = store.get_job(lease.token.id).await.unwrap().unwrap();
        assert_eq!(job.state, State::Running, "an ack that was refused is not half done");
    }
    // A look needs as much room as a call, and takes none of what is left.
    for _ in 0..8 {
        let error = store.check_writes().await.unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::StorageFull, "{error}");
    }
    let listed = ids(&store).await;
    assert!(stored.is_subset(&listed), "an acknowledged job is missing");
    assert_eq!(listed.len(), stored.len() + 50, "a refused job is there");

    fs::remove_file(&ballast).unwrap();
    store.check_writes().await.expect("there is room again");
    let acks: Vec<Ack> = refused.into_iter().map(|lease| Ack::new(lease.token)).collect();
    let acked = store.ack(&acks).await.unwrap();
    assert!(acked.iter().all(|outcome| *outcome == AckOutcome::Acked), "{acked:?}");
    add(&store, 50).await;
    assert_exact(&file.connection());
    store.close().await.unwrap();
    let store = file.store().await;
    assert!(stored.is_subset(&ids(&store).await), "lost by reopening");
    assert_exact(&file.connection());
    store.close().await.unwrap();
}

#[tokio::test]
async fn r10_2_in_a_transaction_a_full_disk_is_told_too() {
    let test = this_test!();
    let file = File::new();
    let Some(_disk) = Disk::mount(test, file.directory.path(), "2m") else { return };
    let store = file.store().await;
    let mut conn = file.connection();
    let tx = crate::common::files::begin(&mut conn);
    let jobs: Vec<_> = (0..1000).map(|_| build(carrying("x".repeat(4000)))).collect();
    // A small cache: what was changed goes to the disk before the commit.
    tx.pragma_update(None, "cache_size", 10).unwrap();
    let error = store.enqueue_in(&tx, &jobs).unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::StorageFull, "{error}");
    drop(tx);
    assert_eq!(ids(&store).await.len(), 0);
    store.enqueue_one(build(draft())).await.unwrap();
    assert_exact(&conn);
    store.close().await.unwrap();
}

/// Stores jobs, `at_once` per call, until there is no room. Returns the ids of those that were
/// accepted.
async fn fill(store: &SqliteStore, at_once: usize) -> BTreeSet<JobId> {
    let mut stored = BTreeSet::new();
    for _ in 0..10_000 {
        let jobs: Vec<_> = (0..at_once).map(|_| build(carrying("x".repeat(700)))).collect();
        match store.enqueue(&jobs).await {
            Ok(_) => stored.extend(jobs.iter().map(|job| job.id())),
            Err(error) => {
                assert_eq!(*error.kind(), ErrorKind::StorageFull, "{error}");
                assert!(error.to_string().contains("free some space"), "{error}");
                assert!(error.is_retryable());
                return stored;
            }
        }
    }
    panic!("the disk is never full");
}

async fn ids(store: &SqliteStore) -> BTreeSet<JobId> {
    let mut filter = JobFilter::default().limit(1000);
    let mut ids = BTreeSet::new();
    loop {
        let page = store.list_jobs(&filter).await.unwrap();
        ids.extend(page.items.iter().map(|job| job.id));
        match page.next {
            Some(next) => filter.cursor = Some(next),
            None => return ids,
        }
    }
}
