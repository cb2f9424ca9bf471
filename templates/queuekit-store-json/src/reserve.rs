//! Reclaims expired leases, and leases jobs that can run (R5, R7).

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use queuekit_core::backend::Taken;
use queuekit_core::lifecycle::{Budget, Record, Transition};
use queuekit_core::queue::Order;
use queuekit_core::{
    ErrorText, JobId, Lease, Limits, PartitionKey, QueueName, Reserve, Reserved, Result, State,
    Timestamp,
};

use crate::data::{Data, Turn};

impl Data {
    pub(crate) fn reserve(&mut self, request: &Reserve, limits: &Limits) -> Result<Reserved> {
        limits.admit_reserve(request.limit)?;
        let mut reserved = Reserved::default();
        if request.limit == 0 {
            return Ok(reserved);
        }
        let mut budget = Budget::of(request);
        for name in request.queues.names() {
            self.reclaim(name, &mut budget);
        }
        request.queues.divide(request.limit, |name, most| {
            let before = reserved.leases.len();
            self.lease_from(name, most, request, &mut budget, &mut reserved.leases);
            let jobs = reserved.leases.len() - before;
            Ok(Taken { jobs, is_full: budget.answer.is_full() })
        })?;
        reserved.more = budget.more(request.limit, reserved.leases.len());
        let names = request.queues.names().iter();
        reserved.next_due_in = names.filter_map(|name| self.next_due_in(name)).min();
        Ok(reserved)
    }

    fn is_awake(&self, name: &QueueName) -> bool {
        self.queues.get(name).is_some_and(|queue| !queue.settings.is_paused(self.now))
    }

    /// The earliest expiry first; a bounded number of jobs die of it (R5.6, R5.7).
    fn reclaim(&mut self, name: &QueueName, budget: &mut Budget) {
        if !self.is_awake(name) {
            return;
        }
        let expired = self.of_queue(name).filter(|record| record.is_expired(self.now));
        let mut expired: Vec<&Record> = expired.collect();
        expired.sort_by_key(|record| (record.lease_expires_at, record.seq));
        expired.truncate(budget.reclaims);
        let now = self.now;
        let reclaim = |record: &Record| Some((record.id, budget.reclaim(record)?));
        let taken: Vec<_> = expired.into_iter().filter_map(reclaim).collect();
        for (id, transition) in taken {
            self.apply(id, transition, |record| record.expire(transition, now));
        }
    }

    fn lease_from(
        &mut self,
        name: &QueueName,
        most: usize,
        request: &Reserve,
        budget: &mut Budget,
        leases: &mut Vec<Lease>,
    ) {
        if !self.is_awake(name) {
            return;
        }
        let mut candidates = self.candidates(name);
        let mut left = most;
        while left > 0 {
            let Some((key, id)) = self.next(name, &candidates) else { return };
            let Some(record) = self.jobs.get(&id) else { return };
            let is_late = record.is_past_deadline(self.now);
            // The first that does not fit keeps its turn (R8.9).
            if !is_late && !budget.answer.admit(record.lease_bytes()) {
                return;
            }
            self.take(name, &key, &mut candidates);
            if is_late {
                if !budget.dead_letter() {
                    return;
                }
                self.end_dead(id, Transition::MissDeadline, ErrorText::from("deadline"));
                // Its death may hold its key, or let another job of the key run.
                candidates = self.candidates(name);
                continue;
            }
            leases.extend(self.grant(id, request));
            left -= 1;
        }
    }

    /// One step sets everything (R5.2).
    fn grant(&mut self, id: JobId, request: &Reserve) -> Option<Lease> {
        let (now, mut lease) = (self.now, None);
        self.apply(id, Transition::Reserve, |record| lease = Some(record.grant(request, now)));
        lease
    }

    /// The jobs that can run now: for each key by sequence, and without a key by priority.
    fn candidates(&self, name: &QueueName) -> Candidates {
        let mut candidates = Candidates::new();
        for record in self.free(name) {
            if record.scheduled_at <= self.now {
                let key = record.partition_key.as_ref().map_or("", PartitionKey::as_str);
                let jobs = candidates.entry(key.to_owned()).or_default();
                jobs.push_back((record.serving_place(), record.id));
            }
        }
        candidates.entry(String::new()).or_default().make_contiguous().sort();
        candidates.retain(|_, jobs| !jobs.is_empty());
        candidates
    }

    /// The job whose turn it is, and its key.
    fn next(&mut self, name: &QueueName, candidates: &Candidates) -> Option<(String, JobId)> {
        let queue = self.queues.get_mut(name)?;
        let key = if queue.settings.order == Order::Strict {
            let next = candidates.iter().filter_map(|(key, jobs)| Some((jobs.front()?, key)));
            next.min()?.1.clone()
        } else {
            // A key that gets work again joins the next round and does not catch up (R7.4).
            for (key, turn) in &mut queue.turns {
                turn.waits &= candidates.contains_key(key);
            }
            for key in candidates.keys() {
                let turn = queue.turns.entry(key.clone()).or_default();
                if !turn.waits {
                    let first = if turn.at == 0 { queue.turn_served + 1 } else { turn.at };
                    *turn = Turn { at: first.max(queue.turn_served), waits: true };
                }
            }
            let turns = candidates.keys().filter_map(|key| Some((queue.turns.get(key)?.at, key)));
            turns.min()?.1.clone()
        };
        let (_, id) = candidates.get(&key)?.front()?;
        Some((key, *id))
    }

    /// Takes the next job of a key, whose next turn comes after those of all others.
    fn take(&mut self, name: &QueueName, key: &str, candidates: &mut Candidates) {
        if let Some(queue) = self.queues.get_mut(name)
            && queue.settings.order == Order::Fair
            && let Some(turn) = queue.turns.get_mut(key)
        {
            queue.turn_served = queue.turn_served.max(turn.at);
            turn.at = queue.turn_served + 1;
        }
        if let Some(jobs) = candidates.get_mut(key) {
            jobs.pop_front();
        }
        candidates.retain(|_, jobs| !jobs.is_empty());
    }

    /// When the next job becomes due or the next lease expires (R5.1).
    fn next_due_in(&self, name: &QueueName) -> Option<Duration> {
        if !self.is_awake(name) {
            let end = self.queues.get(name)?.settings.paused_until?;
            return Some(end.since(self.now));
        }
        let running = self.of_queue(name).filter(|record| record.state == State::Running);
        let expiries = running.map(|record| record.lease_expires_at);
        let waiting = self.free(name).into_iter().map(|record| record.scheduled_at);
        expiries.chain(waiting).min().map(|at| at.since(self.now))
    }
}

/// Waiting jobs by partition key ("" for the jobs without one), the next one first.
type Candidates = BTreeMap<String, VecDeque<((u8, Timestamp, u64), JobId)>>;
