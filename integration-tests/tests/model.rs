//! Each store in lock-step with the plain state machine.

mod common;

use common::postgres::PostgresHarness;
use common::redis::RedisHarness;
use common::sqlite::SqliteHarness;
use queuekit_core::lifecycle::Transition;
use queuekit_integration_tests::model::{self, Beside, Plan};
use queuekit_integration_tests::{Harness, MemoryHarness};

#[tokio::test]
async fn memory_and_the_machine_answer_and_hold_the_same() {
    let coverage = model::run(&MemoryHarness, Plan::default()).await;
    for transition in Transition::ALL {
        let taken = coverage.of(transition);
        println!("{transition:?}: {taken}");
        assert!(taken >= 100, "{transition:?} was taken {taken} times; the sequences miss it");
    }
    for beside in Beside::ALL {
        let times = coverage.times(beside);
        println!("{beside:?}: {times}");
        assert!(times >= 100, "{beside:?} happened {times} times; the sequences miss it");
    }
}

/// The same sequences as above, so that the two stores are in lock-step with each other too.
#[tokio::test]
async fn sqlite_and_the_machine_answer_and_hold_the_same() {
    model::run(&SqliteHarness, Plan::default().share(7)).await;
}

/// Likewise.
#[tokio::test]
async fn postgres_and_the_machine_answer_and_hold_the_same() {
    if let Some(why) = PostgresHarness.why_absent().await {
        return common::skip("postgres_and_the_machine_answer_and_hold_the_same", &why);
    }
    model::run(&PostgresHarness, Plan::default().share(20)).await;
}

/// Likewise.
#[tokio::test]
async fn redis_and_the_machine_answer_and_hold_the_same() {
    if let Some(why) = RedisHarness.why_absent().await {
        return common::skip("redis_and_the_machine_answer_and_hold_the_same", &why);
    }
    model::run(&RedisHarness, Plan::default().share(13)).await;
}
