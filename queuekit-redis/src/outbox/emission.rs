//! Storing events and deliveries (contract R14.1).

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use queuekit_core::capability::{Emission, EmitOutcome, StoredEvents, StoredSettings};
use queuekit_core::event::EventId;
use queuekit_core::{NewJob, QueueName, Result, Start};
use redis::Value;

use super::{answered, record, settings};
use crate::RedisStore;
use crate::call::Request;
use crate::codec::{array_of, bytes_of, delivery_data, event_id, is_word, millis};
use crate::indeterminate::may_be_of;
use crate::keys::QueueKeys;
use crate::repeat::Call;
use crate::scripts::Lua;

/// Bytes of an event's id.
const ID: usize = 16;

/// The request to lua/emit.lua: deliveries by queue, each with the number of its event.
#[derive(Default)]
struct Deliveries<'a> {
    queues: Vec<&'a QueueName>,
    jobs: Vec<Vec<(usize, &'a NewJob)>>,
    at: HashMap<&'a QueueName, usize>,
}

/// The answer of lua/emit.lua, or the settings that have changed since the deliveries were found.
enum Told<T> {
    Stored(T),
    Stale(StoredSettings),
}

/// The answer of lua/emit.lua: the outcome of each event, and the deliveries that were not stored.
struct Answer {
    events: Vec<Vec<u8>>,
    unstored: Vec<usize>,
    /// How long ago the first attempt was made, if its answer was lost.
    repeats: Option<Duration>,
}

impl RedisStore {
    /// Stores an emission. If the settings have changed, the server keeps them as they are for
    /// longer than it takes to find the deliveries again.
    pub(super) async fn emit(&self, emission: &Emission) -> Result<StoredEvents> {
        let mut instead = None;
        loop {
            match self.try_to_emit(instead.as_ref().unwrap_or(emission)).await? {
                Told::Stored(outcomes) => return Ok(StoredEvents { outcomes, instead }),
                Told::Stale(settings) => instead = emission.under(&settings)?,
            }
        }
    }

    async fn try_to_emit(&self, emission: &Emission) -> Result<Told<Vec<EmitOutcome>>> {
        let mut deliveries = Deliveries::default();
        let mut events = vec![emission.events.len().to_string().into_bytes()];
        for (number, (event, jobs)) in emission.events.iter().enumerate() {
            let unique = event.idempotency_key().map(|key| format!("{} {key}", event.kind()));
            events.push(event.id().as_bytes().to_vec());
            events.push(unique.unwrap_or_default().into_bytes());
            events.push(record::write(event)?);
            events.push(event.data().to_vec());
            jobs.iter().for_each(|job| deliveries.add(number + 1, job));
        }
        let version = emission.version.to_string();
        let answer = match self.deliver("store_events", &version, &events, &deliveries).await? {
            Told::Stored(answer) => answer,
            Told::Stale(settings) => return Ok(Told::Stale(settings)),
        };
        let mut seen = HashSet::new();
        let outcomes = emission.events.iter().zip(answer.events);
        let outcomes = outcomes.map(|((event, _), said)| {
            // An event that occurs twice in one call is stored once.
            let repeats = answer.repeats.filter(|_| seen.insert(event.id()));
            outcome(event.id(), &said, repeats)
        });
        let outcomes = outcomes.collect::<Option<Vec<_>>>();
        outcomes.map(Told::Stored).ok_or_else(|| answered("store_events"))
    }

    /// Stores deliveries of events in the log again; nothing for an event that is gone.
    pub(super) async fn emit_again(&self, jobs: &[NewJob]) -> Result<Vec<bool>> {
        let (mut of_log, mut numbers) = (Vec::new(), HashMap::new());
        let (mut deliveries, mut called) = (Deliveries::default(), Vec::new());
        for (at, job) in jobs.iter().enumerate() {
            // A job that is not a delivery has no event in the log.
            let Some(event) = job.event() else { continue };
            let number = *numbers.entry(event).or_insert_with(|| {
                of_log.push(event.as_bytes().to_vec());
                of_log.len()
            });
            deliveries.add(number, job);
            called.push((deliveries.at[job.queue()], at));
        }
        // In the order in which the script counts them: queue by queue.
        called.sort_by_key(|(queue, _)| *queue);
        of_log.insert(0, of_log.len().to_string().into_bytes());
        let answer = self.deliver("deliver_again", "", &of_log, &deliveries).await?;
        let Told::Stored(answer) = answer else { return Err(answered("deliver_again")) };
        let mut stored = vec![false; jobs.len()];
        called.iter().for_each(|(_, at)| stored[*at] = true);
        for number in answer.unstored {
            let (_, at) = called.get(number).ok_or_else(|| answered("deliver_again"))?;
            stored[*at] = false;
        }
        Ok(stored)
    }

    /// Runs the script.
    async fn deliver(
        &self,
        operation: &'static str,
        version: &str,
        events: &[Vec<u8>],
        deliveries: &Deliveries<'_>,
    ) -> Result<Told<Answer>> {
        let shared = &*self.shared;
        let call = if shared.wait_replicas.is_some() { Call::Stored } else { Call::Repeatable };
        let store = |may_exist: bool| {
            let mut args =
                vec![u8::from(may_exist).to_string().into_bytes(), version.as_bytes().to_vec()];
            args.extend_from_slice(events);
            deliveries.push(&mut args);
            let request = Request::Script { script: Lua::Emit, keys: deliveries.keys(self), args };
            self.call_told(operation, call, request, None)
        };
        let answer = self.in_queues(&deliveries.queues, store).await?;
        let repeats = answer.repeats();
        let answer = array_of(answer.value).ok_or_else(|| answered(operation))?;
        if is_word(answer.first(), b"stale") {
            let stale = settings(answer.into_iter().skip(1));
            return stale.map(Told::Stale).ok_or_else(|| answered(operation));
        }
        self.stir(deliveries.queues.iter().copied());
        let (mut events, mut unstored) = (Vec::new(), Vec::new());
        for said in answer {
            match said {
                Value::Int(number) => unstored.extend(usize::try_from(number)),
                said => events.push(bytes_of(said).ok_or_else(|| answered(operation))?),
            }
        }
        Ok(Told::Stored(Answer { events, unstored, repeats }))
    }
}

impl<'a> Deliveries<'a> {
    fn add(&mut self, event: usize, job: &'a NewJob) {
        let queue = *self.at.entry(job.queue()).or_insert_with(|| {
            self.queues.push(job.queue());
            self.jobs.push(Vec::new());
            self.queues.len() - 1
        });
        self.jobs[queue].push((event, job));
    }

    fn keys(&self, store: &RedisStore) -> Vec<QueueKeys> {
        let keyspace = &store.shared.keyspace;
        let queues = self.queues.iter().map(|queue| keyspace.of(queue));
        std::iter::once(keyspace.log()).chain(queues).collect()
    }

    fn push(&self, args: &mut Vec<Vec<u8>>) {
        for (queue, jobs) in self.queues.iter().zip(&self.jobs) {
            args.push(queue.as_str().into());
            args.push(jobs.len().to_string().into_bytes());
            for (event, job) in jobs {
                let delay = match job.start() {
                    Start::After(delay) => millis(delay),
                    // Core makes no delivery with such a start.
                    Start::At(_) => 0,
                };
                args.push(event.to_string().into_bytes());
                args.push(job.id().as_bytes().to_vec());
                args.push(delay.to_string().into_bytes());
                args.push(delivery_data(job));
            }
        }
    }
}

/// `repeats`: how long ago the first attempt was made, if its answer was lost.
fn outcome(id: EventId, said: &[u8], repeats: Option<Duration>) -> Option<EmitOutcome> {
    Some(match said.split_first()? {
        (b'E', _) => EmitOutcome::Emitted { id },
        (b'C', _) => EmitOutcome::Conflict { existing: id },
        (b'D', rest) => {
            let (holder, age) = rest.split_at_checked(ID)?;
            let age = std::str::from_utf8(age).ok()?.parse().ok().map(Duration::from_millis);
            match repeats.zip(age) {
                // It was stored after the first attempt began, and so by that attempt.
                Some((ago, age)) if may_be_of(ago, age) => EmitOutcome::Emitted { id },
                _ => EmitOutcome::Duplicate { existing: event_id(holder)? },
            }
        }
        _ => return None,
    })
}
