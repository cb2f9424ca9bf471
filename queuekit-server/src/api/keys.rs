//! Lists the API keys of this server, for operators who want to remove one.

use axum::Json as Answer;
use axum::extract::State;
use jiff::Timestamp as Instant;
use queuekit::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use super::app::App;
use crate::web::keys::Key;
use crate::web::{Caller, Problem, Scope};
use crate::wire::Time;

/// All keys.
#[derive(Serialize, ToSchema)]
#[schema(as = Keys)]
pub(super) struct KeysBody {
    keys: Vec<KeyBody>,
}

/// An API key, without anything that could be used as a key.
#[derive(Serialize, ToSchema)]
#[schema(as = Key)]
struct KeyBody {
    id: String,
    scopes: Vec<Scope>,
    /// Queues that the key is for; `*` matches any text. Empty: all.
    queues: Vec<String>,
    /// Kinds of jobs that the key is for, likewise.
    kinds: Vec<String>,
    /// How many requests, jobs, events and deliveries it may make in a second; missing: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    per_second: Option<u32>,
    /// When the key expires.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires: Option<Time>,
    /// When the key was last sent to this process, even if it was refused; missing: never.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_used: Option<Time>,
}

/// Lists the API keys of this server, and when each was last used.
///
/// Each process knows only its own requests, since its start.
#[utoipa::path(
    get, path = "/v1/keys", tag = "watching", security(("key" = [])),
    responses((status = 200, description = "In the order of the configuration.", body = KeysBody))
)]
pub(super) async fn list_keys(
    State(app): State<App>,
    caller: Caller,
) -> Result<Answer<KeysBody>, Problem> {
    caller.need(Scope::Admin)?;
    if caller.is_bound() {
        let detail = "the key is restricted, and the list has the keys of all queues and kinds; \
                      send a key that is not restricted";
        return Err(Problem::forbidden(detail));
    }
    Ok(Answer(KeysBody { keys: app.keys().all().iter().map(|key| KeyBody::of(key)).collect() }))
}

impl KeyBody {
    fn of(key: &Key) -> Self {
        let entry = &key.entry;
        Self {
            id: entry.id.clone(),
            scopes: entry.scopes.clone(),
            queues: entry.queues.iter().cloned().map(String::from).collect(),
            kinds: entry.kinds.iter().cloned().map(String::from).collect(),
            per_second: entry.per_second.map(Into::into),
            expires: entry.expires.map(time),
            last_used: key.last_used().map(time),
        }
    }
}

fn time(at: Instant) -> Time {
    Time(Timestamp::from_millis(at.as_millisecond()))
}
