//! Subscriptions: which events a consumer gets.

mod fan_out;
pub(super) mod replay;

use std::iter::once;
use std::time::Duration;

use axum::Json as Answer;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use queuekit::RetryPolicy;
use queuekit::events::{ConsumerName, ConsumerStats, Consumers, Subscription, SubscriptionDraft};
use tokio::sync::OwnedMutexGuard;

use super::app::App;
use super::audit::audited;
use super::params::Named;
use super::quota_charge::{QuotaCharge, QuotaCounted, with_quota};
use crate::web::lookups::{LookupLine, admission_line};
use crate::web::{Caller, Json, ManageScope, Problem, Scope, response_budget};
use crate::wire::{
    ConsumerStatsBody, NewSubscriptionBody, SubscriptionBody, SubscriptionsBody, millis,
};

/// Lists all subscriptions.
#[utoipa::path(
    get, path = "/v1/subscriptions", tag = "events", security(("key" = [])),
    responses((status = 200, description = "By consumer.", body = SubscriptionsBody))
)]
pub(super) async fn list_subscriptions(
    State(app): State<App>,
    caller: Caller,
) -> Result<Response, Problem> {
    caller.need(Scope::Read)?;
    // All subscriptions are one document.
    let (budget, turn) = app.look_up(&caller).await?;
    let all = app.client().consumers().list().await?;
    drop(turn);
    let seen = all.iter().filter(|one| caller.sees_queue(&queue_of(one.consumer())));
    let subscriptions = seen.map(|one| SubscriptionBody::of(one, None)).collect();
    response_budget::answer(budget, &SubscriptionsBody { subscriptions }).await
}

/// Gets the subscription of a consumer, with its figures.
#[utoipa::path(
    get, path = "/v1/subscriptions/{consumer}", tag = "events", security(("key" = [])),
    params(("consumer" = String, Path)),
    responses(
        (status = 200, description = "The subscription.", body = SubscriptionBody),
        (status = 404, description = "The consumer has no subscription."),
    )
)]
pub(super) async fn get_subscription(
    State(app): State<App>,
    caller: Caller,
    Named(consumer): Named<ConsumerName>,
) -> Result<Answer<SubscriptionBody>, Problem> {
    let consumers = admitted(&app, &caller, Scope::Read, &consumer)?;
    // The figures are made of the deliveries that ended last, payloads included.
    let (_budget, _turn) = app.look_up(&caller).await?;
    let found = consumers.get(&consumer).await?;
    let found = found.ok_or_else(|| Problem::not_found("subscription"))?;
    let stats = consumers.stats(&consumer).await?;
    Ok(Answer(SubscriptionBody::of(&found, Some(stats))))
}

/// Creates or replaces the subscription of a consumer.
#[utoipa::path(
    put, path = "/v1/subscriptions/{consumer}", tag = "events", security(("key" = [])),
    params(("consumer" = String, Path)),
    request_body(content = NewSubscriptionBody, content_type = "application/json"),
    responses(
        (status = 201, description = "The subscription was created.", body = SubscriptionBody),
        (status = 200, description = "The subscription was replaced.", body = SubscriptionBody),
        (status = 409, description = "The key has created as many subscriptions as it may, or as \
            many that want one event, or the key or the store has as many queues as it may."),
    )
)]
pub(super) async fn put_subscription(
    State(app): State<App>,
    caller: Caller,
    Named(consumer): Named<ConsumerName>,
    Json(body, ..): Json<ManageScope, NewSubscriptionBody>,
) -> Result<(StatusCode, Answer<SubscriptionBody>), Problem> {
    admitted(&app, &caller, Scope::Manage, &consumer)?;
    let keeps_enabled = body.enabled.is_none();
    let target = format!("subscription {consumer}");
    let given = body.build(consumer)?;
    let (here, by) = (app.clone(), caller.clone());
    let putting = async move { put(here, &by, given, keeps_enabled).await };
    let (stored, is_new) = audited(&app, &caller, "put", target, putting).await?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Answer(SubscriptionBody::of(&stored, None))))
}

/// The stored subscription, and whether it is new.
async fn put(
    app: App,
    caller: &Caller,
    given: Subscription,
    keeps_enabled: bool,
) -> Result<(Subscription, bool), Problem> {
    let queue = given.consumer().queue()?;
    let (line, _turn) = turn(&app, caller).await?;
    fan_out::admit(&app, caller, &given).await?;
    let new = QuotaCharge::admit_in(&line, &app, caller, once(given.consumer())).await?;
    let new_queue = QuotaCharge::admit_in(&line, &app, caller, once(&queue)).await?;
    let putting = async move {
        let consumers = app.client().consumers();
        if keeps_enabled {
            return Ok(consumers.put_keeping_enabled(&given).await?);
        }
        let is_new = consumers.put(&given).await?;
        Ok((given, is_new))
    };
    with_quota(new, with_quota(new_queue, putting)).await
}

/// Deletes the subscription of a consumer; deliveries that are stored stay.
#[utoipa::path(
    delete, path = "/v1/subscriptions/{consumer}", tag = "events", security(("key" = [])),
    params(("consumer" = String, Path)),
    responses(
        (status = 204, description = "The subscription was deleted."),
        (status = 404, description = "The consumer has no subscription."),
    )
)]
pub(super) async fn delete_subscription(
    State(app): State<App>,
    caller: Caller,
    Named(consumer): Named<ConsumerName>,
) -> Result<StatusCode, Problem> {
    admitted(&app, &caller, Scope::Manage, &consumer)?;
    let target = format!("subscription {consumer}");
    let removing = remove(app.clone(), caller.clone(), consumer);
    audited(&app, &caller, "delete", target, removing).await
}

/// Subscriptions change one after another: they are one document, and a limit may concern several.
/// A change holds the turn until what exists is counted. All keys wait for it, so what the caller
/// would wait for behind requests of its own key comes first.
async fn turn(app: &App, caller: &Caller) -> Result<(LookupLine, OwnedMutexGuard<()>), Problem> {
    let line = admission_line(caller).await?;
    Ok((line, app.limits().subscriptions.turns.of("subscriptions").await))
}

async fn remove(app: App, caller: Caller, consumer: ConsumerName) -> Result<StatusCode, Problem> {
    let _turn = turn(&app, &caller).await?;
    let removed = match app.client().consumers().remove(&consumer).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(Problem::not_found("subscription")),
    };
    consumer.removed_if(&app, &removed);
    removed
}

/// Checks the key against the queue of the consumer, which a subscription writes to.
fn admitted<'a>(
    app: &'a App,
    caller: &Caller,
    scope: Scope,
    consumer: &ConsumerName,
) -> Result<Consumers<'a>, Problem> {
    caller.need(scope)?;
    caller.need_queue(&queue_of(consumer))?;
    if caller.is_bound_to_kinds() && scope != Scope::Read {
        let detail = "the key is restricted to kinds, and a subscription is not; use a key that \
                      is restricted to queues";
        return Err(Problem::forbidden(detail));
    }
    Ok(app.client().consumers())
}

fn queue_of(consumer: &ConsumerName) -> String {
    consumer.queue().map(String::from).unwrap_or_default()
}

impl SubscriptionBody {
    pub(crate) fn of(subscription: &Subscription, stats: Option<ConsumerStats>) -> Self {
        Self {
            consumer: subscription.consumer().to_string(),
            queue: queue_of(subscription.consumer()),
            events: subscription.events().to_string(),
            ordered: subscription.is_ordered(),
            fair: subscription.is_fair(),
            enabled: subscription.is_enabled(),
            max_attempts: subscription.max_attempts(),
            timeout_ms: millis(subscription.timeout()),
            delay_ms: millis(subscription.delay()),
            retry: subscription.retry().and_then(|policy| policy.written()),
            stats: stats.map(ConsumerStatsBody::of),
        }
    }
}

impl ConsumerStatsBody {
    fn of(stats: ConsumerStats) -> Self {
        Self {
            depth: stats.depth,
            in_flight: stats.in_flight,
            dead: stats.dead,
            totals: stats.totals,
            failure_rate: stats.failure_rate,
            latency_p50_ms: stats.latency.map(|(median, _)| millis(median)),
            latency_p95_ms: stats.latency.map(|(_, late)| millis(late)),
        }
    }
}

impl NewSubscriptionBody {
    fn build(self, consumer: ConsumerName) -> Result<Subscription, Problem> {
        let mut draft = SubscriptionDraft::new(consumer, &self.events);
        draft = draft.enabled(self.enabled.unwrap_or(true));
        if self.ordered {
            draft = draft.ordered();
        }
        if self.fair {
            draft = draft.fair();
        }
        if let Some(max_attempts) = self.max_attempts {
            draft = draft.max_attempts(max_attempts);
        }
        if let Some(timeout_ms) = self.timeout_ms {
            draft = draft.timeout(Duration::from_millis(timeout_ms));
        }
        if let Some(delay_ms) = self.delay_ms {
            draft = draft.delay(Duration::from_millis(delay_ms));
        }
        if let Some(text) = self.retry {
            let policy = RetryPolicy::read(&text).ok_or_else(|| {
                let detail = "retry must be `exponential BASE_MS CAP_MS JITTER`, `fixed MS` or \
                              `list MS MS ..`, at most 256 bytes";
                Problem::invalid("retry", detail)
            })?;
            draft = draft.retry(&policy);
        }
        Ok(draft.build()?)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use queuekit::Client;
    use queuekit::memory::MemoryStore;
    use queuekit::store::{Backend, Bytes};
    use queuekit_conformance::{Layer, Wrapped};
    use tokio::sync::Semaphore;

    use super::*;
    use crate::api::test_app::{app_of, app_with};
    use crate::web::auth::tests::caller_of;

    /// The answer to the second change of subscriptions comes when a permit is there.
    #[derive(Debug)]
    struct SlowAnswer {
        inner: Arc<dyn Backend>,
        changes: std::sync::atomic::AtomicUsize,
        gate: Arc<Semaphore>,
    }

    #[queuekit::store::async_trait]
    impl Layer for SlowAnswer {
        fn inner(&self) -> &Arc<dyn Backend> {
            &self.inner
        }

        async fn change_event_settings(&self, seen: u64, to: &Bytes) -> queuekit::Result<bool> {
            let outbox = self.inner.capabilities().outbox.expect("memory has events");
            let changed = outbox.change_event_settings(seen, to).await;
            if self.changes.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 2 {
                self.gate.acquire().await.expect("open").forget();
            }
            changed
        }
    }

    /// Guard: the line of the key comes before the turn of all.
    #[tokio::test]
    async fn s6_a_change_that_waits_for_its_own_key_keeps_no_other_from_the_turn() {
        let app = app_of(Client::new(MemoryStore::new()));
        let put_by = |key: &'static str| {
            let wants = SubscriptionDraft::new(key, "*").build().unwrap();
            let app = app.clone();
            tokio::spawn(async move { put(app, &caller_of(key, 1), wants, false).await.is_ok() })
        };
        let own = admission_line(&caller_of("subscriptions.own", 1)).await.unwrap();
        let waiting = put_by("subscriptions.own");
        settle().await;
        let other = put_by("subscriptions.other");
        settle().await;
        assert!((waiting.is_finished(), other.is_finished()) == (false, true));
        drop(own);
        assert!(waiting.await.unwrap() && other.await.unwrap());
    }

    async fn settle() {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn s6_a_subscription_that_is_put_while_it_is_deleted_counts() {
        let gate = Arc::new(Semaphore::new(0));
        let store = SlowAnswer {
            inner: Arc::new(MemoryStore::new()),
            changes: std::sync::atomic::AtomicUsize::new(0),
            gate: Arc::clone(&gate),
        };
        let client = Client::new(Wrapped(store));
        let app = app_with(client, |limits| limits.subscriptions_of_key = 1);
        let put_it = async |name: &'static str| {
            let wants = SubscriptionDraft::new(name, "*").build().unwrap();
            put(app.clone(), &caller_of("a", 1), wants, false)
                .await
                .map_err(|problem| problem.kind())
        };
        put_it("one").await.unwrap();
        let deleting =
            tokio::spawn(remove(app.clone(), caller_of("b", 1), ConsumerName::new("one").unwrap()));
        settle().await;
        let opened = async {
            settle().await;
            gate.add_permits(1);
        };
        let (again, ()) = tokio::join!(put_it("one"), opened);
        assert!(again.unwrap().1, "it is new");
        deleting.await.unwrap().unwrap();
        assert_eq!(put_it("two").await.unwrap_err(), "quota_exceeded");
    }
}
