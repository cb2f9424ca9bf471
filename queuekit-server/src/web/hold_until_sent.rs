//! Keeps something until an answer has been sent, or its connection has ended.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http_body::{Frame, SizeHint};

/// The same answer, with which this is dropped.
pub(super) fn hold_until_sent(response: Response, held: impl Send + 'static) -> Response {
    let held = Box::new(held);
    response.map(|body| Body::new(HoldingBody { body, _held: held }))
}

struct HoldingBody<T> {
    body: Body,
    _held: Box<T>,
}

impl<T> http_body::Body for HoldingBody<T> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
