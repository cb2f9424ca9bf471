//! The end of a connection before its answer has been sent.

use tokio_util::sync::CancellationToken;

/// Ends the connection that a request came on; an extension of each request.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionEnd(CancellationToken);

impl ConnectionEnd {
    pub(crate) fn new() -> Self {
        Self(CancellationToken::new())
    }

    pub(crate) fn end(&self) {
        self.0.cancel();
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.0.is_cancelled()
    }

    /// Completes when the connection is to end.
    pub(crate) async fn ended(&self) {
        self.0.cancelled().await;
    }
}
