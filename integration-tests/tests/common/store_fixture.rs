//! A Postgres store in a schema of its own, and ways around it to its server.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use queuekit_conformance::kit::{every_call, kind_of, request, worker};
use queuekit_conformance::skip;
use queuekit_conformance::time_limit::{answered, within};
use queuekit_core::{
    Ack, AckOutcome, Backend, EnqueueOutcome, ErrorKind, Job, JobFilter, JobId, Lease, LeaseToken,
    LeaseTtl, NewJob, PageSize, QueueName, Reserve, Result, State,
};
use queuekit_integration_tests::servers::{self, Database};
use queuekit_postgres::{PostgresConfig, PostgresStore};
use tokio_postgres::{Client, NoTls};

/// The time limit of things that must happen.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// One test's store, whose time passes by itself.
#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) database: Database,
    pub(crate) store: PostgresStore,
    /// The application name of the store's connections.
    pub(crate) application: String,
}

impl Stage {
    /// A store with the settings of tests; none where there is no server, and a line on stderr says
    /// so.
    pub(crate) async fn open(test: &str) -> Option<Self> {
        Self::with(test, "pool_size=4").await
    }

    /// One with these settings of its URL.
    pub(crate) async fn with(test: &str, settings: &str) -> Option<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let database = database(test).await?;
        let application = format!("stage-{}", COUNT.fetch_add(1, Ordering::Relaxed));
        let url = url(&database.url(), &application, settings);
        let store = PostgresStore::connect_url(&url).await.expect("the store opens");
        Some(Self { database, store, application })
    }

    /// The store's URL, with these settings.
    pub(crate) fn url(&self, settings: &str) -> String {
        url(&self.database.url(), &self.application, settings)
    }

    /// Another handle, with these settings.
    pub(crate) async fn handle(&self, settings: &str) -> PostgresStore {
        PostgresStore::connect_url(&self.url(settings)).await.expect("a handle opens")
    }

    /// A connection as an application has one.
    pub(crate) async fn client(&self) -> Client {
        client(&self.database.url()).await
    }

    /// Closes the store and removes its database.
    pub(crate) async fn end(self) {
        self.store.close().await.expect("the store closes");
        self.database.drop().await;
    }

    /// Asserts that derived data agrees with the jobs.
    pub(crate) async fn assert_exact(&self) {
        assert_exact(&self.client().await, self.store.schema()).await;
    }

    /// Asserts that no two calls have ever waited for each other. Connections report that when they
    /// end, so this closes the store.
    pub(crate) async fn assert_no_deadlocks(&self) {
        self.store.close().await.expect("the store closes");
        until("its connections are gone", async || self.connections("%").await == 0).await;
        let sql = include_str!("../../sql/postgres_deadlocks.sql");
        let row = self
            .client()
            .await
            .query_one(sql, &[])
            .await
            .expect("the server should answer the query");
        assert_eq!(row.get::<_, i64>(0), 0, "deadlocks (40P01)");
    }

    /// How many of the store's connections are in one of these states for `pg_stat_activity`.
    pub(crate) async fn connections(&self, state: &str) -> i64 {
        let sql = include_str!("../../sql/postgres_connections.sql");
        let row = self.client().await.query_one(sql, &[&self.application, &state]).await;
        row.expect("the connections are counted").get(0)
    }

    /// Waits until this number of the store's calls wait for a lock.
    pub(crate) async fn until_blocked(&self, calls: i64) {
        let sql = include_str!("../../sql/postgres_blocked.sql");
        let client = self.client().await;
        let look = async || {
            let row = client
                .query_one(sql, &[&self.application])
                .await
                .expect("the server should answer the query");
            row.get::<_, i64>(0) >= calls
        };
        until("the call waits for the transaction", look).await;
    }
}

/// A database for one test; none where there is no server, and a line on stderr says so.
pub(crate) async fn database(test: &str) -> Option<Database> {
    let Some(server) = servers::postgres() else {
        skip(test, "there is no Postgres server");
        return None;
    };
    Some(server.database().await)
}

/// A connection of the test's own.
pub(crate) async fn client(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.expect("it connects");
    tokio::spawn(async move { drop(connection.await) });
    client
}

/// The URL of a store; servers of tests do not sync.
pub(crate) fn url(database: &str, application: &str, settings: &str) -> String {
    let join = if database.contains('?') { '&' } else { '?' };
    format!("{database}{join}application_name={application}&allow_volatile=on&{settings}")
}

/// A config from such a URL.
pub(crate) fn config(url: &str) -> PostgresConfig {
    PostgresConfig::from_url(url).expect("a URL")
}

/// Polls until it is so: nothing reports what a server does.
pub(crate) async fn until(what: &str, look: impl AsyncFn() -> bool) {
    let looking = async {
        while !look().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let came = tokio::time::timeout(PATIENCE, looking).await;
    came.unwrap_or_else(|_| panic!("it did not come to that: {what}"));
}

/// The threads whose name begins so; none where the system does not tell. It keeps the first 15
/// letters of a name.
pub(crate) fn threads(prefix: &str) -> Option<usize> {
    let tasks = std::fs::read_dir("/proc/self/task").ok()?;
    let names =
        tasks.flatten().filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
    Some(names.filter(|name| name.starts_with(prefix)).count())
}

/// Awaits an answer that must come at once: a second is long for one call even on a busy machine.
pub(crate) async fn promptly<T>(what: &str, call: impl Future<Output = T>) -> T {
    answered(what, Duration::from_millis(1500), call).await
}

/// Asserts that a call without an answer fails in time and with an allowed error (R10.2). Returns
/// the error.
pub(crate) async fn in_the_dark<T: std::fmt::Debug, F: Future<Output = Result<T>>>(
    what: &str,
    op_timeout: Duration,
    call: impl Fn() -> F,
) -> ErrorKind {
    let kind = kind_of(within(what, op_timeout + Duration::from_secs(1), call).await);
    let unclear = [ErrorKind::Unavailable, ErrorKind::Indeterminate];
    assert!(unclear.contains(&kind), "{what}: {kind:?}");
    kind
}

/// All calls of a store at once, none of which can be answered.
pub(crate) async fn all_in_the_dark(store: &dyn Backend, lease: &LeaseToken, op_timeout: Duration) {
    let calls = every_call(store, lease);
    join_all(calls.iter().map(|(name, call)| in_the_dark(name, op_timeout, call))).await;
}

pub(crate) async fn create(store: &dyn Backend, job: &NewJob) -> JobId {
    let outcomes = store.enqueue(std::slice::from_ref(job)).await.expect("an enqueue");
    assert_eq!(outcomes, [EnqueueOutcome::Created { id: job.id() }]);
    job.id()
}

pub(crate) async fn lease(store: &dyn Backend, limit: usize) -> Vec<Lease> {
    let reserved = store.reserve(&request(QueueName::default(), limit)).await;
    reserved.expect("a reserve").leases
}

/// A request for leases of this length.
pub(crate) fn request_for(length: Duration, limit: usize) -> Reserve {
    let ttl = LeaseTtl::for_tests(length);
    Reserve::new(QueueName::default(), limit, ttl, worker("w")).expect("a nonce")
}

/// Completes jobs. On a busy machine an ack may get no answer in time: the store then repeats it,
/// and the answer to the repetition is `AlreadyDone` (contract R3.3).
pub(crate) async fn complete(store: &dyn Backend, leases: Vec<Lease>) {
    let acks: Vec<Ack> = leases.into_iter().map(|lease| Ack::new(lease.token)).collect();
    let outcomes = store.ack(&acks).await.expect("acks");
    let completed =
        |outcome: &AckOutcome| matches!(outcome, AckOutcome::Acked | AckOutcome::AlreadyDone);
    assert!(outcomes.iter().all(completed), "every job should be completed: {outcomes:?}");
}

/// Asserts that derived data agrees with the jobs in this schema.
pub(crate) async fn assert_exact(client: &Client, schema: &str) {
    let sql = super::postgres::of_schema(include_str!("../../sql/postgres_wrong.sql"), schema);
    let rows = client.query(&sql, &[]).await.expect("the schema is read");
    let wrong: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Every job that is stored.
pub(crate) async fn all_jobs(store: &dyn Backend) -> Vec<Job> {
    let (mut jobs, mut cursor) = (Vec::new(), None);
    loop {
        let filter = JobFilter::default().limit(PageSize::MAX.get()).after(cursor);
        let page = store.list_jobs(&filter).await.expect("a page");
        jobs.extend(page.items);
        cursor = page.next;
        if cursor.is_none() {
            return jobs;
        }
    }
}

/// The job's state; none if it is not stored.
pub(crate) async fn state(store: &dyn Backend, id: JobId) -> Option<State> {
    store.get_job(id).await.expect("a look at a job").map(|job| job.state)
}
