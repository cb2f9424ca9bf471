//! Any harness with a layer in front of its stores.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use queuekit_core::{Backend, JobId};

use crate::{Expect, Harness, World};

type Wrap = dyn Fn(Arc<dyn Backend>) -> Arc<dyn Backend> + Send + Sync;

/// A harness whose stores have a layer in front.
#[derive(Clone)]
pub struct Layered {
    harness: Arc<dyn Harness>,
    wrap: Arc<Wrap>,
    expect: Option<Expect>,
    case_timeout: Option<Duration>,
}

impl Layered {
    /// The stores of this harness, each handle wrapped by this function.
    pub fn new(
        harness: impl Harness,
        wrap: impl Fn(Arc<dyn Backend>) -> Arc<dyn Backend> + Send + Sync + 'static,
    ) -> Self {
        Self { harness: Arc::new(harness), wrap: Arc::new(wrap), expect: None, case_timeout: None }
    }

    /// The same, with other expectations of the wrapped store.
    #[must_use]
    pub fn expecting(mut self, expect: Expect) -> Self {
        self.expect = Some(expect);
        self
    }

    /// The same, with another time after which a case counts as hanging.
    #[must_use]
    pub fn case_timeout(mut self, limit: Duration) -> Self {
        self.case_timeout = Some(limit);
        self
    }
}

impl fmt::Debug for Layered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Layered").field("expect", &self.expect).finish_non_exhaustive()
    }
}

#[async_trait]
impl Harness for Layered {
    async fn open(&self) -> Arc<dyn World> {
        let inner = self.harness.open().await;
        Arc::new(LayeredWorld {
            backend: (self.wrap)(Arc::clone(inner.backend())),
            inner,
            layered: self.clone(),
        })
    }

    async fn why_absent(&self) -> Option<String> {
        self.harness.why_absent().await
    }

    fn case_timeout(&self) -> Duration {
        self.case_timeout.unwrap_or_else(|| self.harness.case_timeout())
    }
}

struct LayeredWorld {
    backend: Arc<dyn Backend>,
    inner: Arc<dyn World>,
    layered: Layered,
}

#[async_trait]
impl World for LayeredWorld {
    fn expect(&self) -> Expect {
        self.layered.expect.clone().unwrap_or_else(|| self.inner.expect())
    }

    fn backend(&self) -> &Arc<dyn Backend> {
        &self.backend
    }

    async fn advance(&self, by: Duration) {
        self.inner.advance(by).await;
    }

    async fn rewind(&self, by: Duration) -> bool {
        self.inner.rewind(by).await
    }

    async fn second_handle(&self) -> Option<Arc<dyn Backend>> {
        let handle = self.inner.second_handle().await?;
        Some((self.layered.wrap)(handle))
    }

    async fn corrupt(&self, id: JobId) -> bool {
        self.inner.corrupt(id).await
    }

    async fn raw_dump(&self) -> Option<Vec<String>> {
        if !self.expect().raw_dump {
            return None;
        }
        self.inner.raw_dump().await
    }

    async fn dispose(&self) {
        self.inner.dispose().await;
    }
}
