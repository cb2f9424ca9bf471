//! Listing large jobs: what is large is read of the jobs that match, and bounded by script and by
//! page (contract R8.2).

use crate::common::redis_store_fixture::RedisStage;
use crate::common::store_fixture::lease;
use queuekit_conformance::kit::{build, draft};
use queuekit_conformance::{skip, this_test};
use queuekit_core::{Ack, Backend, Job, JobDraft, JobFilter, NewJob, State};
use queuekit_integration_tests::servers::OwnRedis;
use redis::cmd;

const LARGE: usize = 256 * 1024;
/// The largest result (R12).
const RESULT: usize = 64 * 1024;

async fn open(test: &str) -> Option<(RedisStage, OwnRedis)> {
    let Some(server) = OwnRedis::settings().start().await else {
        skip(test, "there is no Redis server");
        return None;
    };
    Some((RedisStage::own(&server, "").await, server))
}

/// A job with this many bytes, which tell it from the others.
fn sized(kind: &str, at: usize, bytes: usize) -> NewJob {
    build(JobDraft::new(kind, vec![b'a' + at as u8; bytes]))
}

/// How many bytes the server has sent so far.
async fn sent(stage: &RedisStage) -> u64 {
    let info: String = stage.ask(cmd("INFO").arg("stats")).await;
    let line = info.lines().find_map(|line| line.strip_prefix("total_net_output_bytes:"));
    line.unwrap().trim().parse().unwrap()
}

/// Each page of a traversal, with how many bytes the server sent for it.
async fn pages(stage: &RedisStage, mut filter: JobFilter) -> Vec<(Vec<Job>, u64)> {
    let mut pages = Vec::new();
    loop {
        let before = sent(stage).await;
        let page = stage.store.list_jobs(&filter).await.unwrap();
        pages.push((page.items, sent(stage).await - before));
        filter = filter.after(page.next);
        if filter.cursor.is_none() {
            return pages;
        }
    }
}

#[tokio::test]
async fn r8_2_a_listing_that_matches_nothing_reads_no_payloads() {
    let Some((stage, _server)) = open(this_test!()).await else { return };
    for at in 0..24 {
        stage.store.enqueue(&[sized("t", at, LARGE)]).await.unwrap();
    }
    for lease in lease(&stage.store, 6).await {
        let ack = Ack { lease: lease.token, result: Some(vec![b'r'; RESULT].into()) };
        stage.store.ack(&[ack]).await.unwrap();
    }
    for filter in [
        JobFilter::default().kind("other"),
        JobFilter::default().worker("nobody").limit(1000),
        JobFilter::default().status(State::Completed).partition_key("none"),
    ] {
        for (items, bytes) in pages(&stage, filter).await {
            assert_eq!(items, []);
            assert!(bytes < 64 * 1024, "{bytes} bytes");
        }
    }
}

/// Large and small jobs, waiting and ended, are listed once and whole, whatever the pages' size.
#[tokio::test]
async fn r8_2_large_jobs_are_listed_once_and_whole() {
    let Some((stage, _server)) = open(this_test!()).await else { return };
    for at in 0..20 {
        let bytes = [10, LARGE, 4096, 4097][at % 4];
        stage.store.enqueue(&[sized(["a", "b"][at / 2 % 2], at, bytes)]).await.unwrap();
    }
    stage.store.enqueue(&[build(draft().queue("other"))]).await.unwrap();
    for lease in lease(&stage.store, 6).await {
        let ack = Ack { lease: lease.token, result: Some(vec![b'r'; RESULT].into()) };
        stage.store.ack(&[ack]).await.unwrap();
    }
    let all = JobFilter::default().queue("default");
    for (filter, wanted) in [(all.clone(), 20), (all.kind("b"), 10)] {
        for limit in [1, 3, 1000] {
            let pages = pages(&stage, filter.clone().limit(limit)).await;
            let listed: Vec<Job> = pages.into_iter().flat_map(|(items, _)| items).collect();
            let mut ids: Vec<_> = listed.iter().map(|job| job.id).collect();
            ids.sort();
            ids.dedup();
            assert_eq!((listed.len(), ids.len()), (wanted, wanted), "by {limit}");
            for job in listed {
                let shown = stage.store.get_job(job.id).await.unwrap();
                assert_eq!(shown.as_ref(), Some(&job));
                assert!(!job.payload.is_empty());
            }
        }
    }
}

/// A page ends before it is too large, and the next page continues.
#[tokio::test]
async fn r8_2_a_page_of_large_jobs_is_bounded() {
    let Some((stage, _server)) = open(this_test!()).await else { return };
    const MIB: usize = 1024 * 1024;
    for at in 0..20 {
        stage.store.enqueue(&[sized("t", at, MIB)]).await.unwrap();
    }
    let pages = pages(&stage, JobFilter::default().limit(1000)).await;
    let found: Vec<usize> = pages.iter().map(|(items, _)| items.len()).collect();
    assert_eq!(found, [8, 8, 4]);
    let bytes = pages[0].1 as usize;
    assert!(bytes < 9 * MIB, "{bytes} bytes");
}
