//! What is wrong with how the store is set up and how it runs.

use axum::Json as Answer;
use axum::extract::State;
use queuekit::store::BackendExt;

use super::app::App;
use crate::web::lookups::lookup_turn;
use crate::web::{Caller, Problem};
use crate::wire::FindingsBody;

/// Lists what the store finds wrong, and kinds of jobs whose payloads workers cannot read, as
/// `queuekit doctor` does.
///
/// A store that cannot tell answers no findings.
#[utoipa::path(
    get, path = "/v1/findings", tag = "watching", security(("key" = [])),
    responses((status = 200, description = "The findings.", body = FindingsBody))
)]
pub(super) async fn list_findings(
    State(app): State<App>,
    caller: Caller,
) -> Result<Answer<FindingsBody>, Problem> {
    caller.need_whole_store()?;
    let _turn = lookup_turn(&caller).await?;
    let findings = app.store().all_findings().await?;
    Ok(Answer(FindingsBody { findings: findings.into_iter().map(Into::into).collect() }))
}
