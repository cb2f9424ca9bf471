//! Orders to workers.

use std::num::NonZeroU32;

use async_trait::async_trait;
use queuekit_core::capability::{Control, Orders, WorkerOrder, admit_ordered};
use queuekit_core::{Result, WorkerId};

use crate::RedisStore;
use crate::call::Request;
use crate::codec::{array_of, number_of};
use crate::error::unreadable;
use crate::repeat::Call;
use crate::scripts::Lua;

#[async_trait]
impl Control for RedisStore {
    async fn control(&self, workers: &[WorkerId], order: WorkerOrder) -> Result<Vec<bool>> {
        admit_ordered(workers).map_err(|error| error.during("control"))?;
        if workers.is_empty() {
            return Ok(Vec::new());
        }
        let Orders { mode, slots, .. } = Orders::default().with(order);
        let mode = mode.map_or("-", |mode| mode.as_str());
        let slots = slots.map_or_else(|| "-".to_owned(), |slots| slots.to_string());
        let mut args = vec![mode.into(), slots.into_bytes()];
        args.extend(workers.iter().map(|worker| worker.as_str().into()));
        let keys = vec![self.shared.keyspace.workers()];
        let request = Request::Script { script: Lua::Control, keys, args };
        let listed = array_of(self.call("control", Call::Once, request).await?);
        let listed = listed.ok_or_else(|| unreadable("the answer to control"))?;
        Ok(listed.into_iter().map(|listed| number_of(listed) == Some(1)).collect())
    }
}

/// Reads the orders of a worker: the number of the last, and what is left to obey. Skips what is no
/// order.
pub(crate) fn orders_of(text: &[u8]) -> Orders {
    let text = String::from_utf8_lossy(text);
    let mut words = text.split(' ');
    Orders {
        seq: words.next().and_then(|seq| seq.parse().ok()).unwrap_or(0),
        mode: words.next().and_then(|mode| mode.parse().ok()),
        slots: words.next().and_then(|slots| slots.parse::<NonZeroU32>().ok()),
    }
}
