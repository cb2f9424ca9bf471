//! Leases on their way to a client: those that do not arrive are given back.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::Response;
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use queuekit::{Client, LeaseToken, Nack, NackKind, Reserved};

use crate::api::app::App;
use crate::http::Problem;
use crate::http::held::Held;
use crate::http::room::Room;

/// What a reserve call got, and nobody has yet. Dropped, it goes back, and no attempt is spent.
pub(super) struct Unsent {
    client: Client,
    reserved: Reserved,
    tokens: Vec<LeaseToken>,
}

impl Unsent {
    pub(super) fn new(app: &App, reserved: Reserved) -> Self {
        let tokens = reserved.leases.iter().map(|lease| lease.token.clone()).collect();
        Self { client: app.client().clone(), reserved, tokens }
    }

    /// With what another call got after it.
    pub(super) fn join(&mut self, mut later: Self) {
        self.reserved.leases.append(&mut later.reserved.leases);
        self.reserved.more = later.reserved.more;
        self.reserved.next_due_in = later.reserved.next_due_in;
        self.tokens.append(&mut later.tokens);
    }

    /// The bytes of each payload.
    pub(super) fn sizes(&self) -> impl Iterator<Item = usize> {
        self.reserved.leases.iter().map(|lease| lease.payload.len())
    }

    /// There are others, which were left for the next call.
    pub(super) fn leave_some(&mut self) {
        self.reserved.more = true;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.reserved.leases.is_empty()
    }

    pub(super) fn more(&self) -> bool {
        self.reserved.more
    }

    pub(super) fn next_due_in(&self) -> Option<Duration> {
        self.reserved.next_due_in
    }

    /// The connection has taken them: from here on they end with their ttl.
    fn sent(&mut self) {
        self.tokens.clear();
    }
}

impl Drop for Unsent {
    fn drop(&mut self) {
        let tokens = std::mem::take(&mut self.tokens);
        let (client, Ok(runtime)) = (self.client.clone(), tokio::runtime::Handle::try_current())
        else {
            return;
        };
        if tokens.is_empty() {
            return;
        }
        let release =
            |lease| Nack::new(lease, NackKind::Release, "the client hung up", Duration::ZERO);
        let nacks: Vec<_> = tokens.into_iter().map(release).collect();
        runtime.spawn(async move {
            if let Err(error) = client.nack(nacks).await {
                tracing::warn!(%error, "leases of a client that hung up end with their ttl");
            }
        });
    }
}

/// An answer that gives the leases back if the connection does not take all of it.
///
/// # Errors
/// 429 or 503 if there is no room for it; the leases go back.
pub(super) async fn respond(
    mut unsent: Unsent,
    room: Room,
    write: impl FnOnce(&Reserved) -> Vec<u8>,
) -> Result<Response, Problem> {
    let body = write(&unsent.reserved);
    // The text of them is there, and they are not needed any more.
    unsent.reserved.leases = Vec::new();
    let body = Held::of(room, body.into()).await?;
    let mut response = Response::new(Body::new(Leaving { body, unsent }));
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    Ok(response)
}

struct Leaving {
    body: Held,
    unsent: Unsent,
}

impl http_body::Body for Leaving {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let piece = Pin::new(&mut self.body).poll_frame(cx);
        if self.body.is_end_stream() {
            self.unsent.sent();
        }
        piece
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
