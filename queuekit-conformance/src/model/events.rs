//! Operations on events.

use queuekit_core::capability::{EventFilter, EventPage, Outbox};
use queuekit_core::client::Events;
use queuekit_core::event::{Consumers, EVENT, NewEvent, Replay, ReplayFrom};
use queuekit_core::{
    EventDraft, EventId, Job, JobFilter, PageSize, Priority, QueueName, Timestamp,
};

use super::compare;
use super::lockstep::Lockstep;
use super::machine::{ModelEvent, ModelJob, Owed};
use super::sequence::{self, CONSUMERS, EventAction};
use crate::kit::consumer;

impl Lockstep<'_> {
    pub(super) async fn event_step(&mut self, action: EventAction) {
        match action {
            EventAction::Subscribe => self.subscribe().await,
            EventAction::Declare => self.declare().await,
            EventAction::Unsubscribe => self.unsubscribe().await,
            EventAction::Emit => self.emit().await,
            EventAction::List => self.list_events().await,
            EventAction::Replay => self.replay().await,
            EventAction::Retain => self.retain_events().await,
            EventAction::Stats => self.consumer_stats().await,
        }
    }

    async fn subscribe(&mut self) {
        let draft = sequence::subscription(&mut self.rng);
        let subscription = draft.build().expect("a valid subscription");
        self.log.push(format!("subscribe {subscription:?}"));
        let is_new = self.consumers().put(&subscription).await.expect("put");
        assert_eq!(is_new, self.machine.subscribe(&subscription), "put of a subscription");
    }

    /// A new declaration, or one that older or present code has made before.
    async fn declare(&mut self) {
        let draft = match self.rng.bool().then(|| self.pick(|lockstep| &lockstep.declared)) {
            Some(Some(old)) => old,
            _ => sequence::subscription(&mut self.rng),
        };
        let declaration = draft.clone().build().expect("a valid subscription");
        self.log.push(format!("declare {declaration:?}"));
        let declared = self.consumers().declare(&declaration).await.expect("declare");
        self.declared.push(draft.clone());
        assert_eq!(declared, self.machine.declare(draft), "declare of {declaration:?}");
    }

    async fn unsubscribe(&mut self) {
        let name = consumer(sequence::one_of(&mut self.rng, &CONSUMERS));
        self.log.push(format!("unsubscribe {name}"));
        let was_there = self.consumers().remove(&name).await.expect("remove");
        assert_eq!(was_there, self.machine.unsubscribe(&name), "remove of {name}");
    }

    /// One client emits them all: it finds out that subscriptions have changed.
    async fn emit(&mut self) {
        let count = self.rng.usize(1..=3);
        let mut events = Vec::new();
        for _ in 0..count {
            events.push(self.some_event());
        }
        for event in &events {
            let (key, once) = (event.partition_key(), event.idempotency_key());
            let (id, kind, len) = (event.id(), event.kind(), event.data().len());
            self.log.push(format!("emit {id} {kind} {len} bytes, key {key:?}, once {once:?}"));
        }
        let outcomes = self.client.emit_all(events.clone()).await.expect("emit_all");
        let expected: Vec<_> = events.iter().map(|event| self.machine.emit(event)).collect();
        assert_eq!(outcomes.as_slice(), expected, "emit");
        self.emitted.extend(events);
        self.learn_times().await;
        self.learn_deliveries().await;
    }

    /// Mostly a new event; now and then one that was emitted, or another one with its id. The
    /// earlier event may be gone, while its deliveries are still stored.
    fn some_event(&mut self) -> NewEvent {
        let new = sequence::event(&mut self.rng);
        if self.rng.u8(..5) > 0 {
            return new.build().expect("a valid event");
        }
        let Some(old) = self.pick(|lockstep| &lockstep.emitted) else {
            return new.build().expect("a valid event");
        };
        match self.rng.u8(..3) == 0 {
            true => EventDraft::new("order.other", "other").id(old.id()).build().expect("valid"),
            false => old,
        }
    }

    /// The log is the machine's; when each event was stored, only the store knows exactly.
    async fn learn_times(&mut self) {
        let stored = events(self.outbox(), EventFilter::default()).await.expect("list_events");
        assert_eq!(stored.len(), self.machine.events.log.len(), "events of the log");
        for (event, model) in stored.iter().zip(&mut self.machine.events.log) {
            if model.emitted_at == Timestamp::default() {
                model.emitted_at = event.emitted_at;
            }
            same_event(event, model);
        }
    }

    /// Deliveries that the machine expects are stored, and no others; their ids are the store's.
    async fn learn_deliveries(&mut self) {
        let mut owed = std::mem::take(&mut self.machine.events.owed);
        for name in CONSUMERS {
            let queue = crate::kit::deliveries_of(name);
            let of_queue: Vec<Owed> = owed.extract_if(.., |owed| owed.queue == queue).collect();
            let mut new = self.unknown_jobs(queue).await;
            for owed in of_queue {
                let event = owed.of.event.to_string();
                let is_it = |job: &Job| job.metadata.get(EVENT) == Some(event.as_str());
                let at = new.iter().position(is_it);
                let job = new.swap_remove(at.unwrap_or_else(|| panic!("{owed:?} is not stored")));
                let replayed = job.priority == Priority::LOW;
                assert_eq!(replayed, owed.of.replay.is_some(), "priority of {}", job.id);
                self.machine.deliver(owed, job.id, job.partition_key);
            }
            assert!(new.is_empty(), "the store has deliveries that the machine has not: {new:?}");
        }
        assert!(
            owed.is_empty(),
            "the machine has deliveries for queues without a consumer: {owed:?}"
        );
    }

    async fn unknown_jobs(&self, queue: QueueName) -> Vec<Job> {
        let filter = JobFilter::default().queue(queue).limit(PageSize::MAX.get());
        let mut jobs = compare::list(&*self.store, filter).await;
        jobs.retain(|job| self.machine.job(job.id).is_none());
        jobs
    }

    async fn list_events(&mut self) {
        let times: Vec<_> = self.machine.events.log.iter().map(|event| event.emitted_at).collect();
        let rng = &mut self.rng;
        let mut time = || rng.choice(&times).copied().filter(|_| rng.u8(..3) == 0);
        let (from, to) = (time(), time());
        let pattern = sequence::pattern(&mut self.rng).parse().ok();
        let after = if self.rng.u8(..3) == 0 { self.some_event_id() } else { None };
        let limit = PageSize::new(self.rng.usize(1..=6)).expect("in range");
        let filter = EventFilter { pattern, from, to, after, cursor: None, until: None, limit };
        self.log.push(format!("list_events {filter:?}"));
        let listed = events(self.outbox(), filter.clone()).await;
        let ids = listed.map(|events| events.iter().map(|event| event.id).collect::<Vec<_>>());
        let wanted = self.machine.events.wanted(&filter);
        let wanted = wanted.map(|events| events.iter().map(|event| event.id).collect());
        assert_eq!(ids, wanted, "{filter:?}");
    }

    async fn replay(&mut self) {
        let name = ["first", "second"][self.rng.usize(..2)];
        let to = consumer(sequence::one_of(&mut self.rng, &CONSUMERS));
        let event = self.some_event_id();
        let times: Vec<_> = self.machine.events.log.iter().map(|event| event.emitted_at).collect();
        let from = match (self.rng.u8(..3), event, self.rng.choice(&times)) {
            (0, Some(event), _) => ReplayFrom::Event(event),
            (1, _, Some(time)) => ReplayFrom::Time(*time),
            _ => ReplayFrom::Beginning,
        };
        self.log.push(format!("replay {name} to {to} from {from:?}"));
        let replayed = self.replay_all(Replay::new(to.clone(), name, from)).await;
        assert_eq!(replayed, self.machine.replay(&to, name, from), "replay to {to}");
        self.learn_deliveries().await;
    }

    /// None if the consumer, or the event to begin behind, is unknown.
    async fn replay_all(&self, first: Replay) -> Option<(usize, usize)> {
        let (mut matched, mut delivered) = (0, 0);
        let mut step = Some(first);
        while let Some(replay) = step {
            let report = found(self.consumers().replay(&replay).await)?;
            matched += report.matched;
            delivered += report.delivered;
            step = replay.after(&report);
        }
        Some((matched, delivered))
    }

    async fn retain_events(&mut self) {
        let retention = sequence::event_retention(&mut self.rng);
        self.log.push(format!("retain {retention:?}"));
        Events::of(&*self.store).set_retention(retention).await.expect("set_retention");
        self.machine.events.retention = retention;
    }

    /// Compares the rest of the log after the store has pruned.
    pub(super) async fn prune_events(&mut self) {
        let left = events(self.outbox(), EventFilter::default()).await.expect("list_events");
        let left: Vec<EventId> = left.iter().map(|event| event.id).collect();
        self.machine.prune_events(&left);
    }

    async fn consumer_stats(&mut self) {
        let name = consumer(sequence::one_of(&mut self.rng, &CONSUMERS));
        self.log.push(format!("stats of {name}"));
        let stats = found(self.consumers().stats(&name).await);
        let queue = name.queue().expect("a consumer's queue");
        assert_eq!(stats.is_some(), self.machine.queues.contains_key(&queue), "stats of {name}");
        let Some(stats) = stats else { return };
        let of_queue = |job: &&ModelJob| job.queue == queue;
        let count = |state| {
            let jobs = self.machine.jobs.iter().filter(of_queue);
            jobs.filter(|job| job.state == state).count() as u64
        };
        use queuekit_core::State::{Completed, Dead, Pending, Running};
        assert_eq!(stats.depth, count(Pending), "depth of {name}");
        assert_eq!(stats.in_flight, count(Running), "in_flight of {name}");
        assert_eq!(stats.dead, count(Dead), "dead of {name}");
        let ended = count(Completed) + count(Dead);
        let rate = if ended == 0 { 0.0 } else { count(Dead) as f64 / ended as f64 };
        let is_near = (stats.failure_rate - rate).abs() < 1e-9;
        assert!(is_near, "failure rate of {name}: {} is not {rate}", stats.failure_rate);
        assert_eq!(stats.latency.is_some(), count(Completed) > 0, "latency of {name}");
    }

    /// Log and subscriptions.
    pub(super) async fn compare_events(&mut self) {
        self.learn_times().await;
        let stored = self.consumers().list().await.expect("list");
        let expected: Vec<_> = self.machine.events.subscriptions.values().cloned().collect();
        assert_eq!(stored, expected, "subscriptions");
        let retention = Events::of(&*self.store).retention().await.expect("retention");
        assert_eq!(retention, self.machine.events.retention, "retention of events");
    }

    /// Mostly one of the log, now and then one that is gone or never was.
    fn some_event_id(&mut self) -> Option<EventId> {
        if self.rng.u8(..8) == 0 {
            return self.pick(|lockstep| &lockstep.emitted).map(|event| event.id());
        }
        self.rng.choice(&self.machine.events.log).map(|event| event.id)
    }

    fn consumers(&self) -> Consumers<'_> {
        Consumers::of(&*self.store)
    }

    fn outbox(&self) -> &dyn Outbox {
        self.store.capabilities().outbox.expect("the capability Outbox")
    }
}

/// Page by page; none if the event to begin behind is gone.
async fn events(
    outbox: &dyn Outbox,
    mut filter: EventFilter,
) -> Option<Vec<queuekit_core::event::Event>> {
    let mut events = Vec::new();
    loop {
        let page = found(outbox.list_events(&filter).await)?;
        let EventPage { events: page, cursor, .. } = page;
        assert!(page.len() <= filter.limit.get(), "more than a page");
        events.extend(page);
        filter.cursor = cursor;
        if cursor.is_none() {
            return Some(events);
        }
    }
}

/// None for what was not found; no other error is expected.
pub(super) fn found<T>(result: queuekit_core::Result<T>) -> Option<T> {
    match result {
        Ok(found) => Some(found),
        Err(error) => {
            assert_eq!(*error.kind(), queuekit_core::ErrorKind::NotFound, "{error}");
            None
        }
    }
}

fn same_event(event: &queuekit_core::event::Event, model: &ModelEvent) {
    let id = event.id;
    assert_eq!(id, model.id, "order of the log");
    assert_eq!(event.kind.as_str(), model.kind, "kind of {id}");
    assert!(event.data[..] == model.data[..], "data of {id}");
    assert_eq!(event.partition_key, model.partition_key, "partition_key of {id}");
    assert_eq!(event.idempotency_key, model.idempotency_key, "idempotency_key of {id}");
    assert_eq!(event.emitted_at, model.emitted_at, "emitted_at of {id}");
}
