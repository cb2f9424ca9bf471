//! While vacuum cannot remove dead rows a handle remembers how far it has come; what comes to an
//! earlier place is found nevertheless (contract R5.6, R7.2).

use crate::common::postgres::of_schema;
use crate::common::store_fixture::{Stage, complete, create, lease, state, until};
use queuekit_conformance::kit::{MINUTE, build, draft, keyed, queue, request};
use queuekit_conformance::this_test;
use queuekit_core::{Backend, JobId, Lease, NewJob, State};
use tokio_postgres::Client;

/// A store with enough dead rows that it uses hints, on a clock that the test moves.
struct Littered {
    stage: Stage,
    client: Client,
    /// Its transaction holds a snapshot.
    holder: Client,
}

impl Littered {
    async fn open(test: &str) -> Option<Self> {
        let stage = Stage::open(test).await?;
        let (client, holder) = (stage.client().await, stage.client().await);
        let littered = Self { stage, client, holder };
        let hold = include_str!("../../sql/postgres_hold.sql");
        littered.holder.batch_execute(hold).await.unwrap();
        for sql in [
            include_str!("../../sql/postgres_clock.sql"),
            include_str!("../../sql/postgres_dead_rows.sql"),
        ] {
            littered.client.batch_execute(&littered.sql(sql)).await.unwrap();
        }
        let count = littered.sql(include_str!("../../sql/postgres_dead_rows_count.sql"));
        until("there are dead rows", async || {
            let row = littered.client.query_one(&count, &[]).await.unwrap();
            row.get::<_, i64>(0) >= 2000
        })
        .await;
        Some(littered)
    }

    fn sql(&self, sql: &str) -> String {
        of_schema(sql, self.stage.store.schema())
    }

    /// Two minutes pass.
    async fn wait(&self) {
        let jump = self.sql(include_str!("../../sql/postgres_clock_move.sql"));
        self.client.execute(&jump, &[&120_000_i64]).await.unwrap();
    }

    async fn end(self) {
        drop(self.holder);
        self.stage.assert_exact().await;
        self.stage.end().await;
    }
}

fn ids(leases: &[Lease]) -> Vec<JobId> {
    leases.iter().map(Lease::id).collect()
}

#[tokio::test]
async fn r5_6_a_lease_that_ran_out_is_found_after_a_look_at_another_queue() {
    let test = this_test!();
    let Some(littered) = Littered::open(test).await else { return };
    let store = &littered.stage.store;
    let job = create(store, &build(draft().queue("b"))).await;
    let reserve = async |name: &str| {
        let reserved = store.reserve(&request(queue(name), 1)).await.unwrap();
        ids(&reserved.leases)
    };
    assert_eq!(reserve("b").await, [job]);
    littered.wait().await;
    assert_eq!(reserve("a").await, []);
    assert_eq!(reserve("b").await, [job], "it is passed over");
    littered.end().await;
}

/// Keys are enqueued one after the other: the second job of the first one comes before the first
/// job of all others.
#[tokio::test]
async fn r7_3_no_reserve_finds_nothing_while_keys_have_jobs() {
    let test = this_test!();
    let Some(littered) = Littered::open(test).await else { return };
    let store = &littered.stage.store;
    let jobs: Vec<NewJob> = (0..400).map(|n| build(keyed(&format!("k{}", n / 10)))).collect();
    store.enqueue(&jobs).await.unwrap();
    let mut served = 0;
    while served < jobs.len() {
        let leases = lease(store, 37).await;
        assert!(!leases.is_empty(), "{served} of {} jobs are served", jobs.len());
        served += leases.len();
        complete(store, leases).await;
    }
    littered.end().await;
}

#[tokio::test]
async fn r5_7_jobs_before_one_that_missed_its_deadline_are_found_at_once() {
    let test = this_test!();
    let Some(littered) = Littered::open(test).await else { return };
    let store = &littered.stage.store;
    let mut jobs = Vec::new();
    for key in ["first", "a", "b", "late", "c"] {
        let draft = keyed(key);
        let draft = if key == "late" { draft.deadline(MINUTE) } else { draft };
        jobs.push(create(store, &build(draft)).await);
    }
    littered.wait().await;
    let late = jobs.remove(3);
    // From now on all keys have their jobs where reserves look.
    assert_eq!(ids(&lease(store, 1).await), jobs[..1]);
    assert_eq!(ids(&lease(store, 4).await), jobs[1..]);
    assert_eq!(state(store, late).await, Some(State::Dead));
    littered.end().await;
}
