//! Tells the store what the runs of this worker were like (contract R8.5).

use std::sync::Arc;
use std::time::Duration;

use queuekit_core::ErrorKind;
use queuekit_core::limits::HISTORY_ADDED;
use queuekit_core::retry::{chance, jittered};
use tokio_util::sync::CancellationToken;

use crate::state::shared::Shared;

/// A worker that is killed takes at most this much of its history with it.
const EVERY: Duration = Duration::from_secs(10);
/// How long the end of a worker waits for its last runs to be added.
const LAST: Duration = Duration::from_secs(1);

/// Adds them every 10 s, until the worker ends.
pub(crate) async fn tell_runs(shared: Arc<Shared>, stop: CancellationToken) {
    while stop.run_until_cancelled(tokio::time::sleep(jittered(EVERY, chance()))).await.is_some() {
        // The worker does not rest before they are added.
        let _call = shared.rest.call().await;
        add_runs(&shared).await;
    }
}

/// Adds those that are left when the worker ends.
pub(crate) async fn tell_last_runs(shared: &Shared) {
    // If the store does not answer in time, they are lost.
    drop(tokio::time::timeout(LAST, add_runs(shared)).await);
}

/// Figures only: a failed call is no warning.
async fn add_runs(shared: &Shared) {
    let Some(history) = shared.backend().capabilities().history else { return };
    for added in shared.runs.take().chunks(HISTORY_ADDED) {
        if let Err(error) = history.add_runs(added).await {
            tracing::debug!(worker = %shared.id(), %error, "the history of runs was not added");
            // Guard: runs that may have been added are not added again.
            if *error.kind() == ErrorKind::Unavailable {
                shared.runs.put_back(added);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use queuekit_core::history::{HistoryQuery, Resolution};
    use queuekit_core::memory::{MemoryStore, Operation, When};
    use queuekit_core::{Backend, Client, Payload, Timestamp};
    use serde::{Deserialize, Serialize};

    use super::*;
    use crate::{Ctx, JobResult, Worker};

    #[derive(Debug, Serialize, Deserialize)]
    struct Task;

    impl Payload for Task {
        const KIND: &'static str = "task";
    }

    /// Guard: an add that took effect, and whose answer was lost, counts twice if it is repeated;
    /// one that did not is lost if it is not.
    #[tokio::test(start_paused = true)]
    async fn r8_5_an_add_in_doubt_is_not_repeated() {
        for when in [When::After, When::Before] {
            let store = MemoryStore::new();
            store.faults().fail(Operation::AddRuns, 1, when);
            let client = Client::new(store.clone());
            client.enqueue(Task).await.unwrap();
            let handler = |_: Task, _: Ctx| async { JobResult::Ok(()) };
            let worker = Worker::new(client).handle(handler).start().await.unwrap();
            let history = store.capabilities().history.unwrap();
            let (from, to) = (Timestamp::from_millis(0), Timestamp::from_millis(i64::MAX));
            let query = HistoryQuery::new(Resolution::Hour, from, to);
            while history.list_runs(&query).await.unwrap().is_empty() {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            tokio::time::sleep(3 * EVERY).await;
            worker.stop().await;
            let rows = history.list_runs(&query).await.unwrap();
            let completed: u64 = rows.iter().map(|row| row.runs.completed).sum();
            assert_eq!(completed, 1, "{when:?}: {rows:?}");
        }
    }
}
