//! Idempotency keys in Redis: what a job that goes leaves of them (contract R2.5).

use crate::common::redis_store_fixture::RedisStage;
use crate::common::store_fixture::{complete, create, lease};
use queuekit_conformance::kit::{build, unique};
use queuekit_conformance::this_test;
use queuekit_core::Backend;
use redis::cmd;

/// R2.5: nothing is left of the key of a job that was deleted, however far the job had come.
/// Guard: delete takes the key away.
#[tokio::test]
async fn r2_5_a_deleted_job_leaves_nothing_of_its_key() {
    let Some(stage) = RedisStage::open(this_test!()).await else { return };
    for ended in [false, true] {
        let job = build(unique("k"));
        create(&stage.store, &job).await;
        if ended {
            complete(&stage.store, lease(&stage.store, 1).await).await;
        }
        assert!(stage.store.delete_job(job.id(), false).await.unwrap());
        for part in ["unique", "unique_free"] {
            let exists: bool = stage.ask(cmd("EXISTS").arg(stage.key("default", part))).await;
            assert!(!exists, "{part}, ended: {ended}");
        }
    }
    stage.end().await;
}
