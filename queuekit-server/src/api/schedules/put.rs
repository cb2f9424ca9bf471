//! Stores a schedule, within the quotas and the rate of its key.

use std::iter::once;

use queuekit::queues::QueuePatch;
use queuekit::schedules::{Definition, Schedule};
use queuekit::{ErrorKind, QueueName};

use super::access::{need_own, scheduler, seen_by};
use super::rate;
use crate::api::answer_memory::BUDGET_BYTES;
use crate::api::app::App;
use crate::api::quota_charge::{QuotaCharge, run_to_end, with_quota};
use crate::web::Problem;
use crate::web::lookups::admission_line;
use crate::web::memory_budget::RequestBudget;

/// A schedule that is put.
pub(super) struct Put {
    pub(super) definition: Definition,
    /// Its rate, as it counts for the key.
    pub(super) rate: f64,
    pub(super) paused: Option<bool>,
}

/// The stored schedule, and whether it is new. Runs to its end even if the client disconnects: a
/// rate that is no longer counted might be stored a moment later.
///
/// # Errors
/// 403 if the name is that of a schedule which the key is not for;
/// 409 if the key has as many schedules or queues as it may, or if its schedules would exceed its
/// `per_second`; 429 or 503 if there is no memory for a while; those of the store.
pub(super) async fn put(
    app: App,
    budget: &mut RequestBudget,
    Put { definition, rate, paused }: Put,
) -> Result<(bool, Schedule), Problem> {
    let caller = budget.caller().clone();
    // Other keys may wait for the turn, so it comes after what the caller's own requests wait for.
    // In their line no memory is held.
    let line = admission_line(&caller).await?;
    budget.wait_for(BUDGET_BYTES).await?;
    let turn = app.limits().schedules.turns.of(definition.name()).await;
    need_own(&app, &caller, definition.name()).await?;
    let new = QuotaCharge::admit_in(&line, &app, &caller, once(definition.name())).await?;
    let rate = rate::charge(&app, &caller, definition.name(), rate).await?;
    let queue = definition.job().queue();
    // The first occurrence would create the queue. Create it now, so that it counts.
    if let Some(new_queue) = QuotaCharge::admit_in(&line, &app, &caller, once(queue)).await? {
        with_quota(Some(new_queue), create(app.clone(), queue.clone())).await?;
    }
    let putting = async move {
        let (may_change, name) = (seen_by(&caller), definition.name());
        let scheduler = scheduler(&app, &caller, &may_change);
        let put = scheduler.put(&definition).await;
        let is_refused = |error: &queuekit::Error| *error.kind() != ErrorKind::Indeterminate;
        if !put.as_ref().is_err_and(is_refused) {
            rate.keep();
        }
        let is_new = match put {
            // Another server has just stored one that the key is not for.
            Err(error) if *error.kind() == ErrorKind::NotFound => {
                need_own(&app, &caller, name).await?;
                return Err(error.into());
            }
            put => put?,
        };
        match paused {
            Some(true) => scheduler.pause(name).await?,
            Some(false) => scheduler.resume(name).await?,
            None => {}
        }
        let stored = scheduler.get(name).await?.filter(seen_by(&caller));
        Ok((is_new, stored.ok_or_else(|| Problem::not_found("schedule"))?))
    };
    let counted = async move {
        let _turn = turn;
        with_quota(new, putting).await
    };
    run_to_end(counted).await
}

async fn create(app: App, queue: QueueName) -> Result<(), Problem> {
    app.admin()?.configure(&queue, &QueuePatch::default()).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::time::Duration;

    use axum::extract::State;
    use queuekit::memory::MemoryStore;
    use queuekit::schedules::{ScheduleDraft, ScheduleName, Scheduler, Timing};
    use queuekit::store::Backend;
    use queuekit::store::capability::{ScheduleChange, ScheduleChanged};
    use queuekit::{Client, JobDraft};
    use queuekit_conformance::{Layer, Wrapped};
    use tokio::sync::Semaphore;

    use super::super::run::run_schedule;
    use super::super::{delete_schedule, pause_schedule};
    use super::*;
    use crate::api::params::Named;
    use crate::api::test_app::{app_of, memory_left};
    use crate::web::auth::tests::{caller_for, caller_of};
    use crate::web::{Caller, Scope};

    /// The first change waits for a permit before it is stored.
    #[derive(Debug)]
    struct SlowFirst {
        inner: Arc<dyn Backend>,
        changes: AtomicUsize,
        gate: Arc<Semaphore>,
    }

    #[queuekit::store::async_trait]
    impl Layer for SlowFirst {
        fn inner(&self) -> &Arc<dyn Backend> {
            &self.inner
        }

        async fn change_schedule(
            &self,
            change: &ScheduleChange,
        ) -> queuekit::Result<ScheduleChanged> {
            if self.changes.fetch_add(1, Ordering::SeqCst) == 0 {
                self.gate.acquire().await.expect("open").forget();
            }
            let schedules = self.inner.capabilities().schedules.expect("memory has schedules");
            schedules.change_schedule(change).await
        }
    }

    /// Another server, which stores a schedule under the same name just before a change.
    #[derive(Debug)]
    struct Rival {
        inner: Arc<dyn Backend>,
        is_next: AtomicBool,
    }

    #[queuekit::store::async_trait]
    impl Layer for Rival {
        fn inner(&self) -> &Arc<dyn Backend> {
            &self.inner
        }

        async fn change_schedule(
            &self,
            change: &ScheduleChange,
        ) -> queuekit::Result<ScheduleChanged> {
            if self.is_next.swap(false, Ordering::SeqCst) {
                Scheduler::of(&*self.inner).put(daily("other")).await?;
            }
            let schedules = self.inner.capabilities().schedules.expect("memory has schedules");
            schedules.change_schedule(change).await
        }
    }

    fn daily(queue: &str) -> ScheduleDraft {
        let job = JobDraft::new("t", "null").queue(queue);
        ScheduleDraft::every("s", Duration::from_secs(86_400), job)
    }

    fn app(gate: &Arc<Semaphore>) -> App {
        let inner: Arc<dyn Backend> = Arc::new(MemoryStore::new());
        on(SlowFirst { inner, changes: AtomicUsize::new(0), gate: Arc::clone(gate) })
    }

    fn on(store: impl Layer) -> App {
        app_of(Client::new(Wrapped(store)))
    }

    /// Guard: the row that a change replaces is checked, and not only one that was read before.
    #[tokio::test]
    async fn s11_a_schedule_that_another_server_has_just_stored_is_not_changed() {
        for action in ["put", "pause", "delete", "run"] {
            let inner: Arc<dyn Backend> = Arc::new(MemoryStore::new());
            Scheduler::of(&*inner).put(daily("own")).await.unwrap();
            let app = on(Rival { inner: Arc::clone(&inner), is_next: AtomicBool::new(true) });
            let caller = caller_for("own", Scope::Manage);
            let (state, name) = (State(app.clone()), Named(ScheduleName::new("s").unwrap()));
            let refused = match action {
                "put" => put_by(&app, &caller, daily("own")).await.err(),
                "pause" => pause_schedule(state, caller, name).await.err(),
                "delete" => delete_schedule(state, caller, name).await.err(),
                _ => run_schedule(state, caller, name).await.err(),
            };
            let wanted = if action == "put" { "forbidden" } else { "not_found" };
            assert_eq!(refused.map(|problem| problem.kind()), Some(wanted), "{action}");
            let stored = Scheduler::of(&*inner).get("s").await.unwrap().expect("it is there");
            assert_eq!(stored.definition, daily("other").build().unwrap(), "{action}");
            assert!(!stored.paused && stored.enqueued == 0, "{action}");
        }
    }

    async fn put_by(
        app: &App,
        caller: &Caller,
        draft: ScheduleDraft,
    ) -> Result<(bool, Schedule), Problem> {
        let definition = draft.build().unwrap();
        let rate = rate::counted(caller, &definition, app.now());
        let put = Put { definition, rate, paused: None };
        super::put(app.clone(), &mut app.no_budget(caller), put).await
    }

    async fn put_every(app: App, caller: Caller, every: Duration) -> bool {
        let draft = ScheduleDraft::every("s", every, JobDraft::new("t", "null"));
        put_by(&app, &caller, draft).await.is_ok()
    }

    async fn settle() {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    }

    /// Guard: what a key waits for behind its own requests comes before the turn of a name.
    #[tokio::test]
    async fn s6_a_change_that_waits_for_its_own_key_keeps_no_other_from_the_turn() {
        let app = app_of(Client::new(MemoryStore::new()));
        let begin = |key: &'static str| {
            let app = app.clone();
            tokio::spawn(async move { put_by(&app, &caller_of(key, 1), daily("q")).await.is_ok() })
        };
        let owner = caller_of("schedules.own", 1);
        let own = admission_line(&owner).await.unwrap();
        let waiting = begin("schedules.own");
        settle().await;
        assert_eq!(memory_left(&app, &owner).await.len(), 2, "it waits without memory");
        let other = begin("schedules.other");
        settle().await;
        assert!((waiting.is_finished(), other.is_finished()) == (false, true));
        drop(own);
        assert!(waiting.await.unwrap() && other.await.unwrap());
        let caller = caller_for("q", Scope::Manage);
        let _all = memory_left(&app, &caller).await;
        for action in ["pause", "delete"] {
            let (state, caller) = (State(app.clone()), caller.clone());
            let name = Named(ScheduleName::new("s").unwrap());
            let waiting = tokio::spawn(async move {
                match action {
                    "pause" => pause_schedule(state, caller, name).await.is_ok(),
                    _ => delete_schedule(state, caller, name).await.is_ok(),
                }
            });
            settle().await;
            let other = begin("schedules.other");
            settle().await;
            assert!((waiting.is_finished(), other.is_finished()) == (false, true), "{action}");
            waiting.abort();
        }
    }

    #[tokio::test]
    async fn s6_of_two_puts_at_once_the_one_counted_last_is_the_one_stored_last() {
        let gate = Arc::new(Semaphore::new(0));
        let (app, caller) = (app(&gate), caller_of("a", 1));
        let (often, seldom) = (Duration::from_secs(1), Duration::from_secs(10));
        let first = tokio::spawn(put_every(app.clone(), caller.clone(), often));
        settle().await;
        let second = tokio::spawn(put_every(app.clone(), caller.clone(), seldom));
        settle().await;
        gate.add_permits(1);
        assert!(first.await.unwrap() && second.await.unwrap());
        let name = ScheduleDraft::every("s", seldom, JobDraft::new("t", "null")).build().unwrap();
        let stored = app.client().schedules().get(name.name()).await.unwrap().unwrap();
        let Timing::Every(stored) = stored.definition.timing() else { panic!("an interval") };
        assert_eq!(stored.duration(), seldom, "its rate is the one that counts");
    }

    #[tokio::test]
    async fn s6_a_put_whose_client_hangs_up_is_stored_and_counted() {
        let gate = Arc::new(Semaphore::new(0));
        let (app, caller) = (app(&gate), caller_of("a", 1));
        gate.add_permits(1);
        let (seldom, often) = (Duration::from_secs(10), Duration::from_secs(1));
        assert!(put_every(app.clone(), caller.clone(), seldom).await);
        let mut putting = Box::pin(put_every(app.clone(), caller.clone(), often));
        assert!(futures_util::FutureExt::now_or_never(putting.as_mut()).is_none());
        drop(putting);
        settle().await;
        let other = ScheduleDraft::every("o", often, JobDraft::new("t", "null"));
        let refused = put_by(&app, &caller, other).await;
        assert_eq!(refused.unwrap_err().kind(), "quota_exceeded");
    }
}
