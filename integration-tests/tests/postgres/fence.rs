//! The fence of an ack inside the application's own transaction (contract R3.3).

use std::sync::Arc;

use async_trait::async_trait;
use queuekit_conformance::cases::{fence, fence_matrix};
use queuekit_conformance::{Layer, World, Wrapped, skip, this_test};
use queuekit_core::{Ack, AckOutcome, Backend, Result};
use queuekit_integration_tests::servers;
use queuekit_postgres::PostgresStore;

use crate::common::postgres::{PostgresWorld, client};

/// Each ack in a transaction of its own, which commits.
#[derive(Debug)]
struct AcksInTransactions {
    store: PostgresStore,
    url: String,
    inner: Arc<dyn Backend>,
}

#[async_trait]
impl Layer for AcksInTransactions {
    fn inner(&self) -> &Arc<dyn Backend> {
        &self.inner
    }

    async fn ack(&self, acks: &[Ack]) -> Result<Vec<AckOutcome>> {
        let mut client = client(&self.url).await;
        let tx = client.transaction().await.expect("a transaction");
        let outcomes = self.store.ack_in(&tx, acks).await?;
        tx.commit().await.expect("the commit should succeed");
        Ok(outcomes)
    }
}

/// None if there is no server; a line on stderr says so.
async fn world(test: &str) -> Option<impl World> {
    if servers::postgres().is_none() {
        skip(test, "there is no Postgres server");
        return None;
    }
    let mut world = PostgresWorld::stopped().await;
    let (store, inner) = (world.store.clone(), Arc::clone(&world.backend));
    let url = world.url().to_owned();
    world.backend = Arc::new(Wrapped(AcksInTransactions { store, url, inner }));
    Some(world)
}

/// Guard: the lease's id, number, nonce and queue in the condition of an ack in a transaction.
#[tokio::test]
async fn r3_3_no_stale_token_acks_in_a_transaction() {
    let Some(world) = world(this_test!()).await else { return };
    fence_matrix::r3_3_no_stale_token_acks(&world).await;
    world.dispose().await;
}

/// Guard: the lease that completed the job is remembered with it.
#[tokio::test]
async fn r3_3_an_ack_repeated_in_a_transaction_is_already_done() {
    let Some(world) = world(this_test!()).await else { return };
    fence::r3_3_a_repeated_ack_is_already_done(&world).await;
    world.dispose().await;
}
