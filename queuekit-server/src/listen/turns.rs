//! Turns of connections.

use std::pin::pin;

use futures_util::future::poll_immediate;
use tokio::task::yield_now;

/// Answers a request, and yields to other connections if the answer came at once.
///
/// Guard: hyper reads the next request of a connection as soon as the last one is answered. A
/// client that sends thousands of requests that are refused, and reads no answer, would otherwise
/// keep a thread for hundreds of them.
pub(super) async fn in_turn<T>(answering: impl Future<Output = T>) -> T {
    let mut answering = pin!(answering);
    match poll_immediate(answering.as_mut()).await {
        Some(answer) => {
            yield_now().await;
            answer
        }
        None => answering.await,
    }
}
