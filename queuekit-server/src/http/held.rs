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

use super::json::{Intake, Room};
use super::problem::Problem;

/// Smaller answers are not worth counting.
const LARGE: usize = 64 * 1024;
/// The connection takes the next piece when it has sent the one before.
const PIECE: usize = 256 * 1024;

/// Answers with this JSON.
///
/// # Errors
/// 503 if there is no room for so large an answer now.
pub(crate) fn answer(intake: &Intake, json: Vec<u8>) -> Result<Response, Problem> {
    let body = if json.len() < LARGE {
        Body::from(json)
    } else {
        let room = intake.room_for(json.len())?;
        Body::new(Held { left: json.into(), _room: room })
    };
    let mut response = Response::new(body);
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    Ok(response)
}

struct Held {
    left: Bytes,
    _room: Room,
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
