//! The fence of an ack inside the application's own transaction (contract R3.3).

use std::sync::Arc;

use async_trait::async_trait;
use queuekit_conformance::cases::{fence, fence_matrix};
use queuekit_conformance::{Layer, World, Wrapped};
use queuekit_core::{Ack, AckOutcome, Backend, Result};
use queuekit_sqlite::{SqliteStore, rusqlite};

use crate::common::files::begin;
use crate::common::sqlite::SqliteWorld;

/// Each ack in a transaction of its own, which commits.
#[derive(Debug)]
struct AcksInTransactions {
    store: SqliteStore,
    inner: Arc<dyn Backend>,
}

#[async_trait]
impl Layer for AcksInTransactions {
    fn inner(&self) -> &Arc<dyn Backend> {
        &self.inner
    }

    async fn ack(&self, acks: &[Ack]) -> Result<Vec<AckOutcome>> {
        let mut conn = rusqlite::Connection::open(self.store.path()).expect("the file opens");
        let tx = begin(&mut conn);
        let outcomes = self.store.ack_in(&tx, acks)?;
        tx.commit().expect("the commit should succeed");
        Ok(outcomes)
    }
}

async fn world() -> impl World {
    let mut world = SqliteWorld::stopped().await;
    let (store, inner) = (world.store.clone(), Arc::clone(&world.backend));
    world.backend = Arc::new(Wrapped(AcksInTransactions { store, inner }));
    world
}

/// Guard: the lease's id, number, nonce and queue in the condition of an ack in a transaction.
#[tokio::test]
async fn r3_3_no_stale_token_acks_in_a_transaction() {
    let world = world().await;
    fence_matrix::r3_3_no_stale_token_acks(&world).await;
    world.dispose().await;
}

/// Guard: the lease that completed the job is remembered with it.
#[tokio::test]
async fn r3_3_an_ack_repeated_in_a_transaction_is_already_done() {
    let world = world().await;
    fence::r3_3_a_repeated_ack_is_already_done(&world).await;
    world.dispose().await;
}
