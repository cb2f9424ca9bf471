//! A script on one queue.

use queuekit_core::{QueueName, Result};
use redis::Value;

use crate::RedisStore;
use crate::call::{Call, Request};
use crate::scripts::Lua;

impl RedisStore {
    /// Runs a script on a queue, with the present as its first argument.
    pub(crate) async fn on_queue(
        &self,
        operation: &'static str,
        call: Call,
        script: Lua,
        queue: &QueueName,
        rest: impl IntoIterator<Item = Vec<u8>>,
    ) -> Result<Value> {
        let keys = vec![self.shared.keyspace.of(queue)];
        let args = std::iter::once(self.shared.clock_arg()).chain(rest).collect();
        self.call(operation, call, Request::Script { script, keys, args }).await
    }
}
