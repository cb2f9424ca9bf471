//! The audit log: who changed what, with which outcome (S14, contract R8.6).

use axum::extract::State;
use axum::response::Response;
use queuekit::jobs::PageSize;
use queuekit::store::capability::Act;
use queuekit::store::limits::COUNT;
use serde::Serialize;

use super::app::App;
use super::params::Params;
use super::quota_charge::run_to_end;
use crate::web::store_calls::CallSort;
use crate::web::{Caller, Problem, Scope, response_budget};
use crate::wire::{AuditBody, AuditEntryBody, AuditQuery};

/// Acts for a caller and records the act. Both run to their end even if the client disconnects, so
/// that no client can hide an act by disconnecting.
pub(super) fn audited<T: Send + 'static>(
    app: &App,
    caller: &Caller,
    action: &str,
    target: String,
    acting: impl Future<Output = Result<T, Problem>> + Send + 'static,
) -> impl Future<Output = Result<T, Problem>> + Send + 'static {
    audited_as(app, caller, Act::new(caller.who(), action, &target), acting, |act, _| act)
}

/// Does the same, and adds to the entry what the answer says.
pub(super) fn audited_as<T: Send + 'static>(
    app: &App,
    caller: &Caller,
    act: Act,
    acting: impl Future<Output = Result<T, Problem>> + Send + 'static,
    describe: impl FnOnce(Act, &T) -> Act + Send + 'static,
) -> impl Future<Output = Result<T, Problem>> + Send + 'static {
    let (app, caller, acting) = (app.clone(), caller.clone(), Box::pin(acting));
    async move {
        let place = app.limits().store_calls.place(CallSort::Change, &caller, 1).await?;
        run_to_end(async move {
            let _place = place;
            let answer = acting.await;
            let act = match &answer {
                Ok(done) => describe(act, done),
                Err(problem) => act.with_outcome(problem.kind()),
            };
            record(&app, &caller, &act).await;
            answer
        })
        .await
    }
}

/// Writes an entry to the log, and to the store. No act fails because of its entry.
async fn record(app: &App, caller: &Caller, act: &Act) {
    let (key, peer) = (caller.id(), caller.peer());
    let Act { action, target: on, matched, changed, outcome, .. } = act;
    tracing::info!(target: "queuekit::audit", key, peer, action, on, matched, changed, outcome);
    // The store keeps a number of entries. If a key that may not read them could add some, it could
    // push out those of administrators, one request each. What was not found was not changed.
    if may_read(caller).is_err() || outcome == "not_found" {
        return;
    }
    let Some(audit) = app.store().capabilities().audit else { return };
    if let Err(error) = audit.record_act(act).await {
        tracing::warn!(%error, action, on, "the store's audit log may lack an entry for this act");
    }
}

/// The audit log names queues and jobs of all.
fn may_read(caller: &Caller) -> Result<(), Problem> {
    caller.need(Scope::Admin)?;
    if caller.is_bound() {
        let detail = "the key is restricted, and the audit log names queues and jobs of others";
        return Err(Problem::forbidden(detail));
    }
    Ok(())
}

/// The requested change as JSON: filters and settings, never a payload.
pub(super) fn json(asked: &impl Serialize) -> String {
    serde_json::to_string(asked).unwrap_or_default()
}

/// Lists what operators changed, the latest first.
#[utoipa::path(
    get, path = "/v1/audit", tag = "audit", security(("key" = [])), params(AuditQuery),
    responses((status = 200, description = "A page.", body = AuditBody))
)]
pub(super) async fn list_acts(
    State(app): State<App>,
    caller: Caller,
    Params(query): Params<AuditQuery>,
) -> Result<Response, Problem> {
    may_read(&caller)?;
    if query.before.is_some_and(|before| before > COUNT) {
        return Err(Problem::invalid("before", format!("before must be at most {COUNT}")));
    }
    let limit = query.limit.map(PageSize::new).transpose()?.unwrap_or_default();
    let budget = app.budget(&caller).await?;
    let audit = app.store().capabilities().audit;
    let audit = audit.ok_or_else(|| Problem::unsupported("an audit log"))?;
    let entries = audit.list_acts(query.before, limit).await?;
    let is_full = entries.len() == limit.get();
    let before = entries.last().filter(|_| is_full).map(|entry| entry.seq);
    let entries = entries.into_iter().map(AuditEntryBody::of).collect();
    let body = AuditBody { entries, before };
    response_budget::answer(budget, &body).await
}
