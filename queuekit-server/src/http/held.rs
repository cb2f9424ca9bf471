//! Large answers: what they take up is given back when they have been sent, not when they are made.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::Response;
use bytes::Bytes;
use http_body::{Frame, SizeHint};

use super::problem::Problem;
use super::room::Room;

/// Smaller answers are not worth counting.
const LARGE: usize = 64 * 1024;
/// The connection takes the next piece when it has sent the one before.
const PIECE: usize = 256 * 1024;

/// Answers with this JSON, from the room in which it was made.
///
/// # Errors
/// 429 or 503 if it needs more, and there is none for a while.
pub(crate) async fn answer(room: Room, json: Vec<u8>) -> Result<Response, Problem> {
    let mut response = Response::new(Body::new(Held::of(room, json.into()).await?));
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    Ok(response)
}

/// What is sent, and what it takes up meanwhile.
pub(crate) struct Held {
    left: Bytes,
    _room: Option<Room>,
}

impl Held {
    /// # Errors
    /// As of [`answer`].
    pub(crate) async fn of(mut room: Room, whole: Bytes) -> Result<Self, Problem> {
        if whole.len() < LARGE {
            return Ok(Self { left: whole, _room: None });
        }
        room.wait_for(whole.len()).await?;
        room.shrink_to(whole.len());
        Ok(Self { left: whole, _room: Some(room) })
    }
}

impl http_body::Body for Held {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.left.is_empty() {
            return Poll::Ready(None);
        }
        let length = self.left.len().min(PIECE);
        Poll::Ready(Some(Ok(Frame::data(self.left.split_to(length)))))
    }

    fn is_end_stream(&self) -> bool {
        self.left.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left.len() as u64)
    }
}
