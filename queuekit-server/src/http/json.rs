//! Bodies: read within bounds, then as JSON.

use std::marker::PhantomData;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::header::CONTENT_LENGTH;
use axum::http::{HeaderMap, StatusCode};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use serde::de::{DeserializeOwned, IgnoredAny};

use super::HttpLimits;
use super::caller::Caller;
use super::content_type::need_json;
use super::limits::LiveLimits;
use super::problem::Problem;
use super::purpose::Purpose;
use super::room::Room;
use super::unsaid::{plain, without_values};

/// Deepest nesting of a body.
const DEPTH: usize = 64;
/// From this size on a body keeps a thread busy for a millisecond.
const LARGE: usize = 256 * 1024;
/// Room is made for so much of a body before it has come.
const AHEAD: usize = 64 * 1024;

/// Reads bodies, within bounds.
#[derive(Debug)]
pub(crate) struct Intake(Arc<LiveLimits>);

impl Intake {
    pub(crate) fn new(limits: Arc<LiveLimits>) -> Self {
        Self(limits)
    }

    /// Room for an answer to this caller: none yet.
    pub(crate) fn room(&self, caller: &Caller) -> Room {
        Room::of(&self.0.memory, caller, false)
    }

    /// The whole body.
    ///
    /// # Errors
    /// 413 if it is too large, before it is read where it says so; 408 if it comes too slowly; 429
    /// or 503 if there is no room for it now.
    async fn read(&self, headers: &HeaderMap, body: Body, room: Room) -> Result<Held, Problem> {
        let announced = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok());
        let announced: usize = announced.and_then(|value| value.parse().ok()).unwrap_or(0);
        let HttpLimits { body_bytes: most, body_timeout: timeout, .. } = self.0.now();
        if announced > most {
            return Err(too_large(most));
        }
        let reading = collect(announced, most, body, room);
        tokio::time::timeout(timeout, reading).await.unwrap_or_else(|_| {
            let detail = format!("the body did not come within {timeout:?}");
            Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "bad_request", detail))
        })
    }
}

/// Counts what has come, and not what was announced, which costs who announces it nothing.
async fn collect(
    announced: usize,
    most: usize,
    mut body: Body,
    mut room: Room,
) -> Result<Held, Problem> {
    let mut whole: Option<BytesMut> = None;
    let mut first: Option<Bytes> = None;
    let mut length = 0;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Problem::bad_request("the body broke off"))?;
        let Ok(data) = frame.into_data() else { continue };
        length += data.len();
        if length > most {
            return Err(too_large(most));
        }
        if length > room.bytes() {
            room.grow_to(length.max(announced.min(length + AHEAD)))?;
        }
        // Most bodies come in one piece, which is not copied.
        match (&mut whole, &first) {
            (Some(whole), _) => whole.extend_from_slice(&data),
            (None, None) => first = Some(data),
            (None, Some(before)) => {
                let mut joined = BytesMut::with_capacity(length);
                joined.extend_from_slice(before);
                joined.extend_from_slice(&data);
                whole = Some(joined);
            }
        }
    }
    Ok((whole.map(BytesMut::freeze).or(first).unwrap_or_default(), room))
}

fn too_large(most: usize) -> Problem {
    let detail = format!("the body is larger than {most} bytes; send less at once");
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", detail)
}

/// A body, and the room that it takes up.
type Held = (Bytes, Room);

/// A body of JSON, of somebody who may send it. A handler takes it as `Json(body, ..)`: the room
/// that it takes up is given back when the handler is done.
#[derive(Debug)]
pub(crate) struct Json<To, T>(pub(crate) T, pub(crate) Room, pub(crate) PhantomData<To>);

/// The bytes of a body that say they are JSON and are not nested too deep, of somebody who may send
/// them.
#[derive(Debug)]
pub(crate) struct Raw<To>(pub(crate) Bytes, pub(crate) Room, pub(crate) PhantomData<To>);

impl<To, S> FromRequest<S> for Raw<To>
where
    To: Purpose,
    S: Send + Sync + AsRef<Arc<Intake>>,
{
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let (mut parts, body) = request.into_parts();
        let caller = Caller::from_request_parts(&mut parts, state).await?;
        caller.need(To::SCOPE)?;
        need_json(&parts.headers)?;
        let intake = state.as_ref();
        let room = Room::of(&intake.0.memory, &caller, To::SETTLES);
        let (bytes, room) = intake.read(&parts.headers, body, room).await?;
        if off_the_runtime(&bytes, || depth(&bytes)) > DEPTH {
            let detail = format!("the JSON is nested more than {DEPTH} deep");
            return Err(Problem::bad_request(detail));
        }
        Ok(Self(bytes, room, PhantomData))
    }
}

impl<To, T, S> FromRequest<S> for Json<To, T>
where
    To: Purpose,
    T: DeserializeOwned,
    S: Send + Sync + AsRef<Arc<Intake>>,
{
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let Raw(bytes, room, _) = Raw::<To>::from_request(request, state).await?;
        Ok(Self(read(&bytes)?, room, PhantomData))
    }
}

/// What these bytes say.
///
/// # Errors
/// 400 if they are not JSON; 422, naming the field, if they are not what is asked for.
pub(crate) fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    off_the_runtime(bytes, || read_here(bytes))
}

/// Does what takes long with a large body while other requests go on.
pub(crate) fn off_the_runtime<T>(bytes: &[u8], work: impl FnOnce() -> T) -> T {
    if bytes.len() < LARGE { work() } else { tokio::task::block_in_place(work) }
}

fn read_here<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    // A list would be read as the fields in their order.
    if bytes.trim_ascii_start().first() == Some(&b'[') {
        let parsed = serde_json::from_slice::<IgnoredAny>(bytes);
        return Err(match parsed {
            Ok(_) => Problem::invalid("body", "the body must be an object, and is a list"),
            Err(error) => refused(&error),
        });
    }
    serde_json::from_slice(bytes).map_err(|error| explain::<T>(bytes, &error))
}

/// Where it went wrong is looked for only when it has.
fn explain<T: DeserializeOwned>(bytes: &[u8], error: &serde_json::Error) -> Problem {
    // A number where a word of a list is wanted is no JSON for the reader, and JSON all the same.
    let is_json = |text| serde_json::from_str::<IgnoredAny>(text).is_ok();
    if !error.is_data() && !std::str::from_utf8(bytes).is_ok_and(is_json) {
        return refused(error);
    }
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    match serde_path_to_error::deserialize::<_, T>(&mut reader) {
        Err(found) if found.path().iter().next().is_some() => {
            let field = found.path().to_string();
            let field = plain(&field).to_owned();
            let detail = format!("{field}: {}", without_values(&found.inner().to_string()));
            Problem::invalid(field, detail)
        }
        _ => Problem::invalid("body", without_values(&error.to_string())),
    }
}

/// Why the body as a whole is not taken.
pub(crate) fn refused(error: &serde_json::Error) -> Problem {
    match error.is_data() {
        true => Problem::invalid("body", without_values(&error.to_string())),
        false => Problem::bad_request(format!("the body is not JSON: {error}")),
    }
}

/// How deep lists and objects stand in each other; quotes hide their brackets.
fn depth(json: &[u8]) -> usize {
    let (mut deepest, mut depth) = (0_usize, 0_usize);
    let mut bytes = json.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b'"' => skip_text(&mut bytes),
            _ => {}
        }
    }
    deepest
}

fn skip_text(bytes: &mut std::slice::Iter<'_, u8>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => drop(bytes.next()),
            b'"' => return,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s6_depth_counts_brackets_outside_of_text() {
        for (json, wanted) in
            [("1", 0), ("[]", 1), (r#"{"a":[{}]}"#, 3), (r#"["[[\"[["]"#, 1), (r#""[""#, 0)]
        {
            assert_eq!(depth(json.as_bytes()), wanted, "{json}");
        }
        assert_eq!(depth("[".repeat(10_000).as_bytes()), 10_000);
    }

    #[test]
    fn s6_what_is_json_but_not_what_is_asked_for_names_the_field() {
        #[derive(Debug, serde::Deserialize)]
        #[expect(dead_code, reason = "it is read only")]
        struct Body {
            scopes: Vec<crate::http::Scope>,
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
