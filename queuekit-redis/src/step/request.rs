//! A script on one queue.

use std::time::Duration;

use queuekit_core::{QueueName, Result};
use redis::Value;

use crate::RedisStore;
use crate::call::{Call, Request};
use crate::keys::QueueKeys;
use crate::scripts::Lua;

impl RedisStore {
    /// Runs a script on a queue.
    pub(crate) async fn on_queue(
        &self,
        operation: &'static str,
        call: Call,
        script: Lua,
        queue: &QueueName,
        rest: impl IntoIterator<Item = Vec<u8>>,
    ) -> Result<Value> {
        let time = self.shared.op_timeout;
        self.on_queue_within(time, operation, call, script, queue, rest).await
    }

    /// The same, in the time that is left of a call with several steps.
    pub(crate) async fn on_queue_within(
        &self,
        time: Duration,
        operation: &'static str,
        call: Call,
        script: Lua,
        queue: &QueueName,
        rest: impl IntoIterator<Item = Vec<u8>>,
    ) -> Result<Value> {
        let keyspace = &self.shared.keyspace;
        let mut keys = vec![keyspace.of(queue)];
        if script.tells_payloads() {
            keys.extend(keyspace.event_data(queue).map(|key| QueueKeys::from([key])));
        }
        let args = rest.into_iter().collect();
        let request = Request::Script { script, keys, args };
        self.call_within(time, operation, call, request).await
    }
}
