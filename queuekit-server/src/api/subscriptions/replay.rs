//! `POST /v1/subscriptions/{consumer}/replay`: a step of a replay.

use axum::Json as Answer;
use axum::extract::State;
use queuekit::events::{ConsumerName, Replay, ReplayFrom};

use super::admitted;
use crate::api::answer_memory::BUDGET_BYTES;
use crate::api::app::App;
use crate::api::audit::audited;
use crate::api::params::Named;
use crate::web::{Caller, Json, ManageScope, Problem, Scope};
use crate::wire::{ReplayBody, ReplayedBody, Time};

/// Delivers events of the log again: one step of a replay.
#[utoipa::path(
    post, path = "/v1/subscriptions/{consumer}/replay", tag = "events", security(("key" = [])),
    params(("consumer" = String, Path)),
    request_body(content = ReplayBody, content_type = "application/json"),
    responses(
        (status = 200, description = "What the step did.", body = ReplayedBody),
        (status = 404, description = "The subscription or the event does not exist."),
    )
)]
pub(crate) async fn replay(
    State(app): State<App>,
    caller: Caller,
    Named(consumer): Named<ConsumerName>,
    Json(body, mut budget, _): Json<ManageScope, ReplayBody>,
) -> Result<Answer<ReplayedBody>, Problem> {
    admitted(&app, &caller, Scope::Manage, &consumer)?;
    let replay = body.build(consumer)?;
    let (here, by) = (app.clone(), caller.clone());
    let target = format!("subscription {}", replay.consumer);
    let replaying = async move {
        // The step continues after its client disconnects, so it keeps the memory.
        budget.wait_for(BUDGET_BYTES).await?;
        let report = app.client().consumers().replay(&replay).await?;
        by.owe(report.delivered);
        Ok(report)
    };
    let report = audited(&here, &caller, "replay", target, replaying).await?;
    Ok(Answer(ReplayedBody {
        matched: report.matched,
        delivered: report.delivered,
        to: report.to.to_string(),
        cursor: report.cursor.map(|cursor| cursor.to_string()),
    }))
}

impl ReplayBody {
    fn build(self, consumer: ConsumerName) -> Result<Replay, Problem> {
        let from = match (self.from, self.after) {
            (None, None) => ReplayFrom::Beginning,
            (Some(Time(at)), None) => ReplayFrom::Time(at),
            (None, Some(event)) => ReplayFrom::Event(event),
            (Some(_), Some(_)) => {
                return Err(Problem::invalid("after", "give from or after, not both"));
            }
        };
        let place = |name: &'static str, text: Option<String>| {
            let place = text.map(|text| text.parse()).transpose();
            let detail = format!("{name} must be one from the answer of a step");
            place.map_err(|_| Problem::invalid(name, detail))
        };
        let mut replay = Replay::new(consumer, self.name, from);
        replay.to = place("to", self.to)?;
        replay.cursor = place("cursor", self.cursor)?;
        Ok(replay)
    }
}

#[cfg(test)]
mod tests {
    use std::marker::PhantomData;

    use queuekit::Client;
    use queuekit::memory::MemoryStore;

    use super::*;
    use crate::api::test_app::{app_of, memory_left};
    use crate::web::auth::tests::caller_for;
    use crate::web::store_calls::CallSort;

    /// Guard: steps of three keys that waited in their lines held all memory for answers.
    #[tokio::test]
    async fn s6_a_replay_that_waits_for_its_place_holds_no_memory() {
        let app = app_of(Client::new(MemoryStore::new()));
        let caller = caller_for("*", Scope::Manage);
        let places = &app.limits().store_calls;
        let all = places.place(CallSort::Change, &caller, usize::MAX).await.unwrap();
        let body = serde_json::from_str(r#"{"name":"again"}"#).unwrap();
        let (state, json) = (State(app.clone()), Json(body, app.no_budget(&caller), PhantomData));
        let consumer = Named("mail".parse().unwrap());
        let waiting = tokio::spawn(replay(state, caller.clone(), consumer, json));
        tokio::task::yield_now().await;
        assert_eq!(memory_left(&app, &caller).await.len(), 2);
        assert!(!waiting.is_finished());
        drop(all);
        let refused = waiting.await.unwrap().err();
        assert_eq!(refused.map(|problem| problem.kind()), Some("not_found"));
    }
}
