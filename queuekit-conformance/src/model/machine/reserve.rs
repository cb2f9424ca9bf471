//! R5 and R7.

use queuekit_core::lifecycle::{self, Transition};
use queuekit_core::queue::{KeyOnDead, KeyOnWait, Order};
use queuekit_core::{Lease, QueueName, Reserve, State};

use super::{Machine, ModelJob};

impl Machine {
    /// Follows a reserve call of a store: each lease it granted must be one that the contract
    /// allows at that point, and it must have granted as many as possible.
    pub(in crate::model) fn reserve(&mut self, request: &Reserve, leases: &[Lease]) {
        if request.limit == 0 {
            assert!(leases.is_empty(), "limit 0 grants nothing");
            return;
        }
        for queue in request.queues.names() {
            self.reclaim(queue);
        }
        let mut granted = leases.iter();
        let mut left = request.limit;
        for queue in request.queues.names() {
            while left > 0 {
                let Some(candidates) = self.candidates(queue) else {
                    break;
                };
                let lease = granted.next().unwrap_or_else(|| {
                    panic!("no further job was leased, though {candidates:?} could be")
                });
                let id = lease.id();
                assert!(candidates.contains(&id), "{id} was leased, not one of {candidates:?}");
                self.grant(request, lease);
                left -= 1;
            }
        }
        assert_eq!(granted.next().map(Lease::id), None, "a job was leased that could not be");
    }

    /// The jobs of a queue of which the next lease must be: one in a strict queue, one per key in
    /// a fair one. Those that would be chosen and are unreadable or too late die. None if nothing
    /// can be leased.
    fn candidates(&mut self, queue: &QueueName) -> Option<Vec<queuekit_core::JobId>> {
        let settings = self.settings(queue);
        if settings.paused {
            return None;
        }
        loop {
            let mut heads: Vec<(_, usize)> = (0..self.jobs.len())
                .filter(|at| self.jobs[*at].queue == *queue && self.is_next_of_its_key(*at))
                .map(|at| (self.jobs[at].place(), at))
                .collect();
            heads.sort_unstable();
            if settings.order == Order::Strict {
                heads.truncate(1);
            } else {
                let plain = |at: usize| self.jobs[at].partition_key.is_none();
                let first = heads.iter().position(|(_, at)| plain(*at));
                let mut index = 0;
                heads.retain(|(_, at)| {
                    index += 1;
                    !plain(*at) || first == Some(index - 1)
                });
            }
            // In a fair queue a doomed head dies when its turn comes; sequences give fair queues
            // no doomed jobs, so that all of this is decided here.
            let doomed = heads.iter().map(|(_, at)| *at).find(|at| self.is_doomed(*at));
            let Some(at) = doomed else {
                let ids = heads.iter().map(|(_, at)| self.jobs[*at].id).collect::<Vec<_>>();
                return (!ids.is_empty()).then_some(ids);
            };
            let corrupt = self.jobs[at].corrupt;
            self.jobs[at].token = None;
            self.jobs[at].reason = Some(if corrupt { "corrupt" } else { "deadline" }.to_owned());
            let transition =
                if corrupt { Transition::Quarantine } else { Transition::MissDeadline };
            self.end(at, transition);
        }
    }

    fn is_doomed(&self, at: usize) -> bool {
        let job = &self.jobs[at];
        job.corrupt || job.deadline_at.is_some_and(|deadline| deadline <= self.now)
    }

    /// Ready, and the one that its key would give next.
    fn is_next_of_its_key(&self, at: usize) -> bool {
        let job = &self.jobs[at];
        if job.state != State::Pending || job.scheduled_at > self.now {
            return false;
        }
        if job.partition_key.is_none() {
            return true;
        }
        let skip = self.settings(&job.queue).key_on_wait == KeyOnWait::Skip;
        let before = self.same_key(job).filter(|other| {
            let waits = other.state == State::Pending && other.seq < job.seq;
            waits && !(skip && other.scheduled_at > self.now)
        });
        !self.is_blocked(job) && before.count() == 0
    }

    /// Whether its key lets no lease of it start now (R1.1, R7.3).
    pub(in crate::model) fn is_blocked(&self, job: &ModelJob) -> bool {
        if job.partition_key.is_none() {
            return false;
        }
        let settings = self.settings(&job.queue);
        let held = self.same_key(job).any(|other| other.holds_key);
        if held && settings.key_on_dead == KeyOnDead::Hold {
            return true;
        }
        let running = self.same_key(job).filter(|other| other.state == State::Running).count();
        let free = (settings.per_key as usize).saturating_sub(running);
        let earlier = || {
            self.same_key(job).filter(|other| other.state == State::Pending && other.seq < job.seq)
        };
        let due = earlier().filter(|other| other.scheduled_at <= self.now).count();
        let waits_for_later = due < earlier().count();
        match settings.key_on_wait {
            KeyOnWait::Block => waits_for_later || due >= free,
            KeyOnWait::Skip => due >= free,
        }
    }

    fn reclaim(&mut self, queue: &QueueName) {
        if self.settings(queue).paused {
            return;
        }
        loop {
            let expired = |job: &ModelJob| {
                job.queue == *queue
                    && job.state == State::Running
                    && job.lease_expires_at <= self.now
            };
            let all = (0..self.jobs.len()).filter(|at| expired(&self.jobs[*at]));
            // Of leases that run out together, as of those of one call, the contract does not say
            // which ends first; the stores go by sequence.
            let place = |at: &usize| (self.jobs[*at].lease_expires_at, self.jobs[*at].seq);
            let Some(at) = all.min_by_key(place) else {
                return;
            };
            self.jobs[at].token = None;
            if self.jobs[at].corrupt {
                self.jobs[at].reason = Some("corrupt".to_owned());
                self.end(at, Transition::Quarantine);
            } else {
                self.expire(at);
            }
        }
    }

    fn expire(&mut self, at: usize) {
        self.fail(at, "lease expired");
        let job = &mut self.jobs[at];
        let cancelled = job.cancel_requested;
        match lifecycle::expired(job.attempts, job.max_attempts, cancelled) {
            Transition::Reclaim => {
                job.state = State::Pending;
                self.coverage.took(Transition::Reclaim);
            }
            transition => {
                let dead = transition == Transition::ExpireDead;
                job.reason = dead.then(|| "lease expired".to_owned());
                self.end(at, transition);
            }
        }
    }

    fn grant(&mut self, request: &Reserve, lease: &Lease) {
        let ttl = i64::try_from(request.ttl.get().as_millis()).expect("a ttl fits");
        let at = self.position(lease.id()).expect("candidates are stored");
        let job = &mut self.jobs[at];
        job.state = State::Running;
        job.attempts += 1;
        job.lease_seq += 1;
        job.lease_expires_at = self.now + ttl;
        job.token = Some(lease.token.clone());
        assert_eq!(lease.token.nonce, request.nonce, "a lease has the nonce of its call");
        assert_eq!(lease.token.lease_seq, job.lease_seq, "lease_seq of {}", job.id);
        assert_eq!(lease.attempt, job.attempts, "attempt of {}", job.id);
        assert_eq!(lease.max_attempts, job.max_attempts, "max_attempts of {}", job.id);
        assert_eq!(lease.releases, job.releases, "releases of {}", job.id);
        assert_eq!(lease.payload[..], job.payload[..], "payload of {}", job.id);
        self.coverage.took(Transition::Reserve);
    }
}
