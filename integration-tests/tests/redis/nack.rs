//! The script of a nack decides as core does.

use std::time::Duration;

use crate::common::redis_store_fixture::RedisStage;
use crate::common::store_fixture::{create, lease};
use queuekit_conformance::kit::{TTL, build, draft};
use queuekit_conformance::this_test;
use queuekit_core::capability::Admin;
use queuekit_core::{Backend, LeaseToken, Nack, NackKind, lifecycle};

/// The lease of a new job at this attempt, of `max` attempts.
async fn leased(stage: &RedisStage, attempts: u32, max: u32) -> LeaseToken {
    create(&stage.store, &build(draft().max_attempts(max))).await;
    for _ in 1..attempts {
        let token = lease(&stage.store, 1).await.remove(0).token;
        let nack = Nack::new(token, NackKind::Retry, "again", Duration::ZERO);
        stage.store.nack(&[nack]).await.unwrap();
    }
    lease(&stage.store, 1).await.remove(0).token
}

/// R4.2, R4.3, R4.4, R1.6. Guard: each condition of the script, in its order.
#[tokio::test]
async fn r4_2_a_nack_takes_the_transition_that_core_says_for_every_input() {
    let Some(stage) = RedisStage::open(this_test!()).await else { return };
    let kinds = [NackKind::Retry, NackKind::Release, NackKind::Fatal, NackKind::Cancelled];
    for (attempts, max) in [(1, 1), (1, 2), (2, 2), (2, 3)] {
        for cancels in [false, true] {
            for kind in kinds {
                let token = leased(&stage, attempts, max).await;
                let id = token.id;
                if cancels {
                    stage.store.cancel(&[id]).await.unwrap();
                }
                let transition = lifecycle::nack(kind, attempts, max, cancels);
                let nack = Nack::new(token, kind, "no", TTL);
                let wanted = lifecycle::nack_outcome(transition, nack.delay());
                let what = format!("{kind:?}, attempt {attempts} of {max}, cancel {cancels}");
                assert_eq!(stage.store.nack(&[nack]).await.unwrap(), [wanted], "{what}");
                let job = stage.store.get_job(id).await.unwrap().unwrap();
                assert_eq!(Some(job.state), transition.to(), "{what}");
            }
        }
    }
    stage.assert_exact().await;
    stage.end().await;
}
