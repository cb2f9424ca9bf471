//! Ack and nack, which end leases.

use std::time::Duration;

use axum::Json as Answer;
use axum::extract::State;
use bytes::Bytes;
use queuekit::jobs::{Ack, AckOutcome, ReleaseCause};
use queuekit::store::retry::chance;
use queuekit::store::{BackendExt, Nack, NackKind, NackOutcome};
use queuekit::{Client, ErrorKind};
use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::{OutcomeBody, OutcomesBody, lease, token};
use crate::api::app::App;
use crate::api::store_call::in_store;
use crate::web::store_calls::{self, CallSort};
use crate::web::{Caller, Json, Problem, SettleScope};
use crate::wire::{GivenBytes, bounded, millis};

/// 30 days (R4.7).
const MOST_DELAY_MS: u64 = 2_592_000_000;

/// Successes.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Acks)]
pub(crate) struct AcksBody {
    #[schema(max_items = 1000)]
    #[serde(deserialize_with = "bounded")]
    acks: Vec<AckBody>,
}

/// A success.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Ack)]
struct AckBody {
    token: String,
    /// Any JSON value; stored with the job.
    #[schema(value_type = Option<serde_json::Value>)]
    result: Option<Box<RawValue>>,
    #[schema(format = Byte)]
    result_base64: Option<String>,
}

/// Runs that did not succeed.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Nacks)]
pub(crate) struct NacksBody {
    #[schema(max_items = 1000)]
    #[serde(deserialize_with = "bounded")]
    nacks: Vec<NackBody>,
}

/// A run that did not succeed.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Nack)]
struct NackBody {
    token: String,
    /// `retry`: run the job again, unless this was its last attempt. `release`: give it back
    /// unfinished, without spending an attempt. `fatal`: dead-letter it immediately. `cancelled`:
    /// the job was cancelled.
    #[serde(default = "retry")]
    kind: NackKind,
    /// What went wrong; kept with the job, except for a `release` with another cause than
    /// `undecodable`.
    #[serde(default)]
    error: String,
    /// How long the job waits. Default: for a retry as the subscription's `retry` or the default
    /// policy says, else 0. The cause `undecodable` ignores it.
    #[schema(maximum = 2592000000_u64)]
    delay_ms: Option<u64>,
    /// Why the job is released; kept with the job. Other kinds ignore it. `undecodable`: the worker
    /// cannot read the payload. The server then says how long the job waits, and dead-letters it
    /// after 7 days.
    cause: Option<ReleaseCause>,
}

fn retry() -> NackKind {
    NackKind::Retry
}

/// Records successes.
#[utoipa::path(
    post, path = "/v1/ack", tag = "work", security(("key" = [])),
    request_body(content = AcksBody, content_type = "application/json"),
    responses((status = 200, description = "`acked`, `already_done`, `lease_lost` or `not_found`.",
        body = OutcomesBody))
)]
pub(crate) async fn ack(
    State(app): State<App>,
    caller: Caller,
    Json(body, budget, _): Json<SettleScope, AcksBody>,
) -> Result<Answer<OutcomesBody>, Problem> {
    let build = |(item, ack): (usize, AckBody)| {
        let lease = lease(&caller, item, &ack.token)?;
        let given = GivenBytes { json: ack.result, base64: ack.result_base64 };
        let result = given.bytes("result").map_err(|problem| problem.at_item(item))?;
        Ok(Ack { lease, result })
    };
    let acks: Result<Vec<_>, Problem> = body.acks.into_iter().enumerate().map(build).collect();
    let (acks, client) = (acks?, app.client().clone());
    let sizes = acks.iter().map(|ack| ack.result.as_ref().map_or(0, Bytes::len));
    let queues = acks.iter().map(|ack| &ack.lease.queue);
    let call = (CallSort::Settle, store_calls::of_queues(store_calls::items(sizes), queues));
    let settling = async move { Ok(client.ack(acks).await?) };
    let outcomes = in_store(&app, &caller, call, budget, settling).await?;
    let outcome = |outcome| match outcome {
        AckOutcome::Acked => OutcomeBody::from("acked"),
        AckOutcome::AlreadyDone => "already_done".into(),
        AckOutcome::LeaseLost => "lease_lost".into(),
        AckOutcome::NotFound => "not_found".into(),
    };
    Ok(Answer(OutcomesBody { outcomes: outcomes.into_iter().map(outcome).collect() }))
}

/// Records failures, releases and cancellations.
#[utoipa::path(
    post, path = "/v1/nack", tag = "work", security(("key" = [])),
    request_body(content = NacksBody, content_type = "application/json"),
    responses((status = 200,
        description = "`retrying` or `released` with `in_ms`, `dead`, `cancelled`, `lease_lost` or \
                       `not_found`.",
        body = OutcomesBody))
)]
pub(crate) async fn nack(
    State(app): State<App>,
    caller: Caller,
    Json(body, mut budget, _): Json<SettleScope, NacksBody>,
) -> Result<Answer<OutcomesBody>, Problem> {
    let build = |(item, nack): (usize, NackBody)| {
        let token = token(&caller, item, &nack.token)?;
        if nack.delay_ms.is_some_and(|delay_ms| delay_ms > MOST_DELAY_MS) {
            let detail = format!("delay_ms must be at most {MOST_DELAY_MS}");
            return Err(Problem::invalid("delay_ms", detail).at_item(item));
        }
        let delay = match nack.delay_ms {
            Some(delay_ms) => Duration::from_millis(delay_ms),
            None if nack.kind == NackKind::Retry => token.delay(chance()),
            None => Duration::ZERO,
        };
        let settled = Nack::new(token.lease, nack.kind, nack.error, delay);
        Ok(match nack.cause {
            Some(cause) => settled.because(cause),
            None => settled,
        })
    };
    let nacks: Result<Vec<_>, Problem> = body.nacks.into_iter().enumerate().map(build).collect();
    let (nacks, client) = (nacks?, app.client().clone());
    let sizes = nacks.iter().map(|nack| nack.error.as_str().len());
    let queues = nacks.iter().map(|nack| &nack.lease.queue);
    let call = (CallSort::Settle, store_calls::of_queues(store_calls::items(sizes), queues));
    // Each job whose payload could not be read is read, one after the other. A call that waits for
    // its place holds no memory for them.
    let room = nacks.iter().any(is_undecodable).then(|| app.bytes_of_job());
    let settling = async move {
        budget.wait_for(room.unwrap_or_default()).await?;
        Ok(client.nack(parked(&client, nacks).await?).await?)
    };
    let outcomes = in_store(&app, &caller, call, app.no_budget(&caller), settling).await?;
    let outcome = |outcome| match outcome {
        NackOutcome::Retrying { after } => OutcomeBody::after("retrying", after),
        NackOutcome::Released { after } => OutcomeBody::after("released", after),
        NackOutcome::Dead => "dead".into(),
        NackOutcome::Cancelled => "cancelled".into(),
        NackOutcome::LeaseLost => "lease_lost".into(),
        NackOutcome::NotFound => "not_found".into(),
    };
    Ok(Answer(OutcomesBody { outcomes: outcomes.into_iter().map(outcome).collect() }))
}

/// Whether the worker says that it cannot read the payload.
fn is_undecodable(nack: &Nack) -> bool {
    nack.kind == NackKind::Release && nack.cause() == Some(ReleaseCause::Undecodable)
}

/// The same nacks; what the store knows of a job whose payload could not be read decides what
/// happens to it (contract R13.8).
async fn parked(client: &Client, mut nacks: Vec<Nack>) -> Result<Vec<Nack>, Problem> {
    for nack in nacks.iter_mut().filter(|nack| is_undecodable(nack)) {
        match client.backend().park(nack.lease.clone(), nack.error.as_str()).await {
            Ok(parked) => *nack = parked,
            // The nack itself answers that.
            Err(error) if *error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(nacks)
}

impl OutcomeBody {
    fn after(outcome: &'static str, after: Duration) -> Self {
        Self { in_ms: Some(millis(after)), ..outcome.into() }
    }
}

#[cfg(test)]
mod tests {
    use std::marker::PhantomData;

    use queuekit::memory::MemoryStore;
    use queuekit::store::{Backend, LeaseTtl, Reserve};
    use queuekit::workers::WorkerId;
    use queuekit::{JobDraft, QueueName};
    use serde_json::json;

    use super::*;
    use crate::api::test_app::{app_of, memory_left};
    use crate::web::Scope;
    use crate::web::auth::tests::caller_for;

    /// Guard: calls of three keys that waited in their lines held all memory for answers.
    #[tokio::test]
    async fn s6_a_nack_that_waits_for_its_place_holds_no_memory() {
        let client = Client::new(MemoryStore::new());
        client.enqueue(JobDraft::new("t", "null")).await.unwrap();
        let ttl = LeaseTtl::new(Duration::from_secs(60)).unwrap();
        let request = Reserve::new(QueueName::default(), 1, ttl, WorkerId::new("w").unwrap());
        let leases = client.backend().reserve(&request.unwrap()).await.unwrap().leases;
        let token = leases[0].token.to_secret_string();
        let app = app_of(client);
        let caller = caller_for("*", Scope::Work);
        let places = &app.limits().store_calls;
        let all = places.place(CallSort::Settle, &caller, usize::MAX).await.unwrap();
        let nacks = json!([{ "token": token, "kind": "release", "cause": "undecodable" }]);
        let body = serde_json::from_value(json!({ "nacks": nacks })).unwrap();
        let json = Json(body, app.no_budget(&caller), PhantomData);
        let waiting = tokio::spawn(nack(State(app.clone()), caller.clone(), json));
        tokio::task::yield_now().await;
        assert_eq!(memory_left(&app, &caller).await.len(), 2);
        assert!(!waiting.is_finished());
        drop(all);
        let Answer(OutcomesBody { outcomes }) = waiting.await.unwrap().unwrap();
        assert_eq!(serde_json::to_value(&outcomes).unwrap()[0]["outcome"], "released");
    }
}
