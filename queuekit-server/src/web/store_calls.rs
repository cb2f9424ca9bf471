//! How much one key may ask of the store at a time.
//!
//! A store answers calls in the order in which they came. If one key made hundreds of large calls
//! at once, the calls of all others would wait behind them. So a key has few in the store, and its
//! further ones wait here, in their order.

use std::collections::HashSet;
use std::time::Duration;

use queuekit::QueueName;
use tokio::sync::OwnedSemaphorePermit;

use super::auth::Caller;
use super::fair_share::{FairShare, ShareSize};
use super::problem::Problem;
use crate::wire::BATCH;

/// How many items the calls of one sort may have at a time: two batches, so that the store has the
/// next one when it has done one.
const ITEMS: usize = 2 * BATCH;
/// Of large items, this many bytes count as one. All items of a key then have about 8 MiB, which is
/// what the client sends to the store at once.
const ITEM_BYTES: usize = 4 * 1024;
/// Each queue of a call beside the first counts as this many items: on Redis it is a script of its
/// own. Measured there with calls of 1,000 tokens of 1 and of 1,000 queues, in time of Redis: a
/// queue takes as long as 13 tokens of a nack, 25 of an extend, 40 of a report and 65 of an ack.
const QUEUE_ITEMS: usize = 20;
/// From this size on, a job takes a place although it is sent alone. The places of a key's requests
/// bound what its smaller ones have together.
const LARGE_JOB: usize = 16 * 1024;
/// How long a call waits for its place.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A sort of calls. Calls of one sort do not wait for those of another: a key that enqueues much
/// can still settle what it has leased.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CallSort {
    Enqueue,
    Reserve,
    /// Acks and nacks.
    Settle,
    /// Calls about leases that stay.
    Extend,
    /// Changes by operators.
    Change,
}

/// The calls of all keys in the store.
#[derive(Debug)]
pub(crate) struct StoreCalls([FairShare; 5]);

/// As how many items of a call these count, by their sizes in bytes.
pub(crate) fn items(sizes: impl Iterator<Item = usize>) -> usize {
    let (count, bytes) = sizes.fold((0, 0), |(count, bytes), size| (count + 1, bytes + size));
    bytes.div_ceil(ITEM_BYTES).max(count)
}

/// As how many items a call with this many counts that is about these queues.
pub(crate) fn of_queues<'a>(items: usize, queues: impl Iterator<Item = &'a QueueName>) -> usize {
    let queues: HashSet<_> = queues.collect();
    items + QUEUE_ITEMS * queues.len().saturating_sub(1)
}

/// As how many items a job of this size counts that is sent alone; none if it takes no place,
/// because the client merges it with others.
pub(crate) fn items_alone(size: usize) -> Option<usize> {
    (size >= LARGE_JOB).then(|| items(std::iter::once(size)))
}

/// A call's place in the store, until it is dropped. Callers without a key have none, because the
/// server cannot distinguish them.
pub(crate) type StorePlace = Option<OwnedSemaphorePermit>;

impl StoreCalls {
    pub(crate) fn new() -> Self {
        let calls = [
            FairShare::empty("calls that enqueue"),
            FairShare::empty("calls that reserve"),
            FairShare::empty("calls that settle"),
            FairShare::empty("calls that extend or report"),
            FairShare::empty("changes"),
        ];
        calls.iter().for_each(|sort| sort.resize(ShareSize { all: 0, of_key: ITEMS }));
        Self(calls)
    }

    /// Waits until the store may have a call with this many items of the key.
    ///
    /// # Errors
    /// 429 if the calls before it take too long; 401 if the key ends meanwhile.
    pub(crate) async fn place(
        &self,
        sort: CallSort,
        caller: &Caller,
        items: usize,
    ) -> Result<StorePlace, Problem> {
        let items = items.clamp(sort.least(), ITEMS) as u32;
        tokio::select! {
            biased;
            () = caller.ended() => Err(Problem::key_ended()),
            place = self.0[sort as usize].wait_for_key(caller, items, TIMEOUT) => place,
        }
    }
}

impl CallSort {
    /// As how many items a call counts at least.
    fn least(self) -> usize {
        match self {
            // The client merges them with others.
            Self::Enqueue | Self::Settle => 1,
            // Each takes a connection of its own for a while.
            Self::Reserve | Self::Extend => ITEMS / 32,
            // They may wait for each other's rows.
            Self::Change => ITEMS / 8,
        }
    }
}
