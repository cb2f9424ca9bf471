//! Leasing jobs (contract R5).

use super::tables::Tables;
use crate::backend::{Lease, Reserve, Reserved, Taken};
use crate::error::Result;
use crate::job::{ErrorText, JobId};
use crate::lifecycle::{Budget, Transition};
use crate::names::QueueName;
use crate::store_limits::Limits;

impl Tables {
    pub(super) fn reserve(&mut self, request: &Reserve, limits: &Limits) -> Result<Reserved> {
        limits.admit_reserve(request.limit)?;
        let mut reserved = Reserved::default();
        if request.limit == 0 {
            return Ok(reserved);
        }
        let mut budget = Budget::of(request);
        // In all queues before the first lease: what is reclaimed may be leased by this very call.
        for name in request.queues.names() {
            self.reclaim(name, &mut budget);
        }
        request.queues.divide(request.limit, |name, most| {
            let jobs = self.lease_from(name, most, request, &mut budget, &mut reserved.leases);
            Ok(Taken { jobs, is_full: budget.answer.is_full() })
        })?;
        reserved.more = budget.more(request.limit, reserved.leases.len());
        reserved.next_due_in = self.next_due_in(request.queues.names());
        Ok(reserved)
    }

    /// Reclaims expired leases, the earliest first.
    fn reclaim(&mut self, name: &QueueName, budget: &mut Budget) {
        let now = self.now;
        let Some(queue) = self.queues.get(name).filter(|queue| !queue.is_paused(now)) else {
            return;
        };
        let due = queue.leased.iter().take_while(|((expires_at, _), _)| *expires_at <= now);
        // Collected first, because each reclaim changes what is iterated.
        let expired: Vec<JobId> = due.map(|(_, id)| *id).take(budget.reclaims).collect();
        for id in expired {
            match self.jobs.get(&id).and_then(|record| budget.reclaim(record)) {
                Some(Transition::Quarantine) => self.quarantine(id),
                Some(_) => drop(self.expire(id)),
                None => {}
            }
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
            if queue.is_paused(now) {
                break;
            }
            let Some(id) = queue.candidate(now) else {
                break;
            };
            let Some(record) = self.jobs.get(&id) else {
                break;
            };
            if record.corrupt || record.is_past_deadline(now) {
                let corrupt = record.corrupt;
                // What is left over is found by the next call, which `more` asks for.
                if !budget.dead_letter() {
                    break;
                }
                if corrupt {
                    self.quarantine(id);
                } else {
                    self.end_dead(id, Transition::MissDeadline, ErrorText::from("deadline"));
                }
                continue;
            }
            // The job keeps its turn: a smaller one behind it does not go first.
            if !budget.answer.admit(record.lease_bytes()) {
                break;
            }
            leases.extend(self.grant(id, request));
            got += 1;
        }
        got
    }

    fn grant(&mut self, id: JobId, request: &Reserve) -> Option<Lease> {
        let now = self.now;
        self.apply(id, Transition::Reserve, |record| record.grant(request, now))
    }

    fn quarantine(&mut self, id: JobId) {
        let Some(record) = self.jobs.get(&id) else {
            return;
        };
        if let Some(queue) = self.queues.get_mut(&record.queue) {
            queue.corrupt += 1;
        }
        self.end_dead(id, Transition::Quarantine, ErrorText::from("corrupt"));
    }

    fn next_due_in(&self, names: &[QueueName]) -> Option<std::time::Duration> {
        let queues = names.iter().filter_map(|name| self.queues.get(name));
        let next = queues.filter_map(|queue| match queue.is_paused(self.now) {
            true => queue.settings.paused_until,
            false => queue.next_event(),
        });
        next.min().map(|at| at.since(self.now))
    }
}
