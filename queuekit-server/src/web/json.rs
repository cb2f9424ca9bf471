//! Reads bodies within bounds, and parses them as JSON.

use std::marker::PhantomData;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::header::CONTENT_LENGTH;
use axum::http::{HeaderMap, StatusCode};
use bytes::Bytes;
use http_body_util::BodyExt;
use queuekit::store::json_depth;
use queuekit::store::limits::JSON_DEPTH;
use serde::de::{DeserializeOwned, IgnoredAny};

use super::auth::Caller;
use super::body_buffer::BodyBuffer;
use super::content_type::{need_form, need_json};
use super::limits::LiveLimits;
use super::long_strings::without_long_strings;
use super::memory_budget::RequestBudget;
use super::off_the_runtime::off_the_runtime;
use super::problem::Problem;
use super::redact::{redact_path, redact_values, without_position};
use super::required_scope::RequiredScope;

/// How much memory is taken for a body before it has arrived.
const AHEAD: usize = 64 * 1024;
/// Most bytes of a form. The largest has a payload of 256 KiB, of which each byte may take three.
const FORM_BYTES: usize = 1024 * 1024;

/// Reads bodies, within bounds.
#[derive(Debug)]
pub(crate) struct BodyReader(Arc<LiveLimits>);

impl BodyReader {
    pub(crate) fn new(limits: Arc<LiveLimits>) -> Self {
        Self(limits)
    }

    /// An empty memory budget for an answer to this caller.
    pub(crate) fn budget(&self, caller: &Caller) -> RequestBudget {
        RequestBudget::of(&self.0.memory, caller, false)
    }

    /// The whole body of a form, and its memory.
    ///
    /// # Errors
    /// As of a body of JSON; 415 if it has another content type.
    pub(crate) async fn read_form(
        &self,
        caller: &Caller,
        headers: &HeaderMap,
        body: Body,
    ) -> Result<(Bytes, RequestBudget), Problem> {
        need_form(headers)?;
        let most = self.0.now().body_bytes.min(FORM_BYTES);
        self.read(headers, body, self.budget(caller), most).await
    }

    /// The whole body.
    ///
    /// # Errors
    /// 413 if it is too large, before it is read if Content-Length says so; 408 if it arrives too
    /// slowly; 429 or 503 if there is no memory for it now.
    async fn read(
        &self,
        headers: &HeaderMap,
        body: Body,
        budget: RequestBudget,
        most: usize,
    ) -> Result<BudgetedBytes, Problem> {
        let announced = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok());
        let announced: usize = announced.and_then(|value| value.parse().ok()).unwrap_or(0);
        let timeout = self.0.now().body_timeout;
        if announced > most {
            return Err(too_large(most));
        }
        let reading = collect(announced, most, body, budget);
        tokio::time::timeout(timeout, reading).await.unwrap_or_else(|_| {
            let detail = format!("the body did not arrive within {timeout:?}");
            Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "bad_request", detail))
        })
    }
}

/// Counts the bytes that have arrived, and not the announced length, which costs a client nothing.
async fn collect(
    announced: usize,
    most: usize,
    mut body: Body,
    mut budget: RequestBudget,
) -> Result<BudgetedBytes, Problem> {
    let mut buffer = BodyBuffer::default();
    let mut length = 0;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| {
            Problem::bad_request("the body is incomplete, or its chunks cannot be read")
        })?;
        let Ok(data) = frame.into_data() else { continue };
        length += data.len();
        if length > most {
            return Err(too_large(most));
        }
        if length > budget.bytes() {
            budget.grow_to(length.max(announced.min(length + AHEAD)))?;
        }
        let end = if announced == 0 { most } else { announced };
        buffer.push(data, end).map_err(|_| Problem::overloaded("bodies"))?;
    }
    Ok((buffer.whole(), budget))
}

fn too_large(most: usize) -> Problem {
    let detail = format!("the body is larger than {most} bytes; send less at once");
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", detail)
}

/// A body, and its memory budget.
type BudgetedBytes = (Bytes, RequestBudget);

/// A JSON body from a caller who may send it. A handler takes it as `Json(body, ..)`, so that its
/// memory is given back when the handler is done.
#[derive(Debug)]
pub(crate) struct Json<To, T>(pub(crate) T, pub(crate) RequestBudget, pub(crate) PhantomData<To>);

/// The same, of a body that may be left out, or be null.
#[derive(Debug)]
pub(crate) struct OptionalJson<To, T>(pub(crate) T, pub(crate) PhantomData<To>);

/// The bytes of a body from a caller who may send it, with the content type of JSON.
#[derive(Debug)]
pub(crate) struct Raw<To>(Bytes, RequestBudget, PhantomData<To>);

impl<To: RequiredScope> Raw<To> {
    /// Parses it, within the memory that it may take by then, and lets go of the bytes. The memory
    /// is to be shrunk to what is held afterwards.
    ///
    /// # Errors
    /// Those of `parse`; 400 if it is nested too deep; 429 or 503 if there is no memory for it now.
    pub(crate) async fn parse<T>(
        self,
        parse: impl FnOnce(&[u8]) -> Result<T, Problem>,
    ) -> Result<(T, RequestBudget), Problem> {
        let Self(bytes, mut budget, _) = self;
        let caller = budget.caller().clone();
        off_the_runtime(&caller, bytes.len(), || {
            // Guard: a body that is refused for its memory is not parsed, however often a client
            // repeats it. Bodies that settle leases are small, and must not be refused for what
            // they might have become.
            if !To::SETTLES {
                budget.grow_to_parse(&bytes)?;
            }
            if json_depth(&bytes) > JSON_DEPTH {
                let detail = format!("the JSON is nested more than {JSON_DEPTH} levels deep");
                return Err(Problem::bad_request(detail));
            }
            Ok((parse(&bytes)?, budget))
        })
        .await
    }
}

impl<To, S> FromRequest<S> for Raw<To>
where
    To: RequiredScope + Send,
    S: Send + Sync + AsRef<Arc<BodyReader>>,
{
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let (mut parts, body) = request.into_parts();
        let caller = Caller::from_request_parts(&mut parts, state).await?;
        caller.need(To::SCOPE)?;
        need_json(&parts.headers)?;
        let body_reader = state.as_ref();
        let budget = RequestBudget::of(&body_reader.0.memory, &caller, To::SETTLES);
        let most = body_reader.0.now().body_bytes;
        let reading = body_reader.read(&parts.headers, body, budget, most);
        let (bytes, budget) = tokio::select! {
            biased;
            () = caller.ended() => return Err(Problem::key_ended()),
            read = reading => read?,
        };
        Ok(Self(bytes, budget, PhantomData))
    }
}

impl<To, T, S> FromRequest<S> for Json<To, T>
where
    To: RequiredScope + Send,
    T: DeserializeOwned,
    S: Send + Sync + AsRef<Arc<BodyReader>>,
{
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let raw = Raw::<To>::from_request(request, state).await?;
        let bytes = raw.0.len();
        let (body, mut budget) = raw.parse(read).await?;
        budget.shrink_to(bytes);
        Ok(Self(body, budget, PhantomData))
    }
}

impl<To, T, S> FromRequest<S> for OptionalJson<To, T>
where
    To: RequiredScope + Send,
    T: DeserializeOwned + Default,
    S: Send + Sync + AsRef<Arc<BodyReader>>,
{
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        if http_body::Body::is_end_stream(request.body()) {
            let (mut parts, _) = request.into_parts();
            Caller::from_request_parts(&mut parts, state).await?.need(To::SCOPE)?;
            return Ok(Self(T::default(), PhantomData));
        }
        let raw = Raw::<To>::from_request(request, state).await?;
        let parse =
            |bytes: &[u8]| if bytes.is_empty() { Ok(None) } else { read::<Option<T>>(bytes) };
        let (body, _) = raw.parse(parse).await?;
        Ok(Self(body.unwrap_or_default(), PhantomData))
    }
}

/// Parses these bytes.
///
/// # Errors
/// 400 if they are not JSON; 422, naming the field, if they do not have the expected form.
pub(crate) fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    // serde would read a list as the fields in their order.
    if bytes.trim_ascii_start().first() == Some(&b'[') {
        let parsed = serde_json::from_slice::<IgnoredAny>(bytes);
        return Err(match parsed {
            Ok(_) => Problem::invalid("body", "the body must be an object, not a list"),
            Err(error) => refused(&error),
        });
    }
    // What it refuses is refused by parsing the body as well, with a message that is as long as the
    // string. Errors of syntax repeat nothing, and are at another place in the body.
    if let Some(short) = without_long_strings(bytes)
        && let Err(error) = serde_json::from_slice::<T>(&short)
        && error.is_data()
    {
        let (field, message) = locate::<T>(&short, &error);
        return Err(invalid(field, without_position(&message)));
    }
    serde_json::from_slice(bytes).map_err(|error| explain::<T>(bytes, &error))
}

/// The error for a body that cannot be read as this.
fn explain<T: DeserializeOwned>(bytes: &[u8], error: &serde_json::Error) -> Problem {
    // serde reports a number in place of an enum word as a syntax error, although it is JSON.
    let is_json = |text| serde_json::from_str::<IgnoredAny>(text).is_ok();
    if !error.is_data() && !std::str::from_utf8(bytes).is_ok_and(is_json) {
        return refused(error);
    }
    let (field, message) = locate::<T>(bytes, error);
    invalid(field, &message)
}

/// The field that is wrong, found by parsing again, and what is said about it. No field if it is
/// the body as a whole.
fn locate<T: DeserializeOwned>(
    bytes: &[u8],
    error: &serde_json::Error,
) -> (Option<String>, String) {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    match serde_path_to_error::deserialize::<_, T>(&mut reader) {
        Err(found) if found.path().iter().next().is_some() => {
            (Some(redact_path(found.path())), found.inner().to_string())
        }
        _ => (None, error.to_string()),
    }
}

fn invalid(field: Option<String>, message: &str) -> Problem {
    let message = redact_values(message);
    match field {
        Some(field) => {
            let detail = format!("{field}: {message}");
            Problem::invalid(field, detail)
        }
        None => Problem::invalid("body", message),
    }
}

/// The error for a body as a whole.
pub(crate) fn refused(error: &serde_json::Error) -> Problem {
    match error.is_data() {
        true => Problem::invalid("body", redact_values(&error.to_string())),
        false => Problem::bad_request(format!("the body is not JSON: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s6_what_is_json_but_not_what_is_asked_for_names_the_field() {
        #[derive(Debug, serde::Deserialize)]
        #[expect(dead_code, reason = "it is read only")]
        struct Body {
            scopes: Vec<crate::web::Scope>,
        }
        for json in [r#"{"scopes": [7]}"#, r#"{"scopes": ["walk"]}"#, r#"{"scopes": [null]}"#] {
            let problem = format!("{:?}", read::<Body>(json.as_bytes()).unwrap_err());
            assert!(problem.contains("scopes[0]") && problem.contains("422"), "{problem}");
        }
        for bytes in [&b"{\"scopes\": [7}"[..], b"{\"scopes\": [\"\xff\"]}"] {
            let problem = format!("{:?}", read::<Body>(bytes).unwrap_err());
            assert!(problem.contains("is not JSON") && problem.contains("400"), "{problem}");
        }
    }
}
