//! The cost of a page and of a step of upkeep does not grow with the number of queues.

use std::time::Instant;

use crate::common::postgres::of_schema;
use crate::common::store_fixture::{Stage, until};
use queuekit_conformance::kit::kind;
use queuekit_conformance::this_test;
use queuekit_core::capability::Upkeep;
use queuekit_core::{Backend, JobFilter, PageSize, Status};
use queuekit_postgres::PostgresStore;
use tokio_postgres::Client;

const QUEUES: usize = 10_000;

/// A store of many queues, with a clock whose calls are counted.
async fn many(test: &str) -> Option<(Stage, Client)> {
    let stage = Stage::open(test).await?;
    let client = stage.client().await;
    let clock = of_schema(include_str!("../../sql/postgres_clock.sql"), stage.store.schema());
    client.batch_execute(&clock).await.expect("a clock");
    let many = include_str!("../../sql/postgres_many_queues.sql");
    client.batch_execute(many).await.expect("the queues");
    client.batch_execute("ANALYZE").await.expect("statistics");
    stage.store.close().await.expect("close should succeed");
    Some((stage, client))
}

/// What has been asked by connections that are gone.
async fn cost(stage: &Stage, client: &Client, handle: PostgresStore) -> (i64, i64) {
    handle.close().await.expect("close should succeed");
    until("its connections are gone", async || stage.connections("%").await == 0).await;
    let sql = include_str!("../../sql/postgres_many_queues_cost.sql");
    let row = client.query_one(sql, &[]).await.expect("the server should answer the query");
    (row.get(0), row.get(1))
}

#[tokio::test]
async fn r8_2_a_page_over_many_queues_is_bounded_and_says_where_to_go_on() {
    let Some((stage, client)) = many(this_test!()).await else { return };
    let opens = stage.handle("pool_size=1").await;
    let mut before = cost(&stage, &client, opens).await.0;
    let opening = before;
    let all = || JobFilter::default().limit(PageSize::MAX.get());
    let cases = [
        ("of no kind", all().kind(kind("nope")), 0),
        ("dead", all().status(Status::Dead), 0),
        ("ready", all().status(Status::Ready), QUEUES),
        ("all", all(), 2 * QUEUES),
    ];
    for (what, mut filter, wanted) in cases {
        let handle = stage.handle("pool_size=1").await;
        let (mut pages, mut jobs, mut slowest) = (0, 0, 0);
        loop {
            let began = Instant::now();
            let page = handle.list_jobs(&filter).await.expect("a page");
            slowest = slowest.max(began.elapsed().as_millis());
            (pages, jobs) = (pages + 1, jobs + page.items.len());
            if page.next.is_none() {
                break;
            }
            filter = filter.after(page.next);
        }
        assert_eq!(jobs, wanted, "{what}");
        let after = cost(&stage, &client, handle).await.0;
        let slices = after - before - opening;
        before = after;
        println!("{what}: {pages} pages, {slices} slices, the slowest page took {slowest} ms");
        assert!(pages <= 3 * QUEUES / 1000 + 1, "{what}: {pages} pages");
        // Each slice is a handful of statements.
        assert!(slices <= 20 * pages as i64, "{what}: {slices} slices in {pages} pages");
    }
    stage.end().await;
}

#[tokio::test]
async fn r13_7_a_step_looks_at_a_bounded_number_of_queues() {
    let Some((stage, client)) = many(this_test!()).await else { return };
    let mut before = cost(&stage, &client, stage.handle("pool_size=1").await).await.1;
    let handle = stage.handle("pool_size=1").await;
    let began = Instant::now();
    assert!(handle.prune().await.expect("prune").more, "there are more queues");
    println!("a step took {} ms", began.elapsed().as_millis());
    let mut steps = 1;
    let after = cost(&stage, &client, handle).await.1;
    assert!(after - before <= 1100, "{} queues were looked at", after - before);
    before = after;
    // Another handle begins at the first.
    let handle = stage.handle("pool_size=1").await;
    while handle.prune().await.expect("prune").more {
        steps += 1;
    }
    let queues = cost(&stage, &client, handle).await.1 - before;
    assert!(queues >= QUEUES as i64, "{queues} queues in {steps} steps");
    assert!(steps <= 2 + QUEUES / 1000, "{steps} steps");
    stage.end().await;
}
