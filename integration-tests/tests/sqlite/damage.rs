//! Files that are damaged, or no databases: nothing is overwritten, and the remedy is named.

use std::fs;

use crate::common::files::{File, add, lease};
use queuekit_conformance::kit::{build, carrying, draft};
use queuekit_core::{Backend, Error, ErrorKind, JobFilter};
use queuekit_sqlite::{Create, SqliteStore};

const PAGE: usize = 4096;

#[tokio::test]
async fn r10_1_a_file_that_is_no_database_is_refused_and_left_alone() {
    let texts = ["no database", &"no database\n".repeat(1000)];
    for text in texts {
        let file = File::new();
        fs::write(&file.path, text).unwrap();
        for create in [Create::File, Create::Tables, Create::Nothing] {
            let config = file.config().create(create).switch_to_wal(true);
            let error = SqliteStore::connect(config).await.expect_err("opening should fail");
            assert_corrupt(&error, "not an SQLite database");
            assert_corrupt(&error, "name another file");
        }
        assert_eq!(file.bytes(), text.as_bytes());
        assert_eq!(fs::read_dir(file.directory.path()).unwrap().count(), 1);
    }
}

#[tokio::test]
async fn r10_1_a_truncated_database_is_refused_and_left_alone() {
    let file = File::new();
    fill(&file).await;
    let whole = file.bytes();
    let half = &whole[..whole.len() / PAGE / 2 * PAGE];
    fs::write(&file.path, half).unwrap();
    let error = SqliteStore::open(&file.path).await.expect_err("opening should fail");
    assert_corrupt(&error, "restore a backup");
    assert_eq!(file.bytes(), half);
}

#[tokio::test]
async fn r10_1_a_damaged_page_is_told_and_not_overwritten() {
    let file = File::new();
    fill(&file).await;
    let mut bytes = file.bytes();
    damage(&mut bytes);
    fs::write(&file.path, &bytes).unwrap();
    let store = SqliteStore::open(&file.path).await.expect("the schema is whole");
    let filter = JobFilter::default().limit(1000);
    assert_corrupt(&store.list_jobs(&filter).await.unwrap_err(), "restore a backup");
    let request = queuekit_conformance::kit::request(Default::default(), 1000);
    assert_corrupt(&store.reserve(&request).await.unwrap_err(), "`.recover`");
    // Neither call changed anything, and both threads continue.
    assert_eq!(lease(&store, 0).await.len(), 0);
    assert_eq!(store.get_job(build(draft()).id()).await.unwrap(), None);
    store.close().await.unwrap();
    assert_eq!(file.bytes(), bytes, "nothing is overwritten");
}

/// Jobs in many pages.
async fn fill(file: &File) {
    let store = file.store().await;
    add(&store, 10).await;
    let jobs: Vec<_> = (0..500).map(|_| build(carrying("marked".repeat(100)))).collect();
    store.enqueue(&jobs).await.unwrap();
    store.close().await.unwrap();
}

/// Breaks the headers of half of the pages with jobs.
fn damage(bytes: &mut [u8]) {
    let holds_jobs = |page: &&mut [u8]| page.windows(12).any(|part| part == b"markedmarked");
    let mut damaged = 0;
    for page in bytes.chunks_mut(PAGE).skip(1).filter(holds_jobs).step_by(2) {
        page[..8].fill(0xaa);
        damaged += 1;
    }
    assert!(damaged > 10, "{damaged} pages were damaged");
}

#[track_caller]
fn assert_corrupt(error: &Error, remedy: &str) {
    assert_eq!(*error.kind(), ErrorKind::Corrupt, "{error}");
    assert!(!error.is_retryable());
    assert!(error.to_string().contains(remedy), "{error}");
}
