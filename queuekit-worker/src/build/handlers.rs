//! Describing a worker: the handlers of its kinds.

use std::sync::Arc;

use queuekit_core::{Error, Kind, Payload};

use super::worker::Worker;
use crate::handler::batch::{BatchHandler, BatchOptions};
use crate::handler::collector::Batched;
use crate::handler::erased::{Erased, Raw, Typed};
use crate::handler::handler::{Handler, RawHandler};
use crate::run::options::KindOptions;

impl Worker {
    /// Runs the jobs of the kind of `P`. A worker has one handler per kind.
    pub fn handle<P: Payload, H: Handler<P>>(self, handler: H) -> Self {
        self.handle_with(handler, KindOptions::new())
    }

    /// Runs the jobs of the kind of `P`, with options.
    pub fn handle_with<P: Payload, H: Handler<P>>(self, handler: H, options: KindOptions) -> Self {
        self.add_handler(P::KIND, Arc::new(Typed::new(handler)), options)
    }

    /// Runs the jobs of the kind of `P`, several in one call.
    pub fn handle_batch<P, H>(self, handler: H, batches: BatchOptions) -> Self
    where
        P: Payload,
        H: BatchHandler<P>,
    {
        self.handle_batch_with(handler, batches, KindOptions::new())
    }

    /// Runs the jobs of the kind of `P`, several in one call, with options.
    pub fn handle_batch_with<P, H>(
        mut self,
        handler: H,
        batches: BatchOptions,
        options: KindOptions,
    ) -> Self
    where
        P: Payload,
        H: BatchHandler<P>,
    {
        self.check(batches.check());
        self.add_handler(P::KIND, Arc::new(Batched::new(handler, batches)), options)
    }

    /// Runs the jobs of a kind without knowing their type.
    pub fn handle_raw<K, H>(self, kind: K, handler: H) -> Self
    where
        K: TryInto<Kind, Error: Into<Error>>,
        H: RawHandler,
    {
        self.handle_raw_with(kind, handler, KindOptions::new())
    }

    /// Runs the jobs of a kind without knowing their type, with options.
    pub fn handle_raw_with<K, H>(self, kind: K, handler: H, options: KindOptions) -> Self
    where
        K: TryInto<Kind, Error: Into<Error>>,
        H: RawHandler,
    {
        self.add_handler(kind, Arc::new(Raw(handler)), options)
    }

    fn add_handler<K>(mut self, kind: K, handler: Arc<dyn Erased>, options: KindOptions) -> Self
    where
        K: TryInto<Kind, Error: Into<Error>>,
    {
        let kind = kind.try_into().map_err(Into::into);
        let added = kind.and_then(|kind| self.settings.kinds.add(kind, handler, options));
        self.check(added);
        self
    }
}
