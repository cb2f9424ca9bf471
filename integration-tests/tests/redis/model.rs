//! The store in lock-step with the plain state machine.

use queuekit_conformance::model::{self, Plan};
use queuekit_conformance::{Harness, skip, this_test};

use crate::common::redis::RedisHarness;

#[tokio::test]
async fn the_store_and_the_machine_answer_and_hold_the_same() {
    if let Some(why) = RedisHarness.why_absent().await {
        return skip(this_test!(), &why);
    }
    model::run(&RedisHarness, Plan::rotated().share(50)).await;
}
