//! Leasing jobs (contract R5).

use super::tables::Tables;
use crate::backend::{Lease, Reserve, Reserved};
use crate::error::Result;
use crate::job::{ErrorText, JobId};
use crate::lifecycle::Transition;
use crate::limits::{BURIALS_PER_RESERVE, Limits, reclaims_per_reserve};
use crate::names::QueueName;

/// What one call may still do.
struct Budget {
    reclaims: usize,
    burials: usize,
}

impl Tables {
    pub(super) fn reserve(&mut self, request: &Reserve, limits: &Limits) -> Result<Reserved> {
        limits.admit_reserve(request.limit)?;
        let mut reserved = Reserved::default();
        if request.limit == 0 {
            return Ok(reserved);
        }
        let reclaims = reclaims_per_reserve(request.limit);
        let mut budget = Budget { reclaims, burials: BURIALS_PER_RESERVE };
        for name in request.queues.names() {
            self.reclaim(name, &mut budget);
        }
        request.queues.divide(request.limit, |name, most| {
            Ok(self.lease_from(name, most, request, &mut budget, &mut reserved.leases))
        })?;
        let buried = budget.burials < BURIALS_PER_RESERVE;
        let full = reserved.leases.len() == request.limit;
        reserved.more = full || budget.burials == 0 || (buried && reserved.leases.is_empty());
        reserved.next_due_in = self.next_due_in(request.queues.names());
        Ok(reserved)
    }

    /// Takes back leases that ran out, earliest first.
    fn reclaim(&mut self, name: &QueueName, budget: &mut Budget) {
        let now = self.now;
        let Some(queue) = self.queues.get(name).filter(|queue| !queue.settings.paused) else {
            return;
        };
        let due = queue.leased.iter().take_while(|((expires_at, _), _)| *expires_at <= now);
        let expired: Vec<JobId> = due.map(|(_, id)| *id).take(budget.reclaims).collect();
        for id in expired {
            budget.reclaims -= 1;
            let Some(record) = self.jobs.get(&id) else {
                continue;
            };
            let (corrupt, last) = (record.corrupt, record.attempts >= record.max_attempts);
            let dies = corrupt || (last && !record.cancel_requested);
            if dies && budget.burials == 0 {
                continue;
            }
            if corrupt {
                self.quarantine(id, budget);
                continue;
            }
            budget.burials -= usize::from(dies);
            self.expire(id);
        }
    }

    fn lease_from(
        &mut self,
        name: &QueueName,
        most: usize,
        request: &Reserve,
        budget: &mut Budget,
        leases: &mut Vec<Lease>,
    ) -> usize {
        let mut got = 0;
        while got < most {
            let now = self.now;
            let Some(queue) = self.queues.get_mut(name) else {
                break;
            };
            if queue.settings.paused {
                break;
            }
            let Some(id) = queue.candidate(now) else {
                break;
            };
            let Some(record) = self.jobs.get(&id) else {
                break;
            };
            if record.corrupt || record.is_past_deadline(now) {
                if budget.burials == 0 {
                    break;
                }
                if record.corrupt {
                    self.quarantine(id, budget);
                } else {
                    budget.burials -= 1;
                    self.bury(id, Transition::MissDeadline, ErrorText::from("deadline"));
                }
                continue;
            }
            leases.extend(self.grant(id, request));
            got += 1;
        }
        got
    }

    fn grant(&mut self, id: JobId, request: &Reserve) -> Option<Lease> {
        let now = self.now;
        self.apply(id, Transition::Reserve, |record| {
            record.attempts += 1;
            record.lease_seq += 1;
            record.nonce = request.nonce;
            record.lease_expires_at = now + request.ttl.get();
            record.started_at = Some(now);
            record.worker = Some(request.worker.clone());
            record.lease(now)
        })
    }

    fn quarantine(&mut self, id: JobId, budget: &mut Budget) {
        budget.burials -= 1;
        let Some(record) = self.jobs.get(&id) else {
            return;
        };
        if let Some(queue) = self.queues.get_mut(&record.queue) {
            queue.corrupt += 1;
        }
        self.bury(id, Transition::Quarantine, ErrorText::from("corrupt"));
    }

    fn next_due_in(&self, names: &[QueueName]) -> Option<std::time::Duration> {
        let queues = names.iter().filter_map(|name| self.queues.get(name));
        let awake = queues.filter(|queue| !queue.settings.paused);
        awake.filter_map(|queue| queue.next_event()).min().map(|at| at.since(self.now))
    }
}
