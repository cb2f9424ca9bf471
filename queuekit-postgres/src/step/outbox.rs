//! Storing events with their deliveries (contract R14.1, R14.2).

use std::collections::{BTreeMap, HashMap, HashSet};

use queuekit_core::capability::{Emission, EmitOutcome, StoredEvents, StoredSettings};
use queuekit_core::event::NewEvent;
use queuekit_core::{Bytes, JobId, NewJob, QueueName};
use tokio_postgres::Row;
use uuid::Uuid;

use super::columns::{Columns, metadata, refers};
use super::enqueue::{ROUNDS, open_queues, small_bytes};
use super::event_log::{event_id, event_uuid};
use crate::error::{Class, Failure, Outcome, together, unreadable};
use crate::params::params;
use crate::queues::QueueRow;
use crate::row::job_id;
use crate::session::Session;
use crate::statements::Sql;

pub(crate) async fn event_settings(session: &Session<'_>) -> Outcome<StoredSettings> {
    let rows = session.query(Sql::EventSettings, params![]).await?;
    let row = rows.first().ok_or_else(|| unreadable("the settings of events"))?;
    let version: i64 = row.try_get("version")?;
    let body = Bytes::copy_from_slice(row.try_get("body")?);
    Ok(StoredSettings { version: version.cast_unsigned(), body })
}

/// Changes the settings in a transaction of its own.
pub(crate) async fn change_event_settings(
    session: &Session<'_>,
    seen: u64,
    to: &Bytes,
) -> Outcome<bool> {
    session.begin().await?;
    let lock_class = session.statements.lock_class();
    session.query(Sql::EventSettingsLock, params![lock_class]).await?;
    let (seen, to) = (seen.cast_signed(), &to[..]);
    let changed = !session.query(Sql::EventSettingsPut, params![seen, to]).await?.is_empty();
    session.commit().await?;
    Ok(changed)
}

/// Holds the settings as they are until the transaction ends.
pub(crate) async fn hold_event_settings(session: &Session<'_>) -> Outcome<StoredSettings> {
    let lock_class = session.statements.lock_class();
    session.query(Sql::EventSettingsHold, params![lock_class]).await?;
    event_settings(session).await
}

/// An emission, with the queues of its deliveries.
pub(crate) struct Emit<'a> {
    pub(crate) emission: &'a Emission,
    pub(crate) queues: HashMap<QueueName, QueueRow>,
}

/// If the emission was merged from several calls and has to wait, it fails after the first try.
fn hasty<T>(emission: &Emission, stored: Outcome<T>) -> Outcome<T> {
    match stored {
        Err(failure)
            if failure.class == Class::HeldUp
                && emission.events.iter().any(|(event, _)| event.is_merged()) =>
        {
            Err(Failure { class: Class::Final, ..failure })
        }
        stored => stored,
    }
}

/// Stores the events of an emission in a transaction that holds the settings: they cannot change
/// between the search for deliveries and the end. It creates queues itself, because to wait for a
/// second connection could last until all connections wait.
pub(crate) async fn store_held(
    session: &Session<'_>,
    emission: &Emission,
    most_queues: usize,
) -> Outcome<StoredEvents> {
    hasty(emission, try_to_store_held(session, emission, most_queues).await)
}

async fn try_to_store_held(
    session: &Session<'_>,
    emission: &Emission,
    most_queues: usize,
) -> Outcome<StoredEvents> {
    session.begin().await?;
    let settings = hold_event_settings(session).await?;
    let instead = emission.under(&settings)?;
    let emission = instead.as_ref().unwrap_or(emission);
    let deliveries = emission.events.iter().flat_map(|(_, deliveries)| deliveries);
    let mut wanted: BTreeMap<&QueueName, bool> = BTreeMap::new();
    for delivery in deliveries {
        *wanted.entry(delivery.queue()).or_default() |= delivery.partition_key().is_some();
    }
    let names: Vec<QueueName> = wanted.keys().map(|name| (*name).clone()).collect();
    let keyed: Vec<QueueName> = names.iter().filter(|name| wanted[name]).cloned().collect();
    let rows = open_queues(session, &names, &keyed, most_queues).await?;
    let queues = rows.into_iter().map(|row| (row.name.clone(), row)).collect();
    match (Emit { emission, queues }).store_in(session).await? {
        Emitted::Stored(outcomes) => {
            session.commit().await?;
            Ok(StoredEvents { outcomes, instead })
        }
        Emitted::Stale => Err(unreadable("the version of the settings of events").into()),
        Emitted::QueuesGone => Err(Failure::transient("others keep removing a queue of the call")),
    }
}

/// The result of an emission.
pub(crate) enum Emitted {
    Stored(Vec<EmitOutcome>),
    /// The settings of events have changed since.
    Stale,
    /// The cached rows of the queues are out of date.
    QueuesGone,
}

/// What one statement stored, or why it stored nothing.
enum Put {
    All,
    Some(HashSet<Uuid>),
    Refused(Emitted),
}

impl Emit<'_> {
    /// Stores the events in a transaction of their own.
    pub(crate) async fn store(&self, session: &Session<'_>) -> Outcome<Emitted> {
        hasty(self.emission, self.try_to_store(session).await)
    }

    async fn try_to_store(&self, session: &Session<'_>) -> Outcome<Emitted> {
        let events = &self.emission.events;
        let all: Vec<usize> = (0..events.len()).collect();
        let mut outcomes = vec![None; events.len()];
        if self.round(&outcomes).len() == events.len() {
            // One statement stores all of it, or nothing.
            let put = self.put(session, &all, true).await?;
            if let Some(why) = self.note(put, &all, &mut outcomes) {
                return Ok(why);
            }
            if outcomes.iter().any(Option::is_some) {
                // If only some were stored, another process stored the others at that instant.
                session.has_applied();
            }
            if let Some(outcomes) = outcomes.iter().copied().collect() {
                return Ok(Emitted::Stored(outcomes));
            }
        }
        session.begin().await?;
        let emitted = self.rounds(session, outcomes).await?;
        if matches!(emitted, Emitted::Stored(_)) {
            session.commit().await?;
        }
        Ok(emitted)
    }

    /// Stores the events in a transaction of the application.
    pub(crate) async fn store_in(&self, session: &Session<'_>) -> Outcome<Emitted> {
        let queues: Vec<i32> = self.queues.values().map(|row| row.id).collect();
        let hold = async { session.query(Sql::QueueHold, params![queues]).await };
        // Both are sent together, in one round trip.
        let nothing = vec![None; self.emission.events.len()];
        let (_, emitted) = together(hold, self.rounds(session, nothing)).await?;
        Ok(emitted)
    }

    /// Stores the events in rounds, because they act in order: of those with the same id or key the
    /// first is tried, and its outcome decides those of the others.
    async fn rounds(
        &self,
        session: &Session<'_>,
        mut outcomes: Vec<Option<EmitOutcome>>,
    ) -> Outcome<Emitted> {
        for _ in 0..ROUNDS {
            let round = self.round(&outcomes);
            let put = self.put(session, &round, false).await?;
            if let Some(why) = self.note(put, &round, &mut outcomes) {
                return Ok(why);
            }
            self.explain(session, &mut outcomes).await?;
            if let Some(outcomes) = outcomes.iter().copied().collect() {
                return Ok(Emitted::Stored(outcomes));
            }
        }
        Err(Failure::transient("other calls keep emitting and removing the same events"))
    }

    /// Notes what was stored of a round. If it was refused, returns why nothing was.
    fn note(
        &self,
        put: Put,
        round: &[usize],
        outcomes: &mut [Option<EmitOutcome>],
    ) -> Option<Emitted> {
        let stored = match put {
            Put::Refused(why) => return Some(why),
            Put::All => None,
            Put::Some(stored) => Some(stored),
        };
        for item in round {
            let id = self.event(*item).id();
            if stored.as_ref().is_none_or(|stored| stored.contains(&event_uuid(id))) {
                outcomes[*item] = Some(EmitOutcome::Emitted { id });
            }
        }
        None
    }

    fn event(&self, item: usize) -> &NewEvent {
        &self.emission.events[item].0
    }

    fn round(&self, outcomes: &[Option<EmitOutcome>]) -> Vec<usize> {
        let (mut ids, mut keys) = (HashSet::new(), HashSet::new());
        let open = (0..outcomes.len()).filter(|item| outcomes[*item].is_none());
        open.filter(|item| {
            let event = self.event(*item);
            let key = event.idempotency_key().map(|key| (event.kind(), key));
            let first_of_key = key.is_none_or(|key| keys.insert(key));
            ids.insert(event.id()) && first_of_key
        })
        .collect()
    }

    /// Stores those of the round that are new.
    async fn put(&self, session: &Session<'_>, round: &[usize], all: bool) -> Outcome<Put> {
        let deliveries = round.iter().enumerate().flat_map(|(place, item)| {
            self.emission.events[*item].1.iter().map(move |delivery| (place, delivery))
        });
        let deliveries = Columns::of(deliveries, &self.queues);
        let events = || round.iter().map(|item| self.event(*item));
        let ids: Vec<Uuid> = events().map(|event| event_uuid(event.id())).collect();
        let (kinds, keys) = keys(events());
        let partition_keys: Vec<Option<&str>> =
            events().map(|event| event.partition_key().map(|key| key.as_str())).collect();
        let metadata: Vec<Option<String>> =
            events().map(|event| metadata(event.metadata())).collect();
        let data: Vec<&[u8]> = events().map(|event| &event.data()[..]).collect();
        let queues: Vec<i32> = self.queues.values().map(|row| row.id).collect();
        let version = self.emission.version.cast_signed();
        let mut params = deliveries.of_deliveries();
        params.extend_from_slice(params![ids, kinds, partition_keys, keys, metadata, data]);
        let is_repeat = events().any(NewEvent::is_repeat);
        let lock_class = session.statements.lock_class();
        params.extend_from_slice(params![queues, lock_class, version, all, is_repeat]);
        let rows = match all {
            true => session.write(Sql::Emit, &params).await?,
            false => session.query(Sql::Emit, &params).await?,
        };
        let row = rows.first().ok_or_else(|| unreadable("the answer to an emit"))?;
        if !row.try_get::<_, bool>("is_current")? {
            return Ok(Put::Refused(Emitted::Stale));
        }
        if !row.try_get::<_, bool>("are_known")? {
            return Ok(Put::Refused(Emitted::QueuesGone));
        }
        let some: Option<Vec<Uuid>> = row.try_get("ids")?;
        Ok(some.map_or(Put::All, |ids| Put::Some(ids.into_iter().collect())))
    }

    /// Finds the outcomes of events that were not stored, from the events in the log that have
    /// their ids or keys. If such an event is gone, the id or key is free, and the next round tries
    /// again.
    async fn explain(
        &self,
        session: &Session<'_>,
        outcomes: &mut [Option<EmitOutcome>],
    ) -> Outcome<()> {
        let others: Vec<usize> =
            (0..outcomes.len()).filter(|item| outcomes[*item].is_none()).collect();
        if others.is_empty() {
            return Ok(());
        }
        let events = || others.iter().map(|item| self.event(*item));
        let ids: Vec<Uuid> = events().map(|event| event_uuid(event.id())).collect();
        let (kinds, keys) = keys(events());
        let bytes: Vec<i32> = events().map(|event| small_bytes(event.data())).collect();
        for row in session.query(Sql::EventHolders, params![ids, kinds, keys, bytes]).await? {
            let at = usize::try_from(row.try_get::<_, i64>("place")? - 1);
            let item = at.ok().and_then(|at| others.get(at).copied());
            let item = item.ok_or_else(|| unreadable("the place of an event"))?;
            if outcomes[item].is_none() {
                outcomes[item] = Some(means(&row, self.event(item))?);
            }
        }
        if others.iter().any(|item| outcomes[*item].is_none()) {
            session.query(Sql::EventIdsFree, params![ids, kinds, keys]).await?;
        }
        Ok(())
    }
}

/// The outcome for an event whose id or key an event of the log has.
fn means(row: &Row, event: &NewEvent) -> Outcome<EmitOutcome> {
    let existing = event_id(row.try_get("id")?);
    let kind: Option<&str> = row.try_get("kind")?;
    let same = match kind {
        Some(kind) => {
            let data: Option<&[u8]> = row.try_get("data")?;
            kind == event.kind().as_str() && data == Some(&event.data()[..])
        }
        None => true,
    };
    Ok(match same {
        true => EmitOutcome::Duplicate { existing },
        false => EmitOutcome::Conflict { existing },
    })
}

fn keys<'e>(events: impl Iterator<Item = &'e NewEvent>) -> (Vec<&'e str>, Vec<Option<&'e str>>) {
    let key = |event: &'e NewEvent| event.idempotency_key().map(|key| key.as_str());
    events.map(|event| (event.kind().as_str(), key(event))).unzip()
}

/// Deliveries of events that are in the log, with their queues.
pub(crate) struct Again<'a> {
    pub(crate) deliveries: &'a [NewJob],
    pub(crate) queues: HashMap<QueueName, QueueRow>,
}

impl Again<'_> {
    /// Stores the deliveries in a transaction of their own. Returns those that were stored.
    pub(crate) async fn store(&self, session: &Session<'_>) -> Outcome<HashSet<JobId>> {
        session.begin().await?;
        let events: HashSet<Uuid> =
            self.deliveries.iter().filter_map(NewJob::event).map(event_uuid).collect();
        let events: Vec<Uuid> = events.into_iter().collect();
        let mut places: HashMap<Uuid, i64> = HashMap::new();
        for row in session.query(Sql::EventsHold, params![events]).await? {
            places.insert(row.try_get("id")?, row.try_get("seq")?);
        }
        let mut seen = HashSet::new();
        let place = |job: &NewJob| job.event().and_then(|id| places.get(&event_uuid(id)).copied());
        let mut open: Vec<(usize, &NewJob)> = self.deliveries.iter().enumerate().collect();
        open.retain(|(_, job)| place(job).is_some() && seen.insert(job.id()));
        // In the order in which the statement takes them.
        open.sort_unstable_by_key(|(_, job)| job.id());
        let columns = Columns::of(open.iter().copied(), &self.queues);
        let events: Vec<Option<i64>> =
            open.iter().map(|(_, job)| place(job).filter(|_| refers(job))).collect();
        let (repeat, are_deliveries) = (true, true);
        let mut params = columns.of_every_job();
        params.extend(columns.of_keyed_jobs());
        params.extend_from_slice(params![repeat, events, are_deliveries]);
        let mut stored = HashSet::new();
        for row in session.query(Sql::EnqueueAny, &params).await? {
            stored.insert(job_id(row.try_get("id")?));
        }
        session.commit().await?;
        Ok(stored)
    }
}
