//! Leases on their way to a client: leases that do not arrive are released.

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
use queuekit::Client;
use queuekit::jobs::LeaseToken;
use queuekit::store::{Lease, Nack, NackKind, Reserved};

use crate::api::app::App;
use crate::web::Problem;
use crate::web::memory_budget::RequestBudget;
use crate::web::off_the_runtime::off_the_runtime;
use crate::web::response_budget::BudgetedBody;

/// Leases that no client has yet. If dropped, they are released, without spending an attempt.
pub(super) struct UndeliveredLeases {
    client: Client,
    reserved: Reserved,
    tokens: Vec<LeaseToken>,
}

impl UndeliveredLeases {
    pub(super) fn new(app: &App, reserved: Reserved) -> Self {
        let tokens = reserved.leases.iter().map(|lease| lease.token.clone()).collect();
        Self { client: app.client().clone(), reserved, tokens }
    }

    /// The bytes of each lease.
    pub(super) fn sizes(&self) -> impl Iterator<Item = usize> {
        self.reserved.leases.iter().map(Lease::bytes)
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

    /// The connection has taken them: from now on they last until their TTL.
    fn sent(&mut self) {
        self.tokens.clear();
    }
}

impl Drop for UndeliveredLeases {
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
            |lease| Nack::new(lease, NackKind::Release, "the client disconnected", Duration::ZERO);
        let nacks: Vec<_> = tokens.into_iter().map(release).collect();
        runtime.spawn(async move {
            if let Err(error) = client.nack(nacks).await {
                tracing::warn!(%error, "cannot release the leases of a client that disconnected");
            }
        });
    }
}

/// An answer that releases the leases if the connection does not take all of it.
///
/// # Errors
/// 429 or 503 if there is no memory for it; the leases are released.
pub(super) async fn respond(
    mut undelivered: UndeliveredLeases,
    budget: RequestBudget,
    write: impl FnOnce(&Reserved) -> Vec<u8>,
) -> Result<Response, Problem> {
    let bytes = undelivered.sizes().sum();
    let write = || write(&undelivered.reserved);
    let body = off_the_runtime(budget.caller(), bytes, write).await;
    // The JSON is written, so the payloads are no longer needed.
    undelivered.reserved.leases = Vec::new();
    let body = BudgetedBody::of(budget, body.into()).await?;
    let mut response = Response::new(Body::new(UndeliveredBody { body, undelivered }));
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    Ok(response)
}

struct UndeliveredBody {
    body: BudgetedBody,
    undelivered: UndeliveredLeases,
}

impl http_body::Body for UndeliveredBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let piece = Pin::new(&mut self.body).poll_frame(cx);
        if self.body.is_end_stream() {
            // The connection has the last piece. Whether the client reads it cannot be known.
            self.undelivered.sent();
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
