//! A file that is taken away while it is open (contract R10.2).

use std::fs;

use crate::common::files::{File, add, assert_exact};
use queuekit_conformance::kit::{build, draft};
use queuekit_core::capability::Inspect;
use queuekit_core::{Backend, BackendExt, ErrorKind, JobFilter};

/// From the first call on, not from the next second on.
#[tokio::test]
async fn r10_2_nothing_is_acknowledged_into_a_file_that_is_gone() {
    let file = File::new();
    let store = file.store().await;
    add(&store, 1).await;
    let elsewhere = file.directory.path().join("elsewhere.db");
    fs::rename(&file.path, &elsewhere).unwrap();
    for replaced in [false, true] {
        if replaced {
            fs::write(&file.path, "another").unwrap();
        }
        let error = store.enqueue_one(build(draft())).await.unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::Unavailable, "{error}");
        assert!(error.to_string().contains("moved, deleted or replaced"), "{error}");
        let error = store.check_writes().await.unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::Unavailable, "{error}");
    }
    fs::rename(&elsewhere, &file.path).unwrap();
    store.check_writes().await.expect("it is back");
    add(&store, 1).await;
    let jobs = store.list_jobs(&JobFilter::default()).await.unwrap().items;
    assert_eq!(jobs.len(), 2, "the refused job should not be stored");
    assert_exact(&file.connection());
    store.close().await.unwrap();
}
