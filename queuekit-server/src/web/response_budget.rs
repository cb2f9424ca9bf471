//! Large answers: their memory is given back when they have been sent, not when they are made.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use axum::body::Body;
use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::Response;
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use serde::Serialize;

use super::memory_budget::RequestBudget;
use super::off_the_runtime::off_the_runtime;
use super::problem::Problem;

/// Smaller answers are not counted.
const LARGE: usize = 64 * 1024;
/// Size of the pieces in which an answer is sent.
const PIECE: usize = 256 * 1024;

/// Answers with this as JSON. What it is made of was read within this budget.
///
/// # Errors
/// 429 or 503 if it needs more memory, and there is none after a wait.
pub(crate) async fn answer<T>(budget: RequestBudget, body: &T) -> Result<Response, Problem>
where
    T: Serialize + Sync,
{
    let write = || serde_json::to_vec(body).unwrap_or_default();
    let json = off_the_runtime(budget.caller(), budget.bytes(), write).await;
    answer_written(budget, json).await
}

/// The same with JSON or another text that is written already.
///
/// # Errors
/// As of [`answer`].
pub(crate) async fn answer_written(
    budget: RequestBudget,
    json: Vec<u8>,
) -> Result<Response, Problem> {
    let mut response = Response::new(Body::new(BudgetedBody::of(budget, json.into()).await?));
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    Ok(response)
}

/// An answer that is being sent.
pub(crate) struct BudgetedBody {
    left: Bytes,
    sent: Arc<AtomicUsize>,
}

/// A whole answer, and its memory: that is given back when the connection has let go of the last
/// piece, which may be long after it got it.
struct WithBudget {
    whole: Bytes,
    _budget: RequestBudget,
}

impl BudgetedBody {
    /// # Errors
    /// As of [`answer`].
    pub(crate) async fn of(mut budget: RequestBudget, whole: Bytes) -> Result<Self, Problem> {
        if whole.len() < LARGE {
            return Ok(Self { left: whole, sent: Arc::default() });
        }
        budget.wait_for(whole.len()).await?;
        // What was set aside for the read may be more than the answer.
        budget.shrink_to(whole.len());
        let sent = budget.begin_sending();
        Ok(Self { left: Bytes::from_owner(WithBudget { whole, _budget: budget }), sent })
    }
}

impl AsRef<[u8]> for WithBudget {
    fn as_ref(&self) -> &[u8] {
        &self.whole
    }
}

impl http_body::Body for BudgetedBody {
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
        self.sent.fetch_add(length, Ordering::Relaxed);
        Poll::Ready(Some(Ok(Frame::data(self.left.split_to(length)))))
    }

    fn is_end_stream(&self) -> bool {
        self.left.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;
    use crate::web::HttpLimits;
    use crate::web::auth::Caller;
    use crate::web::memory_budget::MemoryBudget;

    /// Guard: hyper drops a body as soon as it has the last piece, which is a part of the whole.
    #[tokio::test(start_paused = true)]
    async fn s6_an_answer_keeps_its_memory_until_its_last_piece_is_sent() {
        const MOST: usize = 4 << 20;
        let memory = MemoryBudget::empty();
        memory.resize(&HttpLimits { buffered_bytes: 8 * MOST, ..HttpLimits::default() });
        let memory = Arc::new(memory);
        let budget = || RequestBudget::of(&memory, &Caller::operator(), false);
        let mut body = BudgetedBody::of(budget(), vec![b'x'; MOST].into()).await.unwrap();
        let mut last = None;
        while let Some(piece) = body.frame().await {
            last = Some(piece.unwrap());
        }
        drop(body);
        // There is room for two of these.
        let mut others = [budget(), budget()];
        others[0].take_for_answer(MOST).await.unwrap();
        others[1].take_for_answer(MOST).await.unwrap_err();
        drop(last);
        others[1].take_for_answer(MOST).await.unwrap();
    }
}
