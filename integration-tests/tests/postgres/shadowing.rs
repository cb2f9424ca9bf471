//! No role of the same database gets its code run by others: neither by readers of the views nor by
//! the store's own statements.

use crate::common::pooler::pooler;
use crate::common::postgres::of_schema;
use crate::common::store_fixture::{Stage, complete, create, lease, url};
use queuekit_conformance::kit::{
    a_run, all_times, build, checkpoint_name, consumer, deliveries_of, draft, keyed, request,
};
use queuekit_conformance::this_test;
use queuekit_core::capability::{
    Act, Admin, AuditLog, ErrorGroups, EventFilter, History, Inspect, NewCheckpoint, Upkeep,
};
use queuekit_core::event::{Replay, ReplayFrom};
use queuekit_core::history::Resolution;
use queuekit_core::queue::{Order, QueuePatch};
use queuekit_core::{
    Ack, Backend, BackendExt, Client, DeadLetter, EventDraft, JobFilter, PageSize, QueueName,
    ScheduleDraft, SubscriptionDraft,
};
use queuekit_postgres::PostgresStore;
use queuekit_transactions::Functions;
use tokio_postgres::Transaction;

/// How many sessions have run a trap.
async fn sprung(client: &tokio_postgres::Client) -> i64 {
    let sql = include_str!("../../sql/postgres_traps_sprung.sql");
    client.query_one(sql, &[]).await.expect("the server should answer the query").get(0)
}

/// A database whose schema `public`, and the schema of the superuser's own name, are full of traps:
/// functions and operators of another role that fit better than those of the system.
async fn trapped(test: &str) -> Option<(Stage, tokio_postgres::Client)> {
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

/// What a worker, a dashboard, schedules and upkeep do.
async fn use_all(store: &PostgresStore) {
    let fair = QueuePatch::default().order(Order::Fair);
    store.configure(&QueueName::default(), &fair).await.expect("configure");
    for job in [build(draft()), build(keyed("k").idempotency_key("i")), build(draft().queue("q"))] {
        create(store, &job).await;
    }
    let leases = lease(store, 10).await;
    assert_eq!(leases.len(), 2);
    complete(store, leases).await;
    use_events(store).await;
    use_schedules(store).await;
    store.record_act(&Act::new("test", "use", "all")).await.expect("record_act");
    store.list_acts(None, PageSize::MAX).await.expect("list_acts");
    let lost = build(draft().queue("q"));
    create(store, &lost).await;
    let lost = DeadLetter::of_job(lost.id(), "HTTP 503");
    store.dead_letter_one(lost).await.expect("dead_letter");
    let queues = [QueueName::new("q").expect("a name")];
    let groups = store.list_error_groups(&queues, PageSize::default()).await;
    assert_eq!(groups.expect("list_error_groups").len(), 1);
    use_history(store).await;
    assert!(store.list_jobs(&JobFilter::default()).await.expect("list_jobs").items.len() >= 6);
    assert_eq!(store.all_queues().await.expect("list_queues").len(), 3);
    store.prune().await.expect("prune");
    store.repair().await.expect("repair");
    store.findings().await.expect("findings");
}

/// An event, its delivery, and the delivery once more.
async fn use_events(store: &PostgresStore) {
    let client = Client::new(store.clone());
    let subscription = SubscriptionDraft::new("c", "*").build().expect("a subscription");
    let _ = client.consumers().declare(&subscription).await.expect("declare");
    client.emit(EventDraft::new("thing", "{}")).await.expect("emit");
    let delivered = store.reserve(&request(deliveries_of("c"), 10)).await.expect("reserve").leases;
    assert_eq!(delivered.len(), 1);
    complete(store, delivered).await;
    client.events().list(&EventFilter::default()).await.expect("list_events");
    let replay = Replay::new(consumer("c"), "again", ReplayFrom::Beginning);
    let _ = client.consumers().replay(&replay).await.expect("replay");
}

async fn use_schedules(store: &PostgresStore) {
    let client = Client::new(store.clone());
    let daily = ScheduleDraft::cron("daily", "0 4 * * *", draft().queue("q"));
    let _ = client.schedules().declare(daily).await.expect("declare");
    client.schedules().run_now("daily").await.expect("run_now");
    client.schedules().tick().await.expect("tick");
    client.schedules().delete("daily").await.expect("delete");
}

/// What an application does in its own transactions, whose names are not the store's: afterwards
/// they are what they were, also after a step that failed.
async fn use_transactions(store: &PostgresStore, app: &mut tokio_postgres::Client) {
    create(store, &build(draft().queue("q"))).await;
    let leases = store.reserve(&request(QueueName::new("q").expect("a name"), 1)).await;
    let acks: Vec<Ack> =
        leases.expect("reserve").leases.into_iter().map(|lease| Ack::new(lease.token)).collect();
    let jobs = [build(draft().queue("q")), build(keyed("k").queue("q").idempotency_key("j"))];
    let events = [EventDraft::new("thing", "{}").build().expect("an event")];
    let tx = app.transaction().await.expect("a transaction begins");
    let path = async || {
        let row = tx.query_one("SHOW search_path", &[]).await.expect("the path");
        row.get::<_, String>(0)
    };
    let before = path().await;
    store.enqueue_in(&tx, &jobs).await.expect("enqueue_in").ids().expect("all are stored");
    assert_eq!(path().await, before);
    store.ack_in(&tx, &acks).await.expect("ack_in");
    store.emit_in(&tx, &events).await.expect("emit_in").ids().expect("both are stored");
    store.notify_in(&tx, &jobs).await.expect("notify_in");
    store.notify_events_in(&tx, &events).await.expect("notify_events_in");
    assert_eq!(path().await, before);
    use_functions(store, &tx).await;
    assert_eq!(path().await, before);
    tx.batch_execute("SET TRANSACTION READ ONLY").await.expect("a setting");
    store.enqueue_in(&tx, &[build(draft())]).await.expect_err("it takes no writes");
    assert_eq!(path().await, before);
    tx.commit().await.expect("the transaction commits");
}

/// What an application does by SQL.
async fn use_functions(store: &PostgresStore, tx: &Transaction<'_>) {
    create(store, &build(draft().queue("q"))).await;
    let leases = store.reserve(&request(QueueName::new("q").expect("a name"), 1)).await;
    let token = leases.expect("reserve").leases.remove(0).token;
    let functions = Functions::in_schema(store.schema()).expect("a schema");
    let step = NewCheckpoint::new(token.clone(), checkpoint_name("s"), "1").expect("a step");
    let events = ["thing", "other"].map(|kind| EventDraft::new(kind, "{}").build());
    let events = events.map(|event| event.expect("an event"));
    let step = functions.checkpoint(&step).expect("a statement");
    let jobs = functions.enqueue(&[build(draft().queue("q"))]).expect("a statement");
    let acks = functions.ack(&[Ack::new(token)]).expect("a statement");
    let emitted = functions.emit(&events).expect("a statement");
    for (sql, parameter) in [
        (step.sql(), step.parameter()),
        (jobs.sql(), jobs.parameter()),
        (acks.sql(), acks.parameter()),
        (emitted.sql(), emitted.parameter()),
    ] {
        tx.query_one(sql, &[&parameter]).await.expect(sql);
    }
}

#[tokio::test]
async fn code_of_another_role_is_run_by_nobody_who_looks_or_works() {
    let test = this_test!();
    let Some((stage, traps)) = trapped(test).await else { return };
    let of = |sql: &str| of_schema(sql, stage.store.schema());
    let looks = stage.client().await;
    let mut app = stage.client().await;
    let mut handles = vec![stage.handle("pool_size=2").await, stage.handle("prepared=off").await];
    if let Some(pooler) = pooler().await {
        let behind = url(&pooler.url(stage.database.name()), test, "prepared=off&listen=off");
        handles.push(PostgresStore::connect_url(&behind).await.expect("opening should succeed"));
    }
    for (at, store) in handles.iter().enumerate() {
        use_all(store).await;
        use_transactions(store, &mut app).await;
        // Days of the log are made by the same function as in upkeep.
        let days = format!(
            "SELECT queuekit.event_add_day({})",
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
        store.remove_queue(&deliveries_of("c"), true).await.expect("likewise");
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

async fn use_history(store: &PostgresStore) {
    store.record_totals().await.expect("record_totals");
    store.add_runs(&[a_run()]).await.expect("add_runs");
    let query = all_times(Resolution::Hour);
    assert!(!store.list_totals(&query).await.expect("list_totals").is_empty());
    assert!(!store.list_runs(&query).await.expect("list_runs").is_empty());
    let query = query.queue(a_run().queue);
    store.list_totals(&query).await.expect("list_totals");
    assert!(!store.list_runs(&query).await.expect("list_runs").is_empty());
}
