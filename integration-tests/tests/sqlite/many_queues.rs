//! The cost of a page and of a step of upkeep does not grow with the number of queues.

use std::time::Instant;

use crate::common::files::File;
use queuekit_conformance::kit::{build, draft, kind};
use queuekit_core::{Backend, JobFilter, PageSize, Status};
use queuekit_sqlite::SqliteStore;

const QUEUES: usize = 10_000;

/// A store with one job in each of many queues.
async fn many(file: &File) -> SqliteStore {
    let store = file.store().await;
    let names: Vec<usize> = (0..QUEUES).collect();
    for slice in names.chunks(1000) {
        let jobs: Vec<_> = slice.iter().map(|at| build(draft().queue(format!("q{at}")))).collect();
        let _ = store.enqueue(&jobs).await.unwrap();
    }
    store
}

#[tokio::test]
async fn r8_2_a_page_over_many_queues_is_bounded_and_says_where_to_go_on() {
    let file = File::new();
    let store = many(&file).await;
    let all = || JobFilter::default().limit(PageSize::MAX.get());
    let cases = [
        ("of no kind", all().kind(kind("nope")), 0),
        ("dead", all().status(Status::Dead), 0),
        ("all", all(), QUEUES),
    ];
    for (what, mut filter, wanted) in cases {
        let (mut pages, mut jobs, mut slowest) = (0, 0, 0);
        loop {
            let began = Instant::now();
            let page = store.list_jobs(&filter).await.unwrap();
            slowest = slowest.max(began.elapsed().as_millis());
            (pages, jobs) = (pages + 1, jobs + page.items.len());
            if page.next.is_none() {
                break;
            }
            filter = filter.after(page.next);
        }
        println!("{what}: {pages} pages, the slowest took {slowest} ms");
        assert_eq!(jobs, wanted, "{what}");
        // Guard: a page looks into a bounded number of queues, and the last one is not empty.
        assert_eq!(pages, QUEUES / 500, "{what}");
    }
    store.close().await.unwrap();
}

#[tokio::test]
async fn r13_7_a_step_looks_at_a_bounded_number_of_queues() {
    let file = File::new();
    let store = many(&file).await;
    let upkeep = store.capabilities().upkeep.unwrap();
    let (mut steps, mut slowest) = (1, 0);
    loop {
        let began = Instant::now();
        let more = upkeep.prune().await.unwrap().more;
        slowest = slowest.max(began.elapsed().as_millis());
        if !more {
            break;
        }
        steps += 1;
    }
    println!("{steps} steps, the slowest took {slowest} ms");
    // Guard: a step that read all queues would hold the file's write lock for long.
    assert_eq!(steps, QUEUES / 1000);
    store.close().await.unwrap();
}
