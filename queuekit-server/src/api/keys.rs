//! The keys that open this server, as an operator looks at them before one is taken away.

use axum::Json as Answer;
use axum::extract::State;
use jiff::Timestamp as Instant;
use queuekit::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use super::app::App;
use super::wire::Time;
use crate::http::keys::Key;
use crate::http::{Caller, Problem, Scope};

/// All keys.
#[derive(Serialize, ToSchema)]
#[schema(as = Keys)]
pub(super) struct KeysBody {
    keys: Vec<KeyBody>,
}

/// A key, without anything that opens.
#[derive(Serialize, ToSchema)]
#[schema(as = Key)]
struct KeyBody {
    id: String,
    scopes: Vec<Scope>,
    /// The queues it is for, with `*` for any text; all if there are none.
    queues: Vec<String>,
    /// The types of jobs it is for, likewise.
    types: Vec<String>,
    /// How many requests, jobs, events and deliveries it may make in a second; as many as it likes
    /// if missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    per_second: Option<u32>,
    /// From when on it opens nothing.
    #[schema(value_type = Option<String>, format = DateTime)]
    #[serde(skip_serializing_if = "Option::is_none")]
    expires: Option<Time>,
    /// When it was last sent to this process, also for what it does not open; missing if never.
    #[schema(value_type = Option<String>, format = DateTime)]
    #[serde(skip_serializing_if = "Option::is_none")]
    last_used: Option<Time>,
}

/// The keys that open this server, and when each was last used.
///
/// Each process counts for itself, from its start.
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
        let detail = "the key is bound, and keys are of the whole server; send one that is for all \
                      queues and types";
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
            types: entry.types.iter().cloned().map(String::from).collect(),
            per_second: entry.per_second.map(Into::into),
            expires: entry.expires.map(time),
            last_used: key.last_used().map(time),
        }
    }
}

fn time(at: Instant) -> Time {
    Time(Timestamp::from_millis(at.as_millisecond()))
}
