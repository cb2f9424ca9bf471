//! R14: the log, its consumers, and its retention.

use std::collections::BTreeMap;
use std::time::Duration;

use queuekit_core::capability::{EmitOutcome, EventFilter};
use queuekit_core::event::{EventRetention, NewEvent, ReplayFrom};
use queuekit_core::lifecycle::Transition;
use queuekit_core::limits::RETENTION_GRACE;
use queuekit_core::queue::{KeyOnWait, Order};
use queuekit_core::{
    ConsumerName, Declared, EventId, IdempotencyKey, JobId, PartitionKey, Priority, QueueName,
    State, Subscription, SubscriptionDraft, Timestamp,
};

use super::{Delivered, Machine, ModelJob};
use crate::model::Beside;

/// Larger data may be stored once, with its event; smaller data is copied into each delivery.
const COPIED: usize = 1024;
/// Deliveries of one key that run beside each other where keys take turns (R14.4).
const BESIDE: u32 = 1000;
const DAY: Duration = Duration::from_secs(24 * 3600);

#[derive(Debug, Default)]
pub(in crate::model) struct Events {
    pub(in crate::model) subscriptions: BTreeMap<ConsumerName, Subscription>,
    /// The last declaration of code, as if it were enabled.
    declared: BTreeMap<ConsumerName, Subscription>,
    pub(in crate::model) retention: EventRetention,
    /// In order.
    pub(in crate::model) log: Vec<ModelEvent>,
    /// Deliveries whose ids are not known from the store yet.
    pub(in crate::model) owed: Vec<Owed>,
}

#[derive(Clone, Debug)]
pub(in crate::model) struct ModelEvent {
    pub(in crate::model) id: EventId,
    pub(in crate::model) kind: String,
    pub(in crate::model) data: Vec<u8>,
    pub(in crate::model) partition_key: Option<PartitionKey>,
    pub(in crate::model) idempotency_key: Option<IdempotencyKey>,
    /// The time from the store: a running clock may be some ms ahead of the machine.
    pub(in crate::model) emitted_at: Timestamp,
    /// The machine's time.
    emitted: i64,
}

/// A delivery that a store has to have, and a subscription as it was.
#[derive(Clone, Debug)]
pub(in crate::model) struct Owed {
    pub(in crate::model) queue: QueueName,
    pub(in crate::model) of: Delivered,
    event: ModelEvent,
    subscription: Subscription,
}

impl Machine {
    /// Declares a subscription from code. An operator's changes hold until the code declares
    /// something else; whether it is enabled stays as the operator has set it even then.
    pub(in crate::model) fn declare(&mut self, draft: SubscriptionDraft) -> Declared {
        let built = |draft: SubscriptionDraft| draft.build().expect("a valid subscription");
        let declaration = built(draft.clone().enabled(true));
        let consumer = declaration.consumer().clone();
        let enabled = self.events.subscriptions.get(&consumer).map(Subscription::is_enabled);
        let last = self.events.declared.insert(consumer, declaration.clone());
        match enabled {
            Some(_) if last.as_ref() == Some(&declaration) => {
                self.coverage.saw(Beside::DeclaredAgain);
                let stored = self.events.subscriptions[declaration.consumer()].clone();
                self.keep_order(&stored);
                Declared::Unchanged
            }
            Some(enabled) => {
                self.subscribe(&built(draft.enabled(enabled)));
                Declared::Changed
            }
            None => {
                self.subscribe(&built(draft));
                Declared::Created
            }
        }
    }

    /// Whatever an operator has set, of a subscription that wants order.
    fn keep_order(&mut self, subscription: &Subscription) {
        let queue = subscription.consumer().queue().expect("a consumer's queue");
        let settings = self.queues.entry(queue).or_default();
        let keeps = settings.per_key == 1 && settings.key_on_wait == KeyOnWait::Block;
        if subscription.is_ordered() && !keeps {
            settings.order = Order::Fair;
            (settings.per_key, settings.key_on_wait) = (1, KeyOnWait::Block);
        }
    }

    /// True if there was one.
    pub(in crate::model) fn unsubscribe(&mut self, consumer: &ConsumerName) -> bool {
        self.events.declared.remove(consumer);
        self.events.subscriptions.remove(consumer).is_some()
    }

    /// True if the consumer had none; its queue exists from then on.
    pub(in crate::model) fn subscribe(&mut self, subscription: &Subscription) -> bool {
        let consumer = subscription.consumer().clone();
        let queue = consumer.queue().expect("a consumer's queue");
        let stored = self.events.subscriptions.insert(consumer, subscription.clone());
        let settings = self.queues.entry(queue).or_default();
        let keys = |of: &Subscription| (of.is_fair(), of.is_ordered());
        if stored.as_ref().map(keys) != Some(keys(subscription)) {
            settings.order = if subscription.is_fair() { Order::Fair } else { Order::Strict };
            if subscription.is_fair() {
                (settings.per_key, settings.key_on_wait) = (BESIDE, KeyOnWait::Skip);
            }
        }
        self.keep_order(subscription);
        self.coverage.saw(Beside::Subscribed);
        stored.is_none()
    }

    pub(in crate::model) fn emit(&mut self, event: &NewEvent) -> EmitOutcome {
        let (id, kind) = (event.id(), event.kind().as_str());
        if let Some(stored) = self.events.find(id) {
            if stored.kind == kind && stored.data == event.data()[..] {
                self.coverage.saw(Beside::EmittedAgain);
                return EmitOutcome::Duplicate { existing: id };
            }
            self.coverage.saw(Beside::EmitConflict);
            return EmitOutcome::Conflict { existing: id };
        }
        let key = event.idempotency_key();
        let has_key = |stored: &&ModelEvent| {
            key.is_some() && stored.idempotency_key.as_ref() == key && stored.kind == kind
        };
        if let Some(existing) = self.events.log.iter().find(has_key).map(|stored| stored.id) {
            self.coverage.saw(Beside::EmittedAgain);
            return EmitOutcome::Duplicate { existing };
        }
        self.coverage.saw(Beside::Emitted);
        let event = ModelEvent {
            id,
            kind: kind.to_owned(),
            data: event.data().to_vec(),
            partition_key: event.partition_key().cloned(),
            idempotency_key: event.idempotency_key().cloned(),
            emitted_at: Timestamp::default(),
            emitted: self.now,
        };
        self.events.log.push(event.clone());
        for subscription in self.events.subscriptions.clone().into_values() {
            let pattern = subscription.events().to_string();
            if subscription.is_enabled() && wants(&pattern, &event.kind) {
                self.owe(&subscription, &event, None);
            }
        }
        EmitOutcome::Emitted { id }
    }

    /// One delivery, unless it is stored.
    fn owe(&mut self, subscription: &Subscription, event: &ModelEvent, replay: Option<&str>) {
        let queue = subscription.consumer().queue().expect("a consumer's queue");
        let of = Delivered { event: event.id, replay: replay.map(str::to_owned) };
        let is_it = |job: &ModelJob| job.queue == queue && job.of.as_ref() == Some(&of);
        if !self.jobs.iter().any(is_it) {
            let (event, subscription) = (event.clone(), subscription.clone());
            self.events.owed.push(Owed { queue, of, event, subscription });
        }
    }

    /// A replay from its first step to its end: how many events were wanted, how many deliveries
    /// are new; none if the consumer, or the event to begin behind, is unknown.
    pub(in crate::model) fn replay(
        &mut self,
        consumer: &ConsumerName,
        name: &str,
        from: ReplayFrom,
    ) -> Option<(usize, usize)> {
        let subscription = self.events.subscriptions.get(consumer)?.clone();
        let (from, after) = match from {
            ReplayFrom::Beginning => (None, None),
            ReplayFrom::Time(from) => (Some(from), None),
            ReplayFrom::Event(event) => (None, Some(event)),
        };
        let pattern = Some(subscription.events().clone());
        let filter = EventFilter { pattern, from, after, ..EventFilter::default() };
        let wanted = self.events.wanted(&filter)?;
        for event in &wanted {
            self.owe(&subscription, event, Some(name));
        }
        let delivered = self.events.owed.len();
        (0..delivered).for_each(|_| self.coverage.saw(Beside::Replayed));
        Some((wanted.len(), delivered))
    }

    /// A delivery that was owed has this id; that of a replay for a consumer that wants order has
    /// a key that is the replay's own.
    pub(in crate::model) fn deliver(&mut self, owed: Owed, id: JobId, key: Option<PartitionKey>) {
        let Owed { queue, of, event, subscription } = owed;
        let partition_key = match (subscription.is_fair(), &of.replay) {
            (false, _) => None,
            (true, None) => event.partition_key,
            (true, Some(_)) => {
                let key = key.expect("a replay has a key");
                assert!(key.as_str().starts_with("replay:"), "{key} of {id}");
                let same = |job: &ModelJob| {
                    let replay = job.of.as_ref().map(|of| &of.replay);
                    job.queue == queue && job.partition_key.is_some() && replay == Some(&of.replay)
                };
                let other = self.jobs.iter().find(|job| same(job));
                assert!(
                    other.is_none_or(|job| job.partition_key.as_ref() == Some(&key)),
                    "{key} of {id} is not the key of its replay",
                );
                Some(key)
            }
        };
        let delay = i64::try_from(subscription.delay().as_millis()).expect("fits");
        let seq = self.count_up();
        let priority = if of.replay.is_some() { Priority::LOW } else { Priority::default() };
        self.store(ModelJob {
            kind: event.kind,
            payload: event.data,
            priority: priority.level(),
            max_attempts: subscription.max_attempts(),
            scheduled_at: self.now + delay,
            partition_key,
            of: Some(of),
            ..ModelJob::bare(id, queue, seq)
        });
        self.coverage.took(Transition::Enqueue);
    }

    /// Follows a prune of a store, which may keep an event for its deliveries or give them a copy:
    /// what went must have been let go by the retention and be needed by none, and of what is
    /// beyond the retention only what some delivery may need may be left.
    pub(in crate::model) fn prune_events(&mut self, left: &[EventId]) {
        let retention = self.events.retention;
        let beyond = (self.events.log.len() as u64).saturating_sub(retention.events());
        let log = std::mem::take(&mut self.events.log);
        for (at, event) in log.into_iter().enumerate() {
            let id = event.id;
            let age = Timestamp::from_millis(self.now).since(Timestamp::from_millis(event.emitted));
            let goes = retention.lets_go(age, (at as u64) < beyond);
            let deliveries = || self.jobs.iter().filter(|job| job.delivers(id));
            if left.contains(&id) {
                let may_need = |job: &ModelJob| job.state != State::Completed;
                // By its age a store may let a day go as a whole (R14.6).
                let by_number = (at as u64) < beyond && age >= RETENTION_GRACE;
                let of_a_day = !by_number && age < retention.age() + DAY;
                let may_stay = !goes || of_a_day || deliveries().any(may_need);
                assert!(may_stay, "{id} is beyond the retention");
                if goes {
                    self.coverage.saw(Beside::EventKept);
                }
                self.events.log.push(event);
            } else {
                // Deliveries that need it have a copy, or the next comparison finds them empty.
                assert!(goes, "{id} is within the retention");
                self.jobs.iter_mut().filter(|job| job.delivers(id)).for_each(ModelJob::outlives);
                self.coverage.saw(Beside::EventPruned);
            }
        }
    }

    /// A delivery that has ended may have lost its data with its event (R14.6).
    pub(in crate::model) fn may_have_no_payload(&self, id: JobId) -> bool {
        let ended = |job: &ModelJob| matches!(job.state, State::Completed | State::Cancelled);
        self.job(id).is_some_and(|job| job.outlived && ended(job) && job.payload.len() > COPIED)
    }
}

impl ModelJob {
    fn outlives(&mut self) {
        self.outlived = true;
    }

    fn delivers(&self, event: EventId) -> bool {
        self.of.as_ref().is_some_and(|of| of.event == event)
    }
}

impl Events {
    pub(in crate::model) fn find(&self, id: EventId) -> Option<&ModelEvent> {
        self.log.iter().find(|event| event.id == id)
    }

    /// The events of the log that match a filter; none if the event to begin behind is gone.
    pub(in crate::model) fn wanted(&self, filter: &EventFilter) -> Option<Vec<ModelEvent>> {
        let first = match filter.after {
            Some(after) => 1 + self.log.iter().position(|event| event.id == after)?,
            None => 0,
        };
        let pattern = filter.pattern.as_ref().map(ToString::to_string);
        let is_wanted = |event: &&ModelEvent| {
            pattern.as_ref().is_none_or(|pattern| wants(pattern, &event.kind))
                && filter.from.is_none_or(|from| event.emitted_at >= from)
                && filter.to.is_none_or(|to| event.emitted_at < to)
        };
        Some(self.log[first..].iter().filter(is_wanted).cloned().collect())
    }
}

fn wants(pattern: &str, kind: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => kind.starts_with(prefix),
        None => kind == pattern,
    }
}
