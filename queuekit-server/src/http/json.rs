//! Bodies: read within bounds, then as JSON.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequest, Request};
use axum::http::header::CONTENT_LENGTH;
use axum::http::{HeaderMap, StatusCode};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use serde::de::{DeserializeOwned, IgnoredAny};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::HttpLimits;
use super::content_type::need_json;
use super::problem::Problem;
use super::unsaid::{plain, without_values};

/// Deepest nesting of a body.
const DEPTH: usize = 64;
/// From this size on a body keeps a thread busy for a millisecond.
const LARGE: usize = 256 * 1024;
/// Memory is counted in pieces of this size.
const PIECE: usize = 1024;

/// How much of what clients send is held at once.
#[derive(Debug)]
pub(crate) struct Intake {
    body_bytes: usize,
    timeout: Duration,
    pieces: Arc<Semaphore>,
}

impl Intake {
    pub(crate) fn new(limits: &HttpLimits) -> Self {
        Self {
            body_bytes: limits.body_bytes,
            timeout: limits.body_timeout,
            pieces: Arc::new(Semaphore::new(limits.buffered_bytes / PIECE)),
        }
    }

    /// The whole body.
    ///
    /// # Errors
    /// 413 if it is too large, before it is read where it says so; 408 if it comes too slowly; 503
    /// if there is no room for it now.
    async fn read(&self, headers: &HeaderMap, body: Body) -> Result<Raw, Problem> {
        let announced = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok());
        let announced: usize = announced.and_then(|value| value.parse().ok()).unwrap_or(0);
        if announced > self.body_bytes {
            return Err(self.too_large());
        }
        let reading = self.collect(announced, body);
        tokio::time::timeout(self.timeout, reading).await.unwrap_or_else(|_| {
            let detail = format!("the body did not come within {:?}", self.timeout);
            Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "bad_request", detail))
        })
    }

    async fn collect(&self, announced: usize, mut body: Body) -> Result<Raw, Problem> {
        let mut room = self.room(announced)?;
        let mut whole: Option<BytesMut> = None;
        let mut first: Option<Bytes> = None;
        let mut length = 0;
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| Problem::bad_request("the body broke off"))?;
            let Ok(data) = frame.into_data() else { continue };
            length += data.len();
            if length > self.body_bytes {
                return Err(self.too_large());
            }
            let held = room.num_permits() * PIECE;
            if length > held {
                room.merge(self.room(length - held)?);
            }
            // Most bodies come in one piece, which is not copied.
            match (&mut whole, &first) {
                (Some(whole), _) => whole.extend_from_slice(&data),
                (None, None) => first = Some(data),
                (None, Some(before)) => {
                    let mut joined = BytesMut::with_capacity(announced.max(length));
                    joined.extend_from_slice(before);
                    joined.extend_from_slice(&data);
                    whole = Some(joined);
                }
            }
        }
        Ok(Raw(whole.map(BytesMut::freeze).or(first).unwrap_or_default(), Room(room)))
    }

    fn room(&self, bytes: usize) -> Result<OwnedSemaphorePermit, Problem> {
        let pieces = u32::try_from(bytes.div_ceil(PIECE)).unwrap_or(u32::MAX);
        let room = Arc::clone(&self.pieces).try_acquire_many_owned(pieces);
        room.map_err(|_| Problem::overloaded("bytes of requests and answers"))
    }

    /// Room for what is to be sent.
    ///
    /// # Errors
    /// 503 if there is none now.
    pub(super) fn room_for(&self, bytes: usize) -> Result<Room, Problem> {
        self.room(bytes).map(Room)
    }

    fn too_large(&self) -> Problem {
        let detail =
            format!("the body is larger than {} bytes; send less at once", self.body_bytes);
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", detail)
    }
}

/// A body of JSON. A handler takes it as `Json(body, ..)`: the room that it takes up is given back
/// when the handler is done.
#[derive(Debug)]
pub(crate) struct Json<T>(pub(crate) T, pub(crate) Room);

/// The bytes of a body that say they are JSON and are not nested too deep.
#[derive(Debug)]
pub(crate) struct Raw(pub(crate) Bytes, pub(crate) Room);

/// A share of what all bodies may take up.
#[derive(Debug)]
#[expect(dead_code, reason = "it is there to be dropped")]
pub(crate) struct Room(OwnedSemaphorePermit);

impl<S> FromRequest<S> for Raw
where
    S: Send + Sync + AsRef<Arc<Intake>>,
{
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        need_json(&parts.headers)?;
        let raw = state.as_ref().read(&parts.headers, body).await?;
        if off_the_runtime(&raw.0, || depth(&raw.0)) > DEPTH {
            let detail = format!("the JSON is nested more than {DEPTH} deep");
            return Err(Problem::bad_request(detail));
        }
        Ok(raw)
    }
}

impl<T, S> FromRequest<S> for Json<T>
where
    T: DeserializeOwned,
    S: Send + Sync + AsRef<Arc<Intake>>,
{
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let Raw(bytes, room) = Raw::from_request(request, state).await?;
        Ok(Self(read(&bytes)?, room))
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
