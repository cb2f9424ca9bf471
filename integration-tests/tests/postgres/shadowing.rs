//! No role of the same database gets its code run by others: neither by readers of the views nor by
//! the store's own statements.

use crate::common::pooler::pooler;
use crate::common::postgres::of_schema;
use crate::common::store_fixture::{Stage, complete, create, lease, url};
use queuekit_conformance::kit::{build, draft, keyed};
use queuekit_conformance::this_test;
use queuekit_core::capability::{Admin, Inspect, Upkeep};
use queuekit_core::queue::{Order, QueuePatch};
use queuekit_core::{Backend, JobFilter, QueueName};
use queuekit_postgres::PostgresStore;
use tokio_postgres::Client;

/// How many sessions have run a trap.
async fn sprung(client: &Client) -> i64 {
    let sql = include_str!("../../sql/postgres_traps_sprung.sql");
    client.query_one(sql, &[]).await.expect("the server should answer the query").get(0)
}

/// A database whose schema `public`, and the schema of the superuser's own name, are full of traps:
/// functions and operators of another role that fit better than those of the system.
async fn trapped(test: &str) -> Option<(Stage, Client)> {
    let stage = Stage::open(test).await?;
    let traps = stage.client().await;
    // The usual path is "$user", public.
    let user = traps.query_one("SELECT pg_catalog.quote_ident(current_user)", &[]).await;
    let user: String = user.expect("the server should answer the query").get(0);
    for schema in ["public", &user] {
        let sql = include_str!("../../sql/postgres_traps.sql").replace("{schema}", schema);
        traps.batch_execute(&sql).await.expect("the traps are laid");
    }
    Some((stage, traps))
}

/// What a worker, a dashboard and upkeep do.
async fn use_all(store: &PostgresStore) {
    let fair = QueuePatch::default().order(Order::Fair);
    store.configure(&QueueName::default(), &fair).await.expect("configure");
    for job in [build(draft()), build(keyed("k").idempotency_key("i")), build(draft().queue("q"))] {
        create(store, &job).await;
    }
    let leases = lease(store, 10).await;
    assert_eq!(leases.len(), 2);
    complete(store, leases).await;
    assert_eq!(store.list_jobs(&JobFilter::default()).await.expect("list_jobs").items.len(), 3);
    assert_eq!(store.list_queues().await.expect("list_queues").len(), 2);
    store.prune().await.expect("prune");
    store.repair().await.expect("repair");
    store.findings().await.expect("findings");
}

#[tokio::test]
async fn code_of_another_role_is_run_by_nobody_who_looks_or_works() {
    let test = this_test!();
    let Some((stage, traps)) = trapped(test).await else { return };
    let of = |sql: &str| of_schema(sql, stage.store.schema());
    let looks = stage.client().await;
    let mut handles = vec![stage.handle("pool_size=2").await, stage.handle("prepared=off").await];
    if let Some(pooler) = pooler().await {
        let behind = url(&pooler.url(stage.database.name()), test, "prepared=off&listen=off");
        handles.push(PostgresStore::connect_url(&behind).await.expect("opening should succeed"));
    }
    for (at, store) in handles.iter().enumerate() {
        use_all(store).await;
        // Days of history and of the log are made by the same functions as in upkeep.
        let days = format!(
            "SELECT queuekit.history_add_day({0}), queuekit.event_add_day({0})",
            4_102_444_800_000_i64 + 86_400_000 * at as i64
        );
        let enqueued = "SELECT queuekit.enqueue('q', 'work', '{}', run_at => now())";
        let views = "SELECT * FROM queuekit.job_list; SELECT * FROM queuekit.queue_list";
        for sql in [enqueued, views, &days] {
            looks.batch_execute(&of(sql)).await.expect(sql);
        }
        assert_eq!(sprung(&traps).await, 0, "code of another role was run");
        store.remove_queue(&QueueName::default(), true).await.expect("remove_queue");
        store.remove_queue(&QueueName::new("q").expect("a name"), true).await.expect("likewise");
    }
    // The traps do spring: in a function whose path is not pinned.
    let unpinned = of("ALTER FUNCTION queuekit.readable(bytea) RESET search_path;
                       SELECT queuekit.readable('{}')");
    looks.batch_execute(&unpinned).await.expect("what the trap raises is caught");
    assert_eq!(sprung(&traps).await, 1);
    for store in handles {
        store.close().await.expect("close should succeed");
    }
    stage.end().await;
}

#[tokio::test]
async fn every_function_of_the_schema_keeps_to_the_system_s_names() {
    let Some(stage) = Stage::open(this_test!()).await else { return };
    let sql = include_str!("../../sql/postgres_unpinned.sql");
    let row = stage.client().await.query_one(sql, &[&stage.store.schema()]).await.unwrap();
    let (functions, unpinned): (i64, Vec<String>) = (row.get(0), row.get(1));
    assert!(functions >= 17, "{functions} functions");
    assert_eq!(unpinned, Vec::<String>::new(), "functions without a pinned search_path");
    stage.end().await;
}
