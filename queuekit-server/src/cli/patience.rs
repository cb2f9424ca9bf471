//! Who does not answer for a while may come back.

use std::time::Duration;

use anyhow::Result;

use super::api::is_passing;
use super::output::remark;

/// How often, and after which pause, is asked again where there is no answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    tries: u32,
    pause: Duration,
}

impl Patience {
    /// Of whoever wants something done.
    pub(crate) const SHORT: Self = Self { tries: 3, pause: Duration::from_millis(500) };
    /// Of whoever watches, while a server is started anew.
    pub(crate) const LONG: Self = Self { tries: 20, pause: Duration::from_secs(1) };

    /// Asks for what may be asked for twice.
    pub(crate) async fn ask<T>(mut self, ask: impl AsyncFn() -> Result<T>) -> Result<T> {
        loop {
            match ask().await {
                Err(error) if self.tries > 0 && is_passing(&error) => {
                    remark(format_args!("{error:#}; asking again"));
                    self.tries -= 1;
                    tokio::time::sleep(self.pause).await;
                }
                answer => return answer,
            }
        }
    }
}
