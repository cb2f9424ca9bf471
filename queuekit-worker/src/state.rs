//! What handlers share: a pool, a client, settings.

use std::any::{Any, TypeId, type_name};
use std::collections::HashMap;

use queuekit_core::{Error, ErrorKind, Result};

use crate::Worker;

impl Worker {
    /// Gives every handler access to a value, such as a connection pool: `Ctx::state` answers
    /// it. One value per type; a second one of the same type replaces the first.
    ///
    /// ```
    /// # use queuekit_core::{Client, Payload, memory::MemoryStore};
    /// # use queuekit_worker::{Ctx, JobResult, Worker};
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
    /// # async fn main() -> queuekit_core::Result<()> {
    /// # let client = Client::new(MemoryStore::new());
    /// let worker = Worker::new(client).state(Greeting("Hello".into())).handle(greet);
    /// # worker.run_until_idle().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn state<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        self.state.insert(value);
        self
    }
}

/// One value per type.
#[derive(Default)]
pub(crate) struct State(HashMap<TypeId, Box<dyn Any + Send + Sync>>);

impl State {
    /// Adds a value, in place of an earlier one of its type.
    pub(crate) fn insert<T: Send + Sync + 'static>(&mut self, value: T) {
        self.0.insert(TypeId::of::<T>(), Box::new(value));
    }

    /// The value of this type.
    ///
    /// # Errors
    /// `NotFound` if the worker was given none.
    pub(crate) fn get<T: Send + Sync + 'static>(&self) -> Result<&T> {
        let value = self.0.get(&TypeId::of::<T>()).and_then(|value| value.downcast_ref());
        value.ok_or_else(|| {
            let name = type_name::<T>();
            let message = format!(
                "the worker has no state of type `{name}`; add it with `Worker::state(value)`"
            );
            Error::new(ErrorKind::NotFound, message)
        })
    }
}
