//! Retrying a call while a server or a store does not answer.

use std::time::Duration;

use anyhow::Result;
use tokio::time::{Instant, sleep};

use super::api::is_passing;
use super::output::remark;

/// For how long, and with which pauses, a call without an answer is repeated. A call in progress is
/// not cut off: the store's `op_timeout_ms` bounds it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Retry {
    whole: Duration,
    pause: Duration,
}

impl Retry {
    /// For commands that change something.
    pub(crate) const SHORT: Self =
        Self { whole: Duration::from_secs(2), pause: Duration::from_millis(500) };
    /// For commands that watch, so that they survive a restart of the server.
    pub(crate) const LONG: Self =
        Self { whole: Duration::from_secs(30), pause: Duration::from_secs(1) };

    /// Makes a call that is safe to repeat.
    pub(crate) async fn ask<T>(self, ask: impl AsyncFn() -> Result<T>) -> Result<T> {
        let end = Instant::now() + self.whole;
        loop {
            match ask().await {
                Err(error) if is_passing(&error) && Instant::now() + self.pause <= end => {
                    remark(format_args!("{error:#}; retrying"));
                    sleep(self.pause).await;
                }
                answer => return answer,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::cli::api::NoAnswer;

    #[tokio::test(start_paused = true)]
    async fn it_is_one_for_all_tries_however_long_each_takes() {
        for (call, tries, whole) in
            [(0, 5, 2000), (10, 4, 1540), (1500, 2, 3500), (10_000, 1, 10_000)]
        {
            let (begun, asked) = (Instant::now(), Cell::new(0));
            let answer = Retry::SHORT.ask(async || {
                asked.set(asked.get() + 1);
                sleep(Duration::from_millis(call)).await;
                let server = "http://a".to_owned();
                Err::<(), _>(anyhow::anyhow!("refused").context(NoAnswer { server }))
            });
            answer.await.unwrap_err();
            assert_eq!((asked.get(), begun.elapsed().as_millis()), (tries, whole), "{call}");
        }
    }
}
