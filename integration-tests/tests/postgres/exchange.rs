//! A reserve in two rounds returns what the first one did (contract R5.10).

use crate::common::postgres::of_schema;
use crate::common::store_fixture::{Stage, complete, create, lease, state};
use queuekit_conformance::kit::{MINUTE, build, draft, kind_of, request};
use queuekit_conformance::this_test;
use queuekit_core::capability::{Exchange, Settlement};
use queuekit_core::{
    Ack, AckOutcome, Backend, ErrorKind, JobDraft, JobId, Lease, QueueName, State,
};
use tokio_postgres::Client;

/// A store on a clock that is moved, whose reserves can be made to fail.
struct Faulty {
    stage: Stage,
    client: Client,
}

impl Faulty {
    async fn open(test: &str) -> Option<Self> {
        let stage = Stage::open(test).await?;
        let client = stage.client().await;
        let faulty = Self { stage, client };
        faulty.run(include_str!("../../sql/postgres_clock.sql")).await;
        Some(faulty)
    }

    async fn run(&self, sql: &str) {
        let sql = of_schema(sql, self.stage.store.schema());
        self.client.batch_execute(&sql).await.expect("the schema can be changed");
    }

    /// Stores a job, whose deadline then passes.
    async fn doomed(&self) -> JobId {
        let id = self.job(draft().deadline(MINUTE)).await;
        let jump = include_str!("../../sql/postgres_clock_move.sql");
        let jump = of_schema(jump, self.stage.store.schema());
        self.client.execute(&jump, &[&120_000_i64]).await.unwrap();
        id
    }

    async fn job(&self, draft: JobDraft) -> JobId {
        create(&self.stage.store, &build(draft)).await
    }

    /// The first statement that leases is the last one that can.
    async fn fail_from_the_second_on(&self) {
        let fault = include_str!("../../sql/postgres_lease_fault.sql");
        self.run(&fault.replace("{granted}", "1")).await;
    }

    async fn mend(&self) {
        self.run(include_str!("../../sql/postgres_lease_fault_end.sql")).await;
    }
}

fn ids(leases: &[Lease]) -> Vec<JobId> {
    leases.iter().map(Lease::id).collect()
}

#[tokio::test]
async fn r5_10_leases_of_a_first_round_are_told_though_the_second_fails() {
    let test = this_test!();
    let Some(faulty) = Faulty::open(test).await else { return };
    let store = &faulty.stage.store;
    let doomed = faulty.doomed().await;
    let jobs = [faulty.job(draft()).await, faulty.job(draft()).await];
    let left = faulty.job(draft()).await;
    faulty.fail_from_the_second_on().await;
    // The first round takes three, of which one must not run; the second is to fill the gap.
    let leases = lease(store, 3).await;
    assert_eq!(ids(&leases), jobs);
    assert_eq!(state(store, doomed).await, Some(State::Dead));
    let none = store.reserve(&request(QueueName::default(), 3)).await;
    assert_eq!(kind_of(none), ErrorKind::StorageFull, "the second round did not fail");
    faulty.mend().await;
    assert_eq!(ids(&lease(store, 3).await), [left]);
    complete(store, leases).await;
    faulty.stage.assert_exact().await;
    faulty.stage.end().await;
}

#[tokio::test]
async fn r5_10_acks_of_a_first_round_are_told_though_the_second_fails() {
    let test = this_test!();
    let Some(faulty) = Faulty::open(test).await else { return };
    let store = &faulty.stage.store;
    let ran = faulty.job(draft()).await;
    let doomed = faulty.doomed().await;
    let acks = lease(store, 1).await.into_iter().map(|lease| Ack::new(lease.token)).collect();
    let left = faulty.job(draft()).await;
    faulty.fail_from_the_second_on().await;
    let settlement = Settlement { acks, nacks: Vec::new() };
    let request = request(QueueName::default(), 1);
    let exchanged = store.exchange(&settlement, &request).await.unwrap();
    assert_eq!(exchanged.acks, [AckOutcome::Acked]);
    assert_eq!(exchanged.reserved.leases.len(), 0);
    assert!(exchanged.reserved.more, "there is one left");
    assert_eq!(state(store, ran).await, Some(State::Completed));
    assert_eq!(state(store, doomed).await, Some(State::Dead));
    faulty.mend().await;
    assert_eq!(ids(&lease(store, 1).await), [left]);
    faulty.stage.assert_exact().await;
    faulty.stage.end().await;
}
