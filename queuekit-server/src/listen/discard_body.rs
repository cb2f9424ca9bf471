//! Reads the rest of a refused body: closing a connection with unread bytes resets it, and the
//! client would not see the answer.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http_body::{Body as _, Frame, SizeHint};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::header::EXPECT;
use tokio::sync::Semaphore;

/// How much of a refused body is read,
const DRAIN_BYTES_MAX: usize = 64 * 1024 * 1024;
/// and for how long.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);
/// How many are read at once: each takes memory, and needs no key. Beyond that, a client may see
/// that its connection was reset, and not the answer.
const DRAINS: usize = 256;

/// The refused bodies that are being read.
#[derive(Clone, Debug)]
pub(super) struct Drains(Arc<Semaphore>);

impl Default for Drains {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(DRAINS)))
    }
}

/// The request, with a body that is read to its end even if a handler refuses it, unless the client
/// waits for `100 Continue` before it sends the body.
pub(super) fn discard_body(
    request: hyper::Request<Incoming>,
    drains: &Drains,
) -> hyper::Request<Body> {
    let waits = request.headers().contains_key(EXPECT);
    request.map(|body| match body.is_end_stream() || waits {
        true => Body::new(body),
        false => Body::new(DrainBody(Some(body), drains.clone())),
    })
}

struct DrainBody(Option<Incoming>, Drains);

impl http_body::Body for DrainBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        self.0.as_mut().map_or(Poll::Ready(None), |body| Pin::new(body).poll_frame(cx))
    }

    fn is_end_stream(&self) -> bool {
        self.0.as_ref().is_none_or(|body| body.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        self.0.as_ref().map_or_else(SizeHint::default, |body| body.size_hint())
    }
}

impl Drop for DrainBody {
    fn drop(&mut self) {
        let left = self.0.take().filter(|body| !body.is_end_stream());
        let (Some(body), Ok(runtime)) = (left, tokio::runtime::Handle::try_current()) else {
            return;
        };
        let Ok(place) = Arc::clone(&self.1.0).try_acquire_owned() else { return };
        drop(runtime.spawn(async move {
            let _place = place;
            let _ = tokio::time::timeout(DRAIN_TIMEOUT, read_out(body)).await;
        }));
    }
}

async fn read_out(mut body: Incoming) {
    let mut left = DRAIN_BYTES_MAX;
    while let Some(Ok(frame)) = body.frame().await {
        let length = frame.data_ref().map_or(0, Bytes::len);
        let Some(rest) = left.checked_sub(length) else { return };
        left = rest;
    }
}
