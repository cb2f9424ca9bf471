//! Closing a handle lets go of the file (contract R10.4).

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use crate::common::files::{File, add};
use futures_util::FutureExt;
use queuekit_conformance::kit::{build, draft, kind_of};
use queuekit_conformance::{skip, this_test};
use queuekit_core::{Backend, BackendExt, ErrorKind, JobFilter};
use tokio::time::timeout;

#[tokio::test]
async fn r10_4_close_moves_the_log_into_the_file_and_lets_go() {
    for _ in 0..10 {
        let file = File::new();
        let store = file.store().await;
        add(&store, 100).await;
        store.all_queues().await.unwrap();
        assert!(file.beside("-wal").exists());
        timeout(Duration::from_secs(5), store.close()).await.expect("gone in 5 s").unwrap();
        assert_let_go(this_test!(), &file);
        // The file alone has everything.
        let copy = File::new();
        fs::copy(&file.path, &copy.path).unwrap();
        file.directory.close().expect("its directory can be removed");
        let store = copy.store().await;
        let jobs = store.list_jobs(&JobFilter::default()).await.unwrap();
        assert_eq!(jobs.items.len(), 100);
        store.close().await.unwrap();
    }
}

#[tokio::test]
async fn r10_4_every_close_waits_until_all_is_over() {
    let file = File::new();
    let store = file.store().await;
    add(&store, 100).await;
    // One that begins and is dropped, two at once, and one more.
    assert!(store.close().now_or_never().is_none());
    let (one, other) = tokio::join!(store.close(), store.close());
    one.unwrap();
    other.unwrap();
    assert_let_go(this_test!(), &file);
    store.close().await.unwrap();
    assert_eq!(kind_of(store.enqueue(&[build(draft())]).await), ErrorKind::Closed);
    assert_eq!(kind_of(store.all_queues().await), ErrorKind::Closed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r10_4_calls_in_flight_finish_or_are_closed_and_are_not_half_done() {
    let file = File::new();
    let store = file.store().await;
    let jobs: Vec<_> = (0..200).map(|_| build(draft())).collect();
    let enqueue = |job: &queuekit_core::NewJob| {
        let (store, job) = (store.clone(), [job.clone()]);
        tokio::spawn(async move { store.enqueue(&job).await })
    };
    let calls: Vec<_> = jobs.iter().map(enqueue).collect();
    store.close().await.unwrap();
    assert_let_go(this_test!(), &file);
    let store = file.store().await;
    for (job, call) in jobs.iter().zip(calls) {
        let stored = store.get_job(job.id()).await.unwrap().is_some();
        match call.await.unwrap() {
            Ok(_) => assert!(stored, "every acknowledged job should be stored"),
            Err(error) => {
                assert_eq!(*error.kind(), ErrorKind::Closed);
                assert!(!stored, "no refused job should be stored");
            }
        }
    }
    store.close().await.unwrap();
}

#[tokio::test]
async fn r10_4_a_store_that_is_dropped_lets_go_by_itself() {
    let file = File::new();
    let store = file.store().await;
    add(&store, 1).await;
    drop(store);
    // Nothing reports when the threads of a dropped store are gone.
    for _ in 0..500 {
        if !file.beside("-wal").exists() && held(&file).is_none_or(|held| held.is_empty()) {
            return assert_let_go(this_test!(), &file);
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("it has the file after 5 s");
}

#[track_caller]
fn assert_let_go(test: &str, file: &File) {
    assert!(!file.beside("-wal").exists(), "the log was not moved into the file");
    assert!(!file.beside("-shm").exists());
    match held(file) {
        Some(held) => assert!(held.is_empty(), "still open: {held:?}"),
        None => skip(test, "this system does not tell which files are open"),
    }
}

/// What this process has open of it; none where the system does not tell.
fn held(file: &File) -> Option<Vec<PathBuf>> {
    let open = fs::read_dir("/proc/self/fd").ok()?;
    let open = open.flatten().filter_map(|entry| fs::read_link(entry.path()).ok());
    Some(open.filter(|path| path.starts_with(file.directory.path())).collect())
}
