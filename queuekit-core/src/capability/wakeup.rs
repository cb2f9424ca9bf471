//! One wake-up, shared by those who ring it and the one that waits.

use std::sync::Arc;

use tokio::sync::Notify;

/// Rings when there may be something to do; several rings before anyone listens are one.
#[derive(Clone, Debug, Default)]
pub struct Wakeup(pub(super) Arc<Notify>);

impl Wakeup {
    /// Waits for the next ring, or returns at once if it rang since the last call.
    pub async fn rung(&self) {
        self.0.notified().await;
    }

    /// Rings it.
    pub fn ring(&self) {
        self.0.notify_one();
    }
}
