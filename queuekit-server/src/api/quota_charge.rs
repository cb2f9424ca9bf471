//! Charges queues, schedules and subscriptions to the quota of the key that creates them.

use std::collections::HashSet;
use std::hash::Hash;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::{StreamExt, TryStreamExt, stream};
use queuekit::events::ConsumerName;
use queuekit::schedules::ScheduleName;
use queuekit::{ErrorKind, QueueName};

use super::app::App;
use crate::web::lookups::{LookupLine, admission_line};
use crate::web::quota::{Charge, Quota};
use crate::web::{Caller, Problem};

/// Schedules that are looked up at once. Each may have a payload of a mebibyte.
const SCHEDULES_AT_ONCE: usize = 2;
/// How long the store may take to find queues.
const FIND_TIMEOUT: Duration = Duration::from_secs(10);

/// The name of something that counts against a quota.
pub(super) trait QuotaCounted: Clone + Eq + Hash + Send + Sync + 'static {
    fn quota(app: &App) -> &Arc<Quota<Self>>;

    /// How many names are looked up at once.
    fn at_once(app: &App) -> usize;

    /// Those of these names that exist.
    fn find(
        app: &App,
        names: &[Self],
    ) -> impl Future<Output = queuekit::Result<HashSet<Self>>> + Send;

    /// Notes that it was removed.
    fn removed(&self, app: &App) {
        Self::quota(app).removed(self);
    }

    /// The same, if this answer means that it was removed.
    fn removed_if<T>(&self, app: &App, answer: &Result<T, Problem>) {
        let is_gone = |problem: &Problem| problem.kind() == "not_found";
        if answer.as_ref().map_or_else(is_gone, |_| true) {
            self.removed(app);
        }
    }
}

/// What a caller is about to create; it counts already.
pub(super) struct QuotaCharge<N: QuotaCounted> {
    app: App,
    charge: Charge<N>,
}

impl<N: QuotaCounted> QuotaCharge<N> {
    /// `None` if all of these exist, or if the caller has no quota.
    ///
    /// # Errors
    /// 409 if the key would have more than it may; those of the store.
    pub(super) async fn admit(
        app: &App,
        caller: &Caller,
        names: impl Iterator<Item = &N> + Send,
    ) -> Result<Option<Self>, Problem> {
        if caller.counted().is_none() {
            return Ok(None);
        }
        let names = N::quota(app).unknown(names);
        if names.is_empty() {
            return Ok(None);
        }
        let line = admission_line(caller).await?;
        // Another request of the key may have looked them up meanwhile.
        Self::admit_in(&line, app, caller, names.iter()).await
    }

    /// The same for a caller at the head of its line, which may hold what other keys wait for.
    ///
    /// # Errors
    /// As [`admit`](Self::admit).
    pub(super) async fn admit_in(
        line: &LookupLine,
        app: &App,
        caller: &Caller,
        names: impl Iterator<Item = &N> + Send,
    ) -> Result<Option<Self>, Problem> {
        let Some(key) = caller.counted() else { return Ok(None) };
        let quota = N::quota(app);
        let mut names = quota.unknown(names);
        if names.is_empty() {
            return Ok(None);
        }
        // A store may take long to find a few of them. Other keys come between.
        for some in names.clone().chunks(N::at_once(app)) {
            let turn = line.turn().await?;
            let there = N::find(app, some).await?;
            drop(turn);
            names.retain(|name| !there.contains(name));
            quota.learn(there);
        }
        if names.is_empty() {
            return Ok(None);
        }
        let charge = match quota.charge(key, &names) {
            Ok(charge) => charge,
            Err(exceeded) => {
                // The count may be too high: another server, or a command on the store, may have
                // removed objects.
                let created = quota.recount(key, Instant::now()).ok_or(exceeded)?;
                forget_removed(app, &created).await?;
                quota.charge(key, &names)?
            }
        };
        Ok(Some(Self { app: app.clone(), charge }))
    }
}

/// Runs the creation to its end, even if the client disconnects, and counts what exists afterwards.
pub(super) async fn with_quota<N: QuotaCounted, T: Send + 'static>(
    new: Option<QuotaCharge<N>>,
    doing: impl Future<Output = Result<T, Problem>> + Send + 'static,
) -> Result<T, Problem> {
    let Some(QuotaCharge { app, charge }) = new else { return doing.await };
    let with_quota = async move {
        let done = doing.await;
        match N::find(&app, charge.names()).await {
            Ok(there) => charge.settle(&there),
            // It may exist. If not, that is noticed when the key reaches its quota.
            Err(_) => charge.keep(),
        }
        done
    };
    run_to_end(with_quota).await
}

/// Forgets names that were removed by other means since they were created.
pub(super) async fn forget_removed<N: QuotaCounted>(
    app: &App,
    created: &[N],
) -> Result<(), Problem> {
    for some in created.chunks(N::at_once(app)) {
        let there = N::find(app, some).await?;
        some.iter().filter(|name| !there.contains(*name)).for_each(|name| name.removed(app));
    }
    Ok(())
}

/// Runs to its end even if the client disconnects.
pub(super) async fn run_to_end<T: Send + 'static>(
    doing: impl Future<Output = Result<T, Problem>> + Send + 'static,
) -> Result<T, Problem> {
    // The task is not aborted and does not panic, so this does not fail.
    tokio::spawn(doing).await.map_err(|_| Problem::overloaded("calls of the store"))?
}

impl QuotaCounted for QueueName {
    fn quota(app: &App) -> &Arc<Quota<Self>> {
        &app.limits().queues
    }

    fn at_once(app: &App) -> usize {
        app.page_length().get()
    }

    async fn find(app: &App, names: &[Self]) -> queuekit::Result<HashSet<Self>> {
        let finding = app.store().find_queues(names);
        let queues = app.page_length().learn(names.len(), FIND_TIMEOUT, finding).await?;
        Ok(queues.into_iter().map(|queue| queue.name).collect())
    }
}

impl QuotaCounted for ScheduleName {
    fn quota(app: &App) -> &Arc<Quota<Self>> {
        &app.limits().schedules
    }

    fn at_once(_: &App) -> usize {
        SCHEDULES_AT_ONCE
    }

    async fn find(app: &App, names: &[Self]) -> queuekit::Result<HashSet<Self>> {
        let scheduler = app.client().schedules();
        let find = |name: Self| async move {
            match scheduler.get(&name).await {
                Ok(found) => Ok(found.map(|_| name)),
                Err(error) if matches!(error.kind(), ErrorKind::Corrupt) => Ok(Some(name)),
                Err(error) => Err(error),
            }
        };
        let found = stream::iter(names.to_vec()).map(find).buffer_unordered(SCHEDULES_AT_ONCE);
        found.try_filter_map(async |name| Ok(name)).try_collect().await
    }

    fn removed(&self, app: &App) {
        Self::quota(app).removed(self);
        app.limits().rates.removed(self);
    }
}

impl QuotaCounted for ConsumerName {
    fn quota(app: &App) -> &Arc<Quota<Self>> {
        &app.limits().subscriptions
    }

    /// All are one document.
    fn at_once(_: &App) -> usize {
        usize::MAX
    }

    async fn find(app: &App, names: &[Self]) -> queuekit::Result<HashSet<Self>> {
        let all = app.client().consumers().list().await?;
        let all: HashSet<Self> = all.into_iter().map(|one| one.consumer().clone()).collect();
        Ok(names.iter().filter(|name| all.contains(*name)).cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    use std::iter::once;

    use queuekit::memory::{MemoryStore, Operation, When};
    use queuekit::queues::Queue;
    use queuekit::store::Backend;
    use queuekit::{Client, JobDraft};
    use queuekit_conformance::{Layer, Wrapped};
    use tokio::sync::Semaphore;

    use super::*;
    use crate::api::test_app::{app_of, app_with};
    use crate::web::auth::tests::caller_of;

    fn app(store: &Arc<MemoryStore>) -> App {
        app_with(Client::new(Arc::clone(store)), |limits| limits.queues_of_key = 1)
    }

    async fn admit(app: &App, name: &str) -> Result<Option<QuotaCharge<QueueName>>, &'static str> {
        let queue = QueueName::new(name).unwrap();
        let admitted = QuotaCharge::admit(app, &caller_of("a", 1), once(&queue)).await;
        admitted.map_err(|problem| problem.kind())
    }

    async fn enqueue(app: App, queue: &str) -> Result<(), Problem> {
        app.client().enqueue(JobDraft::new("t", "null").queue(queue)).await?;
        Ok(())
    }

    #[tokio::test]
    async fn s6_what_is_created_counts_though_the_client_hangs_up_meanwhile() {
        let app = app(&Arc::default());
        let new = admit(&app, "first").await.unwrap();
        let (done, told) = tokio::sync::oneshot::channel();
        let doing = app.clone();
        let asked = with_quota(new, async move {
            tokio::task::yield_now().await;
            let answer = enqueue(doing, "first").await;
            let _ = done.send(());
            answer
        });
        // The caller disconnects once the step has begun.
        assert!(futures_util::FutureExt::now_or_never(asked).is_none());
        told.await.expect("it runs to its end");
        tokio::task::yield_now().await;
        assert_eq!(admit(&app, "second").await.err(), Some("quota_exceeded"));
        assert!(admit(&app, "first").await.unwrap().is_none(), "it is there");
    }

    #[tokio::test]
    async fn s6_what_is_refused_is_not_counted_and_what_is_in_doubt_is_until_it_is_looked_for() {
        let store = Arc::new(MemoryStore::new());
        let app = app(&store);
        store.faults().fail(Operation::Enqueue, 1, When::Before);
        let new = admit(&app, "first").await.unwrap();
        with_quota(new, enqueue(app.clone(), "first")).await.unwrap_err();
        let new = admit(&app, "second").await.unwrap();
        store.faults().fail(Operation::FindQueues, 1, When::Before);
        store.faults().fail(Operation::Enqueue, 1, When::Before);
        with_quota(new, enqueue(app.clone(), "second")).await.unwrap_err();
        let new = admit(&app, "third").await.expect("the second is looked for, and is not there");
        with_quota(new, enqueue(app.clone(), "third")).await.unwrap();
        assert_eq!(admit(&app, "fourth").await.err(), Some("quota_exceeded"));
    }

    /// Finds queues when the gate has a permit.
    #[derive(Debug)]
    struct Gated {
        inner: Arc<dyn Backend>,
        gate: Arc<Semaphore>,
    }

    #[queuekit::store::async_trait]
    impl Layer for Gated {
        fn inner(&self) -> &Arc<dyn Backend> {
            &self.inner
        }

        async fn find_queues(&self, names: &[QueueName]) -> queuekit::Result<Vec<Queue>> {
            self.gate.acquire().await.expect("open").forget();
            self.inner.find_queues(names).await
        }
    }

    /// Guard: keys with many large queues kept those of others waiting for ten seconds.
    #[tokio::test]
    async fn s6_a_key_that_names_many_queues_lets_others_find_theirs_meanwhile() {
        let gate = Arc::new(Semaphore::new(0));
        let inner: Arc<dyn Backend> = Arc::new(MemoryStore::new());
        let app = app_of(Client::new(Wrapped(Gated { inner, gate: Arc::clone(&gate) })));
        let admit = |key: String, count: usize| {
            let app = app.clone();
            tokio::spawn(async move {
                let names: Vec<_> =
                    (0..count).map(|n| QueueName::new(format!("{key}.{n}")).unwrap()).collect();
                QuotaCharge::admit(&app, &caller_of(&key, 1), names.iter()).await.is_ok()
            })
        };
        let settle = async || {
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
        };
        // As many as ask the store at once.
        let many: Vec<_> = (0..3).map(|key| admit(format!("many{key}"), 100)).collect();
        settle().await;
        let other = admit("other".to_owned(), 1);
        settle().await;
        // An answer for a part of the first, and one for the other, which was next in line.
        for _ in 0..2 {
            gate.add_permits(1);
            settle().await;
        }
        assert!(!many.iter().any(|task| task.is_finished()));
        gate.add_permits(2);
        settle().await;
        assert!(other.is_finished() && other.await.unwrap());
        gate.add_permits(100);
        for task in many {
            assert!(task.await.unwrap());
        }
    }

    #[tokio::test]
    async fn s6_a_queue_that_is_known_costs_no_call_of_the_store() {
        let store = Arc::new(MemoryStore::new());
        let app = app(&store);
        let new = admit(&app, "first").await.unwrap();
        with_quota(new, enqueue(app.clone(), "first")).await.unwrap();
        store.faults().fail(Operation::FindQueues, 1, When::Before);
        assert!(admit(&app, "first").await.unwrap().is_none());
        assert_eq!(admit(&app, "other").await.err(), Some("unavailable"), "it asks for this one");
    }
}
