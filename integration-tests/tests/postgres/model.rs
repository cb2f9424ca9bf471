//! The store in lock-step with the plain state machine.

use queuekit_integration_tests::model::{self, Plan};
use queuekit_integration_tests::{Harness, skip, this_test};

use crate::common::postgres::PostgresHarness;

/// A share of the sequences of the store in memory, so that the stores are in lock-step with each
/// other too.
#[tokio::test]
async fn the_store_and_the_machine_answer_and_hold_the_same() {
    if let Some(why) = PostgresHarness.why_absent().await {
        return skip(this_test!(), &why);
    }
    model::run(&PostgresHarness, Plan::default().share(20)).await;
}
