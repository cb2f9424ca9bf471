//! Events. Their log and all queues of events are in one slot, so that one script stores an event
//! and its deliveries, in a Cluster too.

mod emission;
mod record;
mod retention;

use async_trait::async_trait;
use queuekit_core::backend::AnswerBytes;
use queuekit_core::capability::{
    Emission, EventFilter, EventPage, Outbox, StoredEvents, StoredSettings,
};
use queuekit_core::event::Event;
use queuekit_core::{Bytes, Error, NewJob, Nonce, Result, Timestamp};
use redis::{Value, cmd};

use crate::RedisStore;
use crate::call::Request;
use crate::codec::{array_of, bytes_of, event_id, number_of};
use crate::error::unreadable;
use crate::repeat::Call;
use crate::scripts::Lua;

/// The most events that one listing looks at.
const EXAMINED: usize = 10_000;
/// The most events that one script reads, and about how many bytes of them.
const SLICE: usize = 200;
const SLICE_BYTES: usize = 1024 * 1024;

#[async_trait]
impl Outbox for RedisStore {
    async fn event_settings(&self) -> Result<StoredSettings> {
        let key = self.shared.keyspace.log()[0].clone();
        let command = cmd("HMGET").arg(&key).arg("version").arg("body").to_owned();
        let request = Request::Command { key, command };
        let answer = self.call("event_settings", Call::Read, request).await?;
        Ok(settings(array_of(answer).into_iter().flatten()).unwrap_or_default())
    }

    async fn change_event_settings(&self, seen: u64, to: &Bytes) -> Result<bool> {
        // By this nonce the script recognizes the call if it is made twice.
        let nonce = Nonce::draw().map_err(|error| error.during("change_event_settings"))?;
        let args = [seen.to_string().into_bytes(), to.to_vec(), nonce.as_bytes().to_vec()];
        let call =
            if self.shared.wait_replicas.is_some() { Call::Stored } else { Call::Repeatable };
        let store = self.for_one_call();
        loop {
            let args = args.clone();
            let answer = store.on_log("change_event_settings", call, Lua::EventSettings, args);
            match number_of(answer.await?) {
                Some(held) if held < 0 => {
                    store.pause("change_event_settings", held.unsigned_abs()).await?;
                }
                changed => return Ok(changed == Some(1)),
            }
        }
    }

    async fn store_events(&self, emission: &Emission) -> Result<StoredEvents> {
        self.for_one_call().emit(emission).await.map_err(|error| error.during("store_events"))
    }

    async fn list_events(&self, filter: &EventFilter) -> Result<EventPage> {
        self.for_one_call().events(filter).await.map_err(|error| error.during("list_events"))
    }

    async fn deliver_again(&self, deliveries: &[NewJob]) -> Result<Vec<bool>> {
        self.for_one_call()
            .emit_again(deliveries)
            .await
            .map_err(|error| error.during("deliver_again"))
    }
}

/// The events that one script has read.
struct Slice {
    now: Timestamp,
    /// By number; none for an event that cannot be read.
    events: Vec<(u64, Option<Event>)>,
    more: bool,
    /// The number of the last event of all.
    end: u64,
}

impl RedisStore {
    async fn events(&self, filter: &EventFilter) -> Result<EventPage> {
        let (mut page, mut bytes) = (EventPage::default(), AnswerBytes::default());
        let (mut cursor, mut examined) = (filter.cursor, 0);
        loop {
            let most = SLICE.min(filter.limit.get()).min(EXAMINED - examined);
            let slice = self.events_after(filter, cursor, most).await?;
            if examined == 0 {
                (page.now, page.end) = (slice.now, slice.end);
            }
            for (number, event) in slice.events {
                if filter.ends_before(number) {
                    return Ok(page);
                }
                if page.events.len() == filter.limit.get() {
                    page.cursor = cursor;
                    return Ok(page);
                }
                // Skips events that cannot be read.
                let wanted = |event: &Event| filter.admits(&event.kind, event.emitted_at);
                if let Some(event) = event.filter(wanted) {
                    if !bytes.admit(event.bytes()) {
                        page.cursor = cursor;
                        return Ok(page);
                    }
                    page.events.push(event);
                }
                (cursor, examined) = (Some(number), examined + 1);
            }
            if !slice.more {
                return Ok(page);
            }
            if page.events.len() == filter.limit.get() || examined == EXAMINED {
                page.cursor = cursor;
                return Ok(page);
            }
        }
    }

    async fn events_after(
        &self,
        filter: &EventFilter,
        cursor: Option<u64>,
        most: usize,
    ) -> Result<Slice> {
        let args = [
            cursor.map_or(String::new(), |cursor| cursor.to_string()).into_bytes(),
            filter.after.map_or(Vec::new(), |event| event.as_bytes().to_vec()),
            most.to_string().into_bytes(),
            SLICE_BYTES.to_string().into_bytes(),
        ];
        let answer = self.on_log("list_events", Call::Read, Lua::Events, args).await?;
        let Some(parts) = array_of(answer) else { return Err(filter.gone()) };
        slice(parts).ok_or_else(|| unreadable("a page of events"))
    }

    async fn on_log(
        &self,
        operation: &'static str,
        call: Call,
        script: Lua,
        rest: impl IntoIterator<Item = Vec<u8>>,
    ) -> Result<Value> {
        let args = rest.into_iter().collect();
        let request = Request::Script { script, keys: vec![self.shared.keyspace.log()], args };
        self.call(operation, call, request).await
    }
}

/// Reads the version of the settings, and the settings.
fn settings(mut parts: impl Iterator<Item = Value>) -> Option<StoredSettings> {
    let version = number_of(parts.next()?)?.cast_unsigned();
    let body = Bytes::from(bytes_of(parts.next()?)?);
    Some(StoredSettings { version, body })
}

fn slice(parts: Vec<Value>) -> Option<Slice> {
    let mut parts = parts.into_iter();
    let now = Timestamp::from_millis(number_of(parts.next()?)?);
    let more = number_of(parts.next()?)? == 1;
    let end = number_of(parts.next()?)?.cast_unsigned();
    let mut events = Vec::with_capacity(parts.len() / 3);
    while let Some(number) = parts.next() {
        let number = number_of(number)?.cast_unsigned();
        let (id, record) = (event_id(&bytes_of(parts.next()?)?), bytes_of(parts.next()?)?);
        events.push((number, id.and_then(|id| record::read(id, Bytes::from(record)))));
    }
    Some(Slice { now, events, more, end })
}

fn answered(what: &str) -> Error {
    unreadable(&format!("the answer to {what}"))
}
