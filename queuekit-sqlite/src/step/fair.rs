//! Whose turn it is in a fair queue (contract R7.4). Jobs without a key share one turn.

use queuekit_core::{Result, Timestamp};

use super::Step;
use super::partition_key::Lane;
use super::reserve::Candidate;
use crate::row::PLAIN;
use crate::statements::{CANDIDATE, TURN_FIRST};

impl Step<'_> {
    /// The job to lease next in a fair queue, if one is ready now and this call may look for it.
    pub(super) fn fair_candidate(&mut self, queue: usize) -> Result<Option<Candidate>> {
        let id = self.queues[queue].id;
        loop {
            let Some(name) = self.value::<String>(TURN_FIRST, [id])? else {
                return Ok(None);
            };
            let mut lane = self.lane(queue, &name)?;
            if !self.promote(&lane)? {
                self.refresh(&mut lane)?;
                return Ok(None);
            }
            let next = if name == PLAIN {
                self.first_due(queue, 1)?.pop()
            } else {
                let next = self.next(&lane)?.filter(|next| next.scheduled_at <= self.now);
                match next {
                    Some(next) => self.row(CANDIDATE, [next.key], Candidate::read)?,
                    None => None,
                }
            };
            if next.is_some() {
                return Ok(next);
            }
            self.refresh(&mut lane)?;
        }
    }

    /// Now, if some key of a fair queue can be served.
    pub(super) fn next_turn(&self, queue: usize) -> Result<Option<Timestamp>> {
        Ok(self.is_there(TURN_FIRST, [self.queues[queue].id])?.then_some(self.now))
    }

    /// Notes that a job of this key was leased: its next turn comes after those of all others.
    pub(super) fn served(&mut self, lane: &mut Lane) {
        let queue = &mut self.queues[lane.queue];
        queue.last_turn = queue.last_turn.max(lane.turn);
        queue.changed = true;
        lane.turn = queue.last_turn + 1;
    }

    /// Gives a key its turn, or a time to look again.
    pub(super) fn place(&self, lane: &mut Lane, at: Option<Timestamp>) {
        let queue = &self.queues[lane.queue];
        lane.ready = at.map(|at| at <= self.now);
        lane.next_at = at.filter(|at| *at > self.now);
        if lane.ready == Some(true) {
            // A key that comes new, or after a long wait, joins the coming round: it is not owed
            // turns that it missed.
            let last = queue.last_turn;
            lane.turn = if lane.turn == 0 { last + 1 } else { lane.turn.max(last) };
        }
    }

    pub(super) fn place_plain(&self, lane: &mut Lane) -> Result<()> {
        let at =
            if self.queues[lane.queue].is_fair() { self.first_ready(lane.queue)? } else { None };
        self.place(lane, at);
        Ok(())
    }
}
