//! Describing a worker: what its handlers share, and the code around them.

use std::sync::Arc;

use super::worker::Worker;
use crate::handler::hooks::Hooks;
use crate::handler::middleware::Middleware;

impl Worker {
    /// Gives every handler access to a value, such as a connection pool, through `Ctx::state`. One
    /// value per type; a second one of the same type replaces the first.
    ///
    /// ```
    /// # use queuekit::{Client, Ctx, JobResult, Payload, Worker, memory::MemoryStore};
    /// # #[derive(serde::Serialize, serde::Deserialize)]
    /// # struct Greet { name: String }
    /// # impl Payload for Greet { const KIND: &'static str = "greet"; }
    /// struct Greeting(String);
    ///
    /// async fn greet(job: Greet, ctx: Ctx) -> JobResult<String> {
    ///     let Greeting(greeting) = ctx.state()?;
    ///     Ok(format!("{greeting}, {}!", job.name))
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> queuekit::Result<()> {
    /// # let client = Client::new(MemoryStore::new());
    /// let worker = Worker::new(client).state(Greeting("Hello".into())).handle(greet);
    /// # worker.run_until_idle().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn state<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        self.settings.values.insert(value);
        self
    }

    /// Wraps every run. The first one added is the outermost; see [`Middleware`].
    pub fn middleware(mut self, middleware: impl Middleware) -> Self {
        self.settings.middleware.push(Arc::new(middleware));
        self
    }

    /// Wraps every run in a layer of tower, such as a timeout or a limit of concurrency; a
    /// `ServiceBuilder` is a layer too. Layers and [`middleware`](Self::middleware) nest in the
    /// order in which they are added, the first one outermost.
    ///
    /// The request is a [`JobRequest`](crate::JobRequest). If a layer returns its own error, the
    /// attempt fails and the job is retried. A run that waits for a layer to be ready holds its
    /// slot, and its timeout keeps running. The service must be `Clone`; put `tower::buffer` around
    /// one that is not.
    ///
    /// ```
    /// # use queuekit::{Client, Ctx, JobResult, Payload, Worker, memory::MemoryStore};
    /// # #[derive(serde::Serialize, serde::Deserialize)]
    /// # struct Greet { name: String }
    /// # impl Payload for Greet { const KIND: &'static str = "greet"; }
    /// # async fn greet(job: Greet, _ctx: Ctx) -> JobResult { Ok(()) }
    /// use std::time::Duration;
    /// use tower::ServiceBuilder;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> queuekit::Result<()> {
    /// # let client = Client::new(MemoryStore::new());
    /// let layers = ServiceBuilder::new().concurrency_limit(4).timeout(Duration::from_secs(10));
    /// let worker = Worker::new(client).layer(layers).handle(greet);
    /// # worker.run_until_idle().await?;
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(feature = "tower")]
    pub fn layer<L>(self, layer: L) -> Self
    where
        L: tower_layer::Layer<crate::JobService>,
        L::Service: tower_service::Service<crate::JobRequest, Response = Option<crate::Bytes>>
            + Clone
            + Send
            + 'static,
        <L::Service as tower_service::Service<crate::JobRequest>>::Error:
            Into<Box<dyn std::error::Error + Send + Sync>>,
        <L::Service as tower_service::Service<crate::JobRequest>>::Future: Send,
    {
        self.middleware(crate::handler::tower::Layered::new(&layer))
    }

    /// Calls these hooks when something happens to a run; see [`Hooks`].
    pub fn hooks(mut self, hooks: impl Hooks) -> Self {
        self.settings.hooks.push(Arc::new(hooks));
        self
    }
}
