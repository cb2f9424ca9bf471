//! The one place where a stored job changes its state.

use queuekit_core::lifecycle::{self, Transition};
use queuekit_core::limits::{FAILURES_KEPT, RELEASES_KEPT};
use queuekit_core::{ErrorText, Nack, ReleaseCause, Result, State, Timestamp, Undecodable};
use rusqlite::params;

use super::Step;
use super::partition_key::Lane;
use super::place::Place;
use crate::row::Record;
use crate::statements::*;

impl Step<'_> {
    /// Takes a job through a transition: its row, its place in the queue, its keys and the counters
    /// change together. `change` sets the fields of the record that go with it.
    pub(super) fn apply(
        &mut self,
        record: &mut Record,
        transition: Transition,
        change: impl FnOnce(&mut Record),
    ) -> Result<()> {
        debug_assert!(transition.from().contains(&record.state), "{transition:?} of {record:?}");
        let queue = self.queue_of(record)?;
        let was = record.state;
        // A dead job that holds its key keeps its place in front of the others of its key.
        let keeps_place = record.holds;
        let mut lane = self.lane_of(queue, record, transition)?;
        self.leave(queue, record, lane.as_mut(), transition)?;
        if transition == Transition::Reserve
            && let Some(lane) = lane.as_mut().filter(|_| self.queues[queue].is_fair())
        {
            self.served(lane);
        }
        change(record);
        if transition == Transition::Retry && !keeps_place {
            record.seq = self.queues[queue].next_seq();
        }
        match transition.to() {
            Some(state) => {
                record.state = state;
                self.enter(queue, record, lane.as_mut())?;
                // A lease does not change the row of its job, unless it ends otherwise than by
                // completing it.
                if !matches!(state, State::Running | State::Completed) {
                    record.write(self.conn).map_err(crate::error::failed)?;
                }
            }
            None => {
                self.delete(record)?;
                self.queues[queue].total_removed += 1;
            }
        }
        if let Some(lane) = &mut lane {
            self.refresh(lane)?;
        }
        // A job that stays in its state, such as one that is rescheduled, lets no other job go.
        let lets_go = lane.is_some() && transition.to() != Some(was);
        if transition.to() == Some(State::Pending) || lets_go {
            self.stir(queue);
        }
        if record.idempotency_key.is_some() {
            self.settle_key(queue, record, was, transition)?;
        }
        Ok(())
    }

    /// Moves a job to the dead-letter queue.
    pub(super) fn end_dead(
        &mut self,
        record: &mut Record,
        transition: Transition,
        reason: &ErrorText,
    ) -> Result<()> {
        self.count_error(record, transition, false, reason.as_str())?;
        self.apply(record, transition, |record| {
            record.reason = Some(reason.as_str().to_owned());
            if transition != Transition::DeadLetterLease {
                // The nonce goes too: the lease was broken without its holder.
                record.nonce = None;
            }
        })
    }

    /// Takes back a lease that ran out.
    pub(super) fn expire(&mut self, record: &mut Record) -> Result<()> {
        let transition =
            lifecycle::expired(record.attempts, record.max_attempts, record.cancel_requested);
        let text = ErrorText::from(lifecycle::LEASE_EXPIRED);
        self.add_failure(record, &text)?;
        self.count_error(record, transition, true, text.as_str())?;
        self.apply(record, transition, |record| {
            if transition == Transition::ExpireDead {
                record.reason = Some(text.as_str().to_owned());
            }
            // The nonce goes too, so that nothing can match the old lease.
            record.nonce = None;
        })
    }

    /// Appends to a job's history (contract R4.5).
    pub(super) fn add_failure(&self, record: &Record, error: &ErrorText) -> Result<()> {
        self.add_end(record, error.as_str(), None)?;
        self.execute(FAILURES_TRIM, params![record.key, FAILURES_KEPT, false])?;
        Ok(())
    }

    /// Appends to a job's releases (contract R4.8).
    pub(super) fn add_release(&self, record: &Record, nack: &Nack) -> Result<()> {
        let mark = nack.mark().map(Undecodable::to_stored).unwrap_or_default();
        self.add_end(record, &mark, Some(nack.cause().map_or("", ReleaseCause::as_str)))?;
        self.execute(FAILURES_TRIM, params![record.key, RELEASES_KEPT, true])?;
        Ok(())
    }

    /// A run ended by failure, or with a cause by release: its text is the mark, if it has one.
    fn add_end(&self, record: &Record, error: &str, cause: Option<&str>) -> Result<()> {
        let end = params![
            record.key,
            record.lease_seq as i64,
            record.attempts,
            self.now.as_millis(),
            record.worker,
            error,
            record.started_at.map(Timestamp::as_millis),
            cause,
        ];
        self.execute(FAILURE_INSERT, end)?;
        Ok(())
    }

    pub(super) fn stir(&mut self, queue: usize) {
        let name = &self.queues[queue].name;
        if !self.stirred.contains(name) {
            self.stirred.insert(name.clone());
        }
    }

    /// The lane that this transition of a job may change.
    fn lane_of(
        &self,
        queue: usize,
        record: &Record,
        transition: Transition,
    ) -> Result<Option<Lane>> {
        let waits = record.state == State::Pending || transition.to() == Some(State::Pending);
        let name = match record.partition_key() {
            // Jobs without a key are counted only while they wait.
            None if !waits => None,
            key => self.lane_name(queue, key),
        };
        name.map(|name| self.lane(queue, name)).transpose()
    }

    fn leave(
        &mut self,
        queue: usize,
        record: &mut Record,
        lane: Option<&mut Lane>,
        transition: Transition,
    ) -> Result<()> {
        self.queues[queue].count_job(record.state, record.size, -1);
        if record.state == State::Pending {
            let head = lane.as_ref().and_then(|lane| lane.head);
            self.leave_place(queue, &Place::of(record), head)?;
        }
        // A job that completes stays under a claim.
        let has_claim = matches!(record.state, State::Running | State::Completed);
        if has_claim && transition != Transition::Ack {
            self.leave_claim(record)?;
        }
        if let Some(lane) = lane {
            lane.leave(record);
        }
        record.holds = false;
        Ok(())
    }

    /// Enters a record into the structures of its new state. Its lane must be refreshed after the
    /// record is written.
    pub(super) fn enter(
        &mut self,
        queue: usize,
        record: &mut Record,
        mut lane: Option<&mut Lane>,
    ) -> Result<()> {
        let now = self.now;
        let table = &mut self.queues[queue];
        table.count_job(record.state, record.size, 1);
        (record.finished_at, record.end_seq) = (None, None);
        let holds = table.holds();
        match record.state {
            State::Pending => self.stand(queue, &Place::of(record), lane.as_deref_mut())?,
            State::Running => self.run(record)?,
            State::Completed => self.complete(queue, record)?,
            State::Dead | State::Cancelled => {
                record.finished_at = Some(now);
                record.end_seq = Some(table.add_end(record.state));
            }
        }
        let Some(lane) = lane else {
            return Ok(());
        };
        match record.state {
            State::Pending => lane.waiting += 1,
            State::Running if !lane.is_plain() => lane.running += 1,
            State::Dead if !lane.is_plain() => {
                record.holds = holds && self.is_head(record, lane)?;
                lane.held += i64::from(record.holds);
            }
            _ => {}
        }
        Ok(())
    }

    fn delete(&self, record: &Record) -> Result<()> {
        let statements =
            [JOB_DELETE, PAYLOAD_DELETE, FAILURES_DELETE, LOGS_DELETE, CHECKPOINTS_DELETE];
        statements.into_iter().try_for_each(|sql| self.execute(sql, [record.key]).map(drop))
    }
}
