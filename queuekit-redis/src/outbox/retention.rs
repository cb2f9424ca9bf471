//! How long events stay in the log (contract R14.6).

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use queuekit_core::capability::Outbox;
use queuekit_core::event::{EventRetention, EventSettings, Fate};
use queuekit_core::{QueueName, Result, Timestamp};
use redis::Value;

use super::answered;
use crate::RedisStore;
use crate::call::Request;
use crate::codec::{array_of, bytes_of, number_of};
use crate::layout::DELIVERY;
use crate::layout::bytes::Parts;
use crate::repeat::Call;
use crate::scripts::Lua;

/// The most events that one step and one script look at. A script also stops after this many bytes
/// of deliveries, because each delivery has to be looked at.
const STEP: usize = 1000;
const SLICE: usize = 200;
const DELIVERY_BYTES: usize = 50_000;

/// An event that retention may remove.
struct Old {
    number: i64,
    id: Vec<u8>,
    emitted_at: Timestamp,
    /// The queues of deliveries that have no copy of its data.
    queues: Vec<QueueName>,
}

struct Slice {
    now: Timestamp,
    /// How many events there are, and how many come before these.
    all: u64,
    before: u64,
    more: bool,
    events: Vec<Old>,
}

impl RedisStore {
    /// Makes a step of retention, from where the last one ended. Looks at one slice at least.
    /// Returns how many events were removed, and whether there is more to do. After the end is
    /// reached, it looks again at events that deliveries have kept.
    pub(crate) async fn prune_events(&self) -> Result<(u64, bool)> {
        let retention = EventSettings::read(&self.event_settings().await?.body)?.retention;
        let at = &self.shared.pruned_events;
        let (mut removed, mut looked) = (0, 0);
        while looked == 0 || (looked < STEP && !self.is_late()) {
            let slice = self.ages_after(at.load(Ordering::Relaxed)).await?;
            looked += slice.events.len();
            let is_last = !slice.more;
            let last = slice.events.last().map_or(0, |event| event.number.cast_unsigned());
            let (beyond, goes_on) = slice.beyond(&retention);
            removed += self.forget(&beyond).await?;
            let is_end = is_last || !goes_on;
            at.store(if is_end { 0 } else { last }, Ordering::Relaxed);
            if is_end {
                return Ok((removed, false));
            }
        }
        Ok((removed, true))
    }

    async fn ages_after(&self, after: u64) -> Result<Slice> {
        let args = [after, SLICE as u64, DELIVERY_BYTES as u64];
        let args = args.map(|number| number.to_string().into_bytes());
        let answer = self.on_log("prune", Call::Read, Lua::EventAges, args).await?;
        array_of(answer).and_then(read).ok_or_else(|| answered("prune"))
    }

    /// Removes those of the events that no delivery needs.
    async fn forget(&self, events: &[Old]) -> Result<u64> {
        if events.is_empty() {
            return Ok(0);
        }
        let shared = &*self.shared;
        let queues: BTreeSet<&QueueName> = events.iter().flat_map(|event| &event.queues).collect();
        let mut keys = vec![shared.keyspace.log()];
        keys.extend(queues.iter().map(|queue| shared.keyspace.records(queue)));
        let mut args = vec![queues.len().to_string().into_bytes()];
        args.extend(queues.iter().map(|queue| queue.as_str().into()));
        for event in events {
            args.extend([event.number.to_string().into_bytes(), event.id.clone()]);
        }
        let request = Request::Script { script: Lua::EventForget, keys, args };
        let answer = self.call("prune", Call::Repeatable, request).await?;
        number_of(answer).map(i64::cast_unsigned).ok_or_else(|| answered("prune"))
    }
}

impl Slice {
    /// The events beyond the retention, and whether more may follow.
    fn beyond(self, retention: &EventRetention) -> (Vec<Old>, bool) {
        let beyond_number = self.all.saturating_sub(retention.events());
        let (mut beyond, mut goes_on) = (Vec::new(), false);
        for (place, event) in (self.before..).zip(self.events) {
            let fate = retention.fate(event.emitted_at, self.now, place < beyond_number);
            goes_on |= fate != Fate::Stays;
            if fate == Fate::Goes {
                beyond.push(event);
            }
        }
        (beyond, goes_on)
    }
}

fn read(parts: Vec<Value>) -> Option<Slice> {
    let mut parts = parts.into_iter();
    let now = Timestamp::from_millis(number_of(parts.next()?)?);
    let mut number = || number_of(parts.next()?).map(i64::cast_unsigned);
    let (all, before, more) = (number()?, number()?, number()? == 1);
    let mut events = Vec::with_capacity(parts.len() / 4);
    while let Some(number) = parts.next() {
        events.push(Old {
            number: number_of(number)?,
            id: bytes_of(parts.next()?)?,
            emitted_at: Timestamp::from_millis(number_of(parts.next()?)?),
            queues: queues_of(&bytes_of(parts.next()?)?),
        });
    }
    Some(Slice { now, all, before, more, events })
}

/// Reads the queues of deliveries. A delivery that cannot be read is
/// not searched for, and keeps its event.
fn queues_of(mut deliveries: &[u8]) -> Vec<QueueName> {
    let mut queues = Vec::new();
    while let Some((length, rest)) = deliveries.split_at_checked(DELIVERY.name.end) {
        let length = Parts(length).length(DELIVERY.name);
        let Some((name, rest)) = length.and_then(|length| rest.split_at_checked(length)) else {
            break;
        };
        queues.extend(std::str::from_utf8(name).ok().and_then(|name| QueueName::new(name).ok()));
        let Some((_, rest)) = rest.split_at_checked(DELIVERY.id.len()) else { break };
        deliveries = rest;
    }
    queues
}
